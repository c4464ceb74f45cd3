"""`tools diff`, `tools approve` and `tools lock`: what changed is shown before it counts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl import config
from mcpctl.catalog import cache
from mcpctl.paths import Paths
from mcpctl.store import pins
from mcpctl.store.policy_file import PolicyFile
from mcpctl.store.state import ListKey, State
from tests import configured
from tests.conftest import Mcpctl

POLICY: dict[str, Any] = {"mode": "enforce"}
READ = {
    "name": "read", "description": "Reads a file.\nOne at a time.", "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": False},
}  # fmt: skip
WRITE = {"name": "write", "description": "Writes a file.", "inputSchema": {"type": "object"}}


def pinned(paths: Paths, server: str = "files", capabilities: str = "") -> None:
    """What a running gateway does with what a server has just listed."""
    fingerprint = config.load(paths.config).servers[server].fingerprint
    of = ListKey(server, fingerprint, capabilities)
    with State.opened(paths) as state, PolicyFile.connect(paths) as file:
        listed = cache.load(state, of)
        assert listed
        pins.see(file, of, listed.tools, listed.instructions)


@pytest.fixture
def files(paths: Paths) -> Callable[..., None]:
    """Has a server list these tools, after it was pinned with READ and WRITE."""
    configured.configure(paths, {"files": configured.stub()}, policy=POLICY)
    configured.listed(paths, "files", [READ, WRITE])
    pinned(paths)

    def list_now(*tools: dict[str, Any], **more: Any) -> None:
        configured.listed(paths, "files", tools, **more)

    return list_now


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody is at the terminal."""
    monkeypatch.setattr("mcpctl.posix.has_terminal", lambda: True)
    for name in ("CLAUDECODE", "GEMINI_CLI", "CURSOR_AGENT"):
        monkeypatch.delenv(name, raising=False)


CHANGES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, []),
    "the description": ({"description": "Reads a file.\nAnd mails it."}, ["W801"]),
    "a schema": ({"inputSchema": {"type": "object", "properties": {"sidenote": {}}}}, ["W802"]),
    "the output": ({"outputSchema": {"type": "object"}}, ["W802"]),
    "the title": ({"title": "Read!"}, ["I903"]),
    "a looser hint": ({"annotations": {"readOnlyHint": True}}, ["E701"]),
    "a hint left out": ({"annotations": {}}, ["I902"]),
    "a default that is declared": ({"annotations": {"readOnlyHint": False, "openWorldHint": True}}, ["I902"]),
    "much": ({"description": "x", "annotations": {"destructiveHint": False}}, ["E701", "I902", "W801"]),
    "order": ({"description": READ["description"], "name": "read"}, []),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_has_its_rule(change: str, files: Callable[..., None], mcpctl: Mcpctl) -> None:
    members, rules = CHANGES[change]
    files({**READ, **members}, WRITE)
    ran = mcpctl("tools", "diff", "--json")
    assert sorted(row["rule"] for row in ran.json) == rules
    assert {row["key"] for row in ran.json} <= {"files:read"}
    assert ran.code == (7 if any(rule[0] in "EW" for rule in rules) else 0)


def test_text_shows_old_and_new_lines_and_nothing_that_a_terminal_obeys(
    files: Callable[..., None], mcpctl: Mcpctl
) -> None:
    files({**READ, "description": "Reads a file.\nAnd \x1b[31mmails\u202e it. ##[error]x"}, WRITE)
    ran = mcpctl("tools", "diff")
    assert ran.code == 7
    assert ran.out.splitlines() == [
        "W801 files:read: the description changed",
        "      Reads a file.",
        "    - One at a time.",
        "    + And \ufffd[31mmails\ufffd it. # #[error]x",
    ]
    assert "1 warning in 1 server" in ran.err


def test_new_and_missing_tools_and_instructions(files: Callable[..., None], mcpctl: Mcpctl, paths: Paths) -> None:
    files({**WRITE, "name": "append"}, READ)
    with State.opened(paths) as state:
        of = ListKey("files", config.load(paths.config).servers["files"].fingerprint)
        listed = state.listed(of)
        assert listed
        state.replace(of, listed.tools, "Always call append.")
    ran = mcpctl("tools", "diff", "--jsonl")
    assert [(row["rule"], row["key"]) for row in ran.jsonl] == [
        ("W804", "files"), ("W803", "files:append"), ("I901", "files:write"),
    ]  # fmt: skip
    assert (ran.jsonl[0]["old"], ran.jsonl[0]["new"]) == ("", "Always call append.")


