"""Which command lines and addresses start the same program, and which changes of limits let more be called."""

import itertools
import shlex
from collections.abc import Mapping
from typing import Any

import pytest
import tomli_w

from mcpctl.base.paths import Paths
from mcpctl.catalog import loosening
from mcpctl.config.server_settings import Server
from mcpctl.policy.same_program import is_same_program, reading
from tests.configured import configure, listed
from tests.table import for_each

SAME = {
    "npm": (
        "npx -y @modelcontextprotocol/server-github", "npx @modelcontextprotocol/server-github@1.2.3",
        "npx -p @modelcontextprotocol/server-github mcp-server-github",
        "npx --package=@modelcontextprotocol/server-github x", "corepack pnpm dlx @modelcontextprotocol/server-github",
        "env X=1 /usr/bin/npx -y @modelcontextprotocol/server-github", "bunx @modelcontextprotocol/server-github --x",
        "node /opt/node_modules/@modelcontextprotocol/server-github/dist/index.js",
        "sh -c 'cd /x && exec npx -y @modelcontextprotocol/server-github'",
        "bash -lc 'npx @modelcontextprotocol/server-github'", 
        "deno run -A npm:@modelcontextprotocol/server-github", "cmd /c npx -y @modelcontextprotocol/server-github",
    ),
    "uv": (
        "uvx mcp-server-time", "uvx mcp-server-time==1.0 --tz X", "uvx --from mcp-server-time mcp-server-time",
        "uv tool run mcp_server_time", "python -m mcp_server_time", "/venv/bin/python3.11 -u -m mcp_server_time",
        "/venv/bin/mcp-server-time",
    ),
    "a script": (
        "python3 /opt/a/shop.py DEFS", "python3 -u /opt/a/../a/shop.py", "uv --directory /opt/a run shop.py",
        "uv --project /opt/z run --directory /opt/a shop.py", "python -m shop", "xargs python3 /opt/a/shop.py",
    ),
    "an image": (
        "docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server",
        "docker run -i --rm -e GITHUB_PERSONAL_ACCESS_TOKEN -e GITHUB_HOST ghcr.io/github/github-mcp-server:1.0",
        "docker --context default run ghcr.io/github/github-mcp-server", 
        "podman run --name x -v /a:/b ghcr.io/github/github-mcp-server@sha256:abcd stdio",
    ),
    "a generic script": ("node /a/dist/index.js", "node --no-warnings /a/dist/../dist/index.js x", 
        "node /a/dist", "node /a/dist/index"),
    "another generic script": ("node /b/dist/index.js",),
    "another image": ("docker run -i --rm -e GITHUB_TOKEN mcp/jira",),
    "another folder": ("uv --directory /srv/a run other.py",),
    "another package": ("npx -y @modelcontextprotocol/server-filesystem /home", "uvx mcp-server-git"),
}  # fmt: skip
ADDRESSES = (
    "https://mcp.example/mcp", "https://mcp.example:443/mcp", "https://MCP.example./mcp/", "https://mcp.example//mcp?k=1",
    "https://mcp.example/%6dcp", "https://mcp.example/x/../mcp",
)  # fmt: skip


def of(line: str) -> Server:
    command, *args = shlex.split(line)
    return Server(command=command, args=args)


@for_each("lines", [lines for name, lines in SAME.items() if name != "another package"])
def test_one_program_is_known_however_it_is_written(lines: tuple[str, ...]) -> None:
    for one, other in itertools.combinations(lines, 2):
        assert is_same_program(of(one), of(other)), (one, other)


@pytest.mark.slow
def test_other_programs_are_others() -> None:
    for one, other in itertools.combinations(SAME.values(), 2):
        for line, another in itertools.product(one, other):
            assert not is_same_program(of(line), of(another)), (line, another)
            assert not reading(of(line)).meets(reading(of(another))), (line, another)


