"""Tools and servers over REST."""

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from mcpctl import servers
from mcpctl.base.paths import Paths
from mcpctl.dashboard import rest_names
from tests import configured, recorded
from tests.conftest import Mcpctl
from tests.dashboard.held import asked, decoded, printed

Browser = Callable[..., TestClient]
FIELDS = {
    "readOnlyHint": "read_only", "destructiveHint": "destructive", "idempotentHint": "idempotent",
    "openWorldHint": "open_world",
}  # fmt: skip
ODD: dict[str, Any] = {
    "name": "a/b?c#d", "title": "<b>Odd</b>",
    "inputSchema": {"type": "object", "maximum": 123456789012345678901234567890},
    "annotations": {"readOnlyHint": True, "title": "older", "openWorldHint": "yes"},
}  # fmt: skip


@pytest.fixture
def client(browser: Browser, paths: Paths) -> TestClient:
    """Two servers with usual tools and one with odd ones; what they are called is on record."""
    configured.demo_tools(paths, {**configured.DEMO, "odd": configured.stub("--token", "secret-value")})
    configured.listed(paths, "odd", [ODD, {"name": "bare"}])
    recorded.two_sessions(paths)
    return browser()


def check(tool: dict[str, Any], row: dict[str, Any]) -> None:
    """A tool says what its row of `--json` says."""
    for name in rest_names.TOOL:
        if name.member not in ("annotations", "hints", "schema", "description", "relevance"):
            assert tool.get(name.rest) == row[name.field]
    assert tool["description"] == (row["description"] or "")
    assert tool["hints"] == {
        hint: {"value": row[field]["effective"], "source": row[field]["source"],
               **({"file": row[field]["file"]} if row[field]["file"] else {})}
        for hint, field in FIELDS.items()
    }  # fmt: skip
    flat = {hint: row[field]["effective"] for hint, field in FIELDS.items() if row[field]["source"] != "default"}
    assert tool.get("annotations", {}) == {**({"title": row["title"]} if row["title"] else {}), **flat}


def test_tools_are_those_of_the_command_line(client: TestClient, mcpctl: Mcpctl) -> None:
    answer, rows = asked(client, "/tools"), printed(mcpctl, "tools", "ls")
    assert answer["total"] == str(len(rows))
    for tool, row in zip(answer["tools"], rows, strict=True):
        check(tool, row)
        definition = printed(mcpctl, "tools", "show", row["key"])["definition"]
        assert tool.get("schema") == definition.get("inputSchema")
    used = {tool["name"]: tool for tool in answer["tools"]}
    assert used["get_forecast"]["usage"] == "2"
    assert "last_used" in used["get_forecast"]
    assert "last_used" not in used["bare"]
    assert "annotations" not in used["bare"]
    assert "schema" not in used["bare"]
    assert '"maximum":123456789012345678901234567890' in client.get("/api/v1/tools").text.replace(" ", "")


@pytest.mark.parametrize("key", ["weather:get_forecast", "odd:a/b?c#d", "odd:bare", "notes.add_note"])
def test_a_tool_is_that_of_the_command_line(client: TestClient, mcpctl: Mcpctl, key: str) -> None:
    answer = client.get(f"/api/v1/tools/{key.replace('?', '%3F').replace('#', '%23')}")
    row = printed(mcpctl, "tools", "show", key)
    tool = decoded(answer.text)
    check(tool, row)
    assert {name: tool[name] for name in ("permitted", "toolset", "in_toolset", "definition")} == {
        name: row[name] for name in ("permitted", "toolset", "in_toolset", "definition")
    }


def test_a_toolset_overrides_hints(client: TestClient, mcpctl: Mcpctl, paths: Paths) -> None:
    entry = configured.overridden("odd:bare", readOnlyHint=True)
    configured.toolset(paths, "mine", "odd:bare", toolOverrides=[entry])
    (tool,) = asked(client, "/tools", toolset="mine")["tools"]
    (row,) = printed(mcpctl, "tools", "ls", "--toolset", "mine")
    check(tool, row)
    assert tool["annotations"] == {"readOnlyHint": True}
    assert tool["hints"]["readOnlyHint"]["source"] == "override"


