"""Caps and the account that is kept against them."""

from __future__ import annotations

import pytest

from boyd.actors.budget import Budget, BudgetExceeded, Spending, Used, exceeded
from boyd.actors.conversation.artifacts import Usage
from boyd.actors.conversation.usage import latest_usage, total_usage
from boyd.actors.prices import LIST_PRICES, Price, Prices
from boyd.runtime.failure import failure_of, to_exception

MINI = "openai:gpt-5-mini"


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def spending(budget: Budget, parent: Spending | None = None) -> tuple[Spending, Clock]:
    clock = Clock()
    return Spending(budget, parent=parent, clock=clock), clock


def test_a_cap_of_three_steps_allows_three() -> None:
    account, _ = spending(Budget(steps=3))
    for _ in range(3):
        account.reserve_step(MINI)
    with pytest.raises(BudgetExceeded, match="3 steps is reached") as caught:
        account.reserve_step(MINI)
    assert (caught.value.cap, caught.value.limit, caught.value.code) == ("steps", 3, "budget_steps")
    assert account.used.steps == 3


def test_calls_are_reserved_together_or_not_at_all() -> None:
    account, _ = spending(Budget(calls=3))
    account.reserve_calls(2)
    with pytest.raises(BudgetExceeded, match="calls"):
        account.reserve_calls(2)
    account.reserve_calls(1)
    assert account.used.calls == 3


def test_time_is_measured_from_the_start() -> None:
    account, clock = spending(Budget(seconds=10))
    assert account.deadline == 110.0
    account.check()
    clock.time += 10
    with pytest.raises(BudgetExceeded, match="10 seconds"):
        account.check()


def test_tokens_count_both_ways_and_at_the_cap_is_over() -> None:
    account, _ = spending(Budget(tokens=100))
    account.record_usage(MINI, Usage(input_tokens=60, output_tokens=39))
    account.check()
    account.record_usage(MINI, Usage(input_tokens=1, output_tokens=0))
    with pytest.raises(BudgetExceeded, match="100 tokens"):
        account.check()


def test_money_comes_from_the_price_table() -> None:
    account, _ = spending(Budget(money=0.002))
    account.reserve_step(MINI)
    account.record_usage(MINI, Usage(input_tokens=1000, output_tokens=1000))
    assert account.used.money == pytest.approx(0.00225)
    with pytest.raises(BudgetExceeded, match=r"\$0\.0020 is reached"):
        account.check()


def test_what_a_provider_says_it_cost_is_believed_first() -> None:
    assert LIST_PRICES.cost(MINI, Usage(input_tokens=1, output_tokens=1, cost=0.5)) == 0.5


def test_an_unknown_model_has_no_cost_and_no_cap_on_money() -> None:
    usage = Usage(input_tokens=1, output_tokens=1)
    assert LIST_PRICES.cost("openai:unheard-of", usage) is None
    account, _ = spending(Budget(money=1))
    with pytest.raises(BudgetExceeded, match="needs a price for openai:unheard-of"):
        account.reserve_step("openai:unheard-of")
    assert account.used.steps == 0


def test_a_price_can_be_added_and_the_table_replaced() -> None:
    mine = LIST_PRICES.with_price("openai:mine", Price(input=1, output=2))
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
    assert mine.cost("openai:mine", usage) == pytest.approx(3)
    assert mine.price(MINI) == LIST_PRICES.price(MINI)
    assert Prices({}).price(MINI) is None


def test_dated_snapshots_and_cached_input_have_their_price() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=0, cache_read_tokens=1_000_000)
    assert LIST_PRICES.cost(f"{MINI}-2025-08-07", usage) == pytest.approx(0.025)


def test_a_cap_that_cannot_be_measured_ends_the_run_and_no_other_does() -> None:
    capped, _ = spending(Budget(tokens=1000))
    capped.reserve_step(MINI)
    capped.record_usage(MINI, None)
    with pytest.raises(BudgetExceeded, match="1 of 1 reply came without usage"):
        capped.check()
    free, _ = spending(Budget())
    free.reserve_step(MINI)
    free.record_usage(MINI, None)
    free.check()
    assert free.used.unmetered == 1


def test_the_account_above_is_charged_and_holds_too() -> None:
    above, _ = spending(Budget(steps=2, seconds=5))
    one, _ = spending(Budget(steps=10, seconds=50), above)
    two, _ = spending(Budget(steps=10), above)
    one.reserve_step(MINI)
    two.reserve_step(MINI)
    with pytest.raises(BudgetExceeded):
        one.reserve_step(MINI)
    assert (one.used.steps, two.used.steps, above.used.steps) == (1, 1, 2)
    assert one.deadline == two.deadline == 105.0


def test_no_caps_at_all() -> None:
    free = Budget(seconds=None, steps=None, tokens=None, money=None, calls=None)
    assert exceeded(free, Used(seconds=1e9, steps=10**9, tokens=10**12, money=1e9)) is None


def test_the_error_survives_the_wire() -> None:
    error = BudgetExceeded(cap="steps", limit=3, used=4)
    again = to_exception(failure_of(error))
    assert isinstance(again, BudgetExceeded)
    assert (str(again), again.cap, again.limit, again.used) == (str(error), "steps", 3, 4)


def test_b32_the_last_known_value_of_each_field_counts() -> None:
    reports = [
        Usage(input_tokens=25, output_tokens=1, cache_read_tokens=100),
        Usage(output_tokens=10),
        Usage(input_tokens=25, output_tokens=15, cache_read_tokens=100),
    ]
    assert latest_usage(reports) == Usage(input_tokens=25, output_tokens=15, cache_read_tokens=100)
    assert latest_usage([Usage()]) is None


def test_b32_missing_usage_is_unknown_and_totals_say_so() -> None:
    total = total_usage([Usage(input_tokens=5, output_tokens=2), None])
    assert (total.usage.input_tokens, total.requests, total.unknown) == (5, 2, 1)
    assert total.usage.cost is None
    assert str(total) == "5 tokens in, 2 out (1 of 2 unknown)"
    assert str(total_usage([None])) == "? tokens in, ? out (1 of 1 unknown)"


def test_what_is_used_up_is_said_in_the_singular_where_it_is_one() -> None:
    error = BudgetExceeded(cap="steps", limit=1, used=2)
    assert str(error) == "the cap of 1 step is reached (2 steps used)"
