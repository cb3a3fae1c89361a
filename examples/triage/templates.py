"""Templates of log messages: lines that differ only in their parameters become one.

The algorithm is Drain: P. He, J. Zhu, Z. Zheng and M. R. Lyu, "Drain: An Online Log Parsing
Approach with Fixed Depth Tree", ICWS 2017, pages 33-40. A message walks down a tree of fixed
depth (its unit, its number of tokens, its first token) to a leaf with few clusters; there it
joins the most similar one, whose template keeps the tokens that agree, or founds a new one.

Differences from the paper, in our words:

- A tree of fixed depth is kept as a dictionary from paths to leaves.
- A message that a template already fits is a member, however many wildcards there are; else it
  joins only when few tokens differ: none of up to three, and about a third of long messages.
- A word that tells failure from success is never generalised, so `link up` and `link down` or
  `failed` and `accepted` stay apart.
- Clusters are bounded in number. When the table is full, strangers go to one common cluster.

The state is a fold: `Templates.changes()` returns the clusters that changed since the last call,
and `recall` applies them, so that a restarted miner knows exactly what it knew.
"""

from collections.abc import Iterable
from operator import eq

import attrs

from .words import is_telling

WILD = "<*>"
MAX_TOKENS = 40
MAX_CLUSTERS = 1_500
_MAX_CHILDREN = 60
_MAX_LEAF = 60
_MAX_NEW = 400

Tokens = tuple[str, ...]
_Path = tuple[str, int, str]


@attrs.frozen(kw_only=True)
class Change:
    """A cluster's tokens, as they are after a batch. The first token is the unit."""

    id: int
    tokens: Tokens


@attrs.frozen(kw_only=True)
class Template:
    """A cluster as a person reads it."""

    id: int
    unit: str
    text: str


class Leaf:
    """Clusters that share a path, with how many wildcards each has. Every change is a version."""

    __slots__ = ("rows", "version")

    def __init__(self) -> None:
        """Begin empty."""
        self.rows: dict[int, tuple[Tokens, int]] = {}
        self.version = 0

    def put(self, cluster: int, tokens: Tokens) -> None:
        """Add a cluster, or change it; its place among the others stays."""
        self.rows[cluster] = tokens, tokens.count(WILD)
        self.version += 1

    def find(self, tokens: Tokens, allowed: int) -> int:
        """Return the cluster that suits a message best, or 0 when none does.

        One that fits as it is comes before any that would have to change; then the number of
        equal tokens counts, then age.
        """
        size = len(tokens)
        best, rank = 0, -1
        for cluster, (known, wild) in self.rows.items():
            likeness: int = sum(map(eq, known, tokens))
            differing = size - likeness
            if differing == wild:
                likeness += MAX_TOKENS
            elif differing > allowed:
                continue
            if likeness > rank and (differing == wild or not _tells_apart(known, tokens)):
                best, rank = cluster, likeness
        return best


