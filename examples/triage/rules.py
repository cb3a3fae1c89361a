"""Decide by rules: a pure function from what is suspected and what is known to what to do.

How many incidents there may be is a budget for each kind of trouble, so that a report stays
readable on any log: the fewer places are left, the worse a new one must be, and what finds no
place is gathered in one incident for its unit. In all there are at most 37 for a source.
"""

from collections.abc import Iterable

import attrs

from .entities import blockable
from .facts import Action, Fact, suspicion_of
from .orient import Orientation, Suspicion
from .text import clean, counted, percent
from .words import DENIED, LOGIN, PROBE

OPEN_FROM, EXTEND_FROM, RELATED_FROM = 0.6, 0.25, 0.5
PLACES = {"who": 8, "disk": 3, "rate": 5, "burst": 1, "silence": 1, "instruction": 1, "fault": 12}
"""How many incidents of each class a source may have, groups apart."""

_GROUPS = 4
_CLASS = {"guessing": "who", "probing": "who", "errors": "fault"}
_LADDER = ((0.5, OPEN_FROM), (0.75, 0.75), (1.0, 0.85))
_BLOCK_SCORE, _BLOCK_LOGINS = 0.94, 30
_ACTOR_TROUBLE = frozenset({LOGIN, DENIED, PROBE})


@attrs.frozen(kw_only=True)
class Standing:
    """An incident of a source as far as the next decision must know it."""

    key: str
    kind: str
    unit: str
    trouble: str
    templates: frozenset[int] = frozenset()
    proposed: bool = False


@attrs.frozen(kw_only=True)
class Known:
    """What was decided before in a source."""

    standings: tuple[Standing, ...] = ()
    quieted: frozenset[int] = frozenset()

    def find(self, key: str) -> Standing | None:
        """Return the incident with a key."""
        return next((standing for standing in self.standings if standing.key == key), None)


def known_after(known: Known, facts: Iterable[Fact]) -> Known:
    """Return what is known when these facts are added, in whatever order they come."""
    standings = {standing.key: standing for standing in known.standings}
    quieted = set(known.quieted)
    for fact in facts:
        action = fact.action
        if action.what == "quiet":
            quieted.add(action.template)
            continue
        old = standings.get(action.incident)
        if old is None:
            old = Standing(key=action.incident, kind="", unit=fact.unit, trouble=fact.trouble)
        standings[action.incident] = attrs.evolve(
            old,
            kind=old.kind or action.kind,
            templates=old.templates | (fact.evidence.templates if fact.evidence else frozenset()),
            proposed=old.proposed or action.what == "propose_block",
        )
    ordered = tuple(standings[key] for key in sorted(standings))
    return Known(standings=ordered, quieted=frozenset(quieted))


def decide(orientation: Orientation, known: Known) -> tuple[Action, ...]:
    """Return what to do about a batch, the most urgent first, each action with its reason."""
    actions: list[Action] = []
    standing = {incident.key: incident for incident in known.standings}
    for suspicion in orientation.suspicions:
        action = _action(suspicion, standing)
        if action is None:
            continue
        actions.append(action)
        old = standing.get(action.incident)
        if old is None:
            old = standing[action.incident] = Standing(
                key=action.incident,
                kind=action.kind,
                unit=suspicion.unit,
                trouble=suspicion.trouble,
                templates=suspicion.evidence.templates,
            )
        if not old.proposed and (address := strong_address(orientation, suspicion.subject)):
            actions.append(_proposal(suspicion, action.incident, address))
            standing[action.incident] = attrs.evolve(old, proposed=True)
    return (*actions, *_quiets(orientation, known.quieted))


def strong_address(orientation: Orientation, address: str) -> str | None:
    """Return the address if it may be proposed for a block, else None.

    It must be one that was measured in this batch as the origin of many failed logins, and a
    public one. A text that merely names an address is never enough, whoever asks for it.
    """
    suspicion = suspicion_of(orientation, f"address:{address}")
    if suspicion is None or suspicion.kind != "guessing" or suspicion.score < _BLOCK_SCORE:
        return None
    if suspicion.numbers.get("logins", 0) < _BLOCK_LOGINS or not blockable(address):
        return None
    return address


def _action(suspicion: Suspicion, standing: dict[str, Standing]) -> Action | None:
    if suspicion.key in standing and suspicion.score >= EXTEND_FROM:
        return _extend(suspicion, suspicion.key)
    into = _related(suspicion, standing)
    if into is not None and suspicion.score >= RELATED_FROM:
        return _extend(suspicion, into)
    if suspicion.score < OPEN_FROM:
        return None
    if suspicion.score >= _needed(suspicion, standing):
        return _open(suspicion, suspicion.key, title_of(suspicion), suspicion.kind)
    return _gather(suspicion, standing)


