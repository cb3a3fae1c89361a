"""Everything that a swarm has found out, read from the ledger: facts, digests, questions, failures.

A `Gathering` can be brought up to date again and again while the swarm works; each time only
what is new is read. What it comes to depends on what stands in the ledger, not on the order in
which the scouts came to it.
"""

from typing import Final

import attrs

from boyd.actors import (
    ActionResult,
    Decision,
    MemberFinished,
    MemberRestarted,
    Product,
    Question,
    SwarmStarted,
    questions_of,
    read_products,
)
from boyd.runtime import Ledger

from .actions import Blocked, Noted, actions_of
from .board import Board
from .digest import Digest
from .facts import Action, Fact
from .incidents import Incident
from .report import Report, make_report
from .summary import SourceSummary, Summing

LEAD: Final = "lead"
_PHASES: Final = {"observe": Digest, "decide": Decision, "act": tuple[ActionResult, ...]}


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
        self._proposed: dict[tuple[str, str], int] = {}
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
        proposed: list[Fact] = []
        for member, summing in self._sums.items():
            for question in await questions_of(self.ledger, f"{self.thread}/{member}"):
                address = _address_of(question)
                if address:
                    number = self._proposed.get((member, address), 0)
                    proposed.append(_proposal(question, address, summing.name, number, self._board))
            summing.error = self.finished.get(member, "")
        summaries = [summing.summary() for summing in self._sums.values()]
        return make_report(self._board, summaries, proposed=proposed)

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
                    case MemberRestarted(member=member):
                        self.finished.pop(member, None)
                    case _:
                        pass
            self.seq = entries[-1].seq

    async def _read_member(self, member: str) -> None:
        summing = self._sums.setdefault(member, Summing(member.removeprefix("scout-")))
        while True:
            after = self._read.get(member, 0)
            products, read = await read_products(
                self.ledger, f"{self.thread}/{member}", _PHASES, after=after
            )
            for product in products:
                self._saw(member, summing, product)
            if read == after:
                return
            self._read[member] = read

    def _saw(self, member: str, summing: Summing, product: Product) -> None:
        """What a phase of a member has made."""
        match product.value:
            case Digest() as digest:
                summing.name = digest.source
                summing.add(digest)
            case Decision() as decision:
                summing.decided(product.cycle)
                for action in actions_of(decision):
                    if action.what == "propose_block":
                        self._proposed.setdefault((member, action.address), product.cycle - 1)
            case results:
                summing.acted(results)


def _bare(incident: Incident) -> Incident:
    evidence = attrs.evolve(incident.evidence, spots=(), marks=())
    return attrs.evolve(incident, evidence=evidence, said=(), decided=(), points=())


def _address_of(question: Question) -> str:
    """The address that an open question proposes to block; empty for any other question."""
    call = question.asked.pending.call
    if call is None or call.tool != "propose_block" or not question.is_open:
        return ""
    return str(call.arguments.get("address", ""))


def _proposal(question: Question, address: str, source: str, number: int, board: Board) -> Fact:
    """An open proposal as a fact for the report, at the line of the evidence that it rests on."""
    call = question.asked.pending.call
    assert call is not None, "only calls are proposals"
    key = f"address:{address}"
    about = [fact for fact in board.facts() if fact.source == source and fact.action.key == key]
    rests_on = next((fact for fact in about if fact.number >= number), None)
    action = Action(
        what="propose_block",
        key=key,
        incident=str(call.arguments.get("incident", "")) or key,
        why=str(call.arguments.get("why", "")),
        address=address,
    )
    return Fact(
        source=source,
        number=number,
        line=rests_on.line if rests_on else 1,
        action=action,
        by=rests_on.by if rests_on else "rules",
    )


async def gather(ledger: Ledger, thread: str) -> Report:
    """The report of a thread as it stands now."""
    gathering = Gathering(ledger, thread)
    await gathering.update()
    return await gathering.report()
