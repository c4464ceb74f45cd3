"""Text that others wrote never commands a terminal, and never breaks a line or a column."""

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from mcpctl import output
from mcpctl.base.models import Found, RawJson
from mcpctl.base.paths import Paths
from mcpctl.output import Columns, ListOptions
from mcpctl.output.contents import content
from mcpctl.output.text import block_of, decision, line_of, pairs
from tests.configured import configure, listed, stub
from tests.conftest import Mcpctl
from tests.recorded import call, session
from tests.table import for_each

HOSTILE = "a\x1b[31mb\x9b2Jc\u202ed\u2066e\u200ff\x00g\x7fh\u2028i\nj\tk\rl\ufeffm[/bold]n"
COMMANDS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""What may never be printed outside of JSON."""


def test_a_line_has_no_control_character_and_keeps_the_rest() -> None:
    assert line_of(HOSTILE) == "a\ufffd[31mb\ufffd2Jc\ufffdd\ufffde\ufffdf\ufffdg\ufffdh i j k l\ufffdm[/bold]n"


@given(st.text())
def test_no_text_makes_a_line_that_commands(text: str) -> None:
    line = line_of(text)
    assert not COMMANDS.search(line)
    assert not re.search(r"[\n\t]", line)
    assert len(line) == len(text)
    assert line_of(line) == line


@given(st.text())
def test_a_block_keeps_its_lines_and_nothing_that_commands(text: str) -> None:
    block = block_of(text)
    assert not COMMANDS.search(block)
    assert block.count("\n") == text.count("\n")


@for_each("text", ["Grüße", "日本語", "🙂", "עברית", "a\u0301", "[/bold]", "`$(x)`", "👨‍👩‍👧"[:1]])
def test_what_is_only_unusual_stays(text: str) -> None:
    assert line_of(text) == block_of(text) == text


def hostile_tools(paths: Paths) -> None:
    configure(paths, {"s": stub()})
    name = {"name": HOSTILE, "title": HOSTILE, "description": HOSTILE}
    line = HOSTILE.replace("\n", "")
    schema = {"type": "object", "properties": {HOSTILE: {"type": "string", "description": HOSTILE, "enum": [HOSTILE]}}}
    listed(paths, "s", [{**name, "inputSchema": schema}, {"name": "plain", "description": line, "inputSchema": {}}])


@pytest.mark.parametrize("tty", [True, False])
@pytest.mark.parametrize("words", [("tools", "ls"), ("tools", "search", "plain"), ("tools", "show", "s:plain")])
def test_what_a_server_calls_its_tools_never_reaches_the_terminal(
    mcpctl: Mcpctl, paths: Paths, words: tuple[str, ...], tty: bool
) -> None:
    hostile_tools(paths)
    ran = mcpctl(*words, tty=tty)
    assert "[/bold]" in ran.out
    assert not COMMANDS.search(ran.out + ran.err)


@pytest.mark.parametrize("tty", [True, False])
def test_a_tool_with_a_hostile_name_can_be_shown_and_is_suggested_safely(
    mcpctl: Mcpctl, paths: Paths, tty: bool
) -> None:
    hostile_tools(paths)
    assert not COMMANDS.search(mcpctl("tools", "show", f"s:{HOSTILE}", tty=tty).out)
    assert not COMMANDS.search(mcpctl("tools", "show", f"s:{HOSTILE}x", tty=tty).err)


@pytest.mark.parametrize("tty", [True, False])
@pytest.mark.parametrize("words", ["calls ls", "calls show last", "sessions show last", "calls ls --kind discovery"])
def test_what_is_on_record_never_reaches_the_terminal_raw(mcpctl: Mcpctl, paths: Paths, words: str, tty: bool) -> None:
    hostile = Raw(json.dumps({HOSTILE: HOSTILE}, ensure_ascii=False).encode())
    session(paths, rest=call(1, 1, server=HOSTILE, tool=HOSTILE, arguments=hostile, response=hostile, error=hostile))
    fields = ["--fields", "id,tool,server,arguments,response,error"] if words == "calls ls" else []
    ran = mcpctl(*words.split(), *fields, tty=tty)
    assert not COMMANDS.search(ran.out + ran.err)


def test_json_has_it_exactly(mcpctl: Mcpctl, paths: Paths) -> None:
    hostile_tools(paths)
    first = mcpctl("tools", "ls", "--json").json[0]
    assert (first["tool"], first["title"], first["description"]) == (HOSTILE, HOSTILE, HOSTILE)


words = st.text(max_size=20)
cells = st.none() | st.booleans() | st.integers() | words | st.dictionaries(words, words, max_size=2)
tables = st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), max_size=5))


def printed(capsys: pytest.CaptureFixture[str], rows: list[list[Any]], asked: ListOptions) -> tuple[list[str], str]:
    names = [f"f{number}" for number in range(len(rows[0]) if rows else 1)]
    found = Found.of([dict(zip(names, row, strict=True)) for row in rows])
    capsys.readouterr()
    output.write_list(found, Columns(fields=names, shown=names), asked)
    return names, capsys.readouterr().out


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=tables)
def test_tsv_has_one_line_a_row_and_one_tab_less_than_columns(
    capsys: pytest.CaptureFixture[str], rows: list[list[Any]]
) -> None:
    names, out = printed(capsys, rows, ListOptions("tsv"))
    lines = out.split("\n")[:-1]
    assert len(lines) == len(rows)
    assert [line.count("\t") for line in lines] == [len(names) - 1] * len(rows)
    assert not COMMANDS.search(out)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=tables)
def test_json_and_jsonl_say_the_same_rows_and_fields_are_a_projection(
    capsys: pytest.CaptureFixture[str], rows: list[list[Any]]
) -> None:
    names, array = printed(capsys, rows, ListOptions("json"))
    _, lines = printed(capsys, rows, ListOptions("jsonl"))
    expected = [dict(zip(names, row, strict=True)) for row in rows]
    assert json.loads(array) == [json.loads(line) for line in lines.split("\n")[:-1]] == expected
    _, last = printed(capsys, rows, ListOptions("json", fields=names[-1]))
    assert json.loads(last) == [{names[-1]: row[names[-1]]} for row in expected]


def test_json_text_inside_a_row_is_passed_on_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    _, out = printed(capsys, [[RawJson('{"a": 1.0,  "b":1e5}')]], ListOptions("json"))
    assert out == '[{"f0":{"a": 1.0,  "b":1e5}}\n]\n'


def test_pairs_show_values_on_lines_of_their_own() -> None:
    row: dict[str, Any] = {"a": None, "bcd": True, "e": "x\ny", "f": RawJson('{"g":[1,"\\u001b"]}'), "h": []}
    assert list(pairs(row)) == [
        "a:   -",
        "bcd: true",
        "e:   x y",
        "f:",
        "  {",
        '    "g": [',
        "      1,",
        '      "\\u001b"',
        "    ]",
        "  }",
        "h:   []",
    ]


def test_content_is_its_texts_and_a_line_of_json_for_each_other_block() -> None:
    blocks = [{"type": "text", "text": "a\nb\x1b"}, {"type": "text", "text": 5}, 7, {"type": "image"}]
    for brief in (True, False):
        said = ["a\nb\ufffd", '{"type": "text", "text": 5}', "7", '{"type": "image"}']
        assert list(content(blocks, brief=brief)) == said


def test_bytes_are_only_named_where_it_is_brief() -> None:
    blocks = [
        {"type": "image", "data": "aGk=", "mimeType": "image/\x1bpng"},
        {"type": "audio", "data": "A" * 4000},
        {"type": "resource", "resource": {"uri": "x:y", "blob": "aGk=", "mimeType": "application/pdf"}},
    ]
    assert list(content(blocks, brief=True)) == [
        "[image image/\ufffdpng, 2 bytes; --output FILE saves it]",
        "[audio of an unknown type, 3 kB; --output FILE saves it]",
        "[resource application/pdf, 2 bytes; --output FILE saves it]",
    ]
    assert [json.loads(line) for line in content(blocks, brief=False)][1:] == blocks[1:]


@for_each(
    ("changes", "line"),
    [
        ({}, "denied: deny s:*, config.toml:3"),
        ({"rule_place": None, "enforced": False}, "denied: deny s:* (only recorded)"),
        ({"decision": "asked", "channel": "client"}, "asked in the client: deny s:*, config.toml:3"),
        ({"decision": "approved", "channel": "terminal", "scope": "once"},
         "approved by the user in the terminal (once): deny s:*, config.toml:3"),
        ({"decision": "allowed", "channel": "terminal", "person": "eva@desk, /dev/pts/0"},
         "allowed by eva@desk, /dev/pts/0 in the terminal: deny s:*, config.toml:3"),
        ({"decision": "declined", "channel": "dashboard", "person": "eva@desk, login 1f of the dashboard"},
         "declined by eva@desk, login 1f of the dashboard: deny s:*, config.toml:3"),
        ({"decision": "declined", "channel": "command", "person": "eva@desk"},
         "declined by eva@desk by a command: deny s:*, config.toml:3"),
        ({"decision": "declined", "channel": "client", "waited_ms": 5012},
         "declined by the user in the client, after 5 s: deny s:*, config.toml:3"),
        ({"decision": "unanswerable", "channel": "client", "waited_ms": 12},
         "declined by the client itself, in 12 ms: deny s:*, config.toml:3"),
        ({"decision": "unanswerable", "channel": "client"}, "the client cannot ask: deny s:*, config.toml:3"),
        ({"decision": "unanswerable", "channel": "limit"},
         "too many questions were open in the client: deny s:*, config.toml:3"),
        ({"decision": "unanswerable", "channel": "rule"}, "nobody could be asked: deny s:*, config.toml:3"),
        ({"decision": "expired", "channel": "client", "waited_ms": 50_000},
         "nobody answered in 50 s: deny s:*, config.toml:3"),
        ({"decision": "allowed", "channel": "grant", "scope": "once"},
         "allowed, the same call again (once): deny s:*, config.toml:3"),
        ({"decision": "allowed", "channel": "grant"}, "allowed: deny s:*, config.toml:3"),
    ],
)  # fmt: skip
def test_a_decision_is_one_line(changes: dict[str, Any], line: str) -> None:
    row = {
        "decision": "denied", "rule": "deny s:*", "rule_place": "config.toml:3", "channel": "rule", "scope": None,
        "enforced": True, "waited_ms": None,
    }  # fmt: skip
    assert decision({**row, **changes}) == line
