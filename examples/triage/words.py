"""What the words of log messages say about failure: kinds of trouble, and how bad each is.

This is knowledge of the language of logs in general (kernels, daemons, databases, web servers),
not of any one file. A message gets the first kind whose pattern it contains.
"""

import re
from functools import lru_cache

import attrs

from . import levels


@attrs.frozen(kw_only=True)
class Trouble:
    """What kind of failure a message speaks of. The weight is 0 for none and 1 for the worst.

    `failing` says that the line counts as failure-like, `by_actor` that somebody from outside
    caused it (a guessed password, a forbidden page), and `success` that an access succeeded, of
    kind `login` or, for a page, without a kind.
    """

    kind: str = ""
    weight: float = 0.0
    failing: bool = False
    by_actor: bool = False
    success: bool = False


NO_TROUBLE = Trouble()

DISK, MEMORY, CRASH, CORRUPT, FULL, LOGIN, DENIED, PROBE, NETWORK, SERVICE, ERROR = (
    "disk",
    "memory",
    "crash",
    "corruption",
    "full",
    "login",
    "denied",
    "probe",
    "network",
    "service",
    "error",
)
GRAVE = frozenset({DISK, MEMORY, CRASH, CORRUPT, FULL})
"""Kinds that are an incident even when they are seen once."""

_KINDS: tuple[tuple[str, float, str], ...] = (
    (
        DISK,
        0.8,
        (
            r"i/o error|input/output error|medium error|unrecovered read|uncorrectable sector"
            r"|unreadable \S*\s?sector|pending sector|bad (?:sector|block|superblock)|buffer i/o"
            r"|read-only file ?system|filesystem read-only|remounting read-only"
            r"|(?:ext[234]|xfs|btrfs)\S*[ :].*(?:error|corrupt|shut(?:ting)? ?down)"
            r"|hard resetting link|failed command: "
            r"|(?:read|write) fault|raid\S* .*(?:degraded|fail)|disk failure|smart .*fail"
            r"|mount failed|rejecting i/o|offline device|task abort|scsi \S* ?(?:timeout|reset)"
        ),
    ),
    (
        MEMORY,
        0.8,
        (
            r"out of memory|oom[-_ ]?kill|oom_reaper|killed process|cannot allocate memory"
            r"|memory exhausted|memory cgroup out|outofmemoryerror|uncorrect\w* (?:ecc|memory)"
            r"|allocation failure|memory device status is critical"
        ),
    ),
    (
        CRASH,
        0.8,
        (
            r"\bpanic|segfault|segmentation fault|core dumped|dumped core|kernel bug|\boops\b"
            r"|general protection|assert(?:ion)?\b.*\b(?:fail|condition)|machine check"
            r"|unhandled exception|uncaught exception|stack smashing|soft lockup|hard lockup"
            r"|hung task|blocked for more than|call trace:|unable to handle kernel|double fault"
            r"|kernel terminated|illegal instruction|bus error\b|nmi received|catastrophic"
            r"|error interrupt|storage interrupt"
        ),
    ),
    (
        CORRUPT,
        0.75,
        r"corrupt|checksum (?:error|mismatch|fail)|bad checksum|crc (?:error|mismatch)|inconsisten",
    ),
    (
        FULL,
        0.7,
        (
            r"no space left|disk (?:is )?full|quota exceeded|too many open files|table (?:is )?full"
            r"|file descriptors exhausted|inodes? exhausted"
        ),
    ),
    (
        LOGIN,
        0.3,
        (
            r"fail(?:ed|ure)\W+(?:password|publickey|none|login|logon|keyboard)|authentication fail"
            r"|log(?:in|on) (?:failed|failure|incorrect|denied)|(?:invalid|illegal|unknown) user"
            r"|user (?:unknown|not found)|bad (?:password|username)|break-in|wrong password"
            r"|(?:password|auth\w*|user) check failed|maximum auth|too many auth"
            r"|not allowed because"
            r"|(?:invalid|incorrect|bad|wrong) (?:credential|password|user ?name|login)|http-401"
            r"|max retries|authentication (?:error|rejected|denied)|more authentication failures?"
            r"|unable to authenticate|failed to authenticate|no more (?:user )?authentication"
        ),
    ),
    (
        DENIED,
        0.35,
        (
            r"permission denied|\bdenied\b|forbidden|not permitted"
            r"|not authori[sz]ed|unauthori[sz]ed|http-403|violation|\bblocked\b|refused by"
        ),
    ),
    (PROBE, 0.15, r"http-(?:404|400|405|414|429)|did not receive identification|bad protocol"),
    (
        NETWORK,
        0.4,
        (
            r"timed? ?out|connection (?:refused|reset|lost|aborted|closed unexpectedly|failed)"
            r"|unreachable|link (?:is )?down|no route to|severed|broken pipe|network is down"
            r"|could not (?:connect|resolve)|name or service not known|no carrier"
            r"|not responding"
        ),
    ),
    (
        SERVICE,
        0.5,
        (
            r"failed to start|entered failed state|main process exited|exited abnormally"
            r"|failed with result|start request repeated|crash ?loop|back-off restarting"
            r"|(?:exited|exit) (?:with )?(?:code|status)[ =:]*(?:<num>|[1-9])|terminated abnormally"
            r"|dependency failed|watchdog"
        ),
    ),
    (
        ERROR,
        0.5,
        (
            r"\berror|errors?\b|\bfatal\b|\bfail(?:ed|ure|ures|ing|s)?\b|exception"
            r"|cannot\b|can't|could ?n[o']t|unable to|\binvalid\b|abnormal|http-5\d\d"
            r"|\bsevere\b|\bcritical\b|\blost\b"
            r"|\bmissing\b|not fully functional|unexpected|rejected|aborted?\b"
            r"|terminated for|unavailable"
        ),
    ),
)
_ORDERED = tuple((kind, weight, re.compile(pattern)) for kind, weight, pattern in _KINDS)
_ANY = re.compile("|".join(pattern for _, _, pattern in _KINDS))
_HARMLESS = re.compile(
    r"\b(?:no|0|<num>|zero|without|any) (?:\w+ )?(?:errors?|failures?|problems?)\b"
    r"|\b(?:errors?|fail\w*)[=:] ?(?:0|<num>|none)\b|corrected|recovered"
    r"|error[-_ ]?(?:log|page|handl)|if .* fails?\b|fail(?:ed|ure)?[ -]?over|failsafe"
    r"|error reporting"
    r"|(?<!not )\bsupported\b|\binitiali[sz](?:ed|ing)\b|reporting enabled|\bregistered\b"
)
_SUCCESS = re.compile(
    r"accepted (?:password|publickey|keyboard)|session opened|log(?:in|on) (?:succeeded|successful)"
    r"|logged in|authenticated|authentication succe|http-[23]\d\d"
)
_CALM = frozenset({levels.DEBUG, levels.INFO, levels.NOTICE})
_LONGEST = 600
"""So much of a message is read: a bound on the work that a crafted line can make."""

