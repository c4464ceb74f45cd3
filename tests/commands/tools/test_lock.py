"""`tools lock`: a file for a repository, and what changed against it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.tools.conftest import Listing
from tests.configured import CHANGES, READ, WRITE
from tests.conftest import Mcpctl

POLICY: dict[str, Any] = {"mode": "enforce"}


def test_a_lock_file_is_sorted_has_a_tool_a_line_and_stays_as_it_is(
    files: Listing, mcpctl: Mcpctl, tmp_path: Path
) -> None:
    lock = tmp_path / "mcpctl.lock.json"
    files(WRITE, READ)
    assert mcpctl("tools", "lock", str(lock)).code == 0
    text = lock.read_text()
    assert [line.partition(":")[0] for line in text.splitlines()] == [
        '{"version"',
        '"files"',
        '"read"',
        '"write"',
        "}}",
        "}}",
    ]
    assert json.loads(text)["servers"]["files"]["tools"]["read"]["hints"] == {"readOnlyHint": False}
    before = lock.stat()
    assert mcpctl("tools", "lock", str(lock)).code == 0
    assert (lock.stat().st_mtime_ns, lock.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert mcpctl("tools", "diff", "--lock", str(lock), "--json").json == []


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_against_a_lock_file_has_its_rule_and_its_line(
    change: str, files: Listing, mcpctl: Mcpctl, tmp_path: Path
) -> None:
    lock = tmp_path / "mcpctl.lock.json"
    mcpctl("tools", "lock", str(lock))
    members, rules = CHANGES[change]
    files({**READ, **members}, WRITE)
    ran = mcpctl("tools", "diff", "--lock", str(lock), "--json")
    assert sorted(row["rule"] for row in ran.json) == rules
    assert {(row["path"], row["line"]) for row in ran.json} <= {(str(lock), 3)}


def test_a_lock_file_whose_hash_is_not_of_what_it_shows_is_refused(
    files: Listing, mcpctl: Mcpctl, tmp_path: Path
) -> None:
    lock = tmp_path / "mcpctl.lock.json"
    mcpctl("tools", "lock", str(lock))
    lock.write_text(lock.read_text().replace("Writes a file.", "Harmless."))
    ran = mcpctl("tools", "diff", "--lock", str(lock))
    assert ran.code == 5
    assert "the hash of this tool is not that of its definition" in ran.err


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 2}', '{"version": 1, "servers": {"a": {"tools": {"b": 1}}}}']
)
def test_what_is_no_lock_file_is_refused(text: str, files: Listing, mcpctl: Mcpctl, tmp_path: Path) -> None:
    lock = tmp_path / "mcpctl.lock.json"
    lock.write_text(text)
    assert mcpctl("tools", "diff", "--lock", str(lock)).code == 5