@pytest.mark.parametrize(
    ("parameters", "options"),
    [("server=odd", "--server odd"), ("read_only=true", "--read-only"), ("destructive=false", "--no-destructive"),
     ("idempotent=true&open_world=false", "--idempotent --no-open-world"), ("sort=usage", "--sort usage")],
)  # fmt: skip
def test_tools_are_filtered_as_on_the_command_line(
    client: TestClient, mcpctl: Mcpctl, parameters: str, options: str
) -> None:
    answer = client.get(f"/api/v1/tools?{parameters}").json()
    rows = printed(mcpctl, "tools", "ls", *options.split())
    assert rows
    assert ([tool["key"] for tool in answer["tools"]], answer["total"]) == ([row["key"] for row in rows], len(rows))


def test_words_find_tools_as_on_the_command_line(client: TestClient, mcpctl: Mcpctl) -> None:
    answer, rows = asked(client, "/tools", q="note forecast"), printed(mcpctl, "tools", "search", "note", "forecast")
    assert answer["total"] == str(len(rows))
    for tool, row in zip(answer["tools"], rows, strict=True):
        check(tool, row)
        assert tool["relevance"] == row["relevance"]
    assert asked(client, "/tools", q="note", server="weather") == {"tools": [], "total": "0"}


def calls_of(client: TestClient, server: str) -> list[Any]:
    called: list[Any] = asked(client, "/tool-calls", server=server, since="24h")["tool_calls"]
    return called


def test_servers_are_those_of_the_command_line_with_their_secrets_masked(client: TestClient, mcpctl: Mcpctl) -> None:
    rows = printed(mcpctl, "servers", "ls")
    answered = asked(client, "/servers")
    health = [row.pop("health") for row in answered["servers"]]
    assert answered == {"servers": rows, "total": "3"}
    assert [int(each["calls"]) for each in health] == [len(calls_of(client, row["name"])) for row in rows]
    assert set(rows[0]) == set(servers.FIELDS)
    assert "secret-value" not in client.get("/api/v1/servers").text
    assert asked(client, "/servers", fields="name", limit=1, offset=1)["servers"] == [{"name": "odd"}]


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/tools/weather:get_forecas", 404, "did you mean 'weather:get_forecast'"),
        ("/tools?server=wether", 404, "weather"),
        ("/tools?read_only=yes", 400, "read_only has no value 'yes'"),
        ("/tools?sort=risk", 400, "sort has no value"),
        ("/tools?toolset=none-such", 404, "none-such"),
        ("/tools?toolset=../../etc/passwd", 400, "give the name of a toolset"),
        ("/tools/weather:get_forecast?toolset=x.json", 400, "give the name of a toolset"),
        ("/tools?project=none-such", 404, "none-such"),
        ("/tools/weather:get_forecast?fields=key", 400, "unknown parameter 'fields'"),
        ("/servers?server=odd", 400, "unknown parameter 'server'"),
    ],
)
def test_what_is_not_there_is_said(client: TestClient, path: str, status: int, says: str) -> None:
    answer = client.get(f"/api/v1{path}")
    error = answer.json()["error"]
    assert answer.status_code == status
    assert says in f"{error['message']} {error['hint']}"


def test_nothing_is_configured(browser: Browser) -> None:
    client = browser()
    assert asked(client, "/tools") == {"tools": [], "total": "0"}
    assert asked(client, "/tools", q="note") == {"tools": [], "total": "0"}
    assert asked(client, "/servers") == {"servers": [], "total": "0"}
    assert asked(client, "/approvals") == {"approvals": [], "total": "0"}


def test_a_project_has_its_tools_and_servers(browser: Browser, mcpctl: Mcpctl, paths: Paths) -> None:
    of = {"notes": "acme", "weather": "zoo"}
    servers = {name: {**entry, "projects": [of[name]]} for name, entry in configured.DEMO.items()}
    configured.demo_tools(paths, servers)
    client = browser()
    for project in ("acme", "zoo"):
        rows = printed(mcpctl, "tools", "ls", "--project", project)
        assert rows
        keys = [tool["key"] for tool in asked(client, "/tools", project=project)["tools"]]
        assert keys == [row["key"] for row in rows]
        assert asked(client, "/servers", project=project)["total"] == "1"
    assert asked(client, "/tools/notes:add_note", project="acme")["key"] == "notes:add_note"
    assert client.get("/api/v1/tools/notes:add_note?project=zoo").status_code == 404
