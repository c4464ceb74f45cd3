"""`mcpctl tools call -`: several calls, one a line, of servers that stay up."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.commands.tools.test_call import server
from tests.configured import configure, demo_tools, listed
from tests.conftest import MCPCTL, Mcpctl

pytestmark = pytest.mark.process


def run(stdin: str, *options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*MCPCTL, "tools", "call", "-", *options], input=stdin, capture_output=True, text=True, timeout=60
    )


def lines(ran: "subprocess.CompletedProcess[str]") -> list[Any]:
    return [json.loads(line) for line in ran.stdout.splitlines()]


def text(result: Any) -> Any:
    return json.loads(result["content"][0]["text"])


@pytest.mark.slow
def test_one_server_answers_all_and_all_are_on_record_in_one_session(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": server("counter")})
    ran = run('{"toolKey": "s:count"}\n\ns.count\n{"toolKey":"s:count","arguments":{}}')
    assert (ran.returncode, ran.stderr) == (0, "")
    counts = [text(line) for line in lines(ran)]
    assert [count["count"] for count in counts] == [1, 2, 3]
    assert len({count["pid"] for count in counts}) == 1
    assert mcpctl("sessions", "ls", "--count").out == "1\n"
    assert [row["via"] for row in mcpctl("calls", "ls", "--json").json] == ["cli"] * 3


@pytest.mark.slow
def test_words_are_typed_by_the_schema_as_on_the_command_line(paths: Paths) -> None:
    configure(paths, {"s": server("counter")})
    listed(paths, "s", [{"name": "echo", "inputSchema": {"properties": {"id": {"type": "string"}}}}])
    ran = run("s:echo id=7 n=7 'text=two words'\ns:echo {\"text\": \"it's\"}\n's:echo' '{\"n\": 7}'\ns:echo {n\n")
    assert [text(line) for line in lines(ran)[:3]] == [
        {"id": "7", "n": 7, "text": "two words"},
        {"text": "it's"},
        {"n": 7},
    ]
    assert lines(ran)[3]["error"]["message"].endswith("line 1, column 2: a name in double quotes is missing here")


@pytest.mark.slow
def test_a_line_is_answered_before_the_next_is_read(paths: Paths) -> None:
    configure(paths, {"s": server("counter")})
    argv = [*MCPCTL, "tools", "call", "-"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        for number in (1, 2):
            process.stdin.write("s:count\n")
            process.stdin.flush()
            assert text(json.loads(process.stdout.readline()))["count"] == number
        process.stdin.close()
        assert process.wait(timeout=30) == 0


@pytest.mark.slow
def test_the_result_is_as_it_was_sent_but_on_one_line(paths: Paths, tmp_path: Path) -> None:
    (tmp_path / "result").write_text('{"content":[], "n":1.0,\r"x":"\\u00e9"}', encoding="utf-8")
    configure(paths, {"s": server("raw")})
    assert run(f"s:raw file={tmp_path / 'result'}\n").stdout == '{"content":[], "n":1.0, "x":"\\u00e9"}\n'


@pytest.mark.slow
def test_a_line_that_fails_is_answered_and_the_others_go_on(paths: Paths) -> None:
    demo_tools(paths)
    ran = run(
        "weather:get_forcast city=Oslo\n"
        '{"toolKey": 5}\n'
        '{"toolKey": "weather:get_forecast", "arguments": []}\n'
        '{"toolKey": "weather:get_forecast", "city": "Oslo"}\n'
        '"unclosed\n'
        "nowhere:tool\n"
        "weather:get_forecast -\n"
        "weather:get_forecast city=Atlantis\n"
        "weather:get_forecast city=Oslo\n"
    )
    *failed, tool_error, last = lines(ran)
    assert [line["error"]["code"] for line in failed] == [
        "tool_not_found", "bad_line", "bad_line", "bad_line", "bad_line", "server_not_found", "bad_line",
    ]  # fmt: skip
    assert tool_error["isError"] is True
    assert text(last)["city"] == "Oslo"
    assert ran.returncode == 3
    assert "weather:get_forcast" in ran.stderr


@pytest.mark.slow
def test_a_forbidden_tool_is_refused_and_on_record(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": {**server("counter"), "tools": {"count": False}}})
    ran = run("s:count\n")
    assert (ran.returncode, lines(ran)[0]["error"]["code"]) == (6, "not_permitted")
    assert mcpctl("calls", "show", "last", "--json").json["status"] == "denied"


@pytest.mark.slow
def test_a_call_that_takes_too_long_does_not_take_the_next_with_it(paths: Paths) -> None:
    configure(paths, {"s": server("raw"), "c": server("counter")})
    ran = run("s:sleep seconds=60\nc:count\n", "--timeout", "0.5")
    first, second = lines(ran)
    assert (ran.returncode, first["error"]["code"], text(second)["count"]) == (4, "timed_out", 1)


@pytest.mark.slow
def test_it_ends_where_nobody_reads_the_answers(paths: Paths) -> None:
    configure(paths, {"s": server("counter")})
    reading, writing = os.pipe()
    os.close(reading)
    argv = [*MCPCTL, "tools", "call", "-"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE, text=True) as process:
        os.close(writing)
        assert process.stdin
        process.stdin.write("s:count\n")
        process.stdin.flush()
        assert process.wait(timeout=30) == 141
        assert process.stderr
        assert process.stderr.read() == ""


@pytest.mark.slow
@pytest.mark.usefixtures("sigint_counts")
def test_an_interrupt_ends_it_while_it_waits_for_a_line(paths: Paths) -> None:
    configure(paths, {"s": server("counter")})
    argv = [*MCPCTL, "tools", "call", "-"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("s:count\n")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130


@pytest.mark.slow
def test_no_line_is_no_call(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": server("counter")})
    ran = run("")
    assert (ran.returncode, ran.stdout) == (0, "")


@pytest.mark.parametrize("more", ["a=1", "--output=x"])
def test_what_belongs_to_one_call_is_refused_beside_a_dash(mcpctl: Mcpctl, paths: Paths, more: str) -> None:
    configure(paths, {"s": server("counter")})
    assert mcpctl("tools", "call", "-", more).code == 2
