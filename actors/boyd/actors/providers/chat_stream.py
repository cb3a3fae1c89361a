"""The chunks of a Chat Completions stream to deltas: pure, one answer each.

It believes little: `choices` may be missing, `index` wrong, an error may stand
in any chunk, usage may come in every chunk or never, and only a finish reason
or `[DONE]` shows that an answer is whole.
"""

from __future__ import annotations

import json
from typing import Final, NoReturn, cast

from boyd.actors.conversation.artifacts import (
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from boyd.actors.conversation.texts import without_halves
from boyd.actors.conversation.usage import latest_usage
from boyd.actors.providers.errors import ModelError
from boyd.actors.providers.failures import error_of_object
from boyd.actors.providers.protocol import Streamed
from boyd.actors.secret import Secret

__all__ = ["ChatStream"]

Json = dict[str, object]

_STOP_REASONS: Final = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}


class ChatStream:
    """One answer while it arrives."""

    def __init__(self, name: str, *secrets: Secret) -> None:
        self._name = name
        self._secrets = secrets
        self._said: list[str] = []
        self._text = _Halves()
        self._reasoning = _Halves()
        self._arguments: dict[object, _Halves] = {}
        self._finish = ""
        self._refused = False
        self._usage: Usage | None = None
        self.is_done = False

    @property
    def partial(self) -> str:
        """The text so far."""
        return "".join(self._said)

    @property
    def is_whole(self) -> bool:
        """Whether the answer may end here."""
        return self.is_done or bool(self._finish)

    def feed(self, data: str, *, event: str = "message") -> list[Streamed]:
        """Take the data of one event.

        Raises:
            ModelError: it is an error of the provider, or no chunk at all.
        """
        data = data.strip()
        if self.is_done or not data or data.startswith(":"):
            return []
        if data == "[DONE]":
            self.is_done = True
            return []
        items: list[Streamed] = []
        for chunk in self._chunks(data):
            if event == "error" and not chunk.get("error"):
                self._fail(chunk)
            items += self._chunk(chunk)
        return items

    def finish(self) -> list[Streamed]:
        """The end of the bytes: what stands only now.

        Raises:
            ModelError: the answer was cut short.
        """
        if not self.is_whole:
            text = f"{self._name}: the answer ended in the middle"
            raise ModelError(text, code="incomplete", partial=self.partial, retryable=True)
        items: list[Streamed] = []
        if rest := self._reasoning.rest():
            items.append(ReasoningDelta(text=rest))
        if rest := self._text.rest():
            items.append(TextDelta(text=rest))
        if self._finish or self._refused:
            reason = "refusal" if self._refused else _STOP_REASONS.get(self._finish, "other")
            items.append(StopReason(reason=reason))
        if self._usage is not None:
            items.append(self._usage)
        return items

    def _chunks(self, data: str) -> list[Json]:
        """One chunk; or one a line, from a server that puts no blank lines between its events."""
        if "\n" in data and _load(data) is None:
            lines = (line for line in data.split("\n") if line.strip() not in ("", "[DONE]"))
            return [self._checked(_load(line)) for line in lines]
        return [self._checked(_load(data))]

    def _checked(self, chunk: object) -> Json:
        if isinstance(chunk, list) and chunk:  # Gemini's endpoint wraps an error in an array
            chunk = cast("list[object]", chunk)[0]
        if not isinstance(chunk, dict):
            text = "a piece of the answer is no JSON object; is base_url a Chat Completions server?"
            text = f"{self._name}: {text}"
            raise ModelError(text, code="bad_stream", partial=self.partial)
        return cast("Json", chunk)

    def _fail(self, error: object) -> NoReturn:
        raise error_of_object(self._name, error, partial=self.partial, secrets=self._secrets)

    def _chunk(self, chunk: Json) -> list[Streamed]:
        choice = _first_choice(chunk.get("choices"))
        items = self._choice(choice)
        error = chunk.get("error") or choice.get("error")
        if error:
            self._fail(error)
        self._take_finish(choice)
        usage = _usage(chunk.get("usage"))
        if usage is not None:
            self._usage = latest_usage(one for one in (self._usage, usage) if one is not None)
        return items

    def _choice(self, choice: Json) -> list[Streamed]:
        delta = _dict(choice.get("delta")) or _dict(choice.get("message"))
        items: list[Streamed] = []
        reasoning = self._reasoning.feed(_reasoning(delta))
        if reasoning:
            items.append(ReasoningDelta(text=reasoning))
        refusal = _str(delta.get("refusal"))
        self._refused = self._refused or bool(refusal)
        text = self._text.feed(_content(delta.get("content")) + refusal)
        if text:
            self._said.append(text)
            items.append(TextDelta(text=text))
        wanted = delta.get("tool_calls")
        calls = [cast("object", wanted)] if isinstance(wanted, dict) else _list(wanted)
        items.extend(self._call(_dict(call)) for call in calls)
        if legacy := _dict(delta.get("function_call")):
            items.append(self._call({"function": legacy}))
        return items

    def _call(self, call: Json) -> ToolCallDelta:
        function = _dict(call.get("function"))
        index = call.get("index")
        if isinstance(index, str) and index.isascii() and index.isdigit():
            index = int(index[:9])
        if not isinstance(index, int) or isinstance(index, bool):
            index = None
        halves = self._arguments.setdefault(index, _Halves())
        return ToolCallDelta(
            index=index,
            id=without_halves(_str(call.get("id"))),
            name=without_halves(_str(function.get("name"))),
            arguments=halves.feed(_arguments(function.get("arguments"))),
        )

    def _take_finish(self, choice: Json) -> None:
        for key in ("native_finish_reason", "finish_reason"):
            reason = _str(choice.get(key))
            if "error" in reason.lower():
                self._fail({"message": f"it stopped with {reason}", "code": reason})
        self._finish = _str(choice.get("finish_reason")) or self._finish


