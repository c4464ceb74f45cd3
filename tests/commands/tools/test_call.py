"""`mcpctl tools call`, on real servers: what goes in, what comes out, what is on record after."""

import itertools
import json
import os
import sqlite3
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.configured import DEMO, configure, demo_tools, listed, stub
from tests.conftest import MCPCTL, Mcpctl
from tests.servers import command

pytestmark = pytest.mark.process

ANY: dict[str, Any] = {"name": "echo", "inputSchema": {"type": "object"}}


def server(name: str, *args: object) -> dict[str, Any]:
    words = command(name, *args)
    return {"command": words[0], "args": words[1:]}


def echoing(paths: Paths, schema: dict[str, Any] | None = None) -> None:
    """A server whose `echo` answers with the arguments it got, listed with this schema."""
    configure(paths, {"s": server("counter")})
    listed(paths, "s", [{**ANY, "inputSchema": schema or ANY["inputSchema"]}])


def echoed(mcpctl: Mcpctl, *words: str, stdin: str = "") -> Any:
    return mcpctl("tools", "call", "s:echo", *words, stdin=stdin).json


@pytest.mark.parametrize("key", ["weather:get_forecast", "weather.get_forecast"])
def test_a_person_gets_the_text_of_the_result(mcpctl: Mcpctl, paths: Paths, key: str) -> None:
    demo_tools(paths)
    ran = mcpctl("tools", "call", key, "city=Oslo", "days=1")
    assert ran.json["city"] == "Oslo"
    assert ran.err == ""


def test_json_is_the_result_exactly_as_the_server_sent_it(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    result = '{"content":[{"type":"odd","n":1.0, "big":123456789012345678901234567890}],"x":{"é":"\\u00e9"}}'
    (tmp_path / "result").write_text(result, encoding="utf-8")
    configure(paths, {"s": server("raw")})
    assert mcpctl("tools", "call", "s:raw", f"file={tmp_path / 'result'}", "--json").out == f"{result}\n"


def test_blocks_that_are_no_text_are_one_line_of_json_each(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": "two\nlines"}, {"type": "image", "data": "aGk=", "mimeType": "image/png"}]
    (tmp_path / "result").write_text(json.dumps({"content": blocks}), encoding="utf-8")
    configure(paths, {"s": server("raw")})
    first, second, third = mcpctl("tools", "call", "s:raw", f"file={tmp_path / 'result'}").out.splitlines()
    assert [first, second, json.loads(third)] == ["two", "lines", blocks[1]]


def test_what_a_tool_says_cannot_command_the_terminal(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    text = {"type": "text", "text": "a\x1b[2Jb\x9b31mc\u202ed"}
    (tmp_path / "result").write_text(json.dumps({"content": [text]}), encoding="utf-8")
    configure(paths, {"s": server("raw")})
    out = mcpctl("tools", "call", "s:raw", f"file={tmp_path / 'result'}", tty=True).out
    assert out == "a\ufffd[2Jb\ufffd31mc\ufffdd\n"


# ---- arguments


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), {}),
        (('{"a": {"b": [1, null]}}',), {"a": {"b": [1, None]}}),
        (("a=1", "b=x=y", "c=", "d=true", "e=[1]", 'f={"g": 2}', "h=null"),
         {"a": 1, "b": "x=y", "c": "", "d": True, "e": [1], "f": {"g": 2}, "h": None}),
        (("text=plain words",), {"text": "plain words"}),
        (("å=ø",), {"å": "ø"}),
    ],
)  # fmt: skip
def test_arguments_are_json_or_pairs(
    mcpctl: Mcpctl, paths: Paths, words: Sequence[str], expected: dict[str, Any]
) -> None:
    echoing(paths)
    assert echoed(mcpctl, *words) == expected


PAIRS: tuple[tuple[str, dict[str, Any], Any], ...] = (
    ("7", {"type": "string"}, "7"),
    ("true", {"type": "string"}, "true"),
    ("null", {"type": "string"}, "null"),
    ('{"a": 1}', {"type": "string"}, '{"a": 1}'),
    ("7", {"type": "integer"}, 7),
    ("7.50", {"type": "number"}, 7.5),
    ("no", {"type": "boolean"}, "no"),
    ("[1, 2]", {"type": "array"}, [1, 2]),
    ("Oslo", {"type": "integer"}, "Oslo"),
    ("7", {}, 7),
)