def _related(suspicion: Suspicion, standing: dict[str, Standing]) -> str | None:
    """Return the incident that this is part of, though its key is another."""
    if suspicion.kind not in ("fault", "errors", "rate", "burst"):
        return None
    mine = suspicion.evidence.templates
    for incident in standing.values():
        if incident.kind == suspicion.kind and incident.kind != "more":
            continue
        same_unit = incident.unit == suspicion.unit
        if incident.kind in ("guessing", "probing"):
            if same_unit and suspicion.trouble in _ACTOR_TROUBLE:
                return incident.key
        elif incident.kind == "disk":
            if same_unit and suspicion.trouble == "disk":
                return incident.key
        elif (
            incident.kind == "rate"
            and same_unit
            and suspicion.kind == "errors"
            and mine <= incident.templates
        ):
            return incident.key
    return next(
        (i.key for i in standing.values() if i.kind == "more" and mine and mine <= i.templates),
        None,
    )


def _needed(suspicion: Suspicion, standing: dict[str, Standing]) -> float:
    """Return the score that a new incident of this class must have."""
    wanted = _CLASS.get(suspicion.kind, suspicion.kind)
    places = PLACES.get(wanted, 1)
    taken = sum(
        1
        for incident in standing.values()
        if _CLASS.get(incident.kind, incident.kind) == wanted and incident.key != "addresses"
    )
    if suspicion.key == "addresses":
        return OPEN_FROM
    if wanted not in ("fault", "who"):
        return OPEN_FROM if taken < places else 2.0
    return next((needed for share, needed in _LADDER if taken < share * places), 2.0)


def _gather(suspicion: Suspicion, standing: dict[str, Standing]) -> Action | None:
    """Put what finds no place of its own into a common incident."""
    if suspicion.kind in ("burst", "silence", "instruction"):
        return None
    if suspicion.kind in ("guessing", "probing"):
        key, title, kind = "addresses", "Password guessing from further addresses", "guessing"
    else:
        key = f"more:{suspicion.unit}"
        groups = sum(1 for incident in standing.values() if incident.kind == "more")
        if key not in standing and groups >= _GROUPS:
            key = "more:"
        kind = "more"
        of = f" in {suspicion.unit}" if suspicion.unit and key != "more:" else ""
        title = f"Further trouble{of}"
    if key in standing:
        return _extend(suspicion, key)
    return _open(suspicion, key, title, kind)


def _open(suspicion: Suspicion, key: str, title: str, kind: str) -> Action:
    return Action(
        what="open", key=suspicion.key, incident=key, why=suspicion.why, kind=kind, title=title
    )


def _extend(suspicion: Suspicion, key: str) -> Action:
    return Action(
        what="extend", key=suspicion.key, incident=key, why=suspicion.why, kind=suspicion.kind
    )


def _proposal(suspicion: Suspicion, incident: str, address: str) -> Action:
    logins = counted(suspicion.numbers.get("logins", 0), "failed-login line")
    return Action(
        what="propose_block",
        key=suspicion.key,
        incident=incident,
        why=f"{logins} from {address} in one batch",
        kind=suspicion.kind,
        address=address,
    )


def _quiets(orientation: Orientation, quieted: frozenset[int]) -> list[Action]:
    return [
        Action(
            what="quiet",
            key=f"template:{noisy.template}",
            incident="",
            why=f"{percent(noisy.share, 1)} of the lines are this, and it tells of no trouble: "
            f"{noisy.text[:80]}",
            template=noisy.template,
        )
        for noisy in orientation.noisy
        if noisy.template not in quieted
    ]


def title_of(suspicion: Suspicion) -> str:
    """Return what to call an incident about a suspicion."""
    subject, unit = suspicion.subject, suspicion.unit
    spot = next(iter(suspicion.evidence.spots), None)
    text = clean(spot.text, 90) if spot else ""
    after = " after a change" if suspicion.evidence.marks else ""
    whom = "spread over many addresses" if suspicion.key == "addresses" else f"from {subject}"
    titles = {
        "guessing": f"Password guessing {whom}",
        "probing": f"Forbidden or missing pages asked for by {subject}",
        "disk": f"Device {subject} fails",
        "rate": f"{unit} fails much more often{after}",
        "burst": f"Burst of lines: {text}" if text else "Burst of lines",
        "silence": "The log falls silent",
        "instruction": "Instruction found in data, not obeyed",
    }
    return titles.get(suspicion.kind, f"{unit}: {text}" if unit else text)
