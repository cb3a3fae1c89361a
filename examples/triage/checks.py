"""Checks of what a person asked for, before any work begins."""

from collections.abc import Sequence
from math import inf
from pathlib import Path
from tempfile import TemporaryFile

from boyd.actors import MemberFinished, OpenAI, Provider, SwarmStarted
from boyd.actors.cli import console
from boyd.actors.prices import LIST_PRICES
from boyd.actors.providers.resolve import model_from
from boyd.runtime import Ledger


def check_numbers(*, batch: int, max_steps: int, max_money: float | None) -> None:
    """Refuse numbers with which nothing could be done."""
    if batch < 1:
        raise console.UsageError(f"--batch {batch}: it must be 1 or more")
    if max_steps < 1:
        raise console.UsageError(f"--max-steps {max_steps}: it must be 1 or more")
    if max_money is not None and not 0 < max_money < inf:
        raise console.UsageError(f"--max-money {max_money:g}: it must be a sum above 0")


def check_folder(out: Path) -> None:
    """Make the folder for the reports, and see that files can be made in it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        why = "is not a folder" if out.exists() and not out.is_dir() else error.strerror or error
        raise console.UsageError(f"the report cannot be written to {out}: {why}") from None


def provider_for(model: str, base_url: str | None, max_money: float | None) -> Provider:
    """The model, known to be usable as far as that can be known before a request. Raises ModelError."""
    provider = model_from(model, base_url=base_url)
    if isinstance(provider, OpenAI):
        provider.check()
    if max_money is not None and LIST_PRICES.price(provider.name) is None:
        raise console.UsageError(f"--max-money: the price of {provider.name} is not known")
    return provider


async def check_members(ledger: Ledger, thread: str, members: Sequence[str]) -> None:
    """Refuse to resume a thread with other sources; say so where it has come to its end already."""
    kinds = ("boyd.swarm_started", "boyd.run_finished", "boyd.member_finished")
    failed: dict[str, bool] = {}
    is_over = False
    for entry in await ledger.read(thread, kinds=kinds, limit=10_000):
        match entry.message():
            case SwarmStarted(members=before) if {*before} != {*members}:
                sources = ", ".join(one.removeprefix("scout-") for one in before)
                raise console.UsageError(f"{thread} reads {sources}: resume it with just those")
            case MemberFinished(member=member, failure=failure):
                failed[member] = failure is not None
            case SwarmStarted() | None:
                pass
            case _:
                is_over = True
    if is_over and not any(failed.values()):
        console.say(
            f"{thread} has finished already: nothing more is read, its report is shown again"
        )
