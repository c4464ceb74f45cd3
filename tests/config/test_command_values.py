"""`${cmd:…}` in a server's entry: what a command prints, and nothing of it anywhere else."""

import os
import shlex
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from mcpctl.config import entry_secrets, server_environment
from mcpctl.config.server_environment import LONGEST, CannotLaunch, expand
from mcpctl.config.server_settings import Server, without_values
from tests.table import for_each

ENV = {"PATH": os.environ["PATH"], "A": "a"}


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test knows what another has run."""
    monkeypatch.setattr(server_environment, "_outputs", {})


def python(code: str) -> str:
    """A value that this code prints."""
    return f"${{cmd:{shlex.quote(sys.executable)} -c {shlex.quote(code)}}}"


@for_each(
    ("text", "expanded"),
    [
        ("${cmd:echo hello}", "hello"),
        ("Bearer ${cmd:echo x}${A}", "Bearer xa"),
        ("${cmd:printf 'a\\n\\n'}", "a\n"),
        ("${cmd:echo '{a}'}", "{a}"),
        ('${cmd:echo "}" "\\""}', '} "'),
        ("${cmd:echo \\}}", "}"),
        ("${cmd:echo $HOME '*' `x` | y; z > w}", "$HOME * `x` | y; z > w"),
        ("${cmd:echo '${A}'}", "${A}"),
        ("${cmd:echo '${cmd:echo x}'}", "${cmd:echo x}"),
        ("${cmd:true}", ""),
        ("${cmdx}${A}", None),
    ],
)
def test_a_command_is_replaced_by_what_it_prints(text: str, expanded: str | None) -> None:
    if expanded is None:
        with pytest.raises(CannotLaunch, match="cmdx is not set"):
            expand(text, ENV)
    else:
        assert expand(text, ENV) == expanded


def test_what_a_variable_has_is_no_command() -> None:
    assert expand("${A}", {"A": "${cmd:echo x}"}) == "${cmd:echo x}"


def test_an_env_file_has_none(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("A='${cmd:echo x}'\n")
    server = Server(command="x", env_file="env", env={"B": "${A}"})
    launch = server_environment.launch(server, tmp_path / "config.toml", ENV)
    assert launch.env["A"] == launch.env["B"] == "${cmd:echo x}"


def test_it_runs_once_for_all_who_ask_and_again_where_it_failed(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    text = python(f"open({str(runs)!r}, 'a').write('.'); import sys; sys.exit(not open({str(runs)!r}).read()[1:])")
    with pytest.raises(CannotLaunch):
        expand(text, ENV)
    threads = [threading.Thread(target=expand, args=(text, ENV)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert runs.read_text() == ".."


@for_each(
    ("text", "why"),
    [
        ("${cmd:}", "names no command"),
        ("${cmd: }", "names no command"),
        ("${cmd:echo", "has no end"),
        ("${cmd:echo 'x}", "has no end"),
        ("${cmd:echo ${A}}", "has no end"),
        ("${cmd:/no/such/program SECRET}", "'program' cannot be used"),
        ("${cmd:false SECRET}", "'false' failed with status 1"),
        (python(f"print('SECRET' * {LONGEST})"), "prints more than 64 KB"),
        (python("import os; os.write(1, b'\\xffSECRET')"), "its output is not text"),
        (python("print('SECRET' + chr(0))"), "its output is not text"),
    ],
)
def test_what_fails_names_the_program_and_nothing_else(text: str, why: str) -> None:
    with pytest.raises(CannotLaunch) as raised:
        expand(text, ENV)
    assert why in raised.value.message
    assert "SECRET" not in raised.value.message + raised.value.hint
    assert raised.value.__cause__ is None


def test_a_command_that_does_not_end_is_ended_with_all_that_it_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_environment, "PATIENCE_S", 0.2)
    with pytest.raises(CannotLaunch, match="did not end within"):
        expand("${cmd:sh -c 'sleep 600 & sleep 600'}", ENV)


def test_what_has_left_its_group_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_environment, "PATIENCE_S", 3.0)
    pid = tmp_path / "pid"
    code = (
        f"import os, time; os.fork() or (os.setsid(), open({str(pid)!r}, 'w').write(str(os.getpid())), time.sleep(99))"
    )
    with pytest.raises(CannotLaunch, match="did not end within"):
        expand(python(code), ENV)
    os.kill(int(pid.read_text()), signal.SIGKILL)  # it is still there


def test_what_it_writes_to_stderr_is_seen_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    assert expand(python("import sys; sys.stderr.write('SECRET'); print('x')"), ENV) == "x"
    assert "SECRET" not in "".join(capfd.readouterr())


def test_it_gets_no_token_of_ours(tmp_path: Path) -> None:
    server = Server(command="x", args=["${cmd:sh -c 'echo \"[$MCPCTL_TOKEN]\"'}"])
    launch = server_environment.launch(server, tmp_path / "config.toml", {**ENV, "MCPCTL_TOKEN": "secret"})
    assert launch.argv == ["x", "[]"]


def test_only_its_program_is_shown() -> None:
    assert entry_secrets.masked("${cmd:op read op://work/key}") == "${cmd:op ***}"
    assert entry_secrets.masked_header("Bearer ${cmd:op read op://work/key}") == "Bearer ${cmd:op ***}"
    assert entry_secrets.masked("x${cmd:op read op://work/key}") == "***"


def test_endless_quotes_take_no_time() -> None:
    began = time.process_time()
    assert without_values("${cmd:" + "'" * 100_001) == "${cmd:" + "'" * 100_001
    assert without_values('${cmd:"' + "\\" * 100_001)
    assert time.process_time() - began < 5
