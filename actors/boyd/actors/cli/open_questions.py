"""The questions of a run and of the runs within it, numbered so that a person can name one."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from boyd.actors.cli.ledgers import family
from boyd.actors.tools.questions import Question, questions_of
from boyd.runtime import Ledger

__all__ = ["Numbered", "numbered_questions"]

_PAGE = 500


@attrs.frozen(kw_only=True)
class Numbered:
    """A question with its number, from 1 in the order of asking; answers do not change it."""

    number: int
    question: Question


async def numbered_questions(ledger: Ledger, thread: str) -> Sequence[Numbered]:
    """All questions of `thread` and of the threads below it, answered ones too."""
    found: list[tuple[float, str, int, Question]] = []
    for name in await family(ledger, thread):
        questions = {one.id: one for one in await questions_of(ledger, name)}
        if questions:
            found += [
                (at, name, seq, questions[id_])
                for at, seq, id_ in await _asked(ledger, name)
                if id_ in questions
            ]
    found.sort(key=lambda one: one[:3])
    return [Numbered(number=n, question=one[3]) for n, one in enumerate(found, 1)]


async def _asked(ledger: Ledger, thread: str) -> Sequence[tuple[float, int, str]]:
    """When and where each question was put."""
    found: list[tuple[float, int, str]] = []
    after = 0
    while True:
        page = await ledger.read(thread, after=after, limit=_PAGE, kinds=("boyd.asked",))
        found += [(entry.at, entry.seq, entry.id.removesuffix("#asked")) for entry in page]
        if len(page) < _PAGE:
            return found
        after = page[-1].seq
