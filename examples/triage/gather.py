"""Everything that a swarm has found out, read from the ledger: facts, digests, questions, failures.

A `Gathering` can be brought up to date again and again while the swarm works; each time only
what is new is read. What it comes to depends on what stands in the ledger, not on the order in
which the scouts came to it.
"""

from collections.abc import Mapping
from typing import Final

import attrs

from boyd.actors import MemberFinished, Question, SwarmStarted, questions_of, read_products
from boyd.runtime import Ledger

from .actions import Blocked, Noted
from .digest import Digest
from .facts import Action, Fact
from .incidents import Board, Incident
from .report import Report, make_report
from .summary import SourceSummary, Summing

LEAD: Final = "lead"


@attrs.frozen(kw_only=True)
class Sight:
    """What can be seen from above: incidents and sources, without their evidence and curves."""

    incidents: tuple[Incident, ...]
    sources: tuple[SourceSummary, ...]
    complete: bool


class Gathering:
    """What stands in a swarm's thread and in those of its members, folded."""

    def __init__(self, ledger: Ledger, thread: str) -> None:
        """Begin with nothing read."""
        self.ledger = ledger
        self.thread = thread
        self.seq = 0
        self.members: tuple[str, ...] = ()
        self.finished: dict[str, str] = {}
        self.blocked: set[str] = set()
        self._board = Board()
        self._sums: dict[str, Summing] = {}
        self._read: dict[str, int] = {}

    @property
    def complete(self) -> bool:
        """Whether every member has come to its end."""
        return bool(self.members) and set(self.members) <= self.finished.keys()

    async def update(self) -> None:
        """Read what is new."""
        await self._read_shared()
        for member in self.members:
            await self._read_member(member)

    async def report(self) -> Report:
        """What was found out so far, with the questions that stand open."""
        board = Board()
        board.add(self._board.facts())
        deciders = {fact.source: fact.by for fact in self._board.facts()}
        for member, summing in self._sums.items():
            for question in await questions_of(self.ledger, f"{self.thread}/{member}"):
                if (asked := _proposal(question, summing.name, deciders)) is not None:
                    board.add([asked])
            summing.error = self.finished.get(member, "")
        return make_report(board, [summing.summary() for summing in self._sums.values()])

    async def sight(self) -> Sight:
        """The report as a lead looks at it: small, whatever the size of the logs."""
        report = await self.report()
        subjects = {incident.subject for incident in report.incidents}
        return Sight(
            incidents=tuple(_bare(incident) for incident in report.incidents),
            sources=tuple(
                attrs.evolve(
                    s, volumes=(), usual=(), seen=tuple(x for x in s.seen if x.name in subjects)
                )
                for s in report.sources
            ),
            complete=self.complete,
        )

    async def _read_shared(self) -> None:
        while entries := await self.ledger.read(self.thread, after=self.seq, limit=500):
            for entry in entries:
                match entry.message():
                    case SwarmStarted(members=members):
                        self.members = members
                    case Noted(fact=fact):
                        self._board.add([fact])
                    case Blocked(address=address):
                        self.blocked.add(address)
                    case MemberFinished(member=member, failure=failure) if member != LEAD:
                        self.finished[member] = failure.message if failure else ""
                    case _:
                        pass
            self.seq = entries[-1].seq

    async def _read_member(self, member: str) -> None:
        thread, after = f"{self.thread}/{member}", self._read.get(member, 0)
        summing = self._sums.setdefault(member, Summing(member))
        while True:
            products, read = await read_products(
                self.ledger, thread, "observe", Digest, after=after
            )
            for product in products:
                summing.name = product.value.source
                summing.add(product.value)
            if read == after:
                break
            after = read
        self._read[member] = after


def _bare(incident: Incident) -> Incident:
    evidence = attrs.evolve(incident.evidence, spots=(), marks=())
    return attrs.evolve(incident, evidence=evidence, said=(), decided=(), points=())


def _proposal(question: Question, source: str, deciders: Mapping[str, str]) -> Fact | None:
    """An open proposal to block an address, as a fact for the report; None for anything else."""
    call = question.asked.pending.call
    if call is None or call.tool != "propose_block" or not question.is_open:
        return None
    address = str(call.arguments.get("address", ""))
    incident = str(call.arguments.get("incident", "")) or f"address:{address}"
    why = str(call.arguments.get("why", ""))
    action = Action(
        what="propose_block", key=f"address:{address}", incident=incident, why=why, address=address
    )
    return Fact(
        source=source, number=1 << 30, line=0, action=action, by=deciders.get(source, "rules")
    )


async def gather(ledger: Ledger, thread: str) -> Report:
    """The report of a thread as it stands now."""
    gathering = Gathering(ledger, thread)
    await gathering.update()
    return await gathering.report()