def test_a_pair_is_text_where_the_schema_says_text_else_json_if_it_is_some(mcpctl: Mcpctl, paths: Paths) -> None:
    echoing(paths, {"type": "object", "properties": {f"v{n}": schema for n, (_, schema, _) in enumerate(PAIRS)}})
    found = echoed(mcpctl, *(f"v{n}={text}" for n, (text, _, _) in enumerate(PAIRS)))
    expected = {f"v{n}": value for n, (_, _, value) in enumerate(PAIRS)}
    assert [(name, value, type(value)) for name, value in found.items()] == [
        (name, value, type(value)) for name, value in expected.items()
    ]


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("NaN", {}),
        ("7", {"type": ["string", "null"]}),
        ("7", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    ],
)
def test_a_pair_is_text_where_only_text_is_valid(mcpctl: Mcpctl, paths: Paths, text: str, schema: Any) -> None:
    echoing(paths, {"type": "object", "properties": {"value": schema}})
    assert echoed(mcpctl, f"value={text}") == {"value": text}


def test_what_only_looks_like_a_line_break_is_text(mcpctl: Mcpctl, paths: Paths) -> None:
    texts = {"a": "x\u2028y", "b": "x\u2029y", "c": "x\x85y"}
    echoing(paths)
    assert echoed(mcpctl, *(f'{name}="{text}"' for name, text in texts.items())) == texts
    assert echoed(mcpctl, json.dumps(texts, ensure_ascii=False)) == texts


def test_a_pair_of_json_may_have_line_breaks(mcpctl: Mcpctl, paths: Paths) -> None:
    echoing(paths)
    assert echoed(mcpctl, 'a={"b":\r\n[1,\n2]}') == {"a": {"b": [1, 2]}}


def test_a_dash_takes_json_from_stdin_over_several_lines(mcpctl: Mcpctl, paths: Paths) -> None:
    echoing(paths)
    assert echoed(mcpctl, "-", stdin='{\n  "a": 1,\r\n  "b": "x"\n}\n') == {"a": 1, "b": "x"}


@pytest.mark.parametrize("words", [("{bad",), ("a",), ("=1",), ("a=1", "a=2"), ('{"a": 1}', "b=2"), ("a=1", "-")])
def test_arguments_that_cannot_be_taken_are_refused_before_anything_starts(
    mcpctl: Mcpctl, paths: Paths, words: Sequence[str]
) -> None:
    echoing(paths)
    assert mcpctl("tools", "call", "s:echo", *words).code == 2
    assert mcpctl("calls", "ls", "--count").out == "0\n"


@pytest.mark.parametrize("stdin", ["", "[1]", "5", "{", "null"])
def test_stdin_that_is_no_json_object_is_refused(mcpctl: Mcpctl, paths: Paths, stdin: str) -> None:
    echoing(paths)
    assert mcpctl("tools", "call", "s:echo", "-", stdin=stdin).code == 2


def test_stdin_that_is_nested_too_deeply_is_refused(mcpctl: Mcpctl, paths: Paths) -> None:
    echoing(paths)
    ran = mcpctl("tools", "call", "s:echo", "-", stdin='{"a":' + "[" * 100_000 + "]" * 100_000 + "}")
    assert (ran.code, "stdin is nested too deeply" in ran.err) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
@pytest.mark.parametrize("words", [("tools", "call", "s:echo", "-"), ("toolsets", "build", "mine", "-")])
def test_stdin_that_is_no_utf8_is_refused(paths: Paths, words: Sequence[str], locale: str) -> None:
    echoing(paths)
    ran = subprocess.run(
        [*MCPCTL, *words], input=b'{"a":"\xff"}', capture_output=True, env={**os.environ, "LC_ALL": locale}, timeout=30
    )
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.startswith(b"mcpctl: stdin is not UTF-8\n")


# ---- failures


