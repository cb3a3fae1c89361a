"""Who and what a message is about: addresses, users and devices, found by their place in it.

Where they stand is decided once for each kind of message (a plan); for the lines of that kind
they are then picked by position, which is quick.
"""

import ipaddress
import re
from collections.abc import Sequence

import attrs

from .masks import ADDRESS, IPV4, IPV6

ADDRESS_KIND, USER, DEVICE, UNIT, HOST = "address", "user", "device", "unit", "host"
KINDS = (ADDRESS_KIND, USER, DEVICE, UNIT, HOST)

_IP = re.compile(f"{IPV4}|{IPV6}")
_DEVICE = re.compile(
    r"(?<![\w.])(?:/dev/|(?!sdk\b|md5\b))((?:sd[a-z]{1,2}|[hv]d[a-z]|xvd[a-z]|nvme\d+n\d+|mmcblk\d+|dm-\d+|md\d+))"
    r"(?:p?\d+)?(?![\w.])"
)
_MASKED_DEVICE = re.compile(
    r"<dev>|(?<![\w.])(?:sd[a-z]{1,2}|[hv]d[a-z]|xvd[a-z]|nvme<num>n<num>|mmcblk<num>|dm<num>"
    r"|md<num>)(?:p?<num>)?(?![\w.])"
)
_PLAIN_NAME = re.compile(r"[\w.$@+\\-]{1,64}")
_HOST_NAME = re.compile(r"(?=.*[A-Za-z])[\w-]+(?:\.[\w-]+)+")
_TOWARDS = frozenset(
    {"to", "at", "via", "on", "listening", "server", "upstream:", "server:", "dst"}
)
_NO_USER = frozenset(
    {
        "unknown",
        "name",
        "request",
        "request.",
        "authentication",
        "is",
        "not",
        "by",
        "from",
        "for",
        "has",
        "was",
        "and",
        "or",
        "in",
        "with",
        "id",
        "the",
        "account",
        "session",
        "mode",
        "space",
        "agent",
        "data",
        "group",
        "limit",
        "interrupt",
        "input",
        "to",
        "on",
        "of",
        "a",
        "an",
        "list",
    }
)
_BEFORE_USER = frozenset({"user", "user:", "username", "login"})
_USER_KEYS = ("user=", "username=", "acct=", "ruser=", "user:", "login=")
_ORIGIN_KEYS = ("rhost=", "client=", "client_ip=", "remote_addr=", "remote_ip=", "src=", "SRC=")
_STRIP = "\"'`,;:()[]{}<>."


@attrs.frozen(kw_only=True)
class Entity:
    """A thing that events can be counted by."""

    kind: str
    name: str


@attrs.frozen(kw_only=True)
class Plan:
    """At which tokens of a message its entities stand."""

    addresses: tuple[int, ...] = ()
    names: tuple[int, ...] = ()
    users: tuple[int, ...] = ()
    devices: tuple[int, ...] = ()
    empty: bool = True


EMPTY = Plan()


def plan(masked: Sequence[str]) -> Plan:
    """Find where the entities of a message stand, for every message with these masked tokens."""
    lowered = [token.lower() for token in masked]
    names_device = _MASKED_DEVICE.search(" ".join(masked)) is not None
    addresses: list[int] = []
    names: list[int] = []
    users: list[int] = []
    devices: list[int] = []
    for at, token in enumerate(masked):
        before = lowered[at - 1] if at else ""
        if ADDRESS in token:
            if before not in _TOWARDS:
                addresses.append(at)
        elif token.startswith(_ORIGIN_KEYS) or (before == "from" and "." in token):
            names.append(at)
        if names_device and _MASKED_DEVICE.search(token):
            devices.append(at)
        if token.startswith(_USER_KEYS):
            if token[-1] not in "=:":
                users.append(at)
        elif (before in _BEFORE_USER or before == "for") and _is_user(lowered, at):
            users.append(at)
    if not (addresses or names or users or devices):
        return EMPTY
    return Plan(
        addresses=tuple(addresses[:2]),
        names=tuple(names[:1]),
        users=tuple(users[:1]),
        devices=tuple(devices[:1]),
        empty=False,
    )


def _is_user(lowered: Sequence[str], at: int) -> bool:
    """Tell whether the token behind `user` or `for` is the name of a user."""
    word = lowered[at].partition("(")[0].strip(_STRIP)
    if not word or word in _NO_USER or "=" in word:
        return False
    if lowered[at - 1] in _BEFORE_USER:
        return True
    after = lowered[at + 1] if at + 1 < len(lowered) else ""
    return after == "from" and at > 1 and lowered[at - 2] not in ("", "for")


def entities(found: Plan, tokens: Sequence[str]) -> list[tuple[str, str]]:
    """Return the kinds and names of the entities of one message, by its plan."""
    got: list[tuple[str, str]] = []
    for at in found.addresses:
        match = _IP.search(tokens[at])
        if match:
            got.append((ADDRESS_KIND, match[0]))
            break
    else:
        for at in found.names:
            name = tokens[at].rpartition("=")[2].strip(_STRIP)
            if _HOST_NAME.fullmatch(name):
                got.append((ADDRESS_KIND, name))
    for at in found.users:
        token = tokens[at]
        for key in _USER_KEYS:
            if token.startswith(key):
                token = token[len(key) :]
                break
        name = token.partition("(")[0].strip(_STRIP)
        if _PLAIN_NAME.fullmatch(name):
            got.append((USER, name))
    for at in found.devices:
        match = _DEVICE.search(tokens[at])
        if match:
            got.append((DEVICE, match[1]))
    return got


def blockable(name: str) -> bool:
    """Tell whether a name is one public address, so that blocking it may be proposed.

    Loopback, link-local, multicast and private ranges are the operator's own machines.
    """
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    if address.is_loopback or address.is_link_local or address.is_multicast:
        return False
    if address.is_unspecified:
        return False
    return not any(address in network for network in _OWN if network.version == address.version)


_OWN = tuple(
    ipaddress.ip_network(network)
    for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
)
