"""The ordinary life of a small shop's machines, for generated logs: traffic, cron, small troubles.

Every function returns the lines of one event, without their time stamps. All addresses are from
the ranges set aside for documentation.
"""

from random import Random

HOST = "web1"
USERS = ("alice", "bob", "carol", "deploy", "erin", "frank")
SERVICES = ("checkout", "catalog", "accounts", "payments", "search", "mailer")
_PATHS = {
    "checkout": ("/cart", "/cart/items", "/checkout", "/checkout/confirm"),
    "catalog": ("/products", "/products/{n}", "/categories/{n}"),
    "accounts": ("/login", "/me", "/me/orders/{n}"),
    "payments": ("/payments", "/payments/{n}/status"),
    "search": ("/search", "/suggest"),
    "mailer": ("/internal/send", "/internal/queue"),
}
_ROUTINE_ERRORS = {
    "checkout": "stock service answered late, retried",
    "catalog": "could not load image {n}",
    "accounts": "session store timed out",
    "payments": "card provider timed out",
    "search": "index shard {n} unavailable",
    "mailer": "smtp connection reset by peer",
}
_PACKAGES = ("libc6", "openssl", "nginx", "curl", "tzdata", "python3.11", "libxml2", "bash", "perl")
_GUESSED = ("admin", "test", "oracle", "ubuntu", "guest", "pi", "ftpuser")


Said = list[tuple[str, str]]
"""The lines of one event: unit and message."""


def client(rng: Random) -> str:
    """Return the address of an ordinary client."""
    return f"198.51.100.{rng.randrange(1, 255)}"


def auth(rng: Random) -> Said:
    """Return one event of the auth log."""
    return rng.choices(_AUTH, weights=_AUTH_WEIGHTS)[0](rng)


def system(rng: Random) -> Said:
    """Return one event of the system log."""
    return rng.choices(_SYSTEM, weights=_SYSTEM_WEIGHTS)[0](rng)


def _pid(rng: Random) -> int:
    return rng.randrange(300, 32_000)


def _port(rng: Random) -> int:
    return rng.randrange(1024, 65_000)


def _cron_session(rng: Random) -> Said:
    user = rng.choice(("root", "root", "www-data", "backup"))
    unit = f"CRON[{_pid(rng)}]"
    return [
        (unit, f"pam_unix(cron:session): session opened for user {user} by (uid=0)"),
        (unit, f"pam_unix(cron:session): session closed for user {user}"),
    ]


def _login(rng: Random, *, wrong: int = 0) -> Said:
    """Log in, after so many wrong passwords, and out again."""
    user, where = rng.choice(USERS), f"192.0.2.{rng.randrange(2, 60)}"
    unit, port = f"sshd[{_pid(rng)}]", _port(rng)
    lines: Said = []
    if wrong:
        lines.append((unit, pam_failure(where, user)))
    lines += [(unit, f"Failed password for {user} from {where} port {port} ssh2")] * wrong
    how = rng.choice(("publickey", "publickey", "password"))
    return [
        *lines,
        (unit, f"Accepted {how} for {user} from {where} port {port} ssh2"),
        (unit, f"pam_unix(sshd:session): session opened for user {user} by (uid=0)"),
        (unit, f"Received disconnect from {where} port {port}:11: disconnected by user"),
        (unit, f"pam_unix(sshd:session): session closed for user {user}"),
    ]


def pam_failure(where: str, user: str) -> str:
    """Return what PAM says of a wrong password."""
    fields = f"logname= uid=0 euid=0 tty=ssh ruser= rhost={where}  user={user}"
    return f"pam_unix(sshd:auth): authentication failure; {fields}"


def _mistyped_login(rng: Random) -> Said:
    return _login(rng, wrong=rng.choice((1, 1, 1, 2, 3)))


def _sudo(rng: Random) -> Said:
    user = rng.choice(USERS)
    command = rng.choice(("/usr/bin/systemctl status nginx", "/usr/bin/tail /var/log/syslog"))
    where = f"TTY=pts/{rng.randrange(4)} ; PWD=/home/{user}"
    return [
        ("sudo", f"   {user} : {where} ; USER=root ; COMMAND={command}"),
        ("sudo", f"pam_unix(sudo:session): session opened for user root by {user}(uid=0)"),
        ("sudo", "pam_unix(sudo:session): session closed for user root"),
    ]


def _stranger(rng: Random) -> Said:
    """Be tried once by somebody who tries everybody."""
    who = f"203.0.113.{rng.randrange(100, 255)}"
    name, unit = rng.choice(_GUESSED), f"sshd[{_pid(rng)}]"
    closed = f"Connection closed by invalid user {name} {who} port {_port(rng)} [preauth]"
    return [(unit, f"Invalid user {name} from {who} port {_port(rng)}"), (unit, closed)]


def _health_check(rng: Random) -> Said:
    who, pid = f"192.0.2.{rng.choice((3, 4))}", _pid(rng)
    return [(f"sshd[{pid}]", f"Did not receive identification string from {who} port {pid}")]


def _cron_job(rng: Random) -> Said:
    job = "command -v debian-sa1 > /dev/null && debian-sa1 1 1"
    return [(f"CRON[{_pid(rng)}]", f"(root) CMD ({job})")]


