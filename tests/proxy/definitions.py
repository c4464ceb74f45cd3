"""Compares what a client of `mcpctl serve --direct all` is shown with what the servers list themselves, as bytes."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from mcpctl.metatools.direct_tools import direct_name
from tests.proxy.client import INFO, LATEST, MODERN, ROOT, Client, until

Servers = Mapping[str, Sequence[str]]
Members = dict[str, Raw]
Begin = Callable[[str, str], Client | None]

KEY = "mcpctl/key"
OPEN = {"default": "allow", "confirm_destructive": False}
ENV = {"PYTHONPATH": str(ROOT)}


@contextmanager
def beginning(servers: Servers, folder: Path) -> Iterator[Begin]:
    """Starts servers themselves."""
    begun: list[Client] = []

    def begin(name: str, revision: str) -> Client | None:
        """A server of this name that has begun; None where it does not speak this revision."""
        client = Client(servers[name], folder / f"{name}.txt", revision=revision, env=ENV)
        begun.append(client)
        params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": INFO}
        asked = client.ask("server/discover") if revision == MODERN else client.ask("initialize", params)
        if "error" in asked.json:
            return None
        if revision != MODERN:
            client.notify("notifications/initialized")
        return client

    try:
        yield begin
    finally:
        for client in begun:
            client.close()


def definitions(client: Client) -> list[Members]:
    """The members of each definition in all pages of `tools/list`, as they came."""
    found: list[Members] = []
    params: dict[str, Any] = {}
    while True:
        answer = msgspec.json.decode(client.ask("tools/list", params).line, type=Members)
        result = msgspec.json.decode(answer["result"], type=Members)
        listed = msgspec.json.decode(result["tools"], type=list[Raw] | None) or []
        found += [msgspec.json.decode(each, type=Members) for each in listed if bytes(each)[:1] == b"{"]
        cursor = msgspec.json.decode(result.get("nextCursor", b"null"))
        if cursor is None:
            return found
        params = {"cursor": cursor}


def texts(members: Members) -> list[tuple[str, bytes]]:
    """Members in their order, as they came, without those that mcpctl changes."""
    return [(name, bytes(value)) for name, value in members.items() if name not in ("name", "_meta")]


def meta(members: Members) -> dict[str, bytes]:
    """The members of `_meta`, as they came; none where it is missing or null."""
    found = msgspec.json.decode(members.get("_meta", b"null"), type=Members | None) or {}
    return {name: bytes(value) for name, value in found.items()}


def own(client: Client) -> Mapping[str, Members]:
    """The definitions that a server itself lists, by their names; those without a usable one no client is shown."""
    named = [(msgspec.json.decode(each.get("name", b"null")), each) for each in definitions(client)]
    return {name: each for name, each in named if isinstance(name, str) and name}


def shown(client: Client, servers: Servers) -> Mapping[str, Members]:
    """The definitions that a client is shown, by key, once every server has listed its tools."""

    def all_of_them() -> Mapping[str, Members] | None:
        found = definitions(client)
        keys = [msgspec.json.decode(meta(each)[KEY], type=str) for each in found]
        assert len(set(keys)) == len(keys)
        return dict(zip(keys, found, strict=True)) if {key.partition(":")[0] for key in keys} == {*servers} else None

    found: Mapping[str, Members] = until("every server has listed", all_of_them, 60)
    return found


def compared(client: Client, servers: Servers, folder: Path) -> int:
    """How many definitions are their servers', member for member, in one of the eras that their server speaks: the SDK
    orders the members of a schema by the era, and a server that is slow to start is spoken to in the older one."""
    found = shown(client, servers)
    eras = [LATEST, MODERN] if client.revision == MODERN else [LATEST]
    expected = set()
    with beginning(servers, folder) as begin:
        for server in servers:
            begun = [begin(server, era) for era in eras]
            lists = [own(each) for each in (begun if any(begun) else [begin(server, MODERN)]) if each]
            expected |= {f"{server}:{name}" for name in lists[0]}
            mine = {key.partition(":")[2]: each for key, each in found.items() if key.startswith(f"{server}:")}
            assert [(name, texts(each)) for name, each in mine.items()] in [
                [(name, texts(each)) for name, each in listed.items()] for listed in lists
            ]
            for name, each in mine.items():
                key = json.dumps(f"{server}:{name}", ensure_ascii=False).encode()
                assert meta(each) == {**meta(lists[0][name]), KEY: key}
                assert msgspec.json.decode(each["name"]) == direct_name(server, name)
    assert found.keys() == expected
    return len(expected)
