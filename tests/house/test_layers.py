"""What may stand where: imports run downwards, a library has one place, chance has one source.

Each rule is a function from a source to what is wrong with it. Exceptions stand in
the tables, with a reason or not at all.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Final

import pytest

from tests.house.sources import ROOT, Source, Use, read_sources

Rule = Callable[[Source], Iterator[str]]

# Where each library may be imported: nowhere else, so that a swap touches one file.
PLACES: Final = {
    "trio": ("*",),
    "attrs": ("*",),
    "outcome": ("runtime/parking.py",),
    "msgpack": ("runtime/wire.py",),
    "cattrs": ("runtime/codec.py",),
    "apsw": ("runtime/ledger/sqlite_database.py",),
    "httpx": ("actors/providers/http.py",),
    "jsonschema_rs": ("actors/tools/validate.py",),
    "cyclopts": ("actors/cli/*",),
    "rich": ("actors/cli/*",),
    "hypothesis": ("*/testing/*",),
    "pytest": ("*/testing/*",),  # comes with pytest_trio
    "pytest_trio": ("*/testing/*",),
}

# Of the standard library of a Python that is newer than the oldest supported one.
NEWER_STDLIB: Final = frozenset({"annotationlib"})

# Words of the cast: the stage knows nothing of them.
CAST: Final = frozenset(
    "anthropic http https llm llms model models openai openrouter prompt prompts"  # noqa: SIM905
    " provider providers tool tools".split()
)
CAST_ALLOWED: Final = {
    "runtime/testing/*": {"model", "models"},  # of property tests: the plain thing to compare with
}

# Everything that makes two runs differ. A bare `random.Random` is a type, and fine.
CHANCE: Final = (
    "asyncio*",
    "concurrent.futures*",
    "datetime.date.today",
    "datetime.datetime.now",
    "datetime.datetime.today",
    "datetime.datetime.utcnow",
    "multiprocessing*",
    "os.environ*",
    "os.getenv*",
    "os.urandom*",
    "random.Random()",
    "random.[!R]*",
    "secrets.*",
    "threading.Thread",
    "threading.Timer",
    "time.*",
    "trio.lowlevel.start_thread_soon",
    "trio.to_thread*",
    "uuid.getnode",
    "uuid.uuid*",
)
CHANCE_ALLOWED: Final = {
    "runtime/testing/leaks.py": ("threading.Thread",),  # the type of what it counts; it starts none
    "runtime/seams.py": ("*",),  # the one source of chance
    "runtime/testing/*": ("random.Random()",),  # simulated worlds draw from seeds of their own
    "actors/cli/*": ("os.environ*", "os.getenv*"),  # where somebody's environment comes in
}

# Ways in which stored or sent bytes could choose what Python to run.
CODE: Final = (
    "builtins.__import__",
    "builtins.compile",
    "builtins.eval",
    "builtins.exec",
    "cloudpickle*",
    "ctypes*",
    "dill*",
    "importlib.__import__",
    "importlib.import_module",
    "marshal*",
    "pickle*",
    "runpy*",
    "shelve*",
)
CODE_ALLOWED: Final = {
    "runtime/generated.py": ("builtins.exec",),  # codecs, from field names that attrs accepted
    "runtime/actor.py": ("builtins.eval",),  # the program's own annotations, as typing reads them
    "*/__init__.py": ("importlib.import_module",),  # lazy exports, from a table in the file
    "actors/cli/*": ("importlib.import_module",),  # the person who types names what to run
}


def imports_run_downwards(source: Source) -> Iterator[str]:
    """The runtime knows no actors, and neither knows examples, benchmarks or tests."""
    above = ["examples", "benchmarks", "tests"]
    if source.layer == "runtime":
        above.append("boyd.actors")
    for use in source.imports():
        for layer in above:
            if f"{use.name}.".startswith(f"{layer}."):
                yield f"{at(source, use)} imports {use.name}, which is above it"


def libraries_keep_their_place(source: Source) -> Iterator[str]:
    """Each library is declared, and imported only in its place."""
    for use in source.imports():
        top = use.name.partition(".")[0]
        if top in sys.stdlib_module_names or top in NEWER_STDLIB or top == "boyd":
            continue
        places = PLACES.get(top)
        if places is None:
            yield f"{at(source, use)} imports {top}, which PLACES does not know"
        elif not any(fnmatchcase(source.place, place) for place in places):
            yield f"{at(source, use)} imports {top}, which belongs in {' or '.join(places)}"


def the_stage_knows_no_cast(source: Source) -> Iterator[str]:
    """No name in the runtime speaks of models, prompts, tools or HTTP."""
    if source.layer != "runtime":
        return
    allowed = {
        word
        for place, words in CAST_ALLOWED.items()
        if fnmatchcase(source.place, place)
        for word in words
    }
    for use in source.words():
        if use.name in CAST - allowed:
            yield f"{at(source, use)} says {use.name!r}, a word of boyd.actors"


def chance_has_one_source(source: Source) -> Iterator[str]:
    """Clocks, ids, random numbers, threads and the environment come through the seams."""
    yield from forbidden(source, CHANCE, CHANCE_ALLOWED, "only runtime/seams.py may")


def data_never_become_code(source: Source) -> Iterator[str]:
    """Nothing is unpickled, evaluated or imported by a name that came from outside."""
    yield from forbidden(source, CODE, CODE_ALLOWED, "data must never become code")


def trio_is_used_by_its_public_names(source: Source) -> Iterator[str]:
    """No private name of Trio is touched: its next release may not have it."""
    for use in source.uses():
        top, *rest = use.name.split(".")
        if top == "trio" and any(name.startswith("_") and name[:2] != "__" for name in rest):
            yield f"{at(source, use)} uses {use.name}, which is private"


RULES: Final = (
    imports_run_downwards,
    libraries_keep_their_place,
    the_stage_knows_no_cast,
    chance_has_one_source,
    data_never_become_code,
    trio_is_used_by_its_public_names,
)


def forbidden(
    source: Source, names: tuple[str, ...], allowed: Mapping[str, tuple[str, ...]], why: str
) -> Iterator[str]:
    """What `source` uses of `names` without `allowed` saying so for its place."""
    exempt = [
        pattern
        for place, patterns in allowed.items()
        if fnmatchcase(source.place, place)
        for pattern in patterns
    ]
    for use in source.uses():
        matches = [name for name in names if fnmatchcase(use.name, name)]
        if matches and not any(fnmatchcase(use.name, pattern) for pattern in exempt):
            yield f"{at(source, use)} uses {use.name}: {why}"


def at(source: Source, use: Use) -> str:
    """`runtime/wire.py:12`."""
    return f"{source.place}:{use.line}"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_sources_keep(rule: Rule) -> None:
    """Every module of both roots keeps every rule."""
    sources = read_sources()
    assert sources, "no sources were found, so nothing was checked"
    wrong = sorted({line for source in sources for line in rule(source)})
    assert not wrong, f"{rule.__doc__}\n" + "\n".join(wrong)


PLANTED: Final = [
    (imports_run_downwards, "runtime/cell.py", "import boyd.actors"),
    (imports_run_downwards, "runtime/cell.py", "from boyd import actors"),
    (imports_run_downwards, "runtime/cell.py", "from boyd.actors.events import Event"),
    (imports_run_downwards, "runtime/ledger/base.py", "from ...actors import Agent"),
    (imports_run_downwards, "actors/agent.py", "from examples.triage import lead"),
    (imports_run_downwards, "actors/agent.py", "def f():\n    import tests.house"),
    (libraries_keep_their_place, "runtime/cell.py", "import msgpack"),
    (libraries_keep_their_place, "runtime/cell.py", "from httpx import AsyncClient"),
    (libraries_keep_their_place, "actors/agent.py", "import rich.live"),
    (libraries_keep_their_place, "actors/agent.py", "import requests"),
    (libraries_keep_their_place, "actors/step/handle.py", "from hypothesis import given"),
    (the_stage_knows_no_cast, "runtime/cell.py", "def call_tool(self): ..."),
    (the_stage_knows_no_cast, "runtime/cell.py", "class HTTPLink: ..."),
    (the_stage_knows_no_cast, "runtime/cell.py", "run(model=1)"),
    (the_stage_knows_no_cast, "runtime/testing/world.py", "prompt_text = 1"),
    (chance_has_one_source, "runtime/cell.py", "import time\ntime.monotonic()"),
    (chance_has_one_source, "runtime/cell.py", "from time import time as now"),
    (chance_has_one_source, "runtime/cell.py", "import random as r\nr.Random(1)"),
    (chance_has_one_source, "runtime/cell.py", "import random\nrandom.shuffle([])"),
    (chance_has_one_source, "actors/agent.py", "import uuid\nuuid.uuid4()"),
    (chance_has_one_source, "actors/agent.py", "import os\nkey = os.environ['KEY']"),
    (chance_has_one_source, "actors/agent.py", "from os import urandom"),
    (chance_has_one_source, "actors/agent.py", "import trio as t\nt.to_thread.run_sync(f)"),
    (chance_has_one_source, "actors/agent.py", "from datetime import datetime\ndatetime.now()"),
    (chance_has_one_source, "actors/cli/app.py", "import time\ntime.time()"),
    (data_never_become_code, "runtime/wire.py", "import pickle"),
    (data_never_become_code, "runtime/wire.py", "eval('1')"),
    (data_never_become_code, "runtime/messages.py", "eval('1')"),
    (data_never_become_code, "runtime/codec.py", "exec('')"),
    (data_never_become_code, "actors/agent.py", "from importlib import import_module"),
    (trio_is_used_by_its_public_names, "runtime/cell.py", "import trio._core._run"),
    (trio_is_used_by_its_public_names, "runtime/cell.py", "from trio import _core as c"),
    (trio_is_used_by_its_public_names, "runtime/cell.py", "import trio\ntrio.lowlevel._run"),
]


@pytest.mark.parametrize(("rule", "place", "text"), PLANTED)
def test_a_planted_fault_is_found(rule: Rule, place: str, text: str) -> None:
    """Each rule sees each way of breaking it, or it would guard nothing."""
    assert list(rule(Source.parse(place, text)))


ALLOWED: Final = [
    ("runtime/wire.py", "import msgpack\nimport threading\nlocal = threading.local()"),
    ("runtime/seams.py", "import os, time\nnow = time.time\nread = os.environ.get"),
    ("runtime/context.py", "import random\ndef chance(self) -> random.Random: ..."),
    ("runtime/codec.py", "import uuid\nfrom cattrs import Converter\nUUID = uuid.UUID"),
    ("runtime/generated.py", "exec('')"),
    ("runtime/testing/machine.py", "import hypothesis\nmodel = 1"),
    ("runtime/deadlines.py", "import trio\ntrio.current_time()\nfunctools = 1"),
    ("actors/cli/run.py", "import os, rich.live, importlib\nimportlib.import_module(spec)"),
    ("actors/tools/define.py", "tool, prompt, http, time = 1, 2, 3, 4\ntime.sleep"),
]


@pytest.mark.parametrize(("place", "text"), ALLOWED)
def test_what_is_allowed_is_let_be(place: str, text: str) -> None:
    """No rule objects to what belongs where it stands."""
    source = Source.parse(place, text)
    assert [line for rule in RULES for line in rule(source)] == []


def test_every_declared_library_has_a_place_and_the_other_way_round() -> None:
    """pyproject.toml and PLACES name the same libraries."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = [*project["dependencies"]]
    for name, extra in project["optional-dependencies"].items():
        declared += extra if name != "all" else []
    names = {re.split(r"[^a-z0-9-]", line, maxsplit=1)[0].replace("-", "_") for line in declared}
    assert names | {"pytest"} == set(PLACES)
