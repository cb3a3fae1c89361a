"""Caps on a run, and the account of what it has used.

The rule for what cannot be measured: a cap on money needs a price for the
model, and a cap on money or tokens needs a provider that reports usage. Where
either is missing the run ends with a sentence that says so; nothing is
guessed. With no such cap set, unknown stays unknown and stops nobody.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import trio

from boyd.actors.conversation.artifacts import Usage
from boyd.actors.plural import counted, noun_for
from boyd.actors.prices import LIST_PRICES, Prices
from boyd.runtime.errors import BoydError
from boyd.runtime.failure import failure

__all__ = ["Budget", "BudgetExceeded", "Spending", "Used", "exceeded"]


@failure("boyd.BudgetExceeded")
class BudgetExceeded(BoydError, RuntimeError):
    """A cap was reached. What was done up to it stands.

    Attributes:
        cap: the name of the cap: seconds, steps, tokens, money or calls.
        limit: its value.
        used: what the run had used, or would have used with what it asked for.
    """

    def __init__(self, *, cap: str, limit: float, used: float | None, why: str = "") -> None:
        super().__init__(
            why or f"the cap of {_said(cap, limit)} is reached ({_said(cap, used or 0)} used)"
        )
        self.cap = cap
        self.limit = limit
        self.used = used
        self.code = f"budget_{cap}"


def _said(cap: str, figure: float) -> str:
    if cap == "money":
        return f"${figure:.4f}"
    return f"{figure:,.10g} {noun_for(figure, cap)}"


@attrs.frozen(kw_only=True)
class Budget:
    """How much a run may use. None is no cap.

    Attributes:
        seconds: from the start of the run.
        steps: requests to a model.
        tokens: input and output together.
        money: US dollars.
        calls: tool calls.
    """

    seconds: float | None = None
    steps: int | None = 50
    tokens: int | None = None
    money: float | None = None
    calls: int | None = 500


@attrs.frozen(kw_only=True)
class Used:
    """What a run has used so far.

    Attributes:
        unmetered: steps whose provider reported no tokens, or that have no price.
    """

    seconds: float = 0.0
    steps: int = 0
    tokens: int = 0
    money: float = 0.0
    calls: int = 0
    unmetered: int = 0


def exceeded(budget: Budget, used: Used) -> BudgetExceeded | None:
    """The first cap that `used` is over, or None.

    Steps and calls count what is about to happen, so a cap of 3 allows 3.
    Time, tokens and money are only known afterwards: at the cap is over it.
    """
    for cap, over_at_limit in _CAPS:
        limit: float | None = getattr(budget, cap)
        figure: float = getattr(used, cap)
        if limit is not None and (figure > limit or (over_at_limit and figure >= limit)):
            return BudgetExceeded(cap=cap, limit=limit, used=figure)
    for cap in ("money", "tokens"):
        limit = getattr(budget, cap)
        if limit is not None and used.unmetered:
            why = (
                f"the cap of {_said(cap, limit)} cannot be kept: "
                f"{used.unmetered} of {counted(used.steps, 'replies')} came without usage figures"
            )
            return BudgetExceeded(cap=cap, limit=limit, used=None, why=why)
    return None


_CAPS = (("seconds", True), ("steps", False), ("tokens", True), ("money", True), ("calls", False))


class Spending:
    """The account of one run against its budget, and against the budget that it runs under.

    Everything here is synchronous: between a check and the entry that it
    allows nobody else runs, so parallel callers cannot share the last step.

    Args:
        parent: an account that is charged as well; its caps hold too.
        clock: monotonic seconds; Trio's by default.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        *,
        prices: Prices = LIST_PRICES,
        parent: Spending | None = None,
        clock: Callable[[], float] = trio.current_time,
    ) -> None:
        self.budget = Budget() if budget is None else budget
        self.prices = prices
        self.parent = parent
        self._clock = clock
        self._started = clock()
        self._used = Used()

    @property
    def used(self) -> Used:
        """What was used up to now."""
        return attrs.evolve(self._used, seconds=self._clock() - self._started)

    @property
    def deadline(self) -> float | None:
        """When `seconds` of this account or of one above it are over, on its clock."""
        own = None if self.budget.seconds is None else self._started + self.budget.seconds
        above = None if self.parent is None else self.parent.deadline
        return min((one for one in (own, above) if one is not None), default=None)

    def reserve_step(self, model: str) -> None:
        """Enter one request to `model`, before it is made.

        Raises:
            BudgetExceeded: a cap is reached, or is one on money and the model has no price.
        """
        for account in self._chain():
            account._check(steps=1)  # noqa: SLF001  # an account of the same class
            limit = account.budget.money
            if limit is not None and account.prices.price(model) is None:
                why = (
                    f"a cap on money needs a price for {model}: "
                    "add one with prices.with_price(...), or drop money="
                )
                raise BudgetExceeded(cap="money", limit=limit, used=None, why=why)
        self._enter(steps=1)

    def reserve_calls(self, count: int = 1) -> None:
        """Enter `count` tool calls before they are made, all or none.

        Raises:
            BudgetExceeded: fewer are left.
        """
        for account in self._chain():
            account._check(calls=count)  # noqa: SLF001
        self._enter(calls=count)

    def record_usage(self, model: str, usage: Usage | None) -> None:
        """Enter what a request took; None if its provider did not say.

        It never raises, because what it enters has happened: `check` does.
        """
        known = usage if usage is not None else Usage()
        tokens = (known.input_tokens or 0) + (known.output_tokens or 0)
        no_tokens = known.input_tokens is None and known.output_tokens is None
        for account in self._chain():
            cost = account.prices.cost(model, known)
            unmetered = no_tokens or (cost is None and account.budget.money is not None)
            account._add(tokens=tokens, money=cost or 0.0, unmetered=int(unmetered))  # noqa: SLF001

    def check(self) -> None:
        """Raises BudgetExceeded if a cap of this account or of one above it is passed."""
        for account in self._chain():
            account._check()  # noqa: SLF001

    def _chain(self) -> tuple[Spending, ...]:
        return (self,) if self.parent is None else (self, *self.parent._chain())  # noqa: SLF001

    def _check(self, *, steps: int = 0, calls: int = 0) -> None:
        used = self.used
        asked = attrs.evolve(used, steps=used.steps + steps, calls=used.calls + calls)
        error = exceeded(self.budget, asked)
        if error is not None:
            raise error

    def _enter(self, *, steps: int = 0, calls: int = 0) -> None:
        for account in self._chain():
            account._add(steps=steps, calls=calls)  # noqa: SLF001

    def _add(self, **figures: float) -> None:
        sums = {name: getattr(self._used, name) + figure for name, figure in figures.items()}
        self._used = attrs.evolve(self._used, **sums)