def test_a_tool_that_answers_is_error_exits_4_with_nothing_on_stdout(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    ran = mcpctl("tools", "call", "weather:get_forecast", "city=Atlantis")
    assert (ran.code, ran.out) == (4, "")
    assert "there is no forecast for 'Atlantis'" in ran.err


def test_json_is_the_result_as_it_was_sent_of_an_error_too(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    result = '{"content":[{"type":"text","text":"no"},{"type":"odd", "n":1.0}],"isError":true, "structuredContent":{}}'
    (tmp_path / "result").write_text(result, encoding="utf-8")
    configure(paths, {"s": server("raw")})
    ran = mcpctl("tools", "call", "s:raw", f"file={tmp_path / 'result'}", "--json")
    assert (ran.code, ran.out) == (4, f"{result}\n")
    assert ran.error == {
        "code": "tool_error",
        "message": "s:raw answered with an error: no",
        "hint": "see: mcpctl tools show s:raw",
    }


def test_help_on_arguments_is_for_people_and_no_part_of_what_was_sent(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": server("strict")})
    assert mcpctl("tools", "refresh").code == 0
    asked = ("tools", "call", "s:strict_result", "title=x", "priority=high")
    assert "priority" in mcpctl(*asked).err
    ran = mcpctl(*asked, "--json")
    assert "priority" not in ran.out + ran.err
    assert ran.json == mcpctl("calls", "show", "last", "--json").json["response"]


def test_a_json_rpc_error_exits_4_and_is_json_as_it_was_sent(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": server("strict")})
    ran = mcpctl("tools", "call", "s:strict_error", "title=x", "priority=high", "--json")
    assert (ran.code, ran.error["code"]) == (4, "tool_error")
    assert "Invalid params" in ran.error["message"]
    assert json.loads(ran.out)["error"]["code"] == -32602
    assert mcpctl("tools", "call", "s:strict_error", "title=x", "priority=high").out == ""


def test_an_unknown_tool_is_not_found_and_the_near_key_is_named(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    ran = mcpctl("tools", "call", "weather:get_forcast", "--json")
    assert (ran.code, ran.error["code"]) == (3, "tool_not_found")
    assert "weather:get_forecast" in ran.error["message"] + ran.error["hint"]


def test_an_unknown_server_is_not_found_and_the_near_name_is_named(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    ran = mcpctl("tools", "call", "wether:get_forecast")
    assert ran.code == 3
    assert "did you mean 'weather'?" in ran.err


def test_a_server_in_place_of_a_key_is_told_with_its_tools(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"time": stub(), "down": stub()})
    listed(paths, "time", [{"name": "convert_time"}, {"name": "get_current_time"}])
    hints = {
        ("get_current_time",): "did you mean 'time:get_current_time'?",
        ("get_curent_time", "x=1"): "did you mean 'time:get_current_time'?",
        (): "its tools: time:convert_time, time:get_current_time",
        ("zone=Oslo",): "its tools: time:convert_time, time:get_current_time",
    }
    for words, hint in hints.items():
        ran = mcpctl("tools", "call", "time", *words)
        assert (ran.code, ran.err.splitlines()[1]) == (3, f"hint: {hint}")
    assert "list its tools with: mcpctl tools refresh down\n" in mcpctl("tools", "show", "down").err
    listed(paths, "time", [{"name": f"tool_{number}"} for number in range(20)])
    assert "time:tool_7 and 12 more: mcpctl tools ls --server time\n" in mcpctl("tools", "show", "time").err


def test_a_key_without_a_server_is_not_found_and_the_near_key_is_named(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    ran = mcpctl("tools", "call", "get_forecast")
    assert ran.code == 3
    assert "weather:get_forecast" in ran.err


def test_a_forbidden_tool_is_refused_and_the_refusal_is_on_record(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths, {**DEMO, "notes": {**DEMO["notes"], "tools": {"delete_note": False}}})
    ran = mcpctl("tools", "call", "notes:delete_note", "id=note-1", "--json")
    assert (ran.code, ran.error["code"]) == (6, "not_permitted")
    row = mcpctl("calls", "show", "last", "--json").json
    assert (row["status"], row["error"]["code"], row["arguments"]) == ("denied", "not_permitted", {"id": "note-1"})


def test_a_tool_that_only_does_not_have_is_neither_listed_nor_called(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths, {**DEMO, "notes": {**DEMO["notes"], "only": ["list_*", "search_notes"]}})
    ran = mcpctl("tools", "call", "notes:delete_note", "id=note-1", "--json")
    assert (ran.code, ran.error["code"]) == (6, "not_permitted")
    names = [row["key"] for row in mcpctl("tools", "ls", "--server", "notes", "--json").json]
    assert names == ["notes:list_notes", "notes:search_notes"]
    assert "notes:delete_note" not in mcpctl("tools", "search", "delete a note").out


def test_a_disabled_server_is_refused(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths, {**DEMO, "notes": {**DEMO["notes"], "enabled": False}})
    assert mcpctl("tools", "call", "notes:list_notes").code == 6


def test_an_entry_that_cannot_be_used_exits_5(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": {"command": []}})
    assert mcpctl("tools", "call", "s:t").code == 5


def test_a_server_that_does_not_start_exits_4(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": server("exits")})
    ran = mcpctl("tools", "call", "s:t", "--json")
    assert (ran.code, ran.error["code"]) == (4, "server_did_not_start")
    assert "cannot find my configuration" in ran.error["message"]


def test_a_server_that_dies_during_the_call_exits_4_and_is_not_asked_again(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": server("raw")})
    ran = mcpctl("tools", "call", "s:die", "--json")
    assert (ran.code, ran.error["code"]) == (4, "server_died")
    assert "it was not sent again" in ran.error["message"]


def test_a_call_that_takes_too_long_exits_4(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": {**server("raw"), "call_timeout_s": 0.2}})
    ran = mcpctl("tools", "call", "s:sleep", "seconds=60", "--json")
    assert (ran.code, ran.error["code"]) == (4, "timed_out")


def test_a_tool_that_is_new_needs_no_refresh(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": server("counter")})
    listed(paths, "s", [{"name": "older", "inputSchema": {}}])
    assert mcpctl("tools", "call", "s:echo", "a=1").json == {"a": 1}


# ---- the record


def test_a_call_is_on_record_like_any_call(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    sent = mcpctl("tools", "call", "weather:get_forecast", "city=Oslo", "--json")
    row = mcpctl("calls", "show", "last", "--json").json
    assert row["response"] == sent.json
    known = {name: row[name] for name in ("via", "server", "tool", "arguments", "status", "client_name", "error")}
    assert known == {
        "via": "cli",
        "server": "weather",
        "tool": "get_forecast",
        "arguments": {"city": "Oslo"},
        "status": "ok",
        "client_name": "mcpctl",
        "error": None,
    }
    assert row["annotations"]["readOnlyHint"] == {"value": True, "source": "declared"}
    assert "destructiveHint" not in row["annotations"]


def test_calls_of_one_day_share_one_session(mcpctl: Mcpctl, paths: Paths) -> None:
    echoing(paths)
    for number in range(3):
        echoed(mcpctl, f"n={number}")
    (row,) = mcpctl("sessions", "ls", "--json").json
    assert (row["tool_call_count"], row["status"], row["end_time"]) == (3, "closed", row["last_activity"])
    assert [call["arguments"] for call in mcpctl("calls", "ls", "--json").json] == [{"n": 2}, {"n": 1}, {"n": 0}]


@pytest.mark.slow
def test_calls_at_once_are_all_on_record_in_one_session(mcpctl: Mcpctl, paths: Paths) -> None:
    echoing(paths)
    processes = [
        subprocess.Popen([*MCPCTL, "tools", "call", "s:echo", f"n={number}"], stdout=subprocess.PIPE)
        for number in range(4)
    ]
    for process in processes:
        process.communicate(timeout=30)
        assert process.returncode == 0
    assert mcpctl("sessions", "ls", "--count").out == "1\n"
    rows = mcpctl("calls", "ls", "--json").json
    assert sorted(row["arguments"]["n"] for row in rows) == [0, 1, 2, 3]
    assert {row["status"] for row in rows} == {"ok"}


def test_secrets_among_the_arguments_are_sent_but_not_recorded(mcpctl: Mcpctl, paths: Paths) -> None:
    echoing(paths)
    assert echoed(mcpctl, "api_key=abc123def") == {"api_key": "abc123def"}
    assert b"abc123def" not in b"".join(file.read_bytes() for file in paths.data.rglob("*") if file.is_file())


def test_an_unwritable_record_does_not_stop_a_call(mcpctl: Mcpctl, paths: Paths) -> None:
    echoing(paths)
    paths.sessions.write_text("in the way", encoding="utf-8")
    ran = mcpctl("tools", "call", "s:echo", "n=1")
    assert ran.json == {"n": 1}
    assert ran.err.count("calls go on but are not recorded") == 1


def test_a_call_is_given_the_time_that_is_asked_for(mcpctl: Mcpctl, paths: Paths) -> None:
    argv = command("raw")
    configure(paths, {"raw": {"command": argv[0], "args": argv[1:]}})
    ran = mcpctl("tools", "call", "raw:sleep", "seconds=30", "--timeout", "0.2")
    assert ran.code == 4
    assert "no answer within 0.2 s (call_timeout_s)" in ran.err


def test_every_database_is_closed_at_the_end(mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    unclosed: list[sqlite3.Connection] = []

    class Watched(sqlite3.Connection):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            unclosed.append(self)

        def close(self) -> None:
            super().close()
            unclosed.remove(self)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Watched))
    echoing(paths)
    assert echoed(mcpctl, "a=1") == {"a": 1}
    assert mcpctl("tools", "refresh").code == 0
    assert unclosed == []


@pytest.mark.parametrize("tty", [True, False])
def test_a_terminal_shows_how_far_a_call_is(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, tty: bool
) -> None:
    monkeypatch.setattr("mcpctl.output.progress_line.clock", itertools.count().__next__)
    monkeypatch.setenv("TERM", "xterm")
    configure(paths, {"s": server("progress")})
    ran = mcpctl("tools", "call", "s:slow", "n=4", tty=tty)
    assert ran.out == "4 steps\n"
    assert ("\rs:slow: 25% 1 of 4\rs:slow: 50% 2 of 4" in ran.err) == tty
    assert ran.err.split("\r")[-1] == ""
