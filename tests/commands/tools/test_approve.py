"""`tools approve`: a person takes what is shown, and nothing else."""

from pathlib import Path
from typing import Any

import pytest

from mcpctl.paths import Paths
from tests import configured
from tests.commands.tools.conftest import Listing
from tests.configured import READ, WRITE
from tests.conftest import Mcpctl

POLICY: dict[str, Any] = {"mode": "enforce"}


def test_a_tool_is_held_until_it_is_approved(files: Listing, mcpctl: Mcpctl, person: None) -> None:
    def held() -> dict[str, str | None]:
        return {row["tool"]: row["held"] for row in mcpctl("tools", "ls", "--json").json}

    files({**READ, "description": "Mails a file."}, WRITE, {**WRITE, "name": "append"})
    assert held() == {"read": "changed", "write": None, "append": "new"}
    assert "held (changed), so it is neither found nor called" in mcpctl("tools", "show", "files:read").out
    assert [row["tool"] for row in mcpctl("tools", "search", "file", "--json").json] == ["write"]
    ran = mcpctl("tools", "approve", "files:read", "--yes")
    assert "W801 files:read" in ran.err
    assert held() == {"read": None, "write": None, "append": "new"}
    assert mcpctl("tools", "approve", "--all", "--yes").code == 0
    assert set(held().values()) == {None}
    files(READ, WRITE, {**WRITE, "name": "append"})
    assert held() == {"read": "changed", "write": None, "append": None}


@pytest.mark.parametrize("variable", ["CLAUDECODE", "GEMINI_CLI", "CURSOR_AGENT", "CODEX_SANDBOX"])
def test_only_a_person_approves(
    variable: str, files: Listing, mcpctl: Mcpctl, person: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1")
    ran = mcpctl("tools", "approve", "--all", "--yes")
    assert ran.code == 6
    assert "only a person can approve tools" in ran.err


def test_without_a_terminal_nothing_is_approved(
    files: Listing, mcpctl: Mcpctl, person: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpctl.posix.has_terminal", lambda: False)
    assert mcpctl("tools", "approve", "--all", "--yes").code == 6


def test_what_is_not_named_or_not_known_is_not_approved(files: Listing, mcpctl: Mcpctl, person: None) -> None:
    assert mcpctl("tools", "approve").code == 2
    assert mcpctl("tools", "approve", "--all", "files:read").code == 2
    assert mcpctl("tools", "approve", "files:raed").code == 3
    assert mcpctl("tools", "approve", "--server", "other").code == 3


@pytest.mark.parametrize("answer, code", [("y", 0), ("yes", 0), ("", 6), ("n", 6), ("yeah", 6)])
def test_what_is_shown_is_asked_about(
    answer: str, code: int, files: Listing, mcpctl: Mcpctl, person: None, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    terminal = tmp_path / "tty"
    terminal.write_text(f"{answer}\n")
    monkeypatch.setattr("mcpctl.commands.tools.approving.TERMINAL", terminal)
    files({**READ, "description": "Mails a file."}, WRITE)
    ran = mcpctl("tools", "approve", "files:read")
    assert ran.code == code
    assert "+ Mails a file." in ran.err
    assert "approve 1 tool as shown? [y/N]" in ran.err
    (row,) = [row for row in mcpctl("tools", "ls", "--json").json if row["tool"] == "read"]
    assert row["held"] == ("changed" if code else None)


def test_a_tool_that_was_never_pinned_is_shown_whole(mcpctl: Mcpctl, paths: Paths, person: None) -> None:
    configured.configure(paths, {"files": configured.stub()}, policy=POLICY)
    configured.listed(paths, "files", [READ])
    ran = mcpctl("tools", "approve", "files:read", "--yes")
    assert "W803 files:read: the tool is new" in ran.err
    assert "+ One at a time." in ran.err
