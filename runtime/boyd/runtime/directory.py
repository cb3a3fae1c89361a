"""The addresses of a system: who is alive, by path."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from boyd.runtime.cell import Cell
from boyd.runtime.errors import NameTaken, UnknownActor
from boyd.runtime.incarnation import Incarnation
from boyd.runtime.names import child_path
from boyd.runtime.post import Post

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Directory"]


class Directory:
    """Cells and inboxes by path, and the actors at the top.

    Attributes:
        top: actors without a parent by name, in start order.
    """

    def __init__(self) -> None:
        self.top: dict[str, Cell] = {}
        self._posts: dict[str, Post] = {}
        self._incarnations = itertools.count(1)

    def __iter__(self) -> Iterator[Post]:
        return iter(tuple(self._posts.values()))

    def next_incarnation(self) -> int:
        """A number that no other incarnation in this system has."""
        return next(self._incarnations)

    def free_path(self, parent: Incarnation | None, name: str) -> str:
        """The path of a new child of `parent`. Raises NameTaken."""
        path = child_path("" if parent is None else parent.path, name)
        if name in self._siblings(parent):
            raise NameTaken(f"{path} is alive already")
        return path

    def _siblings(self, parent: Incarnation | None) -> dict[str, Cell]:
        return self.top if parent is None else parent.children

    def add_cell(self, cell: Cell) -> None:
        """It is alive, below its parent."""
        self._siblings(cell.parent)[cell.name] = cell
        self._posts[cell.path] = cell

    def add_post(self, post: Post) -> None:
        """It can be reached."""
        self._posts[post.path] = post

    def forget(self, post: Post) -> None:
        """Its path is free again."""
        if self._posts.get(post.path) is post:
            del self._posts[post.path]
        if isinstance(post, Cell) and self._siblings(post.parent).get(post.name) is post:
            del self._siblings(post.parent)[post.name]

    def cell(self, path: str) -> Cell:
        """The living actor at `path`. Raises UnknownActor."""
        post = self._posts.get(path)
        if not isinstance(post, Cell):
            raise UnknownActor(f"no living actor at {path}")
        return post

    def post(self, path: str, incarnation: int) -> Post | None:
        """What a ref points at, while it lives."""
        post = self._posts.get(path)
        return post if post is not None and post.incarnation == incarnation else None

    def paths(self) -> tuple[str, ...]:
        """Of all living actors."""
        return tuple(path for path, post in self._posts.items() if isinstance(post, Cell))
