"""The form of an attrs class: the array of its fields, by functions written for it.

Appending a field with a default is compatible both ways: a short array takes
the defaults, the tail of a long one is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn

import attrs

from boyd.runtime.annotations import hints_of, meaning
from boyd.runtime.forms.containers import array
from boyd.runtime.forms.form import Find, Form, Hook, Mismatch, bare, in_step, refuse
from boyd.runtime.generated import compiled

__all__ = ["CHECKED", "Field", "class_form", "construction", "fields_of"]

CHECKED: Final[dict[Any, str]] = {
    int: "int",
    str: "str",
    bool: "bool",
    bytes: "bytes",
    float: "float",
}
"""Types whose check is one comparison, written inline."""


@attrs.frozen
class Field:
    """One field on the wire: its attribute, its argument, its type."""

    name: str
    alias: str
    type: Any
    required: bool

    @property
    def check(self) -> str:
        """The name of the class that a value must have exactly, or ""."""
        tp = bare(self.type)
        return CHECKED.get(tp, "") if isinstance(tp, type) else ""


def fields_of(cls: type) -> Sequence[Field]:
    """The fields of an attrs class that its constructor takes, in order. Raises TypeError."""
    hints = hints_of(cls)
    return [
        Field(
            name=field.name,
            alias=field.alias or field.name,
            type=hints.get(field.name, object if field.type is None else field.type),
            required=field.default is attrs.NOTHING,
        )
        for field in attrs.fields(cls)
        if field.init
    ]


def class_form(cls: type, find: Find) -> Form:
    """Generated functions, and slow ones for what does not fit at once.

    Each part is tried once, whatever goes wrong, so that a nest of values that
    do not fit costs no more than one of values that do.
    """
    fields = fields_of(cls)
    with meaning(cls):
        forms = [find(field.type) for field in fields]
    return Form(_encoder(cls, fields, forms), _decoder(cls, fields, forms))


def _encoder(cls: type, fields: Sequence[Field], forms: Sequence[Form]) -> Hook:
    def slowly(value: object) -> list[Any]:
        if value.__class__ is not cls:
            refuse(value, cls.__name__)
        return [
            in_step(form.encode, getattr(value, field.name), f".{field.name}")
            for field, form in zip(fields, forms, strict=True)
        ]

    checks, parts, names = _parts(fields, [form.encode for form in forms], "v")
    lines = [
        "def encode(v):",
        " if v.__class__ is not cls: return slowly(v)",
        *(f" a{n} = v.{field.name}" for n, field in enumerate(fields)),
        *checks,
        *parts,
        f" return [{', '.join(f'a{n}' for n in range(len(fields)))}]",
    ]
    return compiled("encode", lines, names | {"cls": cls, "slowly": slowly, "Mismatch": Mismatch})


def _decoder(cls: type, fields: Sequence[Field], forms: Sequence[Form]) -> Hook:
    needed = max((n for n, field in enumerate(fields, 1) if field.required), default=0)

    def slowly(value: object) -> object:
        tree = array(value)
        if len(tree) < needed:
            raise Mismatch(f"{cls.__name__} needs {needed} fields, got {len(tree)}")
        given = {
            field.alias: in_step(form.decode, one, f".{field.name}")
            for field, form, one in zip(fields, forms, tree, strict=False)
        }
        try:
            return cls(**given)
        except Exception as error:  # noqa: BLE001  # validators of the class may raise anything
            return refused(error)

    def refused(error: Exception) -> NoReturn:
        raise Mismatch(f"not a {cls.__name__}: {error}") from None

    checks, parts, names = _parts(fields, [form.decode for form in forms], "t")
    lines = [
        "def decode(t):",
        f" if t.__class__ is not list or len(t) != {len(fields)}: return slowly(t)",
        *([f" {''.join(f'a{n}, ' for n in range(len(fields)))}= t"] if fields else []),
        *checks,
        *parts,
        " try:",
        *(f"  {line}" for line in construction(cls, fields, [f"a{n}" for n in range(len(fields))])),
        " except Exception as error: refused(error)",
    ]
    names |= {
        "cls": cls,
        "new": object.__new__,
        "slowly": slowly,
        "refused": refused,
        "Mismatch": Mismatch,
    }
    return compiled("decode", lines, names)


def _parts(
    fields: Sequence[Field], hooks: Sequence[Hook], whole: str
) -> tuple[list[str], list[str], dict[str, Any]]:
    """Lines that check a0, a1, ... and lines that convert the others in place, saying which did not fit."""
    names: dict[str, Any] = {"steps": [f".{field.name}" for field in fields]}
    checks: list[str] = []
    converted: list[str] = []
    for n, (field, hook) in enumerate(zip(fields, hooks, strict=True)):
        if field.check:
            checks.append(f" if a{n}.__class__ is not {field.check}: return slowly({whole})")
        else:
            names[f"h{n}"] = hook
            converted.append(f"  n = {n}; a{n} = h{n}(a{n})")
    if converted:
        converted = [
            " try:",
            *converted,
            " except Mismatch as error: raise error.at(steps[n]) from None",
        ]
    return checks, converted, names


def construction(cls: type, fields: Sequence[Field], parts: Sequence[str]) -> list[str]:
    """Lines that return an instance of `cls` made of the expressions `parts`."""
    if _has_plain_constructor(cls, fields):
        # What its own __init__ would do, without the passing of keywords.
        assigned = [f"v.{field.name} = {part}" for field, part in zip(fields, parts, strict=True)]
        return ["v = new(cls)", *assigned, "return v"]
    given = [f"{field.alias}={part}" for field, part in zip(fields, parts, strict=True)]
    return [f"return cls({', '.join(given)})"]


def _has_plain_constructor(cls: Any, fields: Sequence[Field]) -> bool:  # noqa: ANN401
    """Whether its constructor assigns its arguments, and does nothing else."""
    code = getattr(cls.__init__, "__code__", None)
    return (
        code is not None
        and code.co_filename.startswith("<attrs generated")
        and cls.__new__ is object.__new__
        and cls.__setattr__ is object.__setattr__
        and not hasattr(cls, "__attrs_pre_init__")
        and not hasattr(cls, "__attrs_post_init__")
        and len(fields) == len(attrs.fields(cls))
        and all(field.converter is None and field.validator is None for field in attrs.fields(cls))
    )
