"""Turns and tools to the body of a Chat Completions request. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NoReturn

from boyd.actors.conversation.artifacts import Image, Text, ToolCall
from boyd.actors.conversation.turns import Turn
from boyd.actors.providers.protocol import Request
from boyd.actors.tools.spec import ToolSpec

__all__ = ["chat_body", "chat_messages"]

Json = dict[str, object]


def chat_body(request: Request, *, model: str, limit_field: str) -> bytes:
    """The request as bytes.

    Args:
        limit_field: what this server calls the cap on output tokens.
    """
    body: Json = {
        "model": request.model or model,
        "messages": list(chat_messages(request.turns)),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body[limit_field] = request.max_tokens
    # Half a surrogate pair has no UTF-8 form: a question mark is better than a failed run.
    return json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


def chat_messages(turns: tuple[Turn, ...]) -> Iterator[Json]:
    """One message a turn, one a tool result; turns that say nothing are left out."""
    for turn in turns:
        if turn.role == "tool":
            for result in turn.results:
                yield {"role": "tool", "tool_call_id": result.call_id, "content": result.content}
        elif turn.role == "assistant":
            yield from _assistant(turn)
        elif turn.role == "user":
            yield from _user(turn)
        elif turn.text.strip():
            yield {"role": "system", "content": "\n\n".join(_texts(turn))}


def _texts(turn: Turn) -> list[str]:
    return [one.text for one in turn.artifacts if isinstance(one, Text) and one.text.strip()]


def _assistant(turn: Turn) -> Iterator[Json]:
    if not turn.calls and not turn.text.strip():
        return
    message: Json = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = [_call(call) for call in turn.calls]
    yield message


def _call(call: ToolCall) -> Json:
    function = {"name": call.name or "unknown", "arguments": _arguments(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _arguments(raw: str) -> str:
    """Servers parse it again and fail on what is no JSON object: such text goes inside one."""
    if not raw.strip():
        return "{}"
    try:
        fits = isinstance(json.loads(raw, parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        fits = False
    return raw if fits else json.dumps({"not_an_object": raw}, ensure_ascii=False)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _user(turn: Turn) -> Iterator[Json]:
    pictures = [one for one in turn.artifacts if isinstance(one, Image)]
    texts = _texts(turn)
    if not pictures:
        if texts:
            yield {"role": "user", "content": "\n\n".join(texts)}
        return
    parts: list[Json] = []
    for one in turn.artifacts:
        if isinstance(one, Image):
            parts.append({"type": "image_url", "image_url": {"url": one.url}})
        elif isinstance(one, Text) and one.text.strip():
            parts.append({"type": "text", "text": one.text})
    yield {"role": "user", "content": parts}


def _tool(spec: ToolSpec) -> Json:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.schema}
    return {"type": "function", "function": function}