@for_each(
    ("before", "after", "freed"),
    [
        # A line that starts a restricted program by words that no launcher is known by frees what was denied.
        ({}, {"t": "strange python3 /opt/shop.py"}, ["t:drop"]),
        ({}, {"t": "strange python3 ${SHOP}"}, ["t:drop"]),
        ({"t": "npx foo"}, {"t": "sh -c 'npx foo; strange python3 /opt/shop.py'"}, ["t:drop"]),
        # Another program is another, and one that could start it before may do so under another name.
        ({}, {"t": "npx -y server-filesystem /opt"}, []),
        ({"t": "npx foo"}, {"t": "npx foo --port 8000"}, []),
        ({"t": "strange python3 /opt/shop.py"}, {"t": "strange python3 /opt/shop.py --more"}, []),
        ({"t": "strange python3 /opt/shop.py"}, {"u": "strange python3 /opt/shop.py"}, []),
        ({"t": "strange python3 /opt/shop.py"}, {}, []),
        ({"t": "npx foo"}, {"t": "npx ${SHOP_ARG:-foo}"}, []),
    ],
)
def test_a_line_that_hides_a_restricted_program_loosens(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, before: Any, after: Any, freed: list[str]
) -> None:
    monkeypatch.setenv("SHOP", "/opt/shop.py")
    shop = {"command": "python3", "args": ["/opt/shop.py"], "tools": {"drop": False}}

    def text(lines: dict[str, str]) -> str:
        written = {name: {"command": of(line).command, "args": of(line).args} for name, line in lines.items()}
        return tomli_w.dumps({"servers": {"shop": shop, **written}})

    assert loosening.by_config(paths, text(before), text(after)) == freed


def test_one_address_is_known_however_it_is_written() -> None:
    for one, other in itertools.combinations(ADDRESSES, 2):
        assert is_same_program(Server(url=one), Server(url=other)), (one, other)
    for through in ("npx -y mcp-remote", "npx mcp-remote@latest", "uvx mcp-proxy", "npx supergateway --streamableHttp"):
        assert is_same_program(Server(url=ADDRESSES[0]), of(f"{through} {ADDRESSES[1]}")), through
    assert not is_same_program(Server(url=ADDRESSES[0]), Server(url="https://mcp.example/other"))
    assert not is_same_program(Server(url=ADDRESSES[0]), of("npx -y x"))


def policy(**tables: Any) -> str:
    return tomli_w.dumps({"servers": {"s": {"command": "true"}}, "policy": {"confirm_destructive": False}, **tables})


def limited(limit: Mapping[str, str]) -> str:
    return policy(policy={"confirm_destructive": False, "limit": limit})


@for_each(
    "change",
    [
        ({"s:*": "10/h"}, {}, ["s:t", "s:*"]),
        ({"s:*": "10/h"}, {"s:*": "11/h"}, ["s:t", "s:*"]),
        ({"s:*": "10/h"}, {"s:*": "10/30m"}, ["s:t", "s:*"]),
        ({"s:*": "10/h"}, {"s:*": "100/d"}, ["s:t", "s:*"]),
        ({"s:*": "10/h"}, {"s:t": "10/h"}, ["s:t", "s:*"]),
        ({"s:t": "10/h"}, {}, ["s:t"]),
        ({"@not-declared": "10/h"}, {}, ["s:t", "s:*"]),
        ({"s:*": "10/h"}, {"s:*": "10/h", "s:t": "1/h"}, []),
        ({"s:*": "10/h"}, {"s:*": "9/h"}, []),
        ({"s:*": "10/h"}, {"s:*": "10/d"}, []),
        ({"s:*": "10/h"}, {"*": "10/h"}, []),
        ({"other:*": "10/h"}, {}, []),
        ({}, {"s:*": "10/h"}, []),
    ],
)
def test_a_limit_that_goes_or_allows_more_loosens(change: Any, paths: Paths) -> None:
    before, after, freed = change
    configure(paths, {"s": {"command": "true"}})
    listed(paths, "s", [{"name": "t", "inputSchema": {"type": "object"}}])
    assert set(loosening.by_config(paths, limited(before), limited(after))) == set(freed)


def test_a_limit_of_a_project_is_no_limit_for_the_others(paths: Paths) -> None:
    configure(paths, {"s": {"command": "true"}})
    listed(paths, "s", [{"name": "t", "inputSchema": {"type": "object"}}])
    of_project = policy(projects={"a": {"policy": {"limit": {"s:t": "1/h"}}}})
    assert loosening.by_config(paths, limited({"s:t": "1/h"}), of_project) == ["s:t"]
    assert loosening.by_config(paths, of_project, limited({"s:t": "1/h"})) == []


ASKED = {"default": "ask"}


@for_each("rest", [
    {"policy": ASKED},
    {"policy": {"deny": ["s:t"]}},
    {"policy": {"confirm": "never", **ASKED}},
    {"policy": {}, "servers": {"s": {"command": "true", "enabled": False}}},
    {"policy": {}, "servers": {"s": {"command": "true", "only": []}}},
])  # fmt: skip
def test_a_weaker_limit_loosens_whatever_else_decides_on_its_tool(rest: Any, paths: Paths) -> None:
    configure(paths, {"s": {"command": "true"}})
    listed(paths, "s", [{"name": "t", "inputSchema": {"type": "object"}}])
    tight, loose = (policy(**{**rest, "policy": {**rest["policy"], "limit": {"s:t": rate}}}) for rate in ("1/d", "9/d"))
    assert loosening.by_config(paths, tight, loose) == ["s:t"]
    assert loosening.by_config(paths, tight, policy(**rest)) == ["s:t"]
    assert loosening.by_config(paths, loose, tight) == []


