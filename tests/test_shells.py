"""The shipped completion scripts, in the shells they are for, at a terminal."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from mcpctl.store import index
from tests import configured, recorded
from tests.conftest import ROOT
from tests.terminal import Terminal

pytestmark = [pytest.mark.process, pytest.mark.slow]
SCRIPTS = ROOT / "completions"
DUMP = "\x14"  # Control-T, which each shell is told to show its line for
TRAPS = ["$(touch pwned)", "`touch pwned`", "a b", "q'uote", 'dq"x', "back\\slash", "semi;touch pwned", "ünï"]
TYPED = {
    "mcpctl sess": "mcpctl sessions ",
    "mcpctl calls ls --lim": "mcpctl calls ls --limit ",
    "mcpctl tools show wea": "mcpctl tools show weather:",
    "mcpctl tools show weather:": "mcpctl tools show weather:",
    "mcpctl tools show weather:get": "mcpctl tools show weather:get_forecast ",
    'mcpctl tools show "weather:get': 'mcpctl tools show "weather:get_forecast" ',
    "mcpctl calls ls --tool=notes:del": "mcpctl calls ls --tool=notes:delete_note ",
    "mcpctl calls ls --fields=id,resp": "mcpctl calls ls --fields=id,response",
    "mcpctl tools call weather:get_forecast ci": "mcpctl tools call weather:get_forecast city=",
    "mcpctl tools call up:move state=o": "mcpctl tools call up:move state=open ",
    "mcpctl tools call weather:get_forecast city=@fold": "mcpctl tools call weather:get_forecast city=@folder/",
    "mcpctl tools call up:move state=@folder/n": "mcpctl tools call up:move state=@folder/note ",
    "true && mcpctl calls show 5": f"true && mcpctl calls show {recorded.call_id(5)} ",
    "mcpctl servers ls --config fold": "mcpctl servers ls --config folder/",
    "mcpctl db path --data-dir=fold": "mcpctl db path --data-dir=folder/",
}
"""What is typed before Tab, and the line after it."""


@pytest.fixture
def env(paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """An environment with mcpctl on the PATH, a full home and a working folder."""
    recorded.two_sessions(paths)
    index.catch_up_on_disk(paths)
    configured.demo_tools(paths, {**configured.DEMO, "up": configured.stub()})
    properties = {"state": {"enum": ["open", "closed"]}, "dry_run": {"type": "boolean"}}
    move = {"name": "move", "inputSchema": {"properties": properties}}
    configured.listed(paths, "up", [*({"name": name, "description": name} for name in TRAPS), move])
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "mcpctl").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mcpctl "$@"\n', encoding="utf-8")
    (bin_ / "mcpctl").chmod(0o755)
    (tmp_path / "work" / "folder").mkdir(parents=True)
    (tmp_path / "work" / "folder" / "note").touch()
    monkeypatch.chdir(tmp_path / "work")
    kept = {name: value for name, value in os.environ.items() if name in ("MCPCTL_HOME", "PYTHONPATH")}
    path = f"{bin_}:{os.environ['PATH']}"
    return {**kept, "PATH": path, "HOME": str(tmp_path), "TERM": "dumb", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}


def needs(program: str) -> str:
    """Its path; the test is skipped where there is none."""
    return shutil.which(program) or pytest.skip(f"{program} is not installed")


def at_a_terminal(shell: str, env: Mapping[str, str]) -> Terminal:
    """The shell with its script, ready for keys."""
    if shell == "bash":
        terminal = Terminal([needs(shell), "--norc", "--noprofile", "-i"], env)
        setup = (
            "bind 'set bell-style none'; bind 'set enable-bracketed-paste off';"
            f" source {shlex.quote(str(SCRIPTS / 'mcpctl.bash'))};"
            """ bind -x '"\\C-t": printf "<%s>\\n" "$READLINE_LINE"; READLINE_LINE=';"""
        )
    else:
        terminal = Terminal([needs(shell), "-f", "-i"], env)
        setup = (
            f"fpath=({shlex.quote(str(SCRIPTS))} $fpath); autoload -Uz compinit; compinit -u -D; setopt no_beep;"
            """ dump() { print -r -- "<$BUFFER>"; BUFFER= }; zle -N dump; bindkey '^T' dump;"""
        )
    terminal.type(f"{setup} PS1='> '; echo rea''dy\n")
    terminal.wait_for("ready\r?\n")
    return terminal


@pytest.fixture(params=["bash", "zsh"])
def terminal(request: pytest.FixtureRequest, env: Mapping[str, str]) -> Iterator[Terminal]:
    with at_a_terminal(request.param, env) as opened:
        yield opened


def after_tab(terminal: Terminal, typed: str) -> str:
    """The line that Tab makes of what was typed."""
    terminal.type(f"{typed}\t{DUMP}")
    return terminal.wait_for("<(mcpctl .*|true .*)>\r?\n")[1]


def test_tab_completes_at_a_terminal(terminal: Terminal) -> None:
    assert {typed: after_tab(terminal, typed) for typed in TYPED} == TYPED


def test_what_tab_inserts_is_one_word_of_which_nothing_is_run(terminal: Terminal) -> None:
    for name in TRAPS[:7]:
        line = after_tab(terminal, f"mcpctl tools show up:{name[0] if name[0].isalnum() else f'{chr(92)}{name[0]}'}")
        ran = subprocess.run(
            ["bash", "-c", f'mcpctl() {{ printf %s "$#:$3"; }}; {line}'], capture_output=True, text=True, check=True
        )
        assert ran.stdout == f"3:up:{name}", line
    assert not Path("pwned").exists()


def test_bash_completes_without_a_terminal(env: Mapping[str, str]) -> None:
    """As bash calls the function, whether or not bash-completion is loaded: it uses nothing of it."""
    script = """
        source "$1"
        complete -p mcpctl
        COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=(mcpctl tools show weather : g) COMP_CWORD=5
        _mcpctl mcpctl "$3" "$4"
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    asked = ["mcpctl tools show weather:g", "g", ":"]
    argv = [needs("bash"), "--norc", "-c", script, "bash", str(SCRIPTS / "mcpctl.bash"), *asked]
    ran = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=30, check=True)
    assert ran.stdout == "complete -o nosort -F _mcpctl mcpctl\nget_forecast\n"
    assert ran.stderr == ""


