"""What every list has in common: formats, fields, windows. Each claim holds for all of them."""

import json
from pathlib import Path
from typing import Any

import pytest
from pytest_snapshot.plugin import Snapshot

from mcpctl.base.paths import Paths
from tests.configured import DEMO, configure, demo_tools, noted, stub, toolset
from tests.conftest import Mcpctl
from tests.recorded import two_sessions
from tests.table import for_each

LISTS = {
    "calls ls": "id",
    "calls ls --kind discovery": "id",
    "sessions ls": "id",
    "servers ls": "name",
    "toolsets ls": "name",
    "tools ls": "key",
    "tools search note forecast": "key",
}
"""Every list that needs no running server, and the field that tells its rows apart."""

lists = for_each("words", LISTS)


@pytest.fixture(autouse=True)
def data(paths: Paths) -> None:
    """Two servers with their tools, two toolsets, and two sessions."""
    demo_tools(paths)
    toolset(paths, "notes", "notes:add_note", "notes:list_notes", description="All that is about notes")
    toolset(paths, "weather", "weather:get_forecast", toolNotes=[noted("weather:get_forecast", units="In Celsius.")])
    two_sessions(paths)


def rows(mcpctl: Mcpctl, words: str, *options: str) -> list[dict[str, Any]]:
    found = mcpctl(*words.split(), "--json", *options).json
    assert isinstance(found, list)
    return found


@lists
def test_json_is_one_array_with_one_object_a_line(mcpctl: Mcpctl, words: str) -> None:
    ran = mcpctl(*words.split(), "--json")
    lines = ran.out.splitlines()
    assert [json.loads(line.lstrip("[,")) for line in lines[:-1]] == ran.json
    assert lines[-1] == "]"
    assert len(ran.json) > 1


@lists
def test_jsonl_has_the_rows_of_json_one_a_line(mcpctl: Mcpctl, words: str) -> None:
    assert mcpctl(*words.split(), "--jsonl").jsonl == rows(mcpctl, words)


@lists
@for_each("format", ["json", "jsonl", "tsv", "table"])
@pytest.mark.slow
def test_format_names_any_format(mcpctl: Mcpctl, words: str, format: str) -> None:
    ran = mcpctl(*words.split(), "--format", format)
    if format in ("json", "jsonl"):
        assert ran.out == mcpctl(*words.split(), f"--{format}").out
    else:
        assert ran.out == mcpctl(*words.split(), tty=format == "table").out


@lists
def test_a_pipe_gets_tabs_and_no_header_and_nothing_on_stderr(mcpctl: Mcpctl, words: str) -> None:
    ran = mcpctl(*words.split())
    ids = [line.split("\t")[0] for line in ran.out.splitlines()]
    assert ids == [row[LISTS[words]] for row in rows(mcpctl, words)]
    assert ran.err == ""


@lists
def test_a_terminal_gets_a_table_with_headings(mcpctl: Mcpctl, words: str) -> None:
    ran = mcpctl(*words.split(), tty=True)
    head, *body = ran.out.splitlines()
    assert head.split()[0] == LISTS[words].upper()
    first = [row[LISTS[words]] for row in rows(mcpctl, words)]
    assert [line.split()[0] for line in body] == [value[:8] if LISTS[words] == "id" else value for value in first]


@lists
@for_each("option", ["--json", "--jsonl"])
def test_fields_choose_and_order_the_members_of_json(mcpctl: Mcpctl, words: str, option: str) -> None:
    first, *_, last = rows(mcpctl, words)[0]
    printed = mcpctl(*words.split(), "--fields", f"{last},{first}", option)
    chosen = printed.json if option == "--json" else printed.jsonl
    assert [list(row) for row in chosen] == [[last, first]] * len(chosen)
    assert chosen == [{name: row[name] for name in (last, first)} for row in rows(mcpctl, words)]


@lists
def test_fields_choose_and_order_the_columns_of_tsv(mcpctl: Mcpctl, words: str) -> None:
    name = LISTS[words]
    both = mcpctl(*words.split(), "--fields", f" {name} , {name}").out
    assert both.splitlines() == [f"{row[name]}\t{row[name]}" for row in rows(mcpctl, words)]


