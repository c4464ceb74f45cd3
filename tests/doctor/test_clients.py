"""The clients on this machine, and their entries for mcpctl."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.clients.client_kinds import CLIENTS
from mcpctl.config.server_environment import Launch
from mcpctl.doctor import clients, examination
from mcpctl.doctor.findings import Case
from tests.clients.test_client_config import program
from tests.configured import configure, stub
from tests.conftest import ROOT
from tests.doctor.conftest import Found, told


@pytest.fixture(autouse=True)
def configured(paths: Paths) -> None:
    configure(paths, {"mine": stub("a")})


def cursor(user: Path, **entries: Any) -> Path:
    file = user / ".cursor" / "mcp.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    return file


def ours(home: Path, *options: str, command: str = sys.executable, **members: Any) -> dict[str, Any]:
    """An entry that starts this mcpctl."""
    env = {"PYTHONPATH": str(ROOT), "MCPCTL_HOME": str(home)}
    return {"command": command, "args": ["-m", "mcpctl", "serve", *options], "env": env, **members}


def test_no_client_is_no_problem(found: Found) -> None:
    assert found("clients") == []


@pytest.mark.slow
@pytest.mark.process
def test_an_entry_that_starts_is_in_order_and_leaves_no_record(found: Found, user: Path, home: Path) -> None:
    cursor(user, mcpctl=ours(home))
    assert found("clients") == []
    assert not (home / "data" / "sessions").exists()


@pytest.mark.slow
@pytest.mark.process
def test_an_entry_with_another_configuration_says_which(found: Found, user: Path, tmp_path: Path, paths: Paths) -> None:
    other = tmp_path / "other"
    file = cursor(user, mcpctl=ours(other))
    (finding,) = found("clients")
    gone = f"it starts with {other}/config.toml, which does not exist (mcpctl in {file})"
    assert (finding.code, finding.message) == ("D180", gone)
    assert finding.fix == "put the entry in again: mcpctl install cursor"
    other.mkdir(exist_ok=True)
    (other / "config.toml").touch(mode=0o600)
    messages = [each.message for each in examination.examined(Case.of(None, None), ["clients"])["clients"]]
    assert messages == [f"the entry for mcpctl starts, with {other}/config.toml"]
    cursor(user, mcpctl=ours(other, f"--config={paths.config}"))
    messages = [each.message for each in examination.examined(Case.of(None, None), ["clients"])["clients"]]
    assert messages == ["the entry for mcpctl starts"]


@pytest.mark.slow
@pytest.mark.process
def test_an_entry_that_does_not_start_says_why(found: Found, user: Path, home: Path) -> None:
    file = cursor(user, mcpctl=ours(home, "--project", "none"))
    (finding,) = found("clients")
    assert (finding.code, finding.subject) == ("D172", "Cursor")
    assert "no project 'none'" in finding.message
    assert f"(mcpctl in {file})" in finding.message
    assert finding.fix == "fix what it says, or put the entry in again: mcpctl install cursor"
    cursor(user, mcpctl=ours(home, env={"PYTHONPATH": str(ROOT), "MCPCTL_CONFIG": "/no/such.toml"}))
    assert "there is no configuration file /no/such.toml" in found("clients")[0].message


def test_an_entry_whose_configuration_is_broken_is_not_a_second_fault(found: Found, user: Path, home: Path) -> None:
    cursor(user, mcpctl=ours(home))
    (home / "config.toml").write_text("[servers.a\n", encoding="utf-8")
    ((code, _, message),) = told(found("clients"))
    assert (code, message.partition(" (")[0]) == (
        "D175", "it was not tried: config.toml, which it uses, cannot be used"
    )  # fmt: skip


@pytest.mark.process
def test_an_entry_that_says_nothing_is_not_waited_for(
    found: Found, user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "_ANSWERS_S", 0.2)
    program(tmp_path / "python3", "#!/bin/sh\nexec /bin/sleep 1000")
    cursor(user, mcpctl={"command": str(tmp_path / "python3"), "args": ["-m", "mcpctl", "serve"]})
    ((code, _, message),) = told(found("clients"))
    assert code == "D172"
    assert message.startswith("it does not answer within 0.2 s")


@pytest.mark.process
def test_another_version_is_named(found: Found, user: Path, tmp_path: Path) -> None:
    answer = '{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"mcpctl","version":"0.0.1"}}}'
    program(tmp_path / "python3", f"#!/bin/sh\nread line; echo '{answer}'")
    cursor(user, mcpctl={"command": str(tmp_path / "python3"), "args": ["-P", "-m", "mcpctl", "serve"]})
    ((code, _, message),) = told(found("clients"))
    assert code == "D176"
    assert message.startswith("it starts mcpctl 0.0.1; this is mcpctl ")


def test_an_entry_whose_program_is_gone_is_named(found: Found, user: Path) -> None:
    file = cursor(user, mcpctl={"command": "/opt/gone/mcpctl", "args": ["serve"]})
    message = f"there is no program /opt/gone/mcpctl (mcpctl in {file})"
    assert told(found("clients")) == [("D171", "Cursor", message)]


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "/bin/sh", "args": ["-c", "mcpctl serve && touch started"]},
        {"command": "{folder}/mcpctl", "args": ["serve"]},
        {"command": "{folder}/python3", "args": ["started.py", "-m", "mcpctl", "serve"]},
    ],
)
def test_only_what_certainly_is_mcpctl_is_started(
    found: Found, user: Path, tmp_path: Path, entry: dict[str, Any]
) -> None:
    for name in ("mcpctl", "python3"):
        program(tmp_path / name, f"#!/bin/sh\ntouch {tmp_path}/started")
    cursor(user, mcpctl={**entry, "command": entry["command"].format(folder=tmp_path)})
    assert [each.code for each in found("clients")] == ["D175"]
    assert not (tmp_path / "started").exists()


def test_the_script_that_pip_makes_is_mcpctl(tmp_path: Path) -> None:
    script = tmp_path / "mcpctl"
    script.write_text("#!/usr/bin/python3\nimport sys\nfrom mcpctl.main import main\nsys.exit(main())\n")
    assert clients._is_certainly_mcpctl(script, [str(script), "serve"])
    assert not clients._is_certainly_mcpctl(script, [str(script), "demo"])


@pytest.mark.parametrize(
    "place", [place for client in CLIENTS.values() for place in client.places if place.startswith("{project}")]
)
def test_the_files_of_a_project_are_left_out(
    found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (project := tmp_path / "project").mkdir()
    monkeypatch.chdir(project)
    file = Path(place.format(project=project))
    file.parent.mkdir(exist_ok=True)
    entry = {"command": "mcpctl", "args": ["serve"]}
    content = json.dumps({key: {"mcpctl": entry} for key in ("mcpServers", "servers", "mcp", "context_servers")})
    toml = "[mcp_servers.mcpctl]\ncommand = 'mcpctl'\n"
    file.write_text(toml if file.suffix == ".toml" else content, encoding="utf-8")
    assert found("clients") == []


@pytest.mark.slow
@pytest.mark.process
def test_nothing_of_the_current_folder_is_run(
    found: Found, user: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package := tmp_path / "project" / "mcpctl").mkdir(parents=True)
    (package / "__main__.py").write_text(f"open({str(tmp_path / 'started')!r}, 'w')")
    (package / "__init__.py").touch()
    monkeypatch.chdir(package.parent)
    cursor(user, mcpctl=ours(home))
    assert found("clients") == []
    assert not (tmp_path / "started").exists()


def test_a_file_that_cannot_be_read_is_named(found: Found, user: Path) -> None:
    cursor(user).write_text("{", encoding="utf-8")
    ((code, subject, _),) = told(found("clients"))
    assert (code, subject) == ("D173", "Cursor")


def test_an_entry_that_is_switched_off_or_cannot_be_read_is_not_tried(found: Found, user: Path, home: Path) -> None:
    cursor(user, mcpctl=ours(home, disabled=True))
    assert [each.code for each in found("clients")] == ["D177"]
    cursor(user, mcpctl=ours(home, cwd=7, type="odd"))
    assert [each.code for each in found("clients")] == ["D175"]


def test_the_same_entry_twice_is_named(found: Found, user: Path) -> None:
    same = {"command": "/opt/gone/mcpctl", "args": ["serve"]}
    file = cursor(user, mcpctl=same, again=same, other={**same, "args": ["serve", "--project", "x"]})
    assert told(found("clients"))[0] == ("D174", "Cursor", f"'mcpctl' and 'again' in {file} are the same")
    assert [each.code for each in found("clients")] == ["D174", "D171", "D171", "D171"]


def test_a_server_that_a_client_starts_past_mcpctl_is_named(found: Found, user: Path) -> None:
    file = cursor(user, mcpctl={"command": "/opt/gone/mcpctl", "args": ["serve"]}, it=stub("a"), other=stub("b"))
    finding = found("clients")[0]
    assert told([finding]) == [("D178", "Cursor", "it also starts 'it' itself, which mcpctl has as mine")]
    assert finding.fix == f"remove 'it' from {file}"


def test_a_client_that_does_not_use_mcpctl_is_named(found: Found, user: Path) -> None:
    file = cursor(user, it=stub("a"))
    (finding,) = found("clients")
    assert told([finding]) == [("D179", "Cursor", f"it starts it itself, from {file}")]
    assert finding.fix == "mcpctl install cursor"


@pytest.mark.process
def test_the_entry_of_many_projects_is_started_once(
    found: Found, user: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Launch] = []

    def greeted(launch: Launch) -> tuple[str, str]:
        started.append(launch)
        return "D172", "no"

    monkeypatch.setattr(clients, "_greeted", greeted)
    projects = {f"/p{number}": {"mcpServers": {"mcpctl": ours(home)}} for number in range(5)}
    (user / ".claude.json").write_text(json.dumps({"projects": projects}), encoding="utf-8")
    findings = found("clients")
    assert [each.subject for each in findings] == [f"Claude Code (/p{number})" for number in range(5)]
    assert {each.fix for each in findings} == {
        "fix what it says, or put the entry in again: mcpctl serve --print-config claude-code"
    }
    assert len(started) == 1
