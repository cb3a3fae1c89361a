"""Counting the lines of one batch into the parts of a digest."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import attrs

from .digest import Bucket, EntityCount, Mark, Share, TemplateCount, UnitCount
from .entities import ADDRESS_KIND, HOST, UNIT, USER, entities
from .kinds import Kind
from .templates import Template
from .text import clean

MOST_TEMPLATES = 400
MOST_BUCKETS = 256
MOST_UNITS = 16
MOST_MARKS = 20
_MOST_ENTITIES = {ADDRESS_KIND: 64, USER: 32, HOST: 24, UNIT: 24}
_MOST_SHARES = 16
_MOST_PARTNERS = 20
_SAMPLE = 200
_LADDER = (1, 10, 60, 300, 900, 3600, 21_600, 86_400, 604_800)


@attrs.frozen(kw_only=True)
class Lines:
    """The parsed lines of a batch, in columns. Blank lines have kind None."""

    first: int
    raw: Sequence[str]
    kinds: Sequence[Kind | None]
    tokens: Sequence[list[str]]
    times: Sequence[float | None]
    units: Sequence[str]
    hosts: Sequence[str]


def template_counts(
    lines: Lines, find: Callable[[int], Template]
) -> tuple[tuple[TemplateCount, ...], int]:
    """Count the lines of each template; return the most telling ones, and how many are left out."""
    where: dict[int, list[int]] = {}
    for index, kind in enumerate(lines.kinds):
        if kind is not None:
            got = where.get(kind.cluster)
            if got is None:
                where[kind.cluster] = [index]
            else:
                got.append(index)
    counted = [_template(lines, find(cluster), got) for cluster, got in where.items()]
    counted.sort(key=lambda t: (-t.weight if t.failing else 1.0, -t.count, t.id))
    kept = sorted(counted[:MOST_TEMPLATES], key=lambda t: t.id)
    return tuple(kept), len(counted) - len(kept)


def _template(lines: Lines, template: Template, where: list[int]) -> TemplateCount:
    kinds = [kind for index in where if (kind := lines.kinds[index]) is not None]
    worst = max(kinds, key=lambda kind: kind.trouble.weight)
    failing = sum(1 for kind in kinds if kind.trouble.failing)
    some = where if len(where) <= 3 else [where[0], where[1], where[-1]]
    shown = next((i for i in where if lines.kinds[i] is worst), where[0])
    return TemplateCount(
        id=template.id,
        unit=clean(template.unit, 64),
        text=clean(template.text, _SAMPLE),
        count=len(where),
        first_line=lines.first + where[0],
        last_line=lines.first + where[-1],
        lines=tuple(lines.first + index for index in some),
        sample=clean(lines.raw[shown], _SAMPLE),
        sample_line=lines.first + shown,
        levels=dict(sorted(Counter(kind.level for kind in kinds if kind.level).items())),
        trouble=worst.trouble.kind,
        weight=round(worst.trouble.weight, 3),
        failing=failing,
        by_actor=worst.trouble.by_actor,
        first_time=lines.times[where[0]],
        last_time=lines.times[where[-1]],
    )


def width_for(times: Iterable[float | None], *, lines: int = 0) -> int:
    """Return a length of buckets, in seconds, that cuts these times into some dozens.

    With `lines` it is one for so many of them, though fewer are known yet.
    """
    known = [time for time in times if time is not None]
    if len(known) < 2:
        return 0
    span = (max(known) - min(known)) * max(1.0, lines / len(known))
    return next((width for width in _LADDER if span / width <= 60), _LADDER[-1])


def buckets_of(times: Sequence[float | None], width: int) -> list[int]:
    """Return the start of the bucket of each line; -1 where no time is known."""
    if not width:
        return [-1] * len(times)
    return [-1 if time is None else int(time // width) * width for time in times]


def bucket_counts(lines: Lines, starts: Sequence[int]) -> tuple[Bucket, ...]:
    """Count the lines of each bucket, in order of time."""
    where: dict[int, list[int]] = {}
    for index, start in enumerate(starts):
        where.setdefault(start, []).append(index)
    where.pop(-1, None)
    found: list[Bucket] = []
    for start in sorted(sorted(where, key=lambda s: (-len(where[s]), s))[:MOST_BUCKETS]):
        kinds = [kind for index in where[start] if (kind := lines.kinds[index]) is not None]
        tops = Counter(kind.cluster for kind in kinds)
        top, top_lines = max(tops.items(), key=lambda t: (t[1], -t[0])) if tops else (0, 0)
        found.append(
            Bucket(
                start=start,
                lines=len(where[start]),
                failing=sum(1 for kind in kinds if kind.trouble.failing),
                first_line=lines.first + where[start][0],
                last_line=lines.first + where[start][-1],
                top=top,
                top_lines=top_lines,
            )
        )
    return tuple(found)


def unit_counts(lines: Lines, starts: Sequence[int]) -> tuple[UnitCount, ...]:
    """Count all and failing lines of each unit, by bucket.

    A refused login or page is a fault of whoever asked, and no failure of the unit.
    """
    failed = [
        kind is not None and kind.trouble.failing and not kind.trouble.by_actor
        for kind in lines.kinds
    ]
    totals = Counter(lines.units)
    bad = Counter(unit for unit, failing in zip(lines.units, failed, strict=True) if failing)
    totals.pop("", None)
    names = sorted(totals, key=lambda name: (-bad[name], -totals[name], name))[:MOST_UNITS]
    chosen = set(names)
    cells: dict[str, dict[int, list[int]]] = {name: {} for name in names}
    for line, (unit, start, failing) in enumerate(
        zip(lines.units, starts, failed, strict=True), start=lines.first
    ):
        if unit in chosen:
            cell = cells[unit].setdefault(start, [0, 0, 0, 0])
            cell[0] += 1
            if failing:
                cell[1] += 1
                cell[2] = cell[2] or line
                cell[3] = line
    return tuple(
        UnitCount(
            name=clean(name, 64),
            lines=totals[name],
            failing=bad[name],
            cells=tuple((start, cell[0], cell[1]) for start, cell in _ordered(cells[name])),
            spans=tuple((cell[2], cell[3]) for _, cell in _ordered(cells[name])),
        )
        for name in sorted(names)
    )


def _ordered(cells: dict[int, list[int]]) -> list[tuple[int, list[int]]]:
    return sorted(cells.items())[:MOST_BUCKETS]


class _Entity:
    """What is known of one entity while a batch is counted."""

    __slots__ = ("before", "count", "logins", "partners", "success", "success_at", "where")

    def __init__(self) -> None:
        self.count = self.success = self.success_at = self.before = self.logins = 0
        self.where: list[int] = []
        self.partners: dict[str, None] = {}


def entity_counts(lines: Lines) -> tuple[EntityCount, ...]:
    """Count the lines about each entity; keep the most suspicious of each kind."""
    found: dict[tuple[str, str], _Entity] = {}
    for index, kind in enumerate(lines.kinds):
        if kind is None:
            continue
        trouble = kind.trouble
        bad = trouble.failing or trouble.by_actor
        if kind.plan.empty:
            named: list[tuple[str, str]] = []
        else:
            named = entities(kind.plan, lines.tokens[index])
        if bad:
            if lines.hosts[index]:
                named.append((HOST, lines.hosts[index]))
            if lines.units[index]:
                named.append((UNIT, lines.units[index]))
        for key in named:
            entity = found.get(key)
            if entity is None:
                entity = found[key] = _Entity()
            _count(entity, key, kind, index, named)
    _count_ordinary(found, lines)
    kept: list[EntityCount] = []
    for group in sorted({kind for kind, _ in found}):
        names = [key for key in found if key[0] == group and (found[key].where or group in _WHO)]
        names.sort(key=lambda key: (-len(found[key].where), -found[key].count, key[1]))
        kept.extend(
            _entity(lines, key, found[key]) for key in names[: _MOST_ENTITIES.get(group, 16)]
        )
    return tuple(kept)


_WHO = frozenset({ADDRESS_KIND, USER})


def _count(
    entity: _Entity, key: tuple[str, str], kind: Kind, index: int, named: list[tuple[str, str]]
) -> None:
    trouble = kind.trouble
    if key[0] in _WHO:
        entity.count += 1
    if trouble.by_actor if key[0] in _WHO else trouble.failing:
        entity.where.append(index)
        entity.logins += trouble.kind == "login"
        if key[0] == ADDRESS_KIND and len(entity.partners) < _MOST_PARTNERS:
            entity.partners.update({name: None for other, name in named if other == USER})
    elif trouble.success:
        entity.success += 1
        if not entity.success_at and trouble.kind == "login":
            entity.success_at = index + 1
            entity.before = entity.logins


def _count_ordinary(found: dict[tuple[str, str], _Entity], lines: Lines) -> None:
    """Add the lines of hosts and units that had trouble: most lines have none of it."""
    for kind, column in ((HOST, lines.hosts), (UNIT, lines.units)):
        totals = Counter(column)
        for key, entity in found.items():
            if key[0] == kind:
                entity.count = totals[key[1]]


def _entity(lines: Lines, key: tuple[str, str], entity: _Entity) -> EntityCount:
    where = entity.where
    some = where if len(where) <= 3 else [where[0], where[1], where[-1]]
    shares: dict[int, list[int]] = {}
    for index in where:
        kind = lines.kinds[index]
        if kind is not None:
            shares.setdefault(kind.cluster, []).append(index)
    first = lines.first
    return EntityCount(
        kind=key[0],
        name=clean(key[1], 64),
        count=entity.count,
        suspicious=len(where),
        success=entity.success,
        success_line=first + entity.success_at - 1 if entity.success_at else 0,
        before_success=entity.before,
        logins=entity.logins,
        first_line=first + where[0] if where else 0,
        last_line=first + where[-1] if where else 0,
        first_time=lines.times[where[0]] if where else None,
        last_time=lines.times[where[-1]] if where else None,
        lines=tuple(first + index for index in some),
        sample=clean(lines.raw[where[0]], _SAMPLE) if where else "",
        templates=tuple(
            Share(
                template=cluster,
                count=len(got),
                first_line=first + got[0],
                last_line=first + got[-1],
            )
            for cluster, got in sorted(shares.items(), key=lambda s: (-len(s[1]), s[0]))[
                :_MOST_SHARES
            ]
        ),
        partners=tuple(clean(name, 64) for name in sorted(entity.partners)),
    )


def marks_of(lines: Lines) -> tuple[Mark, ...]:
    """Return the lines that tell of a change, at most three of a template."""
    found: list[Mark] = []
    of_template: Counter[int] = Counter()
    for index, kind in enumerate(lines.kinds):
        if kind is None or not kind.change:
            continue
        of_template[kind.cluster] += 1
        if of_template[kind.cluster] <= 3 and len(found) < MOST_MARKS:
            found.append(
                Mark(
                    line=lines.first + index,
                    time=lines.times[index],
                    unit=clean(lines.units[index], 64),
                    text=clean(lines.raw[index], _SAMPLE),
                )
            )
    return tuple(found)
