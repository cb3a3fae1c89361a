"""Checks of what a person asked for, before any work begins."""

from math import inf
from pathlib import Path
from tempfile import TemporaryFile

from boyd.actors import OpenAI, Provider
from boyd.actors.cli import console
from boyd.actors.prices import LIST_PRICES
from boyd.actors.providers.resolve import model_from


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
