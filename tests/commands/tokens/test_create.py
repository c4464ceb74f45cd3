"""`mcpctl tokens create`"""

import hashlib
import os
import re
import time
from pathlib import Path

import pytest

from mcpctl.base.errors import WrongUsage
from mcpctl.base.paths import Paths
from mcpctl.commands.confirmation import AGENTS
from mcpctl.commands.options import moment
from mcpctl.policy import tokens
from mcpctl.policy.policy_file import PolicyFile
from tests.configured import configure, stub
from tests.conftest import MCPCTL, Mcpctl
from tests.table import for_each
from tests.terminal import Terminal


@pytest.fixture(autouse=True)
def servers(paths: Paths) -> None:
    """A server of acme and one that cannot be used, and a policy."""
    entries = {"notes": stub() | {"projects": ["acme"]}, "broken": {}}
    configure(paths, entries, projects={"zoo": {}}, policy={"require_token": True})


def kept(paths: Paths) -> tuple[tokens.Token, ...]:
    with PolicyFile.connect(paths) as file:
        return tokens.every(file)


def test_the_token_is_printed_and_only_its_hash_is_kept(mcpctl: Mcpctl, home: Path, paths: Paths) -> None:
    ran = mcpctl("tokens", "create")
    text = ran.out.strip()
    assert re.fullmatch(r"mcpctl_[A-Za-z0-9_-]{43}", text)
    (token,) = kept(paths)
    assert token.hash == hashlib.sha256(text.encode()).hexdigest()
    assert (token.projects, token.servers, token.read_only, token.expires) == (frozenset(), frozenset(), False, None)
    assert not [file for file in home.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]
    assert paths.policy.stat().st_mode & 0o077 == 0
    assert text not in mcpctl("tokens", "ls", "--json").out


def test_it_is_for_what_the_options_name(mcpctl: Mcpctl, paths: Paths) -> None:
    options = ["--project", "acme", "--project", "zoo", "--server", "notes", "--server", "broken", "--read-only"]
    shown = mcpctl("tokens", "create", "--name", "ann", *options, "--expires", "30d", "--json").json
    assert list(shown) == ["id", "token", "projects", "servers", "read_only", "expires", "name"]
    (token,) = kept(paths)
    assert (shown["id"], shown["name"]) == (token.id, "ann")
    assert (shown["projects"], shown["servers"], shown["read_only"]) == (["acme", "zoo"], ["broken", "notes"], True)
    assert (token.projects, token.servers) == (frozenset(("acme", "zoo")), frozenset(("broken", "notes")))
    assert token.read_only
    assert token.expires is not None
    assert token.expires == pytest.approx(token.created + 30 * 86400, abs=60)
    assert tokens.identified(shown["token"], [token], time.time()) is token


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--project", "acne"], 3, "no project 'acne'\nhint: did you mean 'acme'?"),
        (["--server", "note"], 3, "no server 'note'\nhint: did you mean 'notes'?"),
        (["--expires", "soon"], 2, "'soon' is not a time"),
        (["--expires", "2001-01-01"], 2, "'2001-01-01' is not a time in the future"),
        (["--expires", "0d"], 2, "not a time in the future"),
        (["--expires", "999999999w"], 2, "not a time in the future"),
        (["--expires", "9999-12-31"], 2, "not a time in the future"),
    ],
)
def test_what_is_not_there_or_not_to_come_makes_no_token(
    mcpctl: Mcpctl, paths: Paths, options: list[str], code: int, told: str
) -> None:
    ran = mcpctl("tokens", "create", *options)
    assert (ran.code, told in ran.err) == (code, True), ran.err
    assert not paths.policy.exists()


def test_a_token_may_be_for_the_servers_without_a_project(mcpctl: Mcpctl, paths: Paths) -> None:
    assert mcpctl("tokens", "create", "--project", "UNASSIGNED").code == 0
    assert kept(paths)[0].projects == {"UNASSIGNED"}


@pytest.mark.parametrize("agent", AGENTS)
def test_a_program_of_an_agent_makes_none(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    monkeypatch.setenv(agent, "1")
    ran = mcpctl("tokens", "create", "--json")
    assert (ran.code, ran.error["code"]) == (6, "needs_a_person")
    assert agent in ran.error["message"]
    assert not paths.policy.exists()


def test_without_a_terminal_none_is_made(mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpctl.base.posix.has_terminal", lambda: False)
    ran = mcpctl("tokens", "create")
    assert (ran.code, ran.err.splitlines()[0]) == (
        6, "mcpctl: only a person can make tokens: this does not run in front of a terminal",
    )  # fmt: skip
    assert not paths.policy.exists()


@pytest.mark.process
@pytest.mark.slow
def test_a_person_in_a_terminal_makes_one(paths: Paths) -> None:
    with Terminal([*MCPCTL, "tokens", "create"], os.environ) as terminal:
        text = terminal.wait_for(r"mcpctl_[A-Za-z0-9_-]{43}")[0]
        terminal.wait_for("shown only now")
    assert tokens.identified(text, kept(paths), time.time())


def test_who_makes_one_is_told_on_a_terminal_that_it_counts_only_with_a_policy(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {})
    assert "tokens count only with serve --http, or with a policy" in mcpctl("tokens", "create", tty=True).err
    configure(paths, {}, policy={})
    assert "policy" not in mcpctl("tokens", "create", tty=True).err


@for_each(("text", "after"), [("1m", 60), ("12h", 43200), ("30d", 2592000), ("8w", 4838400), ("1970-01-03", 100000.0)])
def test_a_time_is_a_span_or_a_date(text: str, after: float) -> None:
    assert moment(text, 72800.0) == 72800.0 + after


@for_each("text", ["", "d", "1y", "-1d", "1.5d", "1970-13-01", "²d", "1d1d"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(WrongUsage):
        moment(text, 0.0)