class _Halves:
    """Joins a character whose surrogate halves came in two chunks; a lone half becomes U+FFFD."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        text = self._held + text
        self._held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return without_halves(text[:-1] if self._held else text)

    def rest(self) -> str:
        return without_halves(self._held)


def _load(data: str) -> object:
    try:
        return cast("object", json.loads(data))
    except (ValueError, RecursionError):
        return None


def _dict(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""


def _first_choice(choices: object) -> Json:
    found = [_dict(choice) for choice in _list(choices)]
    first: Json = {}
    return next((choice for choice in found if choice.get("index", 0) in (0, None)), first)


def _content(content: object) -> str:
    """Text, or the texts of a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(_str(_dict(part).get("text")) for part in _list(content))


def _reasoning(delta: Json) -> str:
    """The first of three fields that has something: some servers fill two with the same words."""
    details = "".join(
        _str(_dict(one).get("text")) or _str(_dict(one).get("summary"))
        for one in _list(delta.get("reasoning_details"))
    )
    return details or _str(delta.get("reasoning")) or _str(delta.get("reasoning_content"))


def _arguments(arguments: object) -> str:
    """Raw text; a server that sends the object itself gets it written out."""
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _count(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63:
        return value
    return None


def _usage(report: object) -> Usage | None:
    fields = _dict(report)
    if not fields:
        return None
    prompt, answer = (
        _dict(fields.get("prompt_tokens_details")),
        _dict(fields.get("completion_tokens_details")),
    )
    cost = fields.get("cost")
    return Usage(
        input_tokens=_count(fields.get("prompt_tokens")),
        output_tokens=_count(fields.get("completion_tokens")),
        cache_read_tokens=_count(prompt.get("cached_tokens")),
        cache_write_tokens=_count(prompt.get("cache_write_tokens")),
        reasoning_tokens=_count(answer.get("reasoning_tokens")),
        cost=float(cost)
        if isinstance(cost, (int, float)) and not isinstance(cost, bool) and cost >= 0
        else None,
    )
