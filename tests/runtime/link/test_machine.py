"""P1 and P3 over a network that does what it likes."""

from __future__ import annotations

from hypothesis import settings

from tests.runtime.link.machine import LinkMachine

TestLink = LinkMachine.TestCase
TestLink.settings = settings(max_examples=max(60, settings().max_examples), stateful_step_count=40)
