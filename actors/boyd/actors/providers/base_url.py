"""Whether what a person gave as the address of a server is one, before anything is sent there."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from boyd.actors.providers.errors import ModelError

__all__ = ["check_base_url"]

_LONGEST: Final = 100
_UNWRITABLE: Final = re.compile(r"[\s\x00-\x1f\x7f]")


def check_base_url(name: str, base_url: str) -> None:
    """Refuse an address that no request can go to.

    Args:
        name: of the model, for the error.

    Raises:
        ModelError: it is no http or https address, has no host or none that can be looked up, or a space in it.
    """
    fault = _fault_of(base_url.strip())
    if fault:
        raise ModelError(
            f"{name}: the base URL {_shown(base_url)!r} {fault}; "
            "one looks like http://localhost:8000/v1 or https://models.example.org/v1",
            code="bad_url",
        )


def _fault_of(url: str) -> str:
    """What is wrong with it; nothing if a request could be tried."""
    if not url:
        return "is empty"
    if _UNWRITABLE.search(url):
        return "has a space or a control character in it"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "has no legible host and port"
    if parts.scheme not in ("http", "https") or not url[len(parts.scheme) :].startswith("://"):
        return "does not begin with http:// or https://"
    host = parts.hostname or ""
    if not _is_host(host):
        return "names no host that can be looked up" if host else "names no host"
    return "has port 0" if port == 0 else ""


def _is_host(name: str) -> bool:
    """Whether it can be looked up: labels of 1 to 63 bytes (RFC 1035, 2.3.4)."""
    try:
        return bool(name.encode("idna"))
    except UnicodeError:
        return False


def _shown(url: str) -> str:
    """As it was typed, but for user, password and query, which may be secrets."""
    before, _, shown = url.partition("?")[0].rpartition("@")
    if before:
        scheme, slashes, _ = before.partition("//")
        shown = f"{scheme}//{shown}" if slashes else shown
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