def test_a_limit_that_is_only_recorded_any_more_loosens(paths: Paths) -> None:
    configure(paths, {"s": {"command": "true"}})
    listed(paths, "s", [{"name": "t", "inputSchema": {"type": "object"}}])
    recorded = policy(policy={"confirm_destructive": False, "mode": "record", "limit": {"s:t": "1/d"}})
    assert loosening.by_config(paths, limited({"s:t": "1/d"}), recorded) == ["s:t"]


@for_each("members, is_another", [
    ({"env": {"PYTHONPATH": "/tmp/x"}}, True),
    ({"env": {"node_options": "--require /tmp/x.js"}}, True),
    ({"env": {"LD_PRELOAD": "/tmp/x.so"}}, True),
    ({"env": {"PATH": "/tmp/x"}}, True),
    ({"cwd": "/tmp/x"}, True),
    ({"env_file": "/tmp/x.env"}, True),
    ({"env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "LOG_LEVEL": "debug"}}, False),
    ({"start_timeout_s": 60}, False),
    ({"env": {"PYTHONPATH": "/tmp/x"}, "tools": {"t": False}, "only": []}, False),
])  # fmt: skip
def test_what_may_have_a_program_run_something_else_loosens(members: Any, is_another: bool, paths: Paths) -> None:
    entry = {"command": "uvx", "args": ["mcp-server-time"]}
    configure(paths, {"s": entry})
    listed(paths, "s", [{"name": "t", "inputSchema": {"type": "object"}}])
    rest = {"policy": {"confirm_destructive": False}}
    before, after = (policy(servers={"s": each}, **rest) for each in (entry, {**entry, **members}))
    assert loosening.by_config(paths, before, after) == (["s:*"] if is_another else [])
    assert loosening.by_config(paths, after, after) == []


API = {
    "openapi": "shop.json", "url": "https://a.example", "include": ["get*", "put*"], "exclude": ["*delete*"],
    "parameters": {"account": "acme"}, "auth": {"key": "${KEY}"}, "slash_in": ["path"], "upload_root": "up",
    "origins": ["https://b.example"],
}  # fmt: skip


@for_each("members, is_another", [
    ({"openapi": "other.json"}, True),
    ({"url": "https://c.example"}, True),
    ({"origins": ["https://b.example", "https://c.example"]}, True),
    ({"auth": {"key": "${OTHER}"}}, True),
    ({"auth": {"key": "${KEY}", "other": "${OTHER}"}}, True),
    ({"include": []}, True),
    ({"include": ["get*", "post*"]}, True),
    ({"exclude": []}, True),
    ({"deprecated": True}, True),
    ({"parameters": {}}, True),
    ({"parameters": {"account": "other"}}, True),
    ({"slash_in": ["path", "ref"]}, True),
    ({"upload_root": "/"}, True),
    ({"env_file": "/tmp/x.env"}, True),
    ({"include": ["get*"]}, False),
    ({"exclude": ["*delete*", "*send*"]}, False),
    ({"parameters": {"account": "acme", "limit": 5}}, False),
    ({"auth": {}, "origins": [], "slash_in": [], "upload_root": None}, False),
    ({"call_timeout_s": 5}, False),
    ({"openapi": "other.json", "only": []}, False),
])  # fmt: skip
def test_an_entry_of_an_api_that_reaches_more_loosens(members: Any, is_another: bool, paths: Paths) -> None:
    configure(paths, {"s": API})
    rest = {"policy": {"confirm_destructive": False}}
    changed = {name: value for name, value in {**API, **members}.items() if value is not None}
    before, after = (policy(servers={"s": each}, **rest) for each in (API, changed))
    assert loosening.by_config(paths, before, after) == (["s:*"] if is_another else [])
    assert loosening.by_config(paths, before, before) == []


def test_an_api_that_is_added_loosens_and_trusting_its_hints_does(paths: Paths) -> None:
    rest = {"policy": {"ask": ["@not-declared"], "confirm_destructive": False}}
    configure(paths, {"s": API})
    listed(paths, "s", [{"name": "get", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}])
    none, api, trusted = (
        policy(servers=each, **rest) for each in ({}, {"s": API}, {"s": {**API, "trust_hints": "yes"}})
    )
    assert loosening.by_config(paths, none, trusted) == ["s:*"]
    assert "s:get" in loosening.by_config(paths, api.replace("url =", 'trust_hints = "no"\nurl ='), trusted)
