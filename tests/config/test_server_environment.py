"""How servers are started and found: variables, environment, folders, headers."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mcpctl.config import server_environment, server_settings
from mcpctl.config.server_environment import CannotLaunch
from mcpctl.config.server_settings import OAuth, Server
from tests.table import for_each


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


# ---- variables


@for_each(
    ("text", "expanded"),
    [
        ("plain", "plain"),
        ("${A}", "a"),
        ("x${A}y${B}z", "xaybz"),
        ("${EMPTY}", ""),
        ("${EMPTY:-d}", "d"),
        ("${NONE:-d}", "d"),
        ("${NONE:-}", ""),
        ("${A:-d}", "a"),
        ("${NONE:-https://x/?a=b}", "https://x/?a=b"),
        ("$A", "$A"),
        ("$${A}", "$a"),
        ("${}", "${}"),
        ("${1A}", "${1A}"),
        ("${A", "${A"),
        ("${a b}", "${a b}"),
    ],
)
def test_variables_are_expanded(text: str, expanded: str) -> None:
    assert server_environment.expand(text, {"A": "a", "B": "b", "EMPTY": ""}) == expanded


def test_what_a_variable_holds_is_not_expanded_again() -> None:
    assert server_environment.expand("${A}", {"A": "${B}", "B": "b"}) == "${B}"


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(CannotLaunch, match="variable NO_SUCH is not set") as raised:
        server_environment.expand("${NO_SUCH}", {})
    assert "${NO_SUCH:-default}" in raised.value.hint


# ---- starting


def launch(file: Path, ours: Mapping[str, str] | None = None, **entry: Any) -> server_environment.Launch:
    return server_environment.launch(Server(**{"command": "run", **entry}), file, ours or {})


def test_the_environment_is_ours_then_env_file_then_env(file: Path) -> None:
    file.with_name("e.env").write_text("B=file\nC=file\n", encoding="utf-8")
    launched = launch(file, {"A": "ours", "B": "ours", "C": "ours"}, env_file="e.env", env={"C": "env", "D": "${B}"})
    assert launched.env == {"A": "ours", "B": "file", "C": "env", "D": "file"}


def test_tokens_of_search_services_are_not_for_servers(file: Path) -> None:
    secrets = {"MCPCTL_CLOUD_TOKEN": "c", "MCPCTL_SEMANTIC_TOKEN": "s", "MCPCTL_TOKEN": "t"}
    for inherits in ("all", "minimal", list(secrets)):
        launched = launch(file, {**secrets, "HOME": "h"}, inherit_env=inherits)
        assert launched.env == {"HOME": "h"}


USUAL = {"HOME": "h", "PATH": "/bin", "LC_ALL": "C", "XDG_RUNTIME_DIR": "/run", "https_proxy": "p", "NO_PROXY": "n"}
USUAL |= {"SSL_CERT_FILE": "c", "NODE_EXTRA_CA_CERTS": "n"}
OTHERS = {
    "GITHUB_TOKEN": "g",
    "AWS_PROFILE": "a",
    "PYTHONPATH": "p",
    "MY_HOME": "h",
    "HOMEBREW": "b",
    "MCPCTL_HOME": "m",
}


@pytest.mark.parametrize(
    ("inherits", "more"), [("all", set(OTHERS)), ("minimal", set()), (["AWS_PROFILE", "NOT_SET"], {"AWS_PROFILE"})]
)
def test_a_server_inherits_what_its_entry_says(file: Path, inherits: str | list[str], more: set[str]) -> None:
    launched = launch(file, {**USUAL, **OTHERS}, inherit_env=inherits)
    assert launched.env == {**USUAL, **{name: OTHERS[name] for name in more}}


def test_what_an_entry_names_is_passed_and_expanded_from_everything(file: Path) -> None:
    file.with_name("e.env").write_text("FROM_FILE=f\n", encoding="utf-8")
    env = {"TOKEN": "${GITHUB_TOKEN}", "BOTH": "${FROM_FILE}${MY_HOME}"}
    launched = launch(file, OTHERS, inherit_env="minimal", env_file="e.env", env=env, args=["${AWS_PROFILE}"])
    assert launched.env == {"FROM_FILE": "f", "TOKEN": "g", "BOTH": "fh"}
    assert launched.argv == ["run", "a"]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({}, "all of this machine's 14 variables"),
        ({"env": {"TOKEN": "${GITHUB_TOKEN}"}}, "all of this machine's 14 variables + TOKEN"),
        ({"inherit_env": "minimal"}, "minimal (8)"),
        ({"inherit_env": "minimal", "env": {"TOKEN": "x"}, "env_file": "e.env"}, "minimal (8) + FROM_FILE, TOKEN"),
        ({"inherit_env": ["AWS_PROFILE", "NOT_SET"], "env": {"TOKEN": "x"}}, "minimal (8) + AWS_PROFILE, TOKEN"),
        ({"inherit_env": "minimal", "env": {"TOKEN": "${NOT_SET}"}}, "minimal (8) + TOKEN"),
        (
            {"inherit_env": "minimal", "env": dict.fromkeys("ABCDEFGHIJ", "")},
            "minimal (8) + A, B, C, D, E, F, G, H, 2 more",
        ),
    ],
)
def test_what_a_server_gets_is_said_without_any_value(file: Path, entry: dict[str, Any], said: str) -> None:
    file.with_name("e.env").write_text("FROM_FILE=f\n", encoding="utf-8")
    server = Server(command="run", **entry)
    assert server_environment.described(server, file, {**USUAL, **OTHERS}) == said


def test_tokens_of_ours_are_not_for_servers(file: Path) -> None:
    ours = {"MCPCTL_CLOUD_TOKEN": "c", "MCPCTL_SEMANTIC_TOKEN": "s", "MCPCTL_TOKEN": "t", "MCPCTL_HOME": "h"}
    assert launch(file, ours).env == {"MCPCTL_HOME": "h"}
    for entry in ({"args": ["${MCPCTL_TOKEN}"]}, {"env": {"A": "${MCPCTL_TOKEN}"}}, {"env_file": "${MCPCTL_TOKEN}"}):
        with pytest.raises(CannotLaunch, match="variable MCPCTL_TOKEN is not set"):
            launch(file, ours, **entry)


def test_command_arguments_and_folder_are_expanded(file: Path, tmp_path: Path) -> None:
    launched = launch(
        file, {"X": "x", "DIR": str(tmp_path)}, command="${X}-server", args=["--a=${X}", "${NONE:-d}"], cwd="${DIR}"
    )
    assert (launched.argv, launched.cwd) == (["x-server", "--a=x", "d"], str(tmp_path))


def test_a_tilde_is_the_home(file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "x.env").write_text("A=1\n", encoding="utf-8")
    launched = launch(file, command="~/bin/x", args=["~"], cwd="~", env_file="~/x.env")
    assert launched.argv == [str(tmp_path / "bin" / "x"), "~"]
    assert (launched.cwd, launched.env["A"]) == (str(tmp_path), "1")


@pytest.mark.parametrize("entry", [{"args": ["${NO_SUCH}"]}, {"env": {"A": "${NO_SUCH}"}}, {"cwd": "${NO_SUCH}"}])
def test_an_unset_variable_anywhere_stops_the_server_and_is_named(file: Path, entry: dict[str, Any]) -> None:
    with pytest.raises(CannotLaunch, match="NO_SUCH"):
        launch(file, **entry)


def test_what_is_not_set_is_known_without_running_anything(file: Path) -> None:
    (file.parent / "vars").write_text("IN_FILE=1\n", encoding="utf-8")
    server = Server(
        command="${cmd:touch '${NEVER}'}",
        args=["${A}", "${IN_FILE}", "${ENTRY}", "${B:-b}", "${SET}"],
        env={"ENTRY": "${C}${SET}"},
        env_file="vars",
    )
    assert server_environment.unset(server, file, {"SET": ""}) == ["C", "A"]
    assert server_environment.unset(server, file, {"SET": "", "A": "1", "C": "1"}) == []
    remote = Server(url="https://${HOST}/mcp", headers={"A": "${KEY}"}, oauth=OAuth(client_secret="${SECRET}"))
    assert server_environment.unset(remote, file, {}) == ["HOST", "KEY", "SECRET"]
    assert server_environment.unset(Server(command="a", env_file="${FOLDER}/vars"), file, {}) == ["FOLDER"]


def test_a_folder_that_does_not_exist_is_named(file: Path) -> None:
    with pytest.raises(CannotLaunch, match="its cwd does not exist: /no/such/folder"):
        launch(file, cwd="/no/such/folder")


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=x", "x"),
        (" A = x ", "x"),
        ("export A=x", "x"),
        ("A=", ""),
        ("A=x=y", "x=y"),
        ('A="x y"', "x y"),
        ("A='x y'", "x y"),
        ("A=\"x 'y'\"", "x 'y'"),
        ('A="x" # comment', "x"),
        ("A='x # y' # comment", "x # y"),
        ("A=x # comment", "x"),
        ("A=x#y", "x#y"),
        ('A="a\\"b"', 'a"b'),
        ('A="line 1\\nline 2"', "line 1\nline 2"),
        ('A="line 1\nline 2"\n# B=x', "line 1\nline 2"),
        ("A='a\\nb'", "a\\nb"),
        ("A=${HOME}", "${HOME}"),
        ("A=é", "é"),
        ("# A=no\n\nA=x\n", "x"),
        ("A=1\nA=2", "2"),
    ],
)
def test_lines_of_env_file_are_as_shells_and_dotenv_have_them(file: Path, line: str, value: str) -> None:
    file.with_name("e.env").write_text(line, encoding="utf-8")
    assert launch(file, env_file="e.env").env == {"A": value}


@pytest.mark.parametrize(
    "line", ["nonsense", "=x", "A B=x", "1A=x", "{", "A:x", 'A="', "A=\0", "A=x" + " " * 300 + "y"]
)
def test_a_line_of_env_file_that_is_none_is_named_by_number_without_what_it_says(file: Path, line: str) -> None:
    path = file.with_name("e.env")
    path.write_text(f"OK=1\n{line}\n", encoding="utf-8")
    with pytest.raises(CannotLaunch) as raised:
        launch(file, env_file="e.env")
    assert re.fullmatch(r"its env_file has .* in line 2: .*", raised.value.message)
    assert raised.value.message.endswith(str(path))


def test_an_env_file_that_is_missing_or_no_text_is_named(file: Path) -> None:
    with pytest.raises(CannotLaunch, match=r"its env_file cannot be used: there is no file .*none\.env"):
        launch(file, env_file="none.env")
    file.with_name("bad.env").write_bytes(b"A=\xff\n")
    with pytest.raises(CannotLaunch, match="not UTF-8"):
        launch(file, env_file="bad.env")


# ---- a server with a URL


def remote(**entry: Any) -> Server:
    return server_settings.check_server("s", {"url": "https://${HOST:-a.example}/mcp", **entry})


def test_a_url_and_its_headers_are_expanded_when_it_is_connected(tmp_path: Path) -> None:
    (tmp_path / "s.env").write_text("TOKEN=from-file\n", encoding="utf-8")
    server = remote(env_file="s.env", headers={"Authorization": "Bearer ${TOKEN}", "X": "${EMPTY:-}"})
    found = server_environment.endpoint(server, tmp_path / "config.toml", {"HOST": "b.example"})
    assert (found.url, found.transport) == ("https://b.example/mcp", "http")
    assert found.headers == {"Authorization": "Bearer from-file", "X": ""}
    assert "TOKEN" not in repr(server.fingerprint)


@pytest.mark.parametrize(
    ("entry", "env", "message"),
    [
        ({"headers": {"A": "${TOKEN}"}}, {}, "variable TOKEN is not set"),
        ({"headers": {"A": "${TOKEN}"}}, {"TOKEN": "a\nB: c"}, "its header A has characters that a header cannot have"),
        ({"headers": {"A": "${TOKEN}"}}, {"TOKEN": "schl\u00fcssel"}, "its header A has characters"),
        ({"oauth": {"client_id": "x", "client_secret": "${TOKEN}"}}, {}, "variable TOKEN is not set"),
        ({"oauth": {"issuer": "${AS}"}}, {"AS": "as.example"}, "its oauth.issuer, once expanded, is not an address"),
        ({"url": "${URL}"}, {"URL": "a.example"}, "its url, once expanded, is not an address"),
    ],
)
def test_an_endpoint_that_cannot_be_had_says_why(
    tmp_path: Path, entry: dict[str, Any], env: dict[str, str], message: str
) -> None:
    with pytest.raises(CannotLaunch, match=message):
        server_environment.endpoint(remote(**entry), tmp_path / "config.toml", env)


def test_a_refused_header_says_which_variable_is_empty_wherever_it_comes_from(tmp_path: Path) -> None:
    (tmp_path / "s.env").write_text("A=\nB=x\n", encoding="utf-8")
    headers = {"One": "Bearer ${A}", "Two": "${B}", "Three": "${C}", "Four": "${D:-}", "Five": "plain"}
    server = remote(env_file="s.env", env={"C": ""}, headers=headers)
    where = server_environment.endpoint(server, tmp_path / "config.toml", {"A": "ours", "B": ""})
    assert server_environment.credentials(server, where) == (
        "; not accepted: header One (from A, which is empty), Two (from B), Three (from C, which is empty),"
        " Four (from D, which is empty), Five (as written in the configuration)"
    )


def test_the_client_of_a_login_is_expanded_when_it_is_used_and_makes_a_connection_of_its_own(tmp_path: Path) -> None:
    written = {"client_id": "${ID:-mcpctl}", "client_secret": "${SECRET}", "issuer": "https://${AS}/t"}
    server = remote(oauth=written)
    found = server_environment.endpoint(server, tmp_path / "config.toml", {"SECRET": "s3cret", "AS": "as.example"})
    assert found.oauth == OAuth(client_id="mcpctl", client_secret="s3cret", issuer="https://as.example/t")
    assert remote().launch != server.launch != remote(oauth={**written, "scopes": ["a"]}).launch
    assert remote().fingerprint == server.fingerprint


def test_a_url_and_its_transport_make_another_server_and_its_headers_do_not() -> None:
    assert remote().fingerprint == remote(headers={"A": "b"}).fingerprint
    assert len({remote().fingerprint, remote(transport="sse").fingerprint, remote(url="http://b").fingerprint}) == 3
