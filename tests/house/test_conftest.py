"""The guards around every test are themselves tested."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.house.sources import ROOT

OUTSIDE = "192.0.2.1"  # set aside for documentation: nobody is there


def test_a_connection_beyond_loopback_is_refused(loopback_only: list[str]) -> None:
    """The attempt raises before a packet leaves, and is remembered."""
    with socket.socket() as sock, pytest.raises(AssertionError, match="only loopback"):
        sock.connect((OUTSIDE, 80))
    assert loopback_only == [OUTSIDE]
    loopback_only.clear()


def test_a_datagram_beyond_loopback_is_refused(loopback_only: list[str]) -> None:
    """UDP is no way round."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock,
        pytest.raises(AssertionError, match="only loopback"),
    ):
        sock.sendto(b"?", (OUTSIDE, 53))
    loopback_only.clear()


async def test_trio_is_refused_as_well(loopback_only: list[str]) -> None:
    """A name is not even looked up, though Trio does that in a thread."""
    with pytest.raises(AssertionError, match="only loopback"):
        await trio.open_tcp_stream("boyd.invalid", 80)
    assert loopback_only == ["boyd.invalid"]
    loopback_only.clear()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_loopback_is_open(host: str, loopback_only: list[str]) -> None:
    """A test may talk to its own server."""
    [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listener:
        port = listener.socket.getsockname()[1]
        async with await trio.open_tcp_stream(host, port) as stream, await listener.accept() as end:
            await stream.send_all(b"x")
            assert await end.receive_some() == b"x"
    assert loopback_only == []


@given(number=st.integers())
async def test_the_guard_goes_with_given(number: int) -> None:
    """An async property runs under it without a health check's complaint."""
    await trio.lowlevel.checkpoint()
    assert isinstance(number, int)


def test_a_hypothesis_profile_is_loaded() -> None:
    """The house's settings hold, whichever profile was named."""
    assert settings.default is not None
    assert settings.default.deadline is None
    assert settings.default.print_blob


SWALLOWS = f"""
    import socket
    try:
        socket.create_connection(("{OUTSIDE}", 80))
    except AssertionError:
        pass
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "profile", "code", "says"),
    [
        pytest.param("pass", "fresh", 0, "1 passed", id="a good test passes"),
        pytest.param(SWALLOWS, "commit", 1, f"tried to reach {OUTSIDE}", id="swallowed attempt"),
        pytest.param("pass", "no", 4, "profiles are commit, fresh and nightly", id="profile"),
    ],
)
def test_the_guards_can_fail(tmp_path: Path, body: str, profile: str, code: int, says: str) -> None:
    """A swallowed attempt still fails its test; an unknown profile ends the run."""
    (tmp_path / "conftest.py").write_bytes((ROOT / "tests/conftest.py").read_bytes())
    (tmp_path / "test_one.py").write_text(f"def test_one():\n    {body}\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        env={**os.environ, "BOYD_HYPOTHESIS": profile},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert says in done.stdout + done.stderr
