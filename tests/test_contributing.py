"""CONTRIBUTING.md says what is there: its command lines run, its rooms and files exist, its order is kept."""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.test_layout import HEIGHT, LAYERS, PACKAGE
from tests.test_readme import shell

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
LINES = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
ON_REQUEST = [line for line in LINES if line.startswith("python -m ")]


def test_ci_runs_the_very_line_that_sets_up() -> None:
    assert LINES[0] in CI
    assert LINES[0].endswith("pytest -n 3")


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("line", ON_REQUEST)
def test_what_runs_on_request_can_be_asked_for_help(line: str, home: Path) -> None:
    assert shell(f"{line} --help", home).returncode == 0


def test_every_other_line_is_one_of_ci_or_of_a_test() -> None:
    """Run here they would run the whole suite, or write into the checkout."""
    parts = [part for line in LINES[1:] if line not in ON_REQUEST for part in line.split(" && ")]
    assert len(parts) > 4
    for part in parts:
        program, *words = part.split()
        assert (ROOT / program).exists() or program.startswith(".venv/bin/"), part
        files = [word for word in words if word.startswith("tests/")]
        assert all((ROOT / file).exists() for file in files), part
        in_ci = any(line.startswith(program) for line in CI)
        assert in_ci or program == ".ci/run", part


def test_the_order_of_the_rooms_is_the_one_that_imports_keep() -> None:
    (shown,) = [text for kind, text in BLOCKS if kind == "text"]
    assert [tuple(line.split(", ")) for line in shown.splitlines()] == list(LAYERS)


def test_every_room_is_described() -> None:
    prose = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
    names = [f"{room}/" if (PACKAGE / room).is_dir() else room for room in HEIGHT if room != "__main__"]
    assert [name for name in names if f"`{name}`" not in prose] == []


def test_every_file_that_is_named_exists() -> None:
    named = set(re.findall(r"`((?:[a-z_.]+/)+(?:[a-z_-]+\.[a-z]+)?)`", TEXT))
    assert len(named) > 25
    gone = [name for name in named if not any((folder / name).exists() for folder in (ROOT, PACKAGE))]
    assert gone == []


def test_every_module_that_is_named_of_a_room_is_in_it() -> None:
    rooms = re.findall(r"^\*\*`(\w+)/`\*\*(.*?)(?=^\*\*`|^<!--)", TEXT, re.MULTILINE | re.DOTALL)
    named = [(PACKAGE / room / name) for room, text in rooms for name in re.findall(r"`(\w+\.py)`", text)]
    assert len(named) > 100
    assert [file for file in named if not file.exists()] == []


def test_every_class_and_constant_that_is_named_exists() -> None:
    code = b"".join(file.read_bytes() for file in PACKAGE.rglob("*.py"))
    names = set(re.findall(r"`((?!MCPCTL_|KILL_|DIR|FILE|NOTICE)[A-Z]\w+)[`.]", TEXT))
    assert len(names) > 15
    assert [name for name in names if name.encode() not in code] == []
