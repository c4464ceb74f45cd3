"""The requests of HTTP APIs on record, for commands, SQL, REST, pages and exports."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

from starlette.testclient import TestClient

from mcpctl.base.paths import Paths
from tests import recorded
from tests.conftest import Mcpctl
from tests.dashboard import markup
from tests.dashboard.conftest import browser  # noqa: F401 - a fixture
from tests.table import for_each

HTTP = {"method": "GET", "path": "/orders/{id}"}


def record(paths: Paths) -> None:
    of_shop: dict[str, Any] = {"server": "shop", "tool": "orders/get", "http": recorded.raw(HTTP)}
    error = {"content": [{"type": "text", "text": "HTTP 404 Not Found"}], "isError": True}
    recorded.session(
        paths,
        rest=[
            *recorded.call(1, 1, **of_shop, http_status=200),
            *recorded.call(2, 2, **of_shop, http_status=404, status="tool_error", response=recorded.raw(error)),
            *recorded.call(3, 3, **of_shop, http_status=503, status="tool_error", response=recorded.raw(error)),
            *recorded.call(4, 3.5, **of_shop, status="failed", response=recorded.raw(None)),
            *recorded.call(5, 4),
        ],
    )


@for_each(
    "option, expected",
    [("404", [2]), ("4xx", [2]), ("4XX", [2]), ("4xx,5xx", [3, 2]), ("200,503", [3, 1]), ("3xx", []), ("2xx", [1])],
)
def test_calls_are_chosen_by_the_status_of_the_answer(
    mcpctl: Mcpctl, paths: Paths, option: str, expected: list[int]
) -> None:
    if not paths.sessions.exists():
        record(paths)
    ran = mcpctl("calls", "ls", "--http-status", option, "--fields", "id")
    assert [int(line[0]) for line in ran.out.split()] == expected


@for_each("value", ["40", "4x4", "600", "xxx", "٤٠٤"])
def test_a_status_that_is_none_is_refused_with_an_example(mcpctl: Mcpctl, value: str) -> None:
    ran = mcpctl("calls", "ls", "--http-status", value)
    assert ran.code == 2
    assert "give a status: --http-status 404, or 4xx for 400 to 499" in ran.err


def test_the_request_and_the_status_are_fields_of_lists_of_one_call_and_of_sql(mcpctl: Mcpctl, paths: Paths) -> None:
    record(paths)
    rows = mcpctl("calls", "ls", "--json", "--fields", "id,http,http_status").json
    assert [(row["http"], row["http_status"]) for row in rows] == [
        (None, None), (HTTP, None), (HTTP, 503), (HTTP, 404), (HTTP, 200),
    ]  # fmt: skip
    shown = mcpctl("calls", "show", recorded.call_id(2)).out
    assert "/orders/{id}" in shown
    assert "http_status" in shown
    sql = "SELECT json_extract(http, '$.path'), count(*) FROM v_calls WHERE http_status >= 400 GROUP BY 1"
    with closing(sqlite3.connect(paths.index)) as db:
        assert db.execute(sql).fetchall() == [("/orders/{id}", 2)]


def test_reads_and_searches_have_no_http_status(mcpctl: Mcpctl) -> None:
    for kind in ("read", "discovery"):
        ran = mcpctl("calls", "ls", "--kind", kind, "--http-status", "404")
        assert (ran.code, "have no --http-status" in ran.err) == (2, True)


def test_calls_that_began_are_no_events_of_a_status(mcpctl: Mcpctl, paths: Paths) -> None:
    record(paths)
    lines = mcpctl("calls", "tail", "--json", "--http-status", "404").out.splitlines()
    events = [json.loads(line) for line in lines]
    assert [(event["type"], event["data"]["http_status"]) for event in events] == [("calls.finished", 404)]


def test_an_export_has_both(mcpctl: Mcpctl, paths: Paths) -> None:
    record(paths)
    exported = mcpctl("calls", "export", "--http-status", "404").out
    assert '"http_status":404' in exported.replace(" ", "")
    assert "/orders/{id}" in exported


def test_rest_and_pages_have_both(browser: Callable[..., TestClient], paths: Paths) -> None:  # noqa: F811
    record(paths)
    client = browser()
    (row,) = client.get("/api/v1/tool-calls?http_status=404").json()["tool_calls"]
    assert (row["http"], row["http_status"]) == (HTTP, 404)
    assert client.get("/api/v1/tool-calls?http_status=x").status_code == 400
    page = markup.seen(client, "/tool-calls?http_status=4xx")
    assert "HTTP status 4xx" in page.text
    assert "1 call, newest first" in page.text
    page = markup.seen(client, f"/tool-calls/{recorded.call_id(2)}")
    assert "GET /orders/{id}" in page.text
    assert page.target("HTTP 404") == "/tool-calls?http_status=404"
