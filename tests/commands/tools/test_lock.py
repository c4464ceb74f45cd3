"""`tools lock`: a file for a repository, and what changed against it."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base import definitions
from mcpctl.base.paths import Paths
from mcpctl.catalog import cache, lock_file
from tests import configured
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
    "text", ["", "[]", "{}", '{"version": 3}', '{"version": 1, "servers": {"a": {"tools": {"b": 1}}}}']
)
def test_what_is_no_lock_file_is_refused(text: str, files: Listing, mcpctl: Mcpctl, tmp_path: Path) -> None:
    lock = tmp_path / "mcpctl.lock.json"
    lock.write_text(text)
    assert mcpctl("tools", "diff", "--lock", str(lock)).code == 5


def test_a_lock_file_of_the_first_version_still_holds_what_it_says(
    files: Listing, mcpctl: Mcpctl, tmp_path: Path
) -> None:
    lock = tmp_path / "mcpctl.lock.json"
    of_read = {name: value for name, value in READ.items() if name not in ("name", "annotations")}
    tool = cache.tool("files", "read", json.dumps(READ))
    entry = {"hash": definitions.hash_of(tool, definitions.OLDER), **of_read, "hints": {"readOnlyHint": False}}
    lock.write_text(json.dumps({"version": 1, "servers": {"files": {"tools": {"read": entry}}}}))
    files({**READ, "icons": [{"src": "https://example.com/read.png"}]})
    assert mcpctl("tools", "diff", "--lock", str(lock), "--ignore", "W804", "--json").json == []
    assert definitions.is_pin_of(lock_file.read(lock).pins["files", "read"], tool)
    files({**READ, "description": "Mails a file."})
    rules = [row["rule"] for row in mcpctl("tools", "diff", "--lock", str(lock), "--ignore", "W804", "--json").json]
    assert rules == ["W801"]
    assert mcpctl("tools", "lock", str(lock), "--with-held").code == 0
    assert json.loads(lock.read_text())["version"] == 2


def test_what_is_held_is_not_locked_unless_that_is_said(files: Listing, mcpctl: Mcpctl, tmp_path: Path) -> None:
    lock = tmp_path / "mcpctl.lock.json"
    files({**READ, "description": "Mails a file."}, WRITE)
    ran = mcpctl("tools", "lock", str(lock))
    assert ran.code == 6
    assert "1 tool of those to be locked is held" in ran.err
    assert not lock.exists()
    assert mcpctl("tools", "lock", str(lock), "--with-held").code == 0
    assert "Mails a file." in lock.read_text()


def test_the_newest_list_is_locked_and_compared(files: Listing, mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    lock = tmp_path / "mcpctl.lock.json"
    configured.listed(paths, "files", [{**READ, "description": "As it was."}, WRITE], "elicitation")
    files(READ, WRITE)
    assert mcpctl("tools", "lock", str(lock), "--with-held").code == 0
    assert mcpctl("tools", "diff", "--lock", str(lock), "--json").json == []


@pytest.mark.parametrize("content", [b"alias ls=ls\n", b"[]", b'{"version": "1"}'])
def test_no_file_is_replaced_that_is_not_a_lock_file(
    content: bytes, files: Listing, mcpctl: Mcpctl, tmp_path: Path
) -> None:
    lock = tmp_path / "mcpctl.lock.json"
    lock.write_bytes(content)
    assert mcpctl("tools", "lock", str(lock)).code == 6
    assert lock.read_bytes() == content


def test_a_link_out_of_the_repository_is_not_followed(files: Listing, mcpctl: Mcpctl, tmp_path: Path) -> None:
    target = tmp_path / "target.json"
    target.write_text('{"version": 1, "servers": {}}')
    repository = tmp_path / "repository"
    (repository / ".git").mkdir(parents=True)
    lock = repository / "mcpctl.lock.json"
    lock.symlink_to(target)
    assert mcpctl("tools", "lock", str(lock)).code == 6
    assert target.read_text() == '{"version": 1, "servers": {}}'
    target.unlink()
    assert mcpctl("tools", "lock", str(lock)).code == 6
    assert not target.exists()


@pytest.mark.parametrize("name", ["files", "lock", "lock.txt"])
def test_a_name_that_is_not_a_lock_files_is_refused(name: str, files: Listing, mcpctl: Mcpctl, tmp_path: Path) -> None:
    ran = mcpctl("tools", "lock", str(tmp_path / name))
    assert ran.code == 2
    assert ("it takes no servers" in ran.err) is (name == "files")
    assert not (tmp_path / name).exists()
