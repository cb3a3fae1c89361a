"""TARGET of `boyd run`: from what a person types to a module.

Only what a person typed is loaded. A ledger also says how its runs were
started, but a ledger may come from anybody, so what it says is loaded only
where it names Boyd's own triage.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Final

import attrs

import boyd.actors
from boyd.actors.cli.problems import UsageError

__all__ = ["TRIAGE", "Target", "load", "parse_target"]

TRIAGE: Final = "triage"
_PACKAGED: Final = "boyd.actors._triage"
_MODULE: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@attrs.frozen(kw_only=True)
class Target:
    """Something that can be loaded.

    Attributes:
        typed: as the person wrote it.
        recorded: as a ledger keeps it: it means the same from any folder, as far as that can be.
        path: the `.py` file or the package's folder, or None for a module.
        module: the module's name where there is no path.
        name: the one wanted from the module, or "".
        is_own: it is the triage that came with Boyd.
    """

    typed: str
    recorded: str
    path: Path | None = None
    module: str = ""
    name: str = ""
    is_own: bool = False


def parse_target(text: str) -> Target:
    """What `text` names. Nothing is loaded yet.

    Raises:
        UsageError: nothing that could be loaded.
    """
    if text == TRIAGE:
        return _own_triage()
    place, name = _split(text)
    path = Path(place)
    if path.is_dir():
        if not (path / "__init__.py").is_file():
            raise UsageError(f"{place} has no __init__.py, so it cannot be imported as a package")
        return _at(text, path, name)
    if path.suffix == ".py":
        if not path.is_file():
            raise UsageError(f"there is no file {place}")
        return _at(text, path, name)
    if path.is_file():
        raise UsageError(f"{place} is no Python file: its name does not end in .py")
    if _MODULE.fullmatch(place) and (name or "." in place):
        return Target(typed=text, recorded=text, module=place, name=name)
    raise UsageError(
        f"there is no {text!r} to run: give a folder, a .py file, package.module:name, or triage"
    )


def _split(text: str) -> tuple[str, str]:
    """`agent.py:desk` is a place and a name; a colon elsewhere belongs to the path."""
    place, colon, name = text.rpartition(":")
    if colon and name.isidentifier() and not Path(text).exists():
        return place, name
    return text, ""


def _at(text: str, path: Path, name: str) -> Target:
    whole = path.resolve()
    own = _triage_folder()
    is_own = not name and own is not None and whole == own
    recorded = TRIAGE if is_own else f"{whole}:{name}" if name else str(whole)
    return Target(typed=text, recorded=recorded, path=whole, name=name, is_own=is_own)


def _own_triage() -> Target:
    if importlib.util.find_spec(_PACKAGED) is not None:
        return Target(typed=TRIAGE, recorded=TRIAGE, module=_PACKAGED, is_own=True)
    folder = _triage_folder()
    if folder is None:
        raise UsageError("this installation of Boyd does not carry the triage example")
    return Target(typed=TRIAGE, recorded=TRIAGE, path=folder, is_own=True)


def _triage_folder() -> Path | None:
    """In a wheel the example lies inside the package, in a checkout beside it."""
    package = Path(next(iter(boyd.actors.__path__))).resolve()
    for folder in (package / "_triage", package.parents[2] / "examples" / "triage"):
        if (folder / "__init__.py").is_file():
            return folder
    return None


def load(target: Target) -> ModuleType:
    """Import it, once a process.

    Raises:
        UsageError: there is no such module.
        Exception: whatever its own code raises.
    """
    if target.path is None:
        return _load_module(target)
    package = target.path.is_dir()
    name = f"boyd_run_{_identifier(target.path)}"
    known = sys.modules.get(name)
    if known is not None:
        return known
    file = target.path / "__init__.py" if package else target.path
    if not package and str(target.path.parent) not in sys.path:
        sys.path.append(str(target.path.parent))  # last: it hides nobody
    spec = importlib.util.spec_from_file_location(
        name, file, submodule_search_locations=[str(target.path)] if package else None
    )
    assert spec is not None, "a .py file has a loader"
    assert spec.loader is not None, "so it can be loaded"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: annotations are looked up here
    done = False
    try:
        spec.loader.exec_module(module)
        done = True
    finally:
        if not done:
            for loaded in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
                del sys.modules[loaded]
    return module


def _load_module(target: Target) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path and not target.is_own:
        sys.path.append(here)
    try:
        return importlib.import_module(target.module)
    except ModuleNotFoundError as error:
        if error.name and f"{target.module}.".startswith(f"{error.name}."):
            raise UsageError(f"there is no module {error.name}") from None
        raise


def _identifier(path: Path) -> str:
    stem = re.sub(r"\W", "_", path.stem)
    return f"{stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
