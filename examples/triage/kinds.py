"""Kinds of lines: all lines that differ only in masked parts share what is known of them."""

import re

from . import words
from .entities import Plan, plan
from .levels import leading
from .masks import Masks
from .templates import MAX_TOKENS, Leaf, Templates, Tokens

Key = tuple[str, str, Tokens]
_LIMIT = 5_000
_COLUMNS = 64
_CHANGE = re.compile(
    r"(?<!user )(?<!for )(?<!user=)\b(?:deploy(?:ed|ing|ment)?|releas(?:ed?|ing)"
    r"|roll(?:ed|ing)?[ -]?(?:out|back)|upgrad(?:ed?|ing)"
    r"|restart(?:ed|ing)?|reload(?:ed|ing)?|reboot(?:ed|ing)?|migrat(?:ed|ing|ion)|new version"
    r"|config\w* (?:changed|updated|reloaded)|feature flag|linux version|scal(?:ed|ing) (?:up|down)"
    r"|status installed|shut(?:ting)? ?down)\b"
)


class Kind:
    """What lines with the same unit, level and masked tokens have in common."""

    __slots__ = ("change", "cluster", "leaf", "level", "plan", "trouble", "version")

    def __init__(self, level: str, trouble: words.Trouble, found: Plan, *, change: bool) -> None:
        """Keep what does not change; the cluster is set as often as it is mined."""
        self.level = level
        self.trouble = trouble
        self.plan = found
        self.change = change
        self.cluster = 0
        self.leaf: Leaf | None = None
        self.version = -1


class Kinds:
    """Finds the kind of a line, and mines its template. The memory it keeps only saves time."""

    def __init__(self, templates: Templates) -> None:
        """Mine into `templates`."""
        self._templates = templates
        self._masks = Masks()
        self._known: dict[Key, Kind] = {}

    def of(self, unit: str, level: str, message: str) -> tuple[Kind, list[str]]:
        """Return the kind of a line, its cluster up to date, and the tokens of its message."""
        tokens = message.split(None, _COLUMNS)
        if len(tokens) > _COLUMNS:
            del tokens[_COLUMNS:]
        key = (unit, level, tuple(map(self._masks.__getitem__, tokens)))
        kind = self._known.get(key)
        if kind is None:
            kind = self._make(key)
        leaf = kind.leaf
        if leaf is None or leaf.version != kind.version:
            masked = key[2][:MAX_TOKENS]
            kind.cluster, kind.leaf = self._templates.mine(unit, masked)
            kind.version = kind.leaf.version if kind.leaf else -1
        return kind, tokens

    def _make(self, key: Key) -> Kind:
        if len(self._known) >= _LIMIT:
            self._known.clear()
        _, given, masked = key
        text = " ".join(masked)
        level = given or leading(text)
        trouble = words.assess(text, level)
        change = not trouble.failing and _CHANGE.search(text.lower()) is not None
        kind = Kind(level, trouble, plan(masked), change=change)
        self._known[key] = kind
        return kind