def fish(env: Mapping[str, str], *lines: str) -> list[str]:
    """What fish offers for each line, one after the other."""
    asked = "; ".join(f"complete -C {shlex.quote(line)}" for line in lines)
    argv = [needs("fish"), "--no-config", "-c", f"source {shlex.quote(str(SCRIPTS / 'mcpctl.fish'))}; {asked}"]
    ran = subprocess.run(argv, env=env, capture_output=True, encoding="utf-8", timeout=30, check=True)
    assert ran.stderr == ""
    return ran.stdout.splitlines()


def test_fish_offers_each_candidate_with_what_it_is(env: Mapping[str, str]) -> None:
    assert fish(env, "mcpctl sess", "mcpctl tools show weather:g", "mcpctl calls show 6", "mcpctl servers rm not") == [
        "sessions\tSessions on record.",
        "weather:get_forecast\tGet the forecast",
        f"{recorded.call_id(6)}\tnotes:list_notes, ok, 2100-01-01 12:14Z",
        f"notes\t{Path(sys.executable).name}",
    ]
    assert fish(env, "mcpctl tools call weather:get_forecast ", "mcpctl tools call up:move state=") == [
        "city=\trequired, A city by its English name, such as Oslo",
        "days=\tHow many days, today included",
        "unit=\tThe unit of the temperatures",
        "state=open",
        "state=closed",
    ]
    assert fish(env, "mcpctl tools call weather:get_forecast city=@fold") == ["city=@folder/"]
    assert fish(env, "mcpctl calls ls --fields=id,resp", "mcpctl servers ls --config fold") == [
        "--fields=id,response",
        "--fields=id,response_bytes",
        "--fields=id,response_truncated",
        "--fields=id,response_file",
        "--fields=id,response_redacted",
        "folder/",
    ]


def test_fish_runs_nothing_of_what_it_offers(env: Mapping[str, str]) -> None:
    assert sorted(fish(env, "mcpctl tools show up:")) == sorted(["up:move", *(f"up:{name}\t{name}" for name in TRAPS)])
    assert not Path("pwned").exists()


def test_a_tab_ends_quietly_where_there_is_no_mcpctl(env: Mapping[str, str]) -> None:
    (Path(env["HOME"]) / "bin" / "mcpctl").unlink()
    assert fish(env, "mcpctl calls ") == []
    with at_a_terminal("bash", env) as terminal:
        assert after_tab(terminal, "mcpctl calls sh") == "mcpctl calls sh"


def test_a_tab_imports_nothing_heavy(env: Mapping[str, str]) -> None:
    for line in (
        "mcpctl tools show wea",
        "mcpctl tools call weather:get_forecast ",
        "mcpctl calls show ",
        "mcpctl tools refresh --fields ",
        "mcpctl calls ",
    ):
        ran = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "mcpctl", line],
            env={**env, "_MCPCTL_COMPLETE": "zsh"}, capture_output=True, text=True, timeout=30, check=True,
        )  # fmt: skip
        assert ran.stdout.startswith("words\n")
        assert len(ran.stdout.splitlines()) > 1
        imported = {row.rpartition("|")[2].strip() for row in ran.stderr.splitlines()}
        assert "typer" in imported
        assert not imported & {"mcp", "mcp_types", "numpy", "rich", "asyncio", "jsonschema", "pydantic", "tomlkit"}
