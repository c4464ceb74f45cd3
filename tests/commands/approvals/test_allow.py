"""`mcpctl approvals allow`: who may, once, for how long, and what is on record then."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from mcpctl.commands import confirmation
from mcpctl.policy import approvals
from mcpctl.policy.policy_file import PolicyFile
from tests.commands.approvals.waiting import GRANT, opened, wanted
from tests.conftest import Mcpctl
from tests.proxy.client import journal_lines
from tests.terminal import Terminal


@pytest.mark.parametrize(
    ("options", "scope", "session"),
    [((), "once", None), (("--session",), "session", GRANT.session), (("--always",), "always", "")],
)
def test_a_yes_holds_for_as_long_as_was_said(
    options: tuple[str, ...], scope: str, session: str | None, mcpctl: Mcpctl, paths: Paths, person: None, home: Path
) -> None:
    approval = opened(paths)
    ran = mcpctl("approvals", "allow", approval.id, *options)
    assert (ran.code, ran.out) == (0, f"{approval.id}\n")
    with PolicyFile.connect(paths) as file:
        assert approvals.grants(file) == (set() if session is None else {GRANT._replace(session=session)})
    again = mcpctl("approvals", "allow", approval.id)
    assert again.code == 3
    assert "cannot be answered any more: it is allowed" in again.err
    (line,) = [line for line in journal_lines(home) if line["type"] == "decisions.made"]
    assert (line["decision"], line["channel"], line["scope"], line["rule"]) == (
        "approved",
        "terminal",
        scope,
        "ask files:*",
    )
    assert mcpctl("approvals", "deny", approval.id).code == 0
    with PolicyFile.connect(paths) as file:
        assert not approvals.grants(file)


def test_a_definition_that_is_not_known_cannot_be_allowed_always(mcpctl: Mcpctl, paths: Paths, person: None) -> None:
    with PolicyFile.connect(paths) as file:
        approval = approvals.open_for(file, wanted(grant=GRANT._replace(pin="")))
    assert mcpctl("approvals", "allow", approval.id, "--always").code == 6
    assert mcpctl("approvals", "allow", approval.id).code == 0


def test_what_is_over_cannot_be_answered(
    mcpctl: Mcpctl, paths: Paths, person: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approvals, "OPEN_S", -1.0)
    approval = opened(paths)
    assert "it is expired" in mcpctl("approvals", "allow", approval.id).err
    assert mcpctl("approvals", "ls", "--pending", "--count").out == "0\n"
    assert opened(paths).id != approval.id


def test_the_last_one_is_allowed_by_nobody(mcpctl: Mcpctl, paths: Paths, person: None) -> None:
    opened(paths)
    assert mcpctl("approvals", "allow", "last").code == 2


def test_contradicting_options_are_refused(mcpctl: Mcpctl, paths: Paths, person: None) -> None:
    assert mcpctl("approvals", "allow", opened(paths).id, "--session", "--always").code == 2


@pytest.mark.parametrize("option", ["--session", "--always", "--for=7d"])
@pytest.mark.parametrize(
    ("config", "line", "project"),
    [
        ('[policy]\nconfirm = "always"\n', 2, ""),
        ('[policy]\n[projects.acme.policy]\nconfirm = "never"\n', 3, "acme"),
    ],
)
def test_what_the_policy_does_not_keep_is_not_promised(
    option: str, config: str, line: int, project: str, mcpctl: Mcpctl, paths: Paths, person: None
) -> None:
    paths.config.parent.mkdir(parents=True, exist_ok=True)
    paths.config.write_text(config, encoding="utf-8")
    with PolicyFile.connect(paths) as file:
        approval = approvals.open_for(file, wanted(grant=GRANT._replace(project=project)))
    ran = mcpctl("approvals", "allow", approval.id, option)
    assert (ran.code, f"config.toml:{line}" in ran.err) == (6, True), ran.err
    with PolicyFile.connect(paths) as file:
        assert not approvals.grants(file)
    assert mcpctl("approvals", "allow", approval.id).code == 0


@pytest.mark.parametrize("hidden", [{"hidden": 2}, {"left_out": 5}])
def test_what_was_not_shown_is_allowed_for_one_call(
    hidden: dict[str, int], mcpctl: Mcpctl, paths: Paths, person: None
) -> None:
    with PolicyFile.connect(paths) as file:
        approval = approvals.open_for(file, wanted()._replace(whole="{}", **hidden))  # type: ignore[arg-type]
    assert "to this call alone" in mcpctl("approvals", "show", approval.id).out
    ran = mcpctl("approvals", "allow", approval.id, "--always")
    assert (ran.code, "to this call alone" in ran.err) == (6, True)
    assert mcpctl("approvals", "allow", approval.id).code == 0


def test_a_yes_may_have_an_end(mcpctl: Mcpctl, paths: Paths, person: None) -> None:
    assert mcpctl("approvals", "allow", opened(paths).id, "--for", "soon").code == 2
    ran = mcpctl("approvals", "allow", opened(paths).id, "--for", "7d", "--json")
    assert ran.json["scope"] == "always"
    (row,) = mcpctl("approvals", "ls", "--standing", "--json").json
    assert row["until"] > row["since"]
    with PolicyFile.connect(paths) as file:
        file.db.execute("UPDATE grants SET expires = 1")
        assert not approvals.grants(file)
    assert mcpctl("approvals", "ls", "--standing", "--count").out == "0\n"
    assert mcpctl("approvals", "revoke", row["id"]).code == 3


@pytest.mark.parametrize("variable", ["CLAUDECODE", "GEMINI_CLI", "CURSOR_AGENT", "CODEX_SANDBOX"])
def test_an_agent_cannot_allow(
    variable: str, mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv(variable, "1")
    approval = opened(paths)
    ran = mcpctl("approvals", "allow", approval.id, "--always")
    assert ran.code == 6
    assert variable in ran.err
    assert mcpctl("approvals", "show", approval.id, "--json").json["state"] == "pending"


@pytest.mark.process
@pytest.mark.slow
def test_a_terminal_is_needed_and_enough(paths: Paths, home: Path) -> None:
    approval = opened(paths)
    command = [sys.executable, "-m", "mcpctl", "approvals", "allow", approval.id]
    environment = {name: value for name, value in os.environ.items() if name not in confirmation.AGENTS}
    environment["MCPCTL_HOME"] = str(home)
    alone = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, start_new_session=True
    )
    assert alone.returncode == 6
    assert "does not run in front of a terminal" in alone.stderr
    with Terminal(command, environment) as terminal:
        terminal.wait_for(f"{approval.id}\r\n.*is allowed once, until ")
    assert opened(paths).state == "allowed"
