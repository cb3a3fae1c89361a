"""What the repository's files hold, and what they leave out."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.house.sources import ROOT

PACKAGES: Final = ("runtime/boyd/runtime", "actors/boyd/actors")

# In halves, so that this file names none of them.
REGISTRIES: Final = [
    ".".join(halves)
    for halves in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("crates", "io"),
        ("anaconda", "org"),
        ("golang", "org"),
        ("rubygems", "org"),
        ("docker", "io"),
        ("ghcr", "io"),
        ("quay", "io"),
    )
]
INDEX_OPTION: Final = re.compile(r"^\s*(--(extra-)?index-url|-i|--find-links|-f)\b", re.MULTILINE)


def files() -> Iterator[Path]:
    """Every text file that is, or would be, committed."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so what belongs to the repository is unknown")
    listing = subprocess.run(
        [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in listing.stdout.decode().split("\0"):
        if name and (path := ROOT / name).is_file() and b"\0" not in path.read_bytes()[:4096]:
            yield path


def registries_in(text: str) -> list[str]:
    """The package registries that `text` names."""
    return [host for host in REGISTRIES if re.search(rf"\b{re.escape(host)}\b", text)]


def test_no_file_names_a_package_registry() -> None:
    """Where packages come from is the business of whoever installs them."""
    named = {
        path.relative_to(ROOT).as_posix(): hosts
        for path in files()
        if (hosts := registries_in(path.read_text("utf-8", "replace")))
    }
    assert named == {}


def test_a_planted_registry_is_found() -> None:
    """The search above can fail."""
    assert registries_in(f"see https://files.{REGISTRIES[1]}/packages") == [REGISTRIES[1]]
    assert registries_in("happypi.organ") == []


@pytest.mark.parametrize("root", ["runtime", "actors"])
def test_the_roots_share_one_namespace(root: str) -> None:
    """A `boyd/__init__.py` in one root would hide the other."""
    assert not (ROOT / root / "boyd" / "__init__.py").exists()
    assert not (ROOT / root / "__init__.py").exists()


@pytest.mark.parametrize("package", PACKAGES)
def test_the_packages_are_typed(package: str) -> None:
    """Without py.typed other projects' checkers would see nothing but Any."""
    assert (ROOT / package / "py.typed").is_file()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_directory_of_sources_is_a_package(package: str) -> None:
    """One without `__init__.py` imports here and is missing from a wheel's tools."""
    bare = {
        path.parent.relative_to(ROOT).as_posix()
        for path in (ROOT / package).rglob("*.py")
        if not (path.parent / "__init__.py").exists()
    }
    assert bare == set()


@pytest.mark.parametrize("name", ["run", "dev"])
def test_the_locks_hold_hashes_and_no_index(name: str) -> None:
    """Every locked package has hashes; no line says where to fetch it."""
    text = (ROOT / f"requirements/{name}.txt").read_text("utf-8")
    entries = re.split(r"\n(?=\S)", text.strip())
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert not INDEX_OPTION.search(text)
    assert "://" not in text


def test_the_locks_follow_pyproject() -> None:
    """What pyproject.toml asks for is locked: a new dependency means `make lock`."""
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project, groups = whole["project"], whole["dependency-groups"]
    extras = project["optional-dependencies"]
    run = [*project["dependencies"], *extras["cli"], *groups["link"]]
    dev = [*run, *extras["testing"], *(line for line in groups["dev"] if isinstance(line, str))]
    for name, wanted in (("run", run), ("dev", dev)):
        text = (ROOT / f"requirements/{name}.txt").read_text("utf-8")
        locked = set(re.findall(r"^([a-z0-9-]+)==", text, re.MULTILINE))
        assert {re.split(r"[^a-z0-9-]", line, maxsplit=1)[0] for line in wanted} - locked == set()
