"""No spelling of a key reaches a tool that is refused, whatever refuses it: 45 spellings, in both eras."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.proxy.client import LATEST, MODERN, journal_lines
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryServer, World, play, tool

pytestmark = BOTH

SERVER, NAME = "danger", "delete_all"
KEY = f"{SERVER}:{NAME}"
WIDE = "".join(chr(ord(letter) + 0xFEE0) for letter in NAME)
SPELLINGS = [
    KEY, KEY.upper(), KEY.title(), f"{SERVER}.{NAME}", f"{SERVER}/{NAME}", f"{SERVER}::{NAME}", f" {KEY}", f"{KEY} ",
    f"{KEY}\n", f"\t{KEY}", f"{SERVER}: {NAME}", f"{SERVER} :{NAME}", f"{KEY}\u200b", f"{SERVER}:\u200b{NAME}",
    f"{SERVER}:de\u200dlete_all", f"{KEY}\ufeff", f"{KEY}\u00ad", f"{SERVER}:{WIDE}", f"{SERVER}:{NAME.upper()}",
    f"{SERVER}:{NAME.title()}", f"{KEY}\x00", f"{KEY}%00", f"{KEY}\r", f"{KEY};", f"{KEY}?x", f"{SERVER}:../{NAME}",
    f"{SERVER}:./{NAME}", f"{KEY}/", NAME, f":{NAME}", f"{SERVER}:", SERVER, f"{KEY}:{NAME}", f"x:{KEY}",
    f"mcp__{SERVER}__{NAME}", f"{SERVER}__{NAME}", json.dumps(KEY), KEY.replace("e", "\u0435"), KEY[::-1],
    KEY.replace("a", "\u0430"), KEY.replace("l", "\u217c"), f"{SERVER}\u200b:{NAME}", KEY.replace(":", "\uff1a"),
    f"{KEY}\u202e", f"{KEY}\u2060",
]  # fmt: skip
DEFAULTS: dict[str, Any] = {
    "entry": {}, "later": False, "project": None, "toolset": None, "meta_tool": "tool_execute", "tools": (NAME,),
    "policy": None,
}  # fmt: skip
REFUSING: dict[str, Mapping[str, Any]] = {
    "set false": {"entry": {"tools": {NAME: False}}},
    "set false while it serves": {"entry": {"tools": {NAME: False}}, "later": True},
    "disabled": {"entry": {"enabled": False}},
    "disabled while it serves": {"entry": {"enabled": False}, "later": True},
    "of another project": {"entry": {"projects": ["other"]}, "project": "acme"},
    "with an entry that is wrong": {"entry": {"cwd": 7}},
    "not in the toolset": {"toolset": "mine"},
    "called as one that only reads": {"meta_tool": "tool_execute_read"},
    "denied by its key": {"policy": {"deny": [KEY], "confirm_destructive": False}},
    "denied by its key while it serves": {"policy": {"deny": [KEY], "confirm_destructive": False}, "later": True},
    "denied by a glob": {"policy": {"deny": ["d*:*_all"], "confirm_destructive": False}},
    "denied by its class": {"policy": {"deny": ["@not-declared"], "confirm_destructive": False}},
    "denied where nothing is said": {"policy": {"default": "deny", "confirm_destructive": False}},
    "denied by the file of a repository": {"policy": {"confirm_destructive": False}, "toolset": "team.json"},
    "asked about, with nobody to ask": {"policy": {}},
    "asked about by its entry": {"policy": {"confirm_destructive": False}, "entry": {"tools": {NAME: "ask"}}},
    "asked about, never": {"policy": {"confirm": "never"}},
    "not listed, beside one that is set false": {"entry": {"tools": {"other": False}}, "tools": ()},
}


@pytest.mark.parametrize("revision", [LATEST, pytest.param(MODERN, marks=pytest.mark.slow)])
@pytest.mark.parametrize("how", REFUSING)
def test_no_spelling_reaches_a_refused_tool(how: str, revision: str, home: Path, paths: Paths) -> None:
    given: dict[str, Any] = {**DEFAULTS, **REFUSING[how]}
    (home / "data" / "toolsets").mkdir(parents=True)
    named = '{"name": "mine", "tools": [{"namespacedName": "safe.read"}]}'
    (home / "data" / "toolsets" / "mine.json").write_text(named, encoding="utf-8")

    team = {"name": "team", "tools": [{"namespacedName": f"{SERVER}.{NAME}"}], "policy": {"deny": ["*:delete_*"]}}
    (home / "team.json").write_text(json.dumps(team), encoding="utf-8")

    async def played(world: World) -> None:
        sections: dict[str, Any] = {"projects": {"acme": {}}}
        policy = {} if given["policy"] is None else {"policy": given["policy"]}
        world.configure(
            {} if given["later"] else {SERVER: given["entry"]}, **sections, **{} if given["later"] else policy
        )
        toolset = str(home / "team.json") if given["toolset"] == "team.json" else given["toolset"]
        world.begin(split=given["meta_tool"] != "tool_execute", toolset=toolset, project=given["project"])
        client = await world.client(revision)
        if given["later"]:
            await client.call(KEY)
            world.servers[SERVER].calls.clear()
            world.configure({SERVER: given["entry"]}, **sections, **policy)
        for spelling in SPELLINGS:
            await client.call(spelling, meta_tool=given["meta_tool"])
        assert world.servers[SERVER].calls == []

    servers = {
        SERVER: lambda: MemoryServer(*[tool(name) for name in given["tools"]]),
        "safe": lambda: MemoryServer(tool("read", readOnlyHint=True)),
    }
    play(home, paths, played, **servers)
    lines = journal_lines(home)
    attempts = [line for line in lines if line["type"] == "calls.started" or line.get("call_id", "") is None]
    assert len(attempts) == len(SPELLINGS) + given["later"], "every attempt is on record"
    refused = [
        line for line in lines if line["type"] == "calls.finished" and line["status"] not in ("denied", "failed")
    ]
    assert len(refused) == given["later"]
