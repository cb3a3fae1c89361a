"""For tests of agents: models that say what a test wrote down, and no way to a real one."""

from boyd.actors.providers.forbid import forbid_model_requests
from boyd.actors.testing.scripted import (
    Reply,
    ScriptedModel,
    ScriptExhausted,
    calls,
    fails,
    says,
)

__all__ = [
    "Reply",
    "ScriptExhausted",
    "ScriptedModel",
    "calls",
    "fails",
    "forbid_model_requests",
    "says",
]
