"""A model by its name, as it stands in `Agent("openai:gpt-5-mini")` and after `--model`."""

from __future__ import annotations

from typing import Final

from boyd.actors.providers.errors import ModelError
from boyd.actors.providers.protocol import Provider
from boyd.actors.secret import Secret
from boyd.runtime.seams import Seams

__all__ = ["model_from"]

KINDS: Final = ("openai",)


def model_from(
    model: str | Provider,
    /,
    *,
    base_url: str | None = None,
    api_key: str | Secret | None = None,
    seams: Seams | None = None,
) -> Provider:
    """The provider that `model` names as `kind:NAME`; a provider is returned as it is.

    Raises:
        ModelError: the kind is not known, or there is no name.
    """
    if not isinstance(model, str):
        return model
    kind, colon, name = model.strip().partition(":")
    known = ", ".join(f"{one}:NAME" for one in KINDS)
    if not colon and kind:
        raise ModelError(
            f"a model is written kind:NAME: did you mean openai:{kind}? Known: {known}",
            code="unknown_model",
        )
    if kind not in KINDS or not name.strip():
        raise ModelError(f"no model {model.strip()!r:.80}. Known: {known}", code="unknown_model")
    # Imported here, because httpx takes a tenth of the start-up time of a program that needs none.
    from boyd.actors.providers.openai import OpenAI

    return OpenAI(name.strip(), base_url=base_url, api_key=api_key, seams=seams)