class Templates:
    """Mines messages of one source. Deterministic: the same messages give the same clusters."""

    def __init__(self, *, max_clusters: int = MAX_CLUSTERS) -> None:
        """Begin with no clusters, except the common one (0) for what no longer fits in."""
        self._max = max_clusters
        self._clusters: dict[int, Tokens] = {0: ("", WILD)}
        self._leaves: dict[_Path, Leaf] = {}
        self._homes: dict[int, Leaf] = {}
        self._children: dict[tuple[str, int], set[str]] = {}
        self._changed: dict[int, None] = {}
        self._new = 0

    def __len__(self) -> int:
        """Return the number of clusters."""
        return len(self._clusters)

    def template(self, cluster: int) -> Template:
        """Return a cluster's template."""
        unit, *tokens = self._clusters[cluster]
        text = "(other messages)" if cluster == 0 else " ".join(tokens)
        return Template(id=cluster, unit=unit, text=text)

    def mine(self, unit: str, tokens: Tokens) -> tuple[int, Leaf | None]:
        """Return the cluster of a message, found or founded, and the leaf it lives in.

        As long as the leaf's version stays, the same message belongs to the same cluster. The
        common cluster has no leaf: a message that landed there must be mined again.
        """
        tokens = tokens[:MAX_TOKENS]
        path = self._path(unit, tokens)
        leaf = self._leaves.get(path)
        best = 0
        if leaf is not None:
            crowded = len(leaf.rows) >= _MAX_LEAF
            best = leaf.find(tokens, _allowed(len(tokens), crowded=crowded))
        if leaf is None or not best:
            return self._found(unit, tokens, path)
        self._generalise(best, tokens, leaf)
        return best, leaf

    def changes(self) -> tuple[Change, ...]:
        """Return the clusters that changed since the last call, by id, and begin a new batch."""
        changed = tuple(
            Change(id=cluster, tokens=self._clusters[cluster]) for cluster in sorted(self._changed)
        )
        self._changed.clear()
        self._new = 0
        return changed

    def recall(self, changes: Iterable[Change]) -> None:
        """Apply the changes that a miner reported after one batch."""
        for change in changes:
            unit, tokens = change.tokens[0], change.tokens[1:]
            if change.id not in self._clusters:
                path = self._path(unit, tokens)
                self._homes[change.id] = self._leaves.setdefault(path, Leaf())
                self._remember(path)
            self._clusters[change.id] = change.tokens
            self._homes[change.id].put(change.id, tokens)

    def state(self) -> tuple[Change, ...]:
        """Return all clusters, as changes that would rebuild this miner."""
        return tuple(
            Change(id=cluster, tokens=tokens)
            for cluster, tokens in sorted(self._clusters.items())
            if cluster
        )

    def _path(self, unit: str, tokens: Tokens) -> _Path:
        first = tokens[0] if tokens else ""
        if "<" in first:
            return unit, len(tokens), WILD
        children = self._children.get((unit, len(tokens)))
        if children and first not in children and len(children) >= _MAX_CHILDREN:
            return unit, len(tokens), WILD
        return unit, len(tokens), first

    def _remember(self, path: _Path) -> None:
        if path[2] != WILD:
            self._children.setdefault(path[:2], set()).add(path[2])

    def _found(self, unit: str, tokens: Tokens, path: _Path) -> tuple[int, Leaf | None]:
        leaf = self._leaves.get(path)
        crowded = leaf is not None and len(leaf.rows) >= _MAX_LEAF
        if crowded or len(self._clusters) >= self._max or self._new >= _MAX_NEW:
            return 0, None
        if leaf is None:
            leaf = self._leaves[path] = Leaf()
        self._new += 1
        cluster = len(self._clusters)
        self._clusters[cluster] = (unit, *tokens)
        self._remember(path)
        self._homes[cluster] = leaf
        leaf.put(cluster, tokens)
        self._changed[cluster] = None
        return cluster, leaf

    def _generalise(self, cluster: int, tokens: Tokens, leaf: Leaf) -> None:
        known = self._clusters[cluster]
        merged = tuple(
            old if old == new else WILD for old, new in zip(known[1:], tokens, strict=True)
        )
        if merged != known[1:]:
            self._clusters[cluster] = (known[0], *merged)
            leaf.put(cluster, merged)
            self._changed[cluster] = None


def _tells_apart(known: Tokens, tokens: Tokens) -> bool:
    """Tell whether a word in which they differ says that something failed, or went well."""
    return any(
        old not in (new, WILD) and (is_telling(old) or is_telling(new))
        for old, new in zip(known, tokens, strict=True)
    )


def _allowed(size: int, *, crowded: bool) -> int:
    """Return how many tokens of a message may vary; more where a leaf has no room for another."""
    if crowded:
        return size // 2 + 1
    if size <= 3:
        return 0
    return 1 if size <= 5 else (size + 1) // 3
