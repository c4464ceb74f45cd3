"""`mcpctl servers logs`"""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest

from mcpctl.base.paths import Paths
from tests.configured import configure, stub
from tests.conftest import MCPCTL, Mcpctl

WHEN = "2026-07-28T12:00:00.000Z"


def wrote(paths: Paths, *texts: str, server: str = "s") -> None:
    """A server whose log has these lines."""
    configure(paths, {server: stub()})
    path = paths.log(server)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.writelines(json.dumps({"time": WHEN, "pid": 7, "text": text}).encode() + b"\n" for text in texts)


@pytest.mark.parametrize(
    ("options", "numbers"), [([], range(50, 250)), (["-n", "2"], range(248, 250)), (["-n", "0"], [])]
)
def test_the_last_lines_are_printed(mcpctl: Mcpctl, paths: Paths, options: list[str], numbers: Sequence[int]) -> None:
    wrote(paths, *map(str, range(250)))
    assert mcpctl("servers", "logs", "s", *options).out.splitlines() == [f"{WHEN} [7] {number}" for number in numbers]
    rows = mcpctl("servers", "logs", "s", "--json", *options).json
    assert rows == [{"time": WHEN, "pid": 7, "text": str(number)} for number in numbers]


@pytest.mark.parametrize("options", [[], ["--json"], ["--jsonl"]])
def test_a_line_cannot_command_a_terminal(mcpctl: Mcpctl, paths: Paths, options: list[str]) -> None:
    wrote(paths, "red \x1b[31m and \r back \u202e")
    out = mcpctl("servers", "logs", "s", *options, tty=True).out
    assert not {"\x1b", "\r", "\u202e"} & set(out)
    assert "red" in out


def test_a_server_that_has_written_nothing_has_no_lines(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": stub()})
    ran = mcpctl("servers", "logs", "s", tty=True)
    assert (ran.code, ran.out) == (0, "")
    assert "'s' has written nothing to stderr yet" in ran.err
    assert mcpctl("servers", "logs", "s").err == ""
    assert mcpctl("servers", "logs", "s", "--json").json == []


def test_only_a_process_has_lines(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"far": {"url": "https://a.example/mcp"}, "bad": {"command": 5}})
    ran = mcpctl("servers", "logs", "far", "--json")
    assert (ran.code, ran.error["code"]) == (3, "no_stderr")
    assert (mcpctl("servers", "logs", "fra").code, mcpctl("servers", "logs", "bad").code) == (3, 0)


def test_an_array_has_an_end_and_what_is_followed_has_none(mcpctl: Mcpctl, paths: Paths) -> None:
    wrote(paths, "one")
    assert mcpctl("servers", "logs", "s", "-f", "--json").code == 2


def test_the_lines_of_a_server_go_with_it(mcpctl: Mcpctl, paths: Paths) -> None:
    wrote(paths, "one", server="other")
    wrote(paths, "one")
    assert mcpctl("servers", "rm", "s").code == 0
    assert not paths.log("s").exists()
    assert paths.log("other").exists()


def test_no_name_leads_out_of_the_folder(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"../../out": stub()})
    outside = paths.log("s").parent / "../../out.jsonl"
    outside.parent.resolve().mkdir(parents=True, exist_ok=True)
    paths.log("s").parent.mkdir(parents=True)
    outside.write_text(json.dumps({"time": WHEN, "pid": 7, "text": "not yours"}) + "\n", encoding="utf-8")
    assert mcpctl("servers", "logs", "../../out").out == ""
    assert mcpctl("servers", "rm", "../../out").code == 0
    assert outside.exists()


@pytest.mark.process
@pytest.mark.parametrize("words", [("tools", "refresh", "s"), ("servers", "check"), ("tools", "call", "s:x")])
def test_what_a_server_wrote_before_it_failed_is_kept_and_named(
    mcpctl: Mcpctl, paths: Paths, words: tuple[str, ...]
) -> None:
    program = "import sys; [print(n, 'token=s3cret', file=sys.stderr) for n in range(9)]; sys.exit('the end')"
    configure(paths, {"s": {"command": sys.executable, "args": ["-c", program]}})
    ran = mcpctl(*words)
    assert (ran.code, "mcpctl servers logs s" in ran.err) == (4, True)
    lines = mcpctl("servers", "logs", "s").out.splitlines()
    assert len(lines) == 10
    assert re.fullmatch(r"\S+Z \[\d+\] 0 token=\[redacted:[0-9a-f]{8}\]", lines[0])
    assert lines[-1].endswith("] the end")


@pytest.mark.process
def test_following_ends_when_the_reader_has_gone_though_nothing_comes(paths: Paths) -> None:
    wrote(paths, "one")
    words = ["servers", "logs", "s", "-f", "--jsonl"]
    with subprocess.Popen([*MCPCTL, *words], stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout
        assert json.loads(follower.stdout.readline()) == {"time": WHEN, "pid": 7, "text": "one"}
        follower.stdout.close()
        assert follower.wait(30) == 141


@pytest.mark.usefixtures("sigint_counts")
@pytest.mark.process
def test_following_goes_on_across_a_trim_until_it_is_ended(paths: Paths) -> None:
    wrote(paths, "old", *map(str, range(20)))
    words = ["servers", "logs", "s", "-f", "-n", "1"]
    with subprocess.Popen([*MCPCTL, *words], stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout
        assert follower.stdout.readline() == f"{WHEN} [7] 19\n"
        lines = paths.log("s").read_bytes().splitlines(keepends=True)
        beside = paths.log("s").with_name("new")
        beside.write_bytes(b"".join(lines[5:]))
        beside.replace(paths.log("s"))
        wrote(paths, "new")
        assert follower.stdout.readline() == f"{WHEN} [7] new\n"
        follower.send_signal(signal.SIGINT)
        assert follower.wait(30) == 130
