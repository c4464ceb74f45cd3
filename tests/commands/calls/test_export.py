"""`mcpctl calls export`"""

import csv
import io
import json
from typing import Any

import pytest

from mcpctl.base.fields import CALL_FIELDS, CALL_PAYLOADS
from mcpctl.base.paths import Paths
from tests.conftest import Mcpctl
from tests.recorded import call, raw, session, two_sessions


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_jsonl_has_the_rows_of_the_list(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    for options in ([], ["--failed"], ["--server", "notes,weather", "--grep", "oslo"]):
        ran = mcpctl("calls", "export", *options)
        assert (ran.code, ran.err) == (0, "")
        assert ran.jsonl == mcpctl("calls", "ls", "--json", *options).json


def test_csv_has_a_header_and_every_field(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    out = mcpctl("calls", "export", "--format", "csv").out
    assert out.splitlines()[0] == ",".join(CALL_FIELDS)
    assert out.count("\r\n") == 7
    rows = table(out)
    listed = mcpctl("calls", "ls", "--json").json
    assert [row["id"] for row in rows] == [row["id"] for row in listed]
    assert [json.loads(row["arguments"]) for row in rows] == [row["arguments"] for row in listed]
    assert [row["duration_ms"] for row in rows] == [str(row["duration_ms"]) for row in listed]
    assert rows[0]["response_truncated"] == "false"
    assert rows[0]["parent_id"] == ""


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_without_payloads_nothing_that_was_sent_or_came_back_is_there(
    mcpctl: Mcpctl, paths: Paths, format: str
) -> None:
    two_sessions(paths)
    out = mcpctl("calls", "export", "--no-payloads", "--format", format).out
    assert not any(text in out for text in ("Oslo", "cloudy", "died"))
    columns = list(json.loads(out.splitlines()[0])) if format == "jsonl" else out.splitlines()[0].split(",")
    assert columns == [name for name in CALL_FIELDS if name not in CALL_PAYLOADS]
    assert "delete_note" in out


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("＝1+1", "'＝1+1"),  # noqa: RUF001
        ("plain =1", "plain =1"),
        ('a "b", c\nd', 'a "b", c\nd'),
        ("", ""),
    ],
)
def test_no_cell_is_a_formula(mcpctl: Mcpctl, paths: Paths, name: str, cell: str) -> None:
    session(paths, rest=call(1, 1, client_name=name, tool=name or "x"))
    (row,) = table(mcpctl("calls", "export", "--format", "csv").out)
    assert row["client_name"] == cell
    assert row["tool"] == (cell or "x")


@pytest.mark.parametrize(("request_id", "cell"), [(-7, "-7"), ("-7", '"-7"'), ("=1", '"=1"'), (7, "7")])
def test_a_number_stays_one(mcpctl: Mcpctl, paths: Paths, request_id: Any, cell: str) -> None:
    session(paths, rest=call(1, 1, request_id=raw(request_id)))
    (row,) = table(mcpctl("calls", "export", "--format", "csv").out)
    assert row["request_id"] == cell


def test_nothing_is_an_empty_file_or_a_header(mcpctl: Mcpctl) -> None:
    assert mcpctl("calls", "export").out == ""
    assert mcpctl("calls", "export", "--format", "csv", "--no-payloads").out.count("\n") == 1
    assert mcpctl("calls", "export", "--format", "parquet").code == 2