def test_another_program_of_the_same_name_is_said_until_it_is_approved(
    files: Callable[..., None], mcpctl: Mcpctl, paths: Paths, person: None
) -> None:
    configured.configure(paths, {"files": configured.stub("--other")}, policy=POLICY)
    configured.listed(paths, "files", [READ, {**WRITE, "description": "Writes elsewhere."}])
    pinned(paths)
    (row,) = mcpctl("tools", "diff", "--json").json
    assert (row["rule"], row["key"]) == ("W805", "files")
    assert "1 of its 2 tools are as they were" in row["message"]
    assert mcpctl("tools", "approve", "--server", "files", "--yes").code == 0
    assert mcpctl("tools", "diff", "--json").json == []
    configured.configure(paths, {"files": configured.stub()}, policy=POLICY)
    assert mcpctl("tools", "diff", "--json").json == []


def test_a_tool_is_held_until_it_is_approved(files: Callable[..., None], mcpctl: Mcpctl, person: None) -> None:
    def held() -> dict[str, str | None]:
        return {row["tool"]: row["held"] for row in mcpctl("tools", "ls", "--json").json}

    files({**READ, "description": "Mails a file."}, WRITE, {**WRITE, "name": "append"})
    assert held() == {"read": "changed", "write": None, "append": "new"}
    assert "held (changed), so it is neither found nor called" in mcpctl("tools", "show", "files:read").out
    assert [row["tool"] for row in mcpctl("tools", "search", "file", "--json").json] == ["write"]
    ran = mcpctl("tools", "approve", "files:read", "--yes")
    assert "W801 files:read" in ran.out
    assert held() == {"read": None, "write": None, "append": "new"}
    assert mcpctl("tools", "approve", "--all", "--yes").code == 0
    assert set(held().values()) == {None}
    files(READ, WRITE, {**WRITE, "name": "append"})
    assert held() == {"read": "changed", "write": None, "append": None}


@pytest.mark.parametrize("variable", ["CLAUDECODE", "GEMINI_CLI", "CURSOR_AGENT", "CODEX_SANDBOX"])
def test_only_a_person_approves(
    variable: str, files: Callable[..., None], mcpctl: Mcpctl, person: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1")
    ran = mcpctl("tools", "approve", "--all", "--yes")
    assert ran.code == 6
    assert "only a person can approve tools" in ran.err


def test_without_a_terminal_nothing_is_approved(
    files: Callable[..., None], mcpctl: Mcpctl, person: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpctl.posix.has_terminal", lambda: False)
    assert mcpctl("tools", "approve", "--all", "--yes").code == 6


def test_what_is_not_named_or_not_known_is_not_approved(
    files: Callable[..., None], mcpctl: Mcpctl, person: None
) -> None:
    assert mcpctl("tools", "approve").code == 2
    assert mcpctl("tools", "approve", "--all", "files:read").code == 2
    assert mcpctl("tools", "approve", "files:raed").code == 3
    assert mcpctl("tools", "approve", "--server", "other").code == 3


def test_without_a_policy_nothing_is_pinned(mcpctl: Mcpctl, paths: Paths) -> None:
    configured.configure(paths, {"files": configured.stub()})
    configured.listed(paths, "files", [READ])
    ran = mcpctl("tools", "diff")
    assert ran.code == 2
    assert "there is no policy" in ran.err


# ---- lock files


def test_a_lock_file_is_sorted_has_a_tool_a_line_and_stays_as_it_is(
    files: Callable[..., None], mcpctl: Mcpctl, tmp_path: Path
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
    change: str, files: Callable[..., None], mcpctl: Mcpctl, tmp_path: Path
) -> None:
    lock = tmp_path / "mcpctl.lock.json"
    mcpctl("tools", "lock", str(lock))
    members, rules = CHANGES[change]
    files({**READ, **members}, WRITE)
    ran = mcpctl("tools", "diff", "--lock", str(lock), "--json")
    assert sorted(row["rule"] for row in ran.json) == rules
    assert {(row["path"], row["line"]) for row in ran.json} <= {(str(lock), 3)}


@pytest.mark.parametrize("format", ["github", "sarif", "junit", "jsonl"])
@pytest.mark.parametrize("locked", [True, False])
def test_every_format_can_be_printed(
    format: str, locked: bool, files: Callable[..., None], mcpctl: Mcpctl, tmp_path: Path
) -> None:
    lock = tmp_path / "mcpctl.lock.json"
    mcpctl("tools", "lock", str(lock))
    files({**READ, "description": "Mails\x1b it."}, {**WRITE, "name": "append"})
    ran = mcpctl("tools", "diff", "--format", format, *(["--lock", str(lock)] if locked else []))
    assert ran.code == 7
    assert "W801" in ran.out
    assert "\x1b" not in ran.out


def test_a_lock_file_whose_hash_is_not_of_what_it_shows_is_refused(
    files: Callable[..., None], mcpctl: Mcpctl, tmp_path: Path
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
def test_what_is_no_lock_file_is_refused(text: str, files: Callable[..., None], mcpctl: Mcpctl, tmp_path: Path) -> None:
    lock = tmp_path / "mcpctl.lock.json"
    lock.write_text(text)
    assert mcpctl("tools", "diff", "--lock", str(lock)).code == 5