_ACTOR_KINDS = frozenset({LOGIN, DENIED, PROBE})
_FROM_LEVEL = {levels.FATAL: 0.8, levels.ERROR: 0.5, levels.WARNING: 0.25}
_TELLING = re.compile(
    r"(?i)\W*(?:\w*fail\w*|\w*errors?|fatal|panic\w*|denied|refused|reject\w*|accept\w*|invalid"
    r"|succe\w*|down|up|open(?:ed)?|closed?|lost|timeout|severed|reset|corrupt\w*|dead|killed"
    r"|started|stopped|terminated|enabled|disabled|ok|warning|critical|http-\d+)\W*"
)


def assess(text: str, level: str) -> Trouble:
    """Return what a message speaks of, given its masked text and its level (or none)."""
    lower = text[:_LONGEST].lower()
    weight_of_level = _FROM_LEVEL.get(level, 0.0)
    severe = level in (levels.ERROR, levels.FATAL)
    if not _ANY.search(lower):
        if _SUCCESS.search(lower):
            return Trouble(kind="" if "http-" in lower else LOGIN, success=True)
        if severe:
            return Trouble(kind=ERROR, weight=weight_of_level, failing=True)
        return NO_TROUBLE
    harmless = _HARMLESS.search(lower) is not None
    kind, weight = next((k, w) for k, w, pattern in _ORDERED if pattern.search(lower))
    by_actor = kind in _ACTOR_KINDS
    if level in _CALM and not by_actor:
        # The program itself says that this is ordinary; it knows better than the words.
        return Trouble(kind=kind, weight=0.1)
    if harmless and not severe:
        return Trouble(kind=kind, weight=0.1)
    if severe:
        weight = max(weight, weight_of_level) + 0.1 * min(weight, weight_of_level)
    if kind in (LOGIN, PROBE):
        weight = min(weight, 0.5)  # however loud: a stranger's failure is none of ours
    return Trouble(
        kind=kind,
        weight=min(1.0, weight),
        failing=kind != PROBE or severe,
        by_actor=by_actor,
    )


@lru_cache(maxsize=20_000)
def is_telling(token: str) -> bool:
    """Tell whether a word says if something went well, so that it must not become a wildcard."""
    return _TELLING.fullmatch(token) is not None
