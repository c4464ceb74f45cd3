"""What CI installs: everything that pyproject.toml asks for, each file by its hash, from no index in particular."""

import re
import tomllib
from itertools import chain

from tests.conftest import ROOT

LINES = (ROOT / ".ci" / "requirements.txt").read_text(encoding="utf-8").splitlines()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PINNED = dict(re.findall(r"(?m)^([a-z0-9-]+)(?:\[[a-z0-9,-]+\])?==([^ ]+)", "\n".join(LINES)))


def test_every_line_is_a_version_or_the_hash_of_one_of_its_files() -> None:
    version, hash_ = r"[a-z0-9-]+(\[[a-z0-9,-]+\])?==[^ ]+( ; [^\\]+)? \\", r"    --hash=sha256:[0-9a-f]{64}( \\)?"
    assert LINES[0].startswith("# ")
    assert [line for line in LINES[1:] if not re.fullmatch(f"{version}|{hash_}", line)] == []
    begins = [number for number, line in enumerate(LINES) if not line.startswith((" ", "#"))]
    assert all(LINES[number + 1].startswith("    --hash") for number in begins)
    ends = [number for number, line in enumerate(LINES) if number and not line.endswith("\\")]
    assert ends == [*(number - 1 for number in begins[1:]), len(LINES) - 1], "no line goes on in the next package's"


def test_what_the_project_needs_is_in_the_list() -> None:
    extras = PROJECT["project"]["optional-dependencies"].values()
    wanted = chain(PROJECT["project"]["dependencies"], *extras, PROJECT["build-system"]["requires"])
    names = {re.split(r"[<>=\[ ]", each)[0] for each in wanted} - {"mcpctl"}
    assert names <= set(PINNED)
    assert "editables" in PINNED  # what hatchling needs for -e


def test_ci_installs_the_list_before_it_runs_the_line_that_sets_up() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    line = "python3 -m venv .venv && .venv/bin/pip install -q -e '.[dev]' && .venv/bin/pytest -n 3"
    assert line in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    assert line in script.splitlines()
    assert script.index("--require-hashes -r .ci/requirements.txt") < script.index(line)
    assert "|| true" not in script


def test_the_versions_of_python_that_are_promised_are_those_that_ci_runs() -> None:
    script = (ROOT / ".ci" / "other-pythons").read_text(encoding="utf-8")
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert f"versions=({' '.join(promised)})" in script
    assert ".ci/other-pythons" in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_what_ci_fetches_beside_the_list_is_known_by_its_hash() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"(?m)^axe=[0-9.]+\naxe_hash=[0-9a-f]{128}$", script)
    fetched, checked, unpacked = (script.index(word) for word in ("npm pack", "sha512sum --check", "tar -xzf"))
    assert fetched < checked < unpacked
