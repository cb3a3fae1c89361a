"""The four facets as phases of an OODA agent: async, and told their past again after a crash."""

from collections.abc import Callable

from .digest import Digest
from .facets import Facet
from .readings import Reading

__all__ = ["lens"]


def lens(kind: Callable[[], Facet]) -> type:
    """A phase that looks through one facet. What it remembers is a fold of the digests it has read."""

    class Lens:
        def __init__(self) -> None:
            self.facet = kind()

        def recall(self, digest: Digest, _reading: Reading) -> None:
            self.facet.recall(digest)

        async def __call__(self, digest: Digest) -> Reading:
            return self.facet.read(digest)

    Lens.__name__ = getattr(kind, "__name__", "lens")
    return Lens
