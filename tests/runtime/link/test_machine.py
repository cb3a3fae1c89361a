"""P1 and P3 over a network that does what it likes."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import settings

from tests.runtime.link.machine import LinkMachine

# Of the commit profile a part, since each example is long; of the others what they ask for.
WANTED: Final = settings().max_examples
EXAMPLES: Final = 60 if WANTED <= 100 else WANTED

TestLink = pytest.mark.slow(LinkMachine.TestCase)
TestLink.settings = settings(max_examples=EXAMPLES, stateful_step_count=40)
