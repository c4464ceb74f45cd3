"""The trace that a request is a part of, on record with its call."""

import json
from pathlib import Path
from typing import Any

from mcpctl.base.paths import Paths
from tests.conftest import Mcpctl
from tests.over_http.asgi import Web, play_web
from tests.over_http.test_front import files, lines
from tests.proxy.client import LATEST, MODERN
from tests.proxy.in_memory import World, play

TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
_NONE: list[Any] = ["00-rubbish", 7, None, ["00"], {"a": 1}, TRACEPARENT + "-more", "x" * 100_000]


def test_the_traceparent_of_a_request_is_on_record_in_every_era_and_transport(
    home: Path, paths: Paths, mcpctl: Mcpctl
) -> None:
    meta = {"_meta": {"traceparent": TRACEPARENT, "tracestate": "a=b"}}

    async def over_http(at: Web) -> None:
        older = await at.open()
        assert (await at.call("files:read", meta=meta["_meta"]).whole()).status == 200
        assert (await older.call("files:read", **meta).whole()).status == 200

    async def over_stdio(world: World) -> None:
        world.configure()
        world.begin()
        for revision in (LATEST, MODERN):
            assert await (await world.client(revision)).call("files:read", **meta) == "{}"

    play_web(home, paths, over_http, servers={"files": files})
    play(home, paths, over_stdio, files=files)
    assert [line["trace"] for line in lines(paths, "calls.started")] == [TRACEPARENT] * 4
    assert [row["trace"] for row in mcpctl("calls", "ls", "--json").json] == [TRACEPARENT] * 4


def test_what_is_no_traceparent_is_not_on_record_and_the_call_is_made(home: Path, paths: Paths, mcpctl: Mcpctl) -> None:
    async def scene(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        for value in _NONE:
            assert await client.call("files:read", _meta={"traceparent": value}) == "{}"
        assert await client.call("files:read") == "{}"

    play(home, paths, scene, files=files)
    started = lines(paths, "calls.started")
    assert len(started) == len(_NONE) + 1
    assert not any("trace" in line for line in started)
    assert {json.dumps(row["trace"]) for row in mcpctl("calls", "ls", "--json").json} == {"null"}
