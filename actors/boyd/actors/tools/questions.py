"""Questions to people, in the ledger: asked, answered, carried out.

A question's id names its thread and its place there, so that an answer can
come from anywhere: the run's reader, another process, next week.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import attrs

from boyd.actors.conversation.artifacts import ToolResult
from boyd.actors.events import Approve, Pending, Reject
from boyd.runtime import ANY, BoydError, Entry, IdConflict, Lease, Ledger, failure, message

__all__ = [
    "Answer",
    "Answered",
    "Asked",
    "CarriedOut",
    "Question",
    "UnknownQuestion",
    "find_question",
    "pending_in",
    "place_of",
    "question_id",
    "questions_of",
    "record_answer",
    "record_result",
    "thread_of",
]

Answer: TypeAlias = Approve | Reject

_SEPARATOR = "!"


@failure("boyd.UnknownQuestion")
class UnknownQuestion(BoydError, LookupError):
    """No thread has asked this."""


def question_id(thread: str, place: str) -> str:
    """The id of the question that a run of `thread` asks at `place`."""
    return f"{thread}{_SEPARATOR}{place}"


def thread_of(question: str) -> str:
    """The thread that a question stands in."""
    return question.rpartition(_SEPARATOR)[0]


def place_of(question: str) -> str:
    """The place in its thread that a question was asked at: the journal's key of the call that it is about."""
    return question.rpartition(_SEPARATOR)[2]


@message("boyd.asked")
class Asked:
    """A question was put.

    Attributes:
        tool: path of the actor that carries out an approved call.
        waits: the run stands still until it is answered; else an approval carries the call out at once.
        board: the shared thread of the swarm that the asker belongs to, or "".
    """

    pending: Pending
    tool: str = ""
    waits: bool = False
    board: str = ""


@message("boyd.answered")
class Answered:
    """A question was answered, once and for all."""

    question: str
    answer: Answer


@message("boyd.carried_out")
class CarriedOut:
    """An approved call was made, after the run had gone on without it."""

    question: str
    result: ToolResult


@attrs.frozen(kw_only=True)
class Question:
    """A question with what has become of it."""

    asked: Asked
    answer: Answer | None = None
    result: ToolResult | None = None

    @property
    def id(self) -> str:
        return self.asked.pending.id

    @property
    def is_open(self) -> bool:
        """Nobody has answered yet."""
        return self.answer is None

    @property
    def is_due(self) -> bool:
        """The run has passed the call by, it was approved since, and nobody has made it."""
        return not self.asked.waits and isinstance(self.answer, Approve) and self.result is None


_PAGE = 500


async def questions_of(ledger: Ledger, thread: str) -> Sequence[Question]:
    """All questions of a thread, in the order in which they were asked."""
    found: dict[str, Question] = {}
    after = 0
    while True:
        page = await ledger.read(
            thread,
            after=after,
            limit=_PAGE,
            kinds=("boyd.asked", "boyd.answered", "boyd.carried_out"),
        )
        for entry in page:
            match entry.message():
                case Asked() as asked:
                    found[asked.pending.id] = Question(asked=asked)
                case Answered(question=question, answer=answer) if question in found:
                    found[question] = attrs.evolve(found[question], answer=answer)
                case CarriedOut(question=question, result=result) if question in found:
                    found[question] = attrs.evolve(found[question], result=result)
                case _:
                    pass
        if len(page) < _PAGE:
            return tuple(found.values())
        after = page[-1].seq


async def pending_in(ledger: Ledger, thread: str) -> tuple[Pending, ...]:
    """The questions of a thread that nobody has answered."""
    return tuple(one.asked.pending for one in await questions_of(ledger, thread) if one.is_open)


async def find_question(ledger: Ledger, question: str) -> Question:
    """What has become of a question. Raises UnknownQuestion."""
    for one in await questions_of(ledger, thread_of(question)) if thread_of(question) else ():
        if one.id == question:
            return one
    raise UnknownQuestion(f"nobody has asked {question!r}")


async def record_answer(
    ledger: Ledger, question: Question, answer: Answer, lease: Lease | None
) -> bool:
    """Write the answer down, unless there is one. Whoever waits for it reads it in the ledger."""
    if not question.is_open:
        return False
    answered = Answered(question=question.id, answer=answer)
    entry = Entry.of(answered, id=f"{question.id}#answer")
    try:
        await ledger.append(thread_of(question.id), [entry], after=ANY, lease=lease)
    except IdConflict:
        return False  # somebody else was quicker, and thinks otherwise
    return True


async def record_result(
    ledger: Ledger, question: Question, result: ToolResult, lease: Lease | None
) -> None:
    """Write down what came of an approved call that its run had passed by; once."""
    done = CarriedOut(question=question.id, result=result)
    entry = Entry.of(done, id=f"{question.id}#carried_out")
    try:
        await ledger.append(thread_of(question.id), [entry], after=ANY, lease=lease)
    except IdConflict:
        return
