"""A clock that jumps does not jump over work in threads."""

from __future__ import annotations

import math
import threading

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from boyd.runtime import System, open_system
from tests.runtime.conftest import run_in_virtual_time


def test_d10_virtual_time_stands_still_while_threads_work() -> None:
    async def work(system: System, began: float) -> None:
        done = threading.Event()
        timer = threading.Timer(0.02, done.set)  # real time, in which a jump would be due
        timer.start()
        await system.offload(done.wait)
        timer.join()
        assert trio.current_time() == began

    async def main() -> None:
        async with open_system() as system:
            began = trio.current_time()
            with trio.fail_after(3600):
                async with trio.open_nursery() as nursery:
                    for _ in range(3):
                        nursery.start_soon(work, system, began)
            await trio.sleep(5)  # jumps again
            assert trio.current_time() == began + 5

    run_in_virtual_time(main)


def test_d10_what_is_abandoned_holds_the_clock_no_longer() -> None:
    stuck = threading.Event()

    async def main() -> None:
        async with open_system() as system:
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:

                    async def read() -> None:
                        await system.offload(stuck.wait, abandon=True)

                    nursery.start_soon(read)
                    await wait_all_tasks_blocked()
                    scope.cancel()
            await trio.sleep(1000)
        stuck.set()

    run_in_virtual_time(main)


def test_a_clock_that_does_not_jump_is_left_as_it_is() -> None:
    clock = MockClock()

    async def main() -> None:
        async with open_system() as system:
            assert await system.offload(lambda: clock.autojump_threshold) == math.inf

    trio.run(main, clock=clock)
    assert clock.autojump_threshold == math.inf