@lists
def test_fields_choose_the_columns_of_a_table(mcpctl: Mcpctl, words: str) -> None:
    name = LISTS[words]
    ran = mcpctl(*words.split(), "--fields", name, tty=True)
    assert ran.out.split() == [name.upper(), *(row[name] for row in rows(mcpctl, words))]


@lists
def test_an_unknown_field_is_refused_with_the_fields_there_are(mcpctl: Mcpctl, words: str) -> None:
    ran = mcpctl(*words.split(), "--fields", "bogus", "--json")
    assert ran.code == 2
    assert "unknown field 'bogus'" in ran.err
    assert all(name in ran.err for name in rows(mcpctl, words)[0])


@for_each(
    ("words", "title", "field"),
    [("calls ls", "when", "started_at"), ("calls ls", "MS", "duration_ms"), ("tools ls", "read", "read_only"),
     ("tools search note", "rel", "relevance"), ("sessions ls", "calls", "tool_call_count")],
)  # fmt: skip
@pytest.mark.slow
def test_a_columns_heading_names_its_field_in_any_case(mcpctl: Mcpctl, words: str, title: str, field: str) -> None:
    for name in (title, title.upper(), title.lower(), field.upper()):
        assert mcpctl(*words.split(), "--fields", name).out == mcpctl(*words.split(), "--fields", field).out
        assert {*mcpctl(*words.split(), "--fields", name, "--json").json[0]} == {field}


