"""The whole triage without actors: what tests and benchmarks run, and what the swarm must equal."""

from collections.abc import Iterable

from .digest import Digest
from .facets import all_facets
from .facts import Fact, fact
from .incidents import Board
from .observe import Observe
from .orient import Orientation, synthesize
from .rules import Known, decide, known_after
from .sources import Source

RULES = "rules"


class Lane:
    """The cycle of one source: observe, orient, decide. `recall` replays what was recorded."""

    def __init__(self, source: Source, *, batch_lines: int = 2000) -> None:
        """Begin at the first line."""
        self.source = source
        self.observe = Observe(source, batch_lines=batch_lines)
        self.facets = all_facets()
        self.known = Known()

    @property
    def done(self) -> bool:
        """Whether the source was read to its end."""
        return self.observe.done

    def recall(self, digest: Digest, facts: Iterable[Fact]) -> None:
        """Know what was known after this batch."""
        self.observe.recall(digest)
        for facet in self.facets:
            facet.recall(digest)
        self.known = known_after(self.known, facts)

    def step(self) -> tuple[Digest, Orientation, tuple[Fact, ...]]:
        """Do one cycle."""
        digest = self.observe.next()
        orientation = synthesize(digest, [facet.read(digest) for facet in self.facets])
        facts = tuple(
            fact(orientation, action, by=RULES) for action in decide(orientation, self.known)
        )
        self.known = known_after(self.known, facts)
        return digest, orientation, facts
