"""What the house rules see of a source file: its imports, the names it uses, its words.

Only syntax is read and nothing is imported, so the rules hold for modules whose
libraries are not installed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import attrs

__all__ = ["ROOT", "Source", "Use", "read_sources"]

ROOT = Path(__file__).resolve().parents[2]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@attrs.frozen
class Use:
    """A dotted name that a file uses, such as `trio.sleep`; called, it is also `trio.sleep()`."""

    name: str
    line: int


@attrs.frozen
class Source:
    """One module: `place` is its path without the root's `runtime/boyd/` or `actors/boyd/`."""

    place: str
    tree: ast.Module

    @classmethod
    def parse(cls, place: str, text: str) -> Source:
        """The source in `text`, as if it stood at `place`, such as `runtime/wire.py`."""
        return cls(place, ast.parse(text, place))

    @property
    def layer(self) -> str:
        """Either `runtime` or `actors`."""
        return self.place.partition("/")[0]

    def imports(self) -> Iterator[Use]:
        """Every import, by its full name; of `from a import b` that is `a.b`."""
        for node in ast.walk(self.tree):
            match node:
                case ast.Import(names=names):
                    yield from (Use(alias.name, node.lineno) for alias in names)
                case ast.ImportFrom(names=names):
                    origin = self._origin(node)
                    yield from (Use(f"{origin}.{alias.name}", node.lineno) for alias in names)
                case _:
                    pass

    def uses(self) -> Iterator[Use]:
        """Every name that leads out of the file: imported, builtin, or an attribute of those."""
        known = {name.name.partition(".")[0]: name.name.partition(".")[0] for name in self._plain()}
        known |= dict(self._aliases())
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and (name := _dotted(node.func, known)):
                yield Use(f"{name}()", node.lineno)
            elif isinstance(node, ast.Name | ast.Attribute) and (name := _dotted(node, known)):
                yield Use(name, node.lineno)
        yield from self.imports()

    def words(self) -> Iterator[Use]:
        """The words, in lower case, that its names are made of: `HttpTool` is `http` and `tool`."""
        for node in ast.walk(self.tree):
            for field in ("name", "id", "attr", "arg"):
                text = getattr(node, field, None)
                if isinstance(text, str):
                    line = getattr(node, "lineno", 1)
                    yield from (Use(word.lower(), line) for word in _WORD.findall(text))

    def _plain(self) -> Iterator[ast.alias]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias for alias in node.names if alias.asname is None)

    def _aliases(self) -> Iterator[tuple[str, str]]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.asname, alias.name) for alias in node.names if alias.asname)
            elif isinstance(node, ast.ImportFrom):
                origin = self._origin(node)
                for alias in node.names:
                    yield alias.asname or alias.name, f"{origin}.{alias.name}"

    def _origin(self, node: ast.ImportFrom) -> str:
        """The absolute name of what a `from` clause names, relative or not."""
        if not node.level:
            return node.module or ""
        package = ["boyd", *Path(self.place).parts[:-1]]
        package = package[: len(package) - node.level + 1]
        return ".".join([*package, node.module] if node.module else package)


def _dotted(node: ast.expr, known: dict[str, str]) -> str:
    """`trio.to_thread` for that expression, whatever trio is called here; else empty."""
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value, known)
        return owner and f"{owner}.{node.attr}"
    if isinstance(node, ast.Name):
        builtin = node.id in ("eval", "exec", "compile", "__import__")
        return known.get(node.id, f"builtins.{node.id}" if builtin else "")
    return ""


@cache
def read_sources() -> tuple[Source, ...]:
    """Every module of both roots."""
    return tuple(
        Source.parse(path.relative_to(root).as_posix(), path.read_text("utf-8"))
        for root in (ROOT / "runtime/boyd", ROOT / "actors/boyd")
        for path in sorted(root.rglob("*.py"))
    )
