"""The test kit: it must fail where it should."""

from __future__ import annotations

import threading
from io import TextIOWrapper
from pathlib import Path

import pytest
import trio

from boyd.runtime import Entry, Ledger, open_memory_ledger, open_system
from boyd.runtime.ledger import ANY
from boyd.runtime.testing import (
    Hop,
    InjectedFault,
    assert_no_leaks,
    cancel_at_each_checkpoint,
    fail_kth,
    open_probe,
    wire_spy,
)
from boyd.runtime.wire import unpack_own
from tests.runtime.stage import Add, Door, Note, Recorder


# ---------------------------------------------------------------- probes
async def test_a_probe_expects_what_came() -> None:
    async with open_system() as system:
        with open_probe(system, Note | Add) as probe:
            probe.ref.tell(Note(n=1))
            assert (await probe.expect(Note)).n == 1
            await probe.expect_none()


async def test_a_probe_fails_for_another_message_and_for_none() -> None:
    async with open_system() as system:
        with open_probe(system, Note | Add) as probe:
            probe.ref.tell(Note(n=1))
            with pytest.raises(AssertionError, match=r"expected Add, got Note\(n=1\)"):
                await probe.expect(Add)
            began = trio.current_time()
            with pytest.raises(AssertionError, match="no Add within 3 s"):
                await probe.expect(Add, within=3)
            assert trio.current_time() - began == 3
            probe.ref.tell(Note(n=2))
            with pytest.raises(AssertionError, match="expected nothing"):
                await probe.expect_none()


# ---------------------------------------------------------------- the wire
async def test_a_wire_spy_sees_every_hop_as_msgpack() -> None:
    async with open_system() as system:
        ref = await system.spawn(Recorder, Door(), name="acc")
        with wire_spy(system) as hops:
            ref.tell(Note(n=5))
            await ref.ask(Add(amount=2))
        await ref.ask(Add())
        assert [(hop.sender, hop.receiver, hop.name) for hop in hops] == [
            ("", "/acc", "t.note"),
            ("", "/acc", "t.add"),
            ("/acc", "", "reply to t.add"),
        ]
        assert unpack_own(hops[0].body)[1:] == [5]
        assert isinstance(hops[2], Hop)
        assert unpack_own(hops[2].body) == 2


# ---------------------------------------------------------------- faults
async def test_each_operation_fails_once() -> None:
    async def scenario(ledger: Ledger) -> int:
        for n in range(3):
            await ledger.append("t", [Entry(kind="k", body=b"", id=str(n))], after=ANY)
        return await ledger.tip("t")

    ends: list[object] = []
    for k in range(1, 100):
        async with open_memory_ledger() as ledger:
            faulty = fail_kth(ledger, k)
            try:
                ends.append(await scenario(faulty))
            except InjectedFault as error:
                ends.append((str(error), await ledger.tip("t")))
        if not faulty.reached:
            break
    assert ends == [
        *((f"operation {k} was made to fail", k - 1) for k in (1, 2, 3)),
        ("operation 4 was made to fail", 3),
        3,
    ]


async def test_an_error_of_ones_own_may_be_injected() -> None:
    async with open_memory_ledger() as ledger:
        with pytest.raises(KeyError):
            await fail_kth(ledger, 1, KeyError("x")).tip("t")


async def test_a_scenario_is_cancelled_at_each_of_its_steps_and_then_ends() -> None:
    reached: list[int] = []

    async def scenario() -> None:
        reached.append(0)
        for _ in range(4):
            await trio.lowlevel.checkpoint()
            reached[-1] += 1

    checks = 0

    async def check() -> None:
        nonlocal checks
        checks += 1

    places = await cancel_at_each_checkpoint(scenario, check)
    assert places == 4
    assert reached == [0, 1, 2, 3, 4]
    assert checks == 5
    with pytest.raises(AssertionError, match="more than 2 steps"):
        await cancel_at_each_checkpoint(scenario, limit=2)


async def test_the_error_of_a_scenario_is_not_swallowed() -> None:
    async def scenario() -> None:
        try:
            await trio.sleep(1)
        except trio.Cancelled:
            raise ValueError("broken cleanup") from None

    with pytest.raises(ValueError, match="broken cleanup"):
        await cancel_at_each_checkpoint(scenario)


# ---------------------------------------------------------------- leaks
async def test_a_task_that_outlives_the_block_is_a_leak() -> None:
    async with trio.open_nursery() as nursery:
        with (
            pytest.raises(AssertionError, match=r"1 tasks outlived the block: .*sleep_forever"),
            assert_no_leaks(),
        ):
            nursery.start_soon(trio.sleep_forever)
        nursery.cancel_scope.cancel()


def test_a_thread_that_outlives_the_block_is_a_leak() -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name="leaky")
    try:
        with (
            pytest.raises(AssertionError, match="threads outlived the block: leaky"),
            assert_no_leaks(),
        ):
            thread.start()
    finally:
        end.set()
        thread.join()


def test_a_file_that_is_left_open_is_a_leak(tmp_path: Path) -> None:
    opened: list[TextIOWrapper] = []
    try:
        with (
            pytest.raises(AssertionError, match=r"files left open: .*some\.txt"),
            assert_no_leaks(),
        ):
            opened.append((tmp_path / "some.txt").open("w"))
    finally:
        opened[0].close()


async def test_trios_idle_worker_threads_are_no_leak() -> None:
    with assert_no_leaks():
        await trio.to_thread.run_sync(lambda: None)


def test_an_error_in_the_block_is_not_replaced() -> None:
    with pytest.raises(KeyError), assert_no_leaks():
        raise KeyError


async def test_a_spy_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def spy(_sender: str, _receiver: str, _name: str, _frame: bytes) -> None:
        raise KeyError("spy")

    async with open_system() as system:
        ref = await system.spawn(Recorder, Door(), name="acc")
        system.spies.append(spy)
        assert await ref.ask(Add(amount=3)) == 3
        assert ref.statistics().restarts == 0
    assert "a wire spy failed on t.add for /acc" in caplog.text