@lists
def test_every_heading_is_a_name_that_fields_takes(mcpctl: Mcpctl, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    plain = mcpctl(*words.split(), tty=True).out
    assert mcpctl(*words.split(), "--fields", ",".join(plain.splitlines()[0].split()), tty=True).out.split()[1:3]
    assert mcpctl(*words.split(), "--fields", ",".join(plain.splitlines()[0].split())).code == 0


def test_near_names_of_an_unknown_field_are_shown(mcpctl: Mcpctl) -> None:
    assert (
        "hint: did you mean 'status' or 'http_status'? fields: id, " in mcpctl("calls", "ls", "--fields", "statuss").err
    )


@lists
def test_fields_that_name_none_are_refused(mcpctl: Mcpctl, words: str) -> None:
    assert mcpctl(*words.split(), "--fields", ",").code == 2


@lists
@for_each("two", ["--json --jsonl", "--json --format tsv", "--jsonl --format json"])
def test_two_formats_are_refused(mcpctl: Mcpctl, words: str, two: str) -> None:
    ran = mcpctl(*words.split(), *two.split())
    assert ran.code == 2
    assert "give one of --json, --jsonl and --format" in ran.err


@lists
def test_an_unknown_format_is_refused_with_the_formats_there_are(mcpctl: Mcpctl, words: str) -> None:
    ran = mcpctl(*words.split(), "--format", "xml")
    assert ran.code == 2
    assert "table, tsv, json, jsonl" in ran.err


@lists
def test_limit_and_offset_are_a_window_of_the_rows(mcpctl: Mcpctl, words: str) -> None:
    every = rows(mcpctl, words)
    assert rows(mcpctl, words, "--limit", "1") == every[:1]
    assert rows(mcpctl, words, "--limit", "1", "--offset", "1") == every[1:2]
    assert rows(mcpctl, words, "--offset", "1") == every[1:]
    assert rows(mcpctl, words, "--offset", str(len(every))) == []


@lists
def test_a_limit_of_zero_is_no_limit(mcpctl: Mcpctl, words: str) -> None:
    assert rows(mcpctl, words, "--limit", "0") == rows(mcpctl, words)


@lists
@for_each("bad", ["-1", "x", "1.5"])
def test_a_limit_that_is_no_number_is_refused(mcpctl: Mcpctl, words: str, bad: str) -> None:
    assert mcpctl(*words.split(), "--limit", bad).code == 2


@lists
def test_count_prints_the_true_total_alone(mcpctl: Mcpctl, words: str) -> None:
    total = len(rows(mcpctl, words))
    for options in ([], ["--limit", "1"], ["--offset", "1"], ["--json"]):
        assert mcpctl(*words.split(), "--count", *options).out == f"{total}\n"


@for_each("words", ["calls ls", "sessions ls", "servers ls", "tools ls", "tools search x", "toolsets ls"])
def test_nothing_is_an_empty_array_and_no_failure(
    mcpctl: Mcpctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("MCPCTL_HOME", str(tmp_path / "another"))
    ran = mcpctl(*words.split(), "--json")
    assert (ran.out, ran.err, ran.code) == ("[]\n", "", 0)
    assert mcpctl(*words.split()).out == ""
    assert mcpctl(*words.split(), "--jsonl").out == ""
    assert mcpctl(*words.split(), "--count").out == "0\n"


@for_each("words", ["calls ls", "sessions ls", "servers ls", "tools ls", "tools search x", "toolsets ls"])
def test_a_terminal_is_told_what_to_do_when_there_is_nothing(
    mcpctl: Mcpctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("MCPCTL_HOME", str(tmp_path / "another"))
    ran = mcpctl(*words.split(), tty=True)
    assert ran.out == ""
    assert "mcpctl " in ran.err
    assert len(ran.err.splitlines()) <= 2


def test_a_terminal_gets_the_first_fifty_rows_and_is_told_of_the_rest(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {f"server-{number:03}": stub() for number in range(60)})
    ran = mcpctl("servers", "ls", tty=True)
    assert len(ran.out.splitlines()) == 51
    assert ran.err == "50 of 60 servers; --limit 0 shows all\n"
    assert len(mcpctl("servers", "ls", "--limit", "0", tty=True).out.splitlines()) == 61


@pytest.mark.parametrize("format", ["auto", "tsv", "json", "jsonl", "table"])
def test_a_pipe_never_loses_rows(mcpctl: Mcpctl, paths: Paths, format: str) -> None:
    configure(paths, {f"server-{number:03}": stub() for number in range(60)})
    assert mcpctl("servers", "ls", "--format", format).out.count("server-") == 60


def test_a_warning_goes_to_stderr_and_leaves_json_whole(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {**DEMO, "new": stub()})
    ran = mcpctl("tools", "ls", "--json")
    assert len(ran.json) == 7
    assert "not listed yet: new" in ran.err


@pytest.mark.parametrize("words", ["tools ls", "tools search note", "tools export"])
def test_a_server_that_is_not_asked_about_is_not_named(mcpctl: Mcpctl, paths: Paths, words: str) -> None:
    configure(paths, {**DEMO, "new": stub()})
    assert mcpctl(*words.split(), "--server", "notes").err == ""
    assert "not listed yet: new" in mcpctl(*words.split(), "--server", "new").err
    assert mcpctl("tools", "show", "notes:add_note").err == ""
    assert "mcpctl tools refresh new" in mcpctl("tools", "show", "new:tool").err


@lists
@for_each("format", ["table", "tsv", "json"])
def test_the_same_data_looks_the_same(mcpctl: Mcpctl, snapshot: Snapshot, words: str, format: str) -> None:
    options = [*words.split(), "--format", format]
    if format == "json" and LISTS[words] in ("key", "name"):
        # The fields that are times of this run, and those that are paths of this machine.
        left_out = ("listed_at", "last_modified", "command", "runs", "path")
        options += ["--fields", ",".join(name for name in rows(mcpctl, words)[0] if name not in left_out)]
    elif words == "servers ls":
        options += ["--fields", "name,enabled,transport,tools,args,problem"]
    snapshot.snapshot_dir = Path(__file__).parent / "snapshots"
    snapshot.assert_match(mcpctl(*options).out, f"{words.replace(' ', '_')}.{format}")


@for_each(
    "words",
    ["servers ls", "servers check", "tools ls", "tools search x", "tools refresh", "prompts ls", "resources ls"],
)
def test_where_there_is_no_server_a_terminal_is_told_how_to_get_one(
    mcpctl: Mcpctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("MCPCTL_HOME", str(tmp_path / "another"))
    said = " ".join(mcpctl(*words.split(), tty=True).err.split())
    assert "there is no server yet" in said
    assert all(command in said for command in ("mcpctl servers add NAME -- ", "mcpctl init", "mcpctl demo"))
    assert "refresh" not in said
