"""The token of a process: in a file or a variable, for `serve` and for `tools call`."""

import os
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.errors import McpctlError, Unusable
from mcpctl.base.paths import Paths
from mcpctl.policy import tokens
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.policy.tokens import own_token
from tests.configured import DEMO, configure, demo_tools
from tests.conftest import Mcpctl
from tests.proxy.conftest import BOTH, Serve

pytestmark = BOTH

REQUIRED = {"require_token": True}


def made(paths: Paths, **bounds: Any) -> str:
    with PolicyFile.connect(paths) as file:
        return tokens.create(file, **bounds)[1]


# ---- the file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The place of a file with a token."""
    return tmp_path / "token"


def write(file: Path, content: bytes, mode: int = 0o600) -> Path:
    file.write_bytes(content)
    file.chmod(mode)
    return file


@pytest.mark.parametrize("content", [b"mcpctl_x", b"mcpctl_x\n", b"  mcpctl_x\r\n\n"])
def test_a_file_goes_before_the_variable(file: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setenv("MCPCTL_TOKEN", "mcpctl_variable")
    assert own_token() == "mcpctl_variable"
    assert own_token(write(file, content)) == "mcpctl_x"
    monkeypatch.setenv("MCPCTL_TOKEN", "")
    assert own_token() is None


@pytest.mark.parametrize("content", [b"", b"\n", b"two words", b"a\nb", b"x" * 257, b"x" * 5000])
def test_a_file_without_a_token_is_refused_and_not_the_variable_taken(
    file: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setenv("MCPCTL_TOKEN", "mcpctl_variable")
    with pytest.raises(Unusable) as error:
        own_token(write(file, content))
    assert error.value.code == "token_file"


def test_what_is_no_file_is_refused_at_once(file: Path, tmp_path: Path) -> None:
    os.mkfifo(file)
    for path in (file, tmp_path, tmp_path / "none", Path("/dev/zero")):
        with pytest.raises(McpctlError):
            own_token(path)


@pytest.mark.parametrize(("mode", "is_said"), [(0o600, False), (0o400, False), (0o604, True), (0o602, True)])
def test_a_file_that_others_can_read_is_said(
    file: Path, capsys: pytest.CaptureFixture[str], mode: int, is_said: bool
) -> None:
    own_token(write(file, b"mcpctl_x", mode))
    said = capsys.readouterr().err
    assert (f"chmod 600 {file}" in said) is is_said
    assert "mcpctl_x" not in said


# ---- serve


@pytest.mark.process
@pytest.mark.parametrize("place", ["file", "variable"])
def test_serve_finds_and_calls_with_its_token(paths: Paths, serve: Serve, file: Path, place: str) -> None:
    demo_tools(paths, DEMO, policy=REQUIRED)
    text = made(paths, servers=["weather"])
    given: dict[str, Any] = {"env": {"MCPCTL_TOKEN": "mcpctl_other"}, "options": ["--token-file", str(file)]}
    if place == "variable":
        given = {"env": {"MCPCTL_TOKEN": text}}
    else:
        write(file, text.encode())
    client = serve(opened=False, **given)
    assert ": weather. Find" in client.open()["instructions"]
    assert not client.call("weather:get_forecast", {"city": "Oslo"}).is_error
    assert "notes" not in client.call("notes:list_notes").text.replace("notes:list_notes", "").replace("'notes'", "")
    assert text not in client.stderr


@pytest.mark.stdio("a process says it of the one client that it has")
@pytest.mark.process
@pytest.mark.parametrize(
    ("variable", "told"), [(None, "mcpctl: no token, so nothing is found"), ("mcpctl_x", "the token is not valid")]
)
def test_serve_without_a_valid_token_says_so_and_names_nothing(
    paths: Paths, serve: Serve, variable: str | None, told: str
) -> None:
    demo_tools(paths, DEMO, policy=REQUIRED)
    client = serve(opened=False, env={"MCPCTL_TOKEN": variable} if variable else {})
    opened = client.open()["instructions"]
    assert "without a valid token nothing is found or called" in opened
    told_models = opened + str(client.ask("tools/list").json)
    assert "weather" not in told_models
    assert "notes" not in told_models.replace("add-tool-annotation", "")
    assert told in client.stderr
    assert "mcpctl_x" not in client.stderr
    assert client.discover("weather")["results"] == []


@pytest.mark.stdio("a process says it of the one client that it has")
@pytest.mark.process
def test_servers_of_projects_are_said_where_a_policy_hides_them(paths: Paths, serve: Serve) -> None:
    servers = {"notes": DEMO["notes"], "weather": {**DEMO["weather"], "projects": ["acme"]}}
    configure(paths, servers, policy={})
    assert "seen only with --project, or the project in a request's _meta.projectId: weather" in serve().stderr
    assert "seen only" not in serve(options=["--project", "acme"]).stderr


def test_a_file_that_has_no_token_stops_serve(mcpctl: Mcpctl, paths: Paths, file: Path) -> None:
    configure(paths, {})
    ran = mcpctl("serve", "--token-file", str(file))
    assert (ran.code, f"there is no file {file}" in ran.err) == (3, True)


# ---- tools call


@pytest.mark.slow
@pytest.mark.process
def test_a_call_of_a_person_needs_and_takes_the_token_in_the_variable(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = {"notes": {**DEMO["notes"], "projects": ["acme"]}, "weather": DEMO["weather"]}
    demo_tools(paths, servers, policy=REQUIRED)
    words = ("tools", "call", "notes:list_notes")
    ran = mcpctl(*words)
    assert (ran.code, "can be found or called without a token" in ran.err) == (6, True)
    assert "MCPCTL_TOKEN" in ran.err
    monkeypatch.setenv("MCPCTL_TOKEN", "mcpctl_x")
    assert "is not valid" in mcpctl(*words).err
    monkeypatch.setenv("MCPCTL_TOKEN", made(paths, servers=["weather"]))
    ran = mcpctl(*words)
    assert (ran.code, "server 'notes' is not one that the token may use" in ran.err) == (6, True)
    monkeypatch.setenv("MCPCTL_TOKEN", made(paths, read_only=True))
    ran = mcpctl("tools", "call", "notes:add_note", "title=a", "text=b")
    assert (ran.code, "only permits tools that read" in ran.err) == (6, True)
    monkeypatch.setenv("MCPCTL_TOKEN", made(paths, projects=["acme"]))
    assert mcpctl(*words).code == 0
    # Commands that list and show are for those who can read the files anyway.
    monkeypatch.delenv("MCPCTL_TOKEN")
    assert "notes:list_notes" in mcpctl("tools", "ls").out
    assert mcpctl("tools", "show", "notes:list_notes").code == 0
    assert [row["tools"] for row in mcpctl("tools", "refresh", "--json").json] == [4, 3]
