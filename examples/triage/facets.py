"""The four lenses through which a batch is looked at, in their fixed order."""

from typing import Protocol

from .digest import Digest
from .facet_concentration import Concentration
from .facet_novelty import Novelty
from .facet_severity import Severity
from .facet_volume import Volume
from .readings import Reading


class Facet(Protocol):
    """One lens. What it remembers is a fold of digests: `recall` them to know what it knew."""

    @property
    def name(self) -> str:
        """What the lens looks for."""
        ...

    def recall(self, digest: Digest) -> None:
        """Know what was known after this digest."""
        ...

    def read(self, digest: Digest) -> Reading:
        """Judge a batch, and remember it."""
        ...


def all_facets() -> tuple[Facet, ...]:
    """Return one of each, knowing nothing."""
    return Volume(), Novelty(), Severity(), Concentration()


__all__ = ["Concentration", "Facet", "Novelty", "Severity", "Volume", "all_facets"]
