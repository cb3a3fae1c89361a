"""What holds for every test: no way off this machine, and one Hypothesis profile.

BOYD_HYPOTHESIS names the profile: `commit` (the same examples each time), `fresh`
(a few new ones) or `nightly` (many).
"""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Iterator
from typing import Final, cast

import pytest
from hypothesis import HealthCheck, settings

# Cores are shared and slow at times: no example has a deadline, and slowness is no error.
settings.register_profile(
    "house", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
house = settings.get_profile("house")
settings.register_profile("commit", house, derandomize=True)
settings.register_profile("fresh", house, max_examples=50)
settings.register_profile("nightly", house, max_examples=5_000)


INTERNET: Final = (socket.AF_INET, socket.AF_INET6)


class Loopback:
    """Refuses every connection and look-up that would leave this machine.

    An audit hook sees what Trio, threads and libraries written in C do alike. A
    test fails for a refused attempt even when the code under test caught the error.
    """

    def __init__(self) -> None:
        self.attempts: list[str] = []

    def audit(self, event: str, args: tuple[object, ...]) -> None:
        """Raise AssertionError when a socket is about to go further than loopback."""
        if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            sock, address = args[:2]
            if not isinstance(sock, socket.SocketType) or sock.family not in INTERNET:
                return
            host = str(cast("tuple[object, ...]", address)[0]) if address else ""
            local = is_loopback(host)
        elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
            name = args[0] or ""
            host = name.decode("ascii", "replace") if isinstance(name, bytes) else str(name)
            local = not is_looked_up(host)
        else:
            return
        if not local:
            self.attempts.append(host)
            raise AssertionError(f"a test tried to reach {host}: only loopback is allowed")

    @pytest.fixture(autouse=True)
    def loopback_only(self) -> Iterator[list[str]]:
        """Fail the test that tried to leave; yields the refused attempts."""
        self.attempts.clear()
        yield self.attempts
        if self.attempts:
            pytest.fail(f"tried to reach {', '.join(self.attempts)}: only loopback is allowed")


def is_loopback(host: str) -> bool:
    """Whether a connection to `host` stays on this machine."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host in ("", "localhost")
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback or address.is_unspecified


def is_looked_up(host: str) -> bool:
    """Whether resolving `host` asks somebody else; an address or localhost does not."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host not in ("", "localhost")
    return False


def pytest_configure(config: pytest.Config) -> None:
    profile = os.environ.get("BOYD_HYPOTHESIS", "commit")
    if profile not in ("commit", "fresh", "nightly"):
        raise pytest.UsageError(
            f"BOYD_HYPOTHESIS is {profile!r}; profiles are commit, fresh and nightly"
        )
    settings.load_profile(profile)

    guard = Loopback()
    sys.addaudithook(guard.audit)
    # As a plugin of its own it also watches the tests that stand beside examples.
    config.pluginmanager.register(guard, "boyd-loopback")
