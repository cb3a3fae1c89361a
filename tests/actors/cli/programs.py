"""Programs that the tests run, and ways to run `boyd` on them."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.house.sources import ROOT

__all__ = ["AGENT", "DESK", "WATCHER", "Terminal", "boyd_process", "run_boyd"]

AGENT: Final = '''
from boyd.actors import Agent, Effect, Risk, tool
from boyd.actors.testing.scripted import ScriptedModel, calls, says

@tool(effect=Effect.PURE, risk=Risk.READ)
async def weather(city: str) -> float:
    """The temperature now, in Celsius."""
    return 21.5

def reply(request):
    if request.turns[-1].role == "tool":
        return says("It is 21.5 degrees.")
    return calls(weather.call(city="Utrecht"), text="Let me look.")

agent = Agent(ScriptedModel(*[reply] * 20), name="weather", tools=[weather])
'''

DESK: Final = '''
from boyd.actors import Agent, Risk, tool
from boyd.actors.testing.scripted import ScriptedModel, calls, says

@tool(risk=Risk.DANGEROUS)
async def refund(order: str, euros: float) -> str:
    """Pay money back."""
    return f"refunded {euros} for {order}"

def reply(request):
    last = request.turns[-1]
    return says(f"Done: {last.results[0].content}") if last.role == "tool" else calls(
        refund.call(order="7", euros=9.5)
    )

desk = Agent(ScriptedModel(*[reply] * 20), name="desk", tools=[refund])
'''

WATCHER: Final = '''
from collections.abc import Sequence
from boyd.actors import Blackboard, Decision, Ooda, Risk, tool
from boyd.runtime import Context

@tool(risk=Risk.DANGEROUS)
async def add_worker(queue: str, ctx: Context) -> str:
    """Start one more worker for a queue."""
    if queue == "broken":
        raise RuntimeError("no such queue")
    return f"started for {queue} on {Blackboard.of(ctx).thread}"

async def look(queue: str) -> int:
    return len(queue)

async def backlog(sample: int) -> float:
    return sample / 2

async def worst(readings: Sequence[float]) -> float:
    return max(readings)

class Choose:
    def __init__(self, queue: str) -> None:
        self.queue = queue

    async def __call__(self, pressure: float) -> Decision:
        calls = [add_worker.call(queue=self.queue)]
        return Decision(calls=calls, why=f"pressure {pressure:.1f}", stop=True)

watcher = Ooda(
    observe=look,
    facets=[backlog],
    synthesize=worst,
    decide=Choose,
    tools=[add_worker],
    name="watcher",
)

async def show_incident(ledger, thread, number):
    return f"incident {number} of {thread}, {await ledger.tip(thread)} entries"
'''

_BOYD: Final = (sys.executable, "-m", "boyd")
_PATIENCE: Final = 30.0


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    paths = os.pathsep.join([str(ROOT / "runtime"), str(ROOT / "actors")])
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, "PYTHONPATH": paths, "PYTHONUTF8": "1", **extra}


def boyd_process(*words: str, cwd: Path, **environment: str) -> subprocess.Popen[str]:
    """`boyd WORDS...` as a process whose output is captured."""
    return subprocess.Popen(
        [*_BOYD, *words],
        cwd=cwd,
        env=_environment(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_boyd(*words: str, cwd: Path, **environment: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `boyd WORDS...`."""
    process = boyd_process(*words, cwd=cwd, **environment)
    out, err = process.communicate(timeout=_PATIENCE)
    return process.returncode, out, err


class Terminal:
    """`boyd WORDS...` on a terminal of 80 columns, used as a context manager.

    Its standard output goes to the file `out`, if there is one.

    Attributes:
        text: everything that has come out of it.
    """

    def __init__(self, *words: str, cwd: Path, out: Path | None = None, **environment: str) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.text = ""
        file = None if out is None else os.open(out, os.O_WRONLY | os.O_CREAT)
        self.process = subprocess.Popen(
            [*_BOYD, *words],
            cwd=cwd,
            env=_environment({"TERM": "xterm-256color", **environment}),
            stdin=slave,
            stdout=slave if file is None else file,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        if file is not None:
            os.close(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)

    def wait_for(self, *texts: str) -> None:
        """Read until all of `texts` have come out."""
        deadline = time.monotonic() + _PATIENCE
        while not all(text in self.text for text in texts):
            assert time.monotonic() < deadline, f"no {texts!r} in {self.text!r}"
            if not self._read():
                raise AssertionError(f"ended without {texts!r}: {self.text!r}")

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        """What Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)

    def wait(self) -> int:
        """Read to the end; the exit code."""
        deadline = time.monotonic() + _PATIENCE
        while self._read():
            assert time.monotonic() < deadline, f"still going: {self.text!r}"
        return self.process.wait(_PATIENCE)

    def _read(self) -> bool:
        ready: Sequence[int]
        ready, _, _ = select.select([self._master], [], [], 0.1)
        if not ready:
            return True
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:  # Linux: the other side is closed
            return False
        self.text += data.decode(errors="replace")
        return bool(data)