def _daily(rng: Random) -> Said:
    unit = rng.choice(("apt-daily", "logrotate", "man-db", "fstrim", "e2scrub_all"))
    return [
        ("systemd[1]", f"Starting {unit}.service - Daily {unit} activities..."),
        ("systemd[1]", f"{unit}.service: Deactivated successfully."),
        ("systemd[1]", f"Finished {unit}.service - Daily {unit} activities."),
    ]


def _lease(rng: Random) -> Said:
    renewal = rng.randrange(1200, 3400)
    return [
        ("dhclient[612]", "DHCPREQUEST for 192.0.2.10 on eth0 to 192.0.2.1 port 67"),
        ("dhclient[612]", "DHCPACK of 192.0.2.10 from 192.0.2.1"),
        ("dhclient[612]", f"bound to 192.0.2.10 -- renewal in {renewal} seconds."),
    ]


def _temperature(rng: Random) -> Said:
    change = f"changed from {rng.randrange(30, 40)} to {rng.randrange(30, 40)}"
    attribute = "SMART Usage Attribute: 194 Temperature_Celsius"
    return [("smartd[701]", f"Device: /dev/sda [SAT], {attribute} {change}")]


def _slow_interrupt(rng: Random) -> Said:
    took, most = rng.randrange(2500, 9000), rng.randrange(2500, 9000)
    message = f"perf: interrupt took too long ({took} > {most}), lowering the sample rate"
    return [("kernel", f"[{_pid(rng)}.{_pid(rng)}] {message}")]


def _resolver(_rng: Random) -> Said:
    message = "Server returned error NXDOMAIN, mitigating potential DNS violation DVE-2018-0001"
    return [("systemd-resolved[510]", f"{message}, retrying with reduced feature level UDP.")]


def _audit(rng: Random) -> Said:
    pid = _pid(rng)
    message = f'apparmor="DENIED" operation="open" profile="snap.tool" name="/proc/{pid}/maps"'
    return [("kernel", f"[{pid}.{pid}] audit: type=1400 audit({pid}.1:{pid}): {message}")]


def _restart(rng: Random) -> Said:
    again = f"Scheduled restart job, restart counter is at {rng.randrange(1, 9)}."
    return [
        ("systemd[1]", "worker.service: Main process exited, code=exited, status=1/FAILURE"),
        ("systemd[1]", "worker.service: Failed with result 'exit-code'."),
        ("systemd[1]", f"worker.service: {again}"),
        ("systemd[1]", "Started worker.service - Background worker."),
    ]


_AUTH = (_cron_session, _login, _mistyped_login, _sudo, _stranger, _health_check)
_AUTH_WEIGHTS = (42, 38, 6, 9.5, 1.5, 3)
_SYSTEM = (
    _cron_job,
    _daily,
    _lease,
    _temperature,
    _slow_interrupt,
    _resolver,
    _audit,
    _restart,
)
_SYSTEM_WEIGHTS = (35, 20, 13, 12, 10, 6, 2.5, 1.5)


def shop(rng: Random, failing: dict[str, float]) -> list[dict[str, object]]:
    """Return entries of one event of the shop's services, some of which may be failing.

    `failing` gives the share of requests that fail, for services where it is not the usual one.
    """
    service = rng.choices(SERVICES, weights=(20, 30, 15, 10, 20, 5))[0]
    path = rng.choice(_PATHS[service]).format(n=rng.randrange(1, 90_000))
    method = rng.choice(("GET", "GET", "GET", "POST"))
    entry: dict[str, object] = {
        "level": "info",
        "service": service,
        "msg": f"{method} {path}",
        "status": rng.choices((200, 201, 304, 404), weights=(90, 4, 4, 2))[0],
        "client": client(rng),
        "ms": rng.randrange(2, 400),
    }
    if rng.random() < failing.get(service, 0.0):
        return [broken(rng, service, entry)]
    roll = rng.random()
    if roll < 0.004:
        message = _ROUTINE_ERRORS[service].format(n=rng.randrange(1, 90))
        return [{"level": "error", "service": service, "msg": message}]
    if roll < 0.02:
        message = f"slow query, {rng.randrange(800, 9000)} ms"
        return [entry, {"level": "warning", "service": service, "msg": message}]
    if roll < 0.06:
        message = rng.choice(("cache refreshed", "background job done", "health check ok"))
        return [{"level": "info", "service": service, "msg": message}]
    return [entry]


def broken(rng: Random, service: str, entry: dict[str, object]) -> dict[str, object]:
    """Return a request as a bad release of a service answers it."""
    error = rng.choice(
        (
            "TypeError: cannot read property 'total' of undefined",
            "TypeError: cannot read property 'total' of undefined",
            f"template {service}_v2 not found",
        )
    )
    return {**entry, "level": "error", "status": 500, "error": error}


def packages(rng: Random) -> list[str]:
    """Return the lines of dpkg for one package."""
    name = rng.choice(_PACKAGES)
    if rng.random() < 0.5:
        name = f"lib{name}-{rng.choice(('dev', 'data', 'common', 'doc'))}"
    old = f"{rng.randrange(1, 9)}.{rng.randrange(30)}-{rng.randrange(9)}"
    new = f"{old}+deb12u{rng.randrange(1, 9)}"
    full = f"{name}:amd64"
    return [
        f"upgrade {full} {old} {new}",
        f"status half-configured {full} {old}",
        f"status unpacked {full} {old}",
        f"status half-installed {full} {old}",
        f"status unpacked {full} {new}",
        f"configure {full} {new} <none>",
        f"status half-configured {full} {new}",
        f"status installed {full} {new}",
    ]
