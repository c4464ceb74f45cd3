"""How two runs of the suite are compared; the suite itself runs on request."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance import compare
from tests.conformance.compare import Allowed, Key, Outcome
from tests.table import for_each

PASS, FAIL, WARN, SKIP = (Outcome(status, "why") for status in ("SUCCESS", "FAILURE", "WARNING", "SKIPPED"))
SET = "2026-07-28"


def key(scenario: str, check: str, nth: int = 0) -> Key:
    return scenario, check, nth


@for_each(
    ("direct", "through", "differs"),
    [
        (PASS, PASS, False),
        (PASS, FAIL, True),
        (PASS, WARN, True),
        (PASS, SKIP, True),
        (PASS, None, True),
        (FAIL, FAIL, False),
        (FAIL, WARN, False),
        (FAIL, PASS, False),
        (SKIP, PASS, False),
        (SKIP, FAIL, True),
        (None, FAIL, True),
    ],
)
def test_what_passes_directly_must_pass_through(direct: Outcome | None, through: Outcome | None, differs: bool) -> None:
    before, after = ({key("ping", "ping"): outcome} if outcome else {} for outcome in (direct, through))
    found = compare.differences(before, after, [], SET)
    assert bool(found) is differs
    assert len(compare.failures(found)) == len(found)


def test_an_exception_is_for_its_own_checks_only() -> None:
    allowed = [Allowed("not offered", ["prompts-*"], ["list", "get-?"], [SET])]
    direct = {key("prompts-a", "list"): PASS, key("prompts-a", "other"): PASS, key("tools", "list"): PASS}
    found = {difference.key: difference.reason for difference in compare.differences(direct, {}, allowed, SET)}
    assert found == {
        key("prompts-a", "list"): "not offered",
        key("prompts-a", "other"): None,
        key("tools", "list"): None,
    }
    other = compare.differences(direct, {}, allowed, "2025-11-25")
    assert all(difference.reason is None for difference in other)


def test_no_exception_covers_a_malformed_message_by_the_way() -> None:
    malformed = key("prompts-a", compare.WIRE)
    assert not Allowed("all", ["*"]).covers(SET, malformed)
    assert Allowed("named", ["*"], [compare.WIRE]).covers(SET, malformed)


def test_an_exception_that_nothing_needs_is_told() -> None:
    needed, unneeded = Allowed("a", ["prompts-*"]), Allowed("b", ["resources-*"])
    found = {SET: compare.differences({key("prompts-a", "list"): PASS}, {}, [needed, unneeded], SET)}
    elsewhere = Allowed("c", ["prompts-*"], sets=["2025-11-25"])
    assert compare.unneeded([needed, unneeded, elsewhere], found) == [unneeded]


def test_the_output_of_the_suite_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "server-tools-call-2025-x-2026-11-21T05-41-09-479Z"
    folder.mkdir()
    checks = [{"id": "a", "status": "SUCCESS"}, {"id": "a", "status": "FAILURE", "errorMessage": "no"}]
    (folder / "checks.json").write_text(json.dumps(checks), encoding="utf-8")
    found = compare.outcomes(tmp_path)
    assert found == {
        key("tools-call-2025-x", "a", 0): Outcome("SUCCESS"),
        key("tools-call-2025-x", "a", 1): Outcome("FAILURE", "no"),
    }
    lost = compare.differences({**found, key("tools-call-2025-x", "a", 1): PASS}, found, [], SET)
    assert compare.table(found, found, lost).splitlines()[1:] == ["tools-call-2025-x     1/2     1/2  FAILS: a"]
    assert compare.failures(lost) == ["tools-call-2025-x: a: SUCCESS directly, FAILURE through mcpctl: no"]


def test_every_exception_has_a_reason() -> None:
    assert all(entry.reason and entry.scenarios for entry in compare.exceptions())


@pytest.mark.process
def test_help_needs_neither_node_nor_network() -> None:
    command = [sys.executable, "-m", "tests.conformance", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=Path(__file__).parents[2])
    assert (done.returncode, done.stderr) == (0, "")
    assert "exceptions.toml" in done.stdout
