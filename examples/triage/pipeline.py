"""The whole triage without actors: what tests and benchmarks run, and what the swarm must equal."""

from collections.abc import Iterable

from .board import Board
from .digest import Digest
from .facets import all_facets
from .facts import Fact, fact
from .observe import Observe
from .orient import Orientation, synthesize
from .report import Report, make_report
from .rules import Known, decide, known_after
from .sources import Source, SourceError
from .summary import Summing

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


def analyse(sources: Iterable[Source], *, batch_lines: int = 2000) -> Report:
    """Read all sources, taking turns, and report.

    Raises:
        SourceError: a source could not be read at all; one that breaks off later is reported.
    """
    lanes = [Lane(source, batch_lines=batch_lines) for source in sources]
    sums = {lane.source.name: Summing(lane.source.name) for lane in lanes}
    board = Board()
    waiting = list(lanes)
    while waiting:
        for lane in waiting:
            summing = sums[lane.source.name]
            try:
                digest, _, facts = lane.step()
            except SourceError as error:
                if not lane.observe.position.line:
                    raise
                summing.error = str(error)
                continue
            summing.add(digest)
            summing.decided(digest.number + 1)
            board.add(facts)
        waiting = [lane for lane in waiting if not lane.done and not sums[lane.source.name].error]
    for lane in lanes:
        lane.observe.close()
    return make_report(board, [summing.summary() for summing in sums.values()])
