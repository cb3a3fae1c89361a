"""What a provider says when it refuses, as one sentence and a few fields."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, cast

from boyd.actors.providers.errors import ModelError, is_retryable
from boyd.actors.providers.http import Reply, origin_of
from boyd.actors.providers.retry import parse_retry_after
from boyd.actors.secret import Secret, redact

__all__ = ["error_of_object", "error_of_reply", "read_body"]

LONGEST_TEXT: Final = 300
LONGEST_CODE: Final = 80
LARGEST_ERROR: Final = 64 << 10

_BY_STATUS: Final = {
    400: "the provider did not accept the request",
    401: "the provider refused the key",
    402: "the provider wants to be paid first",
    403: "the provider refused the key",
    404: "the provider does not know this model or address",
    408: "the provider gave up waiting",
    413: "the request is too large for the provider",
    422: "the provider did not accept the request",
    429: "the provider's limit is reached",
    529: "the provider is overloaded",
}


async def read_body(reply: Reply, *, largest: int) -> tuple[bytes, bool]:
    """The body up to `largest` bytes, and whether that was all of it. Raises ModelError."""
    body = bytearray()
    while (chunk := await reply.chunk()) is not None:
        body += chunk
        if len(body) > largest:
            return bytes(body[:largest]), False
    return bytes(body), True


async def error_of_reply(
    name: str, reply: Reply, *, now: float, secrets: Sequence[Secret] = ()
) -> ModelError:
    """The error that an answer other than 200 stands for.

    Args:
        now: seconds since the epoch.
    """
    status = reply.status
    if 300 <= status < 400:  # noqa: PLR2004
        target = origin_of(reply.headers.get("location", ""))
        text = (
            f"the server redirects to {target}; redirects are not followed, so set base_url to that"
        )
        return ModelError(f"{name}: {text}", code="redirect", status=status)
    try:
        body, _ = await read_body(reply, largest=LARGEST_ERROR)
    except ModelError:
        body = b""  # the status says enough
    told, code = _details(_parse(body))
    is_theirs = status >= 500  # noqa: PLR2004
    said = _BY_STATUS.get(status, "the provider failed" if is_theirs else "the provider refused")
    wait = parse_retry_after(reply.headers, now=now)
    asks = "" if wait is None else f", and asks to wait {wait:,.6g} s"
    text = f"{name}: {said} ({status}){asks}" + (f": {_clean(told, secrets)}" if told else "")
    return ModelError(
        text,
        code=code or f"http_{status}",
        status=status,
        retry_after=wait,
        retryable=is_retryable(status, code),
    )


def error_of_object(
    name: str, error: object, *, partial: str = "", secrets: Sequence[Secret] = ()
) -> ModelError:
    """The error that an `error` object in a 200 answer stands for: a dict, a text, anything."""
    told, code = _details({"error": error})
    status = _status(error)
    text = f"{name}: the provider failed while answering" + (
        f" ({code or status})" if code or status else ""
    )
    if told:
        text = f"{text}: {_clean(told, secrets)}"
    return ModelError(
        text,
        code=code or (f"http_{status}" if status else "provider_error"),
        status=status,
        partial=partial,
        retryable=is_retryable(status, code) or code in _MOMENTARY_CODES,
    )


_MOMENTARY_CODES: Final = frozenset(
    {"rate_limit_exceeded", "server_error", "overloaded_error", "network_error", "timeout", "error"}
)


def _parse(body: bytes) -> object:
    try:
        return cast("object", json.loads(body))
    except (ValueError, RecursionError):
        return None


def _details(answer: object) -> tuple[str, str]:
    """Message and code of the many shapes of error bodies."""
    if isinstance(answer, list) and answer:  # Gemini's endpoint wraps it in an array
        answer = cast("list[object]", answer)[0]
    if not isinstance(answer, dict):
        return "", ""
    fields = cast("dict[str, object]", answer)
    error = fields.get("error", fields)
    if isinstance(error, str):
        return error, ""
    if not isinstance(error, dict):
        return "", ""
    inner = cast("dict[str, object]", error)
    said = _first_text(inner, "message", "detail", "error")
    code = _first_text(inner, "code", "type")
    return said, "" if code.isdigit() else code[:LONGEST_CODE]


def _first_text(fields: dict[str, object], *keys: str) -> str:
    for key in keys:
        value = fields.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def _status(error: object) -> int | None:
    if not isinstance(error, dict):
        return None
    fields = cast("dict[str, object]", error)
    for key in ("code", "status", "status_code"):
        value = fields.get(key)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value[:4])
        if isinstance(value, int) and 100 <= value < 600:  # noqa: PLR2004
            return value
    return None


def _clean(text: str, secrets: Sequence[Secret]) -> str:
    flat = " ".join(redact(text, *secrets).split())
    return flat if len(flat) <= LONGEST_TEXT else f"{flat[:LONGEST_TEXT]}..."
