"""What models cost, as a table that a user can replace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import attrs

from boyd.actors.conversation.artifacts import Usage

__all__ = ["LIST_PRICES", "Price", "Prices"]

_MILLION: Final = 1_000_000
_DATED: Final = re.compile(r"-\d{4}-\d{2}-\d{2}$")


@attrs.frozen(kw_only=True)
class Price:
    """US dollars for a million tokens.

    Attributes:
        cache_read: for input that came from a prompt cache; as `input` if None.
    """

    input: float
    output: float
    cache_read: float | None = None

    def cost(self, usage: Usage) -> float | None:
        """What `usage` costs; None where its token counts are unknown."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = min(usage.cache_read_tokens or 0, usage.input_tokens)
        cache_price = self.input if self.cache_read is None else self.cache_read
        full = (usage.input_tokens - cached) * self.input + cached * cache_price
        return (full + usage.output_tokens * self.output) / _MILLION


@attrs.frozen
class Prices:
    """A price table by provider name, such as `openai:gpt-5-mini`."""

    table: Mapping[str, Price]

    def price(self, model: str) -> Price | None:
        """The price of a model, also of a dated snapshot of it; None if it is unknown."""
        return self.table.get(model) or self.table.get(_DATED.sub("", model))

    def cost(self, model: str, usage: Usage) -> float | None:
        """What one request cost: what the provider said, else by this table, else None."""
        if usage.cost is not None:
            return usage.cost
        price = self.price(model)
        return None if price is None else price.cost(usage)

    def with_price(self, model: str, price: Price) -> Prices:
        """This table with one price added or replaced."""
        return Prices({**self.table, model: price})


LIST_PRICES: Final = Prices(
    {
        "openai:gpt-4.1": Price(input=2.0, output=8.0, cache_read=0.5),
        "openai:gpt-4.1-mini": Price(input=0.4, output=1.6, cache_read=0.1),
        "openai:gpt-4.1-nano": Price(input=0.1, output=0.4, cache_read=0.025),
        "openai:gpt-4o": Price(input=2.5, output=10.0, cache_read=1.25),
        "openai:gpt-4o-mini": Price(input=0.15, output=0.6, cache_read=0.075),
        "openai:gpt-5": Price(input=1.25, output=10.0, cache_read=0.125),
        "openai:gpt-5-mini": Price(input=0.25, output=2.0, cache_read=0.025),
        "openai:gpt-5-nano": Price(input=0.05, output=0.4, cache_read=0.005),
    }
)
"""List prices as published in August 2025. Prices change: replace them with your own."""
