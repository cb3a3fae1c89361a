"""Which fragments make one tool call: pure, and trusting none of them.

Servers leave the index out, count it per chunk or give one to two calls;
repeat ids, change or omit them; send a name whole every time, in pieces, or
blank (cases B01 and B04 and their kind). So each fragment is placed by what
its call has so far: a call whose arguments are a whole JSON object is over.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

import attrs

from boyd.actors.conversation.artifacts import ToolCallDelta

__all__ = ["CallAssembly", "OpenCall", "assemble_name"]


@attrs.define(eq=False)
class OpenCall:
    """A call that may still grow."""

    index: int | None
    id: str = ""
    names: list[str] = attrs.field(factory=list[str])
    pieces: list[str] = attrs.field(factory=list[str])

    @property
    def arguments(self) -> str:
        """The raw text so far."""
        return "".join(self.pieces)

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are a JSON object already, so that more would spoil them."""
        text = self.arguments.strip()
        if not (text.startswith("{") and text.endswith("}")):
            return False
        try:
            return isinstance(json.loads(text), dict)
        except (ValueError, RecursionError):
            return False

    @property
    def is_phantom(self) -> bool:
        """Nothing was ever said in it."""
        return not (self.id or self.names or self.arguments.strip())


class CallAssembly:
    """The calls of one turn, in the order in which they began.

    Args:
        tools: the names of registered tools, which settle what a name in pieces means.
    """

    def __init__(self, tools: Collection[str] = ()) -> None:
        self._tools = frozenset(tools)
        self._calls: list[OpenCall] = []

    def add(self, delta: ToolCallDelta) -> OpenCall:
        """The call that `delta` belongs to, which now holds it."""
        call = self._find(delta)
        if call is None:
            call = OpenCall(delta.index)
            self._calls.append(call)
        if call.index is None:
            call.index = delta.index
        if delta.id:
            call.id = delta.id
        if delta.name.strip():
            call.names.append(delta.name.strip())
        call.pieces.append(delta.arguments)
        return call

    def name_of(self, call: OpenCall) -> str:
        """The name of the tool that `call` asks for."""
        return assemble_name(call.names, self._tools)

    def _find(self, delta: ToolCallDelta) -> OpenCall | None:
        if delta.id:
            return self._find_by_id(delta)
        there = self._at(delta.index)
        if there is None and delta.index is not None and delta.name.strip():
            return None
        if there is None and self._calls:
            there = self._calls[-1]
        return None if there is None or self._begins_anew(there, delta) else there

    def _find_by_id(self, delta: ToolCallDelta) -> OpenCall | None:
        same_id = next((call for call in reversed(self._calls) if call.id == delta.id), None)
        if same_id is not None:
            return None if self._begins_anew(same_id, delta) else same_id
        there = self._at(delta.index)
        if there is None or self._begins_anew(there, delta):
            return None
        if not there.id or not delta.name.strip():
            return there  # the id comes late, or a fragment carries a fresh one
        in_the_middle = there.arguments.strip() and not delta.arguments.lstrip().startswith("{")
        same_name = self.name_of(there) == delta.name.strip()
        return there if same_name and in_the_middle else None

    def _at(self, index: int | None) -> OpenCall | None:
        if index is None:
            return None
        for call in reversed(self._calls):
            if call.index == index:
                return call
        if 0 <= index < len(self._calls) and self._calls[index].index is None:
            return self._calls[index]
        return None

    def _begins_anew(self, call: OpenCall, delta: ToolCallDelta) -> bool:
        name = delta.name.strip()
        if not name:
            return False
        known = self.name_of(call)
        if {name, known} <= self._tools and not name.startswith(known):
            return True
        return bool(delta.arguments.strip()) and call.is_whole


def assemble_name(pieces: Sequence[str], tools: Collection[str] = ()) -> str:
    """The name that `pieces` spell: one of `tools` if they can be read so.

    Equal repeats count once; a piece that begins with all so far replaces it;
    other pieces are joined.
    """
    if not pieces:
        return ""
    spelt = ""
    for piece in pieces:
        if not spelt or (piece.startswith(spelt) and piece != spelt):
            spelt = piece
        elif piece != spelt:
            spelt += piece
    candidates = (spelt, "".join(pieces), pieces[-1], pieces[0])
    return next((name for name in candidates if name in tools), spelt)
