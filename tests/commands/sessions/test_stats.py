"""`mcpctl sessions stats --saved`"""

import json
import sqlite3
from contextlib import closing

import msgspec

from mcpctl.base.paths import Paths
from mcpctl.metatools import offers
from mcpctl.store.recorder import tokens
from tests.configured import DEMO, configure, demo_tools, toolset
from tests.conftest import Mcpctl
from tests.recorded import (
    CLAUDE,
    CURSOR,
    call,
    closed,
    created,
    opened,
    raw,
    searched,
    session,
    started,
    two_sessions,
)  # fmt: skip


def definitions(mcpctl: Mcpctl, *options: str) -> int:
    """The tokens of all definitions, as `tools export` has them."""
    listed = mcpctl("tools", "export", *options).jsonl
    return sum(tokens(len(msgspec.json.encode(row["tool"]))) for row in listed)


def test_the_last_session_is_compared_with_all_definitions(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    two_sessions(paths)
    (row,) = mcpctl("sessions", "stats", "--saved", "--json").json
    assert mcpctl("sessions", "stats", "--json").json == [row]
    servers = ["notes", "weather"]
    meta = tokens(len(msgspec.json.encode(offers.tools(servers, offers.Offer(reads=True)))))
    meta += tokens(len(offers.instructions(servers).encode()))
    keys = ["notes:delete_note", "weather:convert_temperature", "notes:list_notes"]
    wrapped = sum(tokens(len(json.dumps({"toolKey": key, "arguments": 0}, separators=(",", ":"))) - 1) for key in keys)
    assert row == {
        "id": CURSOR,
        "client_name": "cursor",
        "project": None,
        "last_activity": "2100-01-01T12:14:06.000Z",
        "servers": 2,
        "unlisted": 0,
        "tools": 7,
        "definitions_tokens": definitions(mcpctl),
        "metatools_tokens": meta,
        "discovery_tokens": 40,
        "query_tokens": tokens(len('["list", "notes"]') + len("tidying up")),
        "key_tokens": wrapped,
        "saved_tokens": row["definitions_tokens"] - meta - 40 - row["query_tokens"] - wrapped,
        "saved_percent": round(100 * row["saved_tokens"] / row["definitions_tokens"], 1),
        "encoding": "estimate:bytes/4",
        "direct_tokens": 0,
    }


def test_tools_that_a_client_was_shown_directly_are_counted(mcpctl: Mcpctl, paths: Paths) -> None:
    """Beside the meta-tools, or in their place; and calls of them need no key."""
    demo_tools(paths)
    toolset(paths, "writing", "notes:add_note")
    for number, shown in enumerate((None, ["notes:*", "gone:*"], ["@writing"], ["all"])):
        id_, via = f"{number}{CLAUDE[1:]}", "direct" if shown else "client"
        first = created(id_, number, direct=raw(shown), toolset="writing")
        opened(paths, first, [started(number, number, id_, via=via), closed(id_, number)]).close(b"")
    of_all, equipped, some, none = mcpctl("sessions", "stats", "--limit", "0", "--since", "2100-01-01", "--json").json
    assert none["direct_tokens"] == 0 < equipped["direct_tokens"] < some["direct_tokens"] < of_all["direct_tokens"]
    assert none["key_tokens"] > 0 == equipped["key_tokens"] == some["key_tokens"] == of_all["key_tokens"]
    assert of_all["metatools_tokens"] < none["metatools_tokens"] / 4
    assert of_all["saved_tokens"] == of_all["definitions_tokens"] - of_all["direct_tokens"] - of_all["metatools_tokens"]


def test_what_servers_say_of_themselves_at_first_is_counted(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    two_sessions(paths)
    before = mcpctl("sessions", "stats", "--saved", "--json").json[0]["metatools_tokens"]
    with closing(sqlite3.connect(paths.state)) as state, state:
        state.execute("UPDATE lists SET instructions = 'Says this of itself.' WHERE server = 'notes'")
    after = mcpctl("sessions", "stats", "--saved", "--json").json[0]["metatools_tokens"]
    assert after - before > len("Says this of itself.") // 4


def test_what_was_not_saved_is_negative(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    session(paths, rest=[searched(1, 1, tokens=100_000)])
    (row,) = mcpctl("sessions", "stats", "--saved", "--json").json
    assert row["saved_tokens"] < -90_000
    assert row["saved_percent"] < -100
    assert str(row["saved_tokens"]) in mcpctl("sessions", "stats", "--saved", "--format", "table").out


def test_sessions_are_chosen_as_in_the_list(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    two_sessions(paths)
    found = mcpctl("sessions", "stats", "--saved", "--status", "closed", "--fields", "id").out.split()
    assert found == [CURSOR, CLAUDE]
    assert mcpctl("sessions", "stats", "--saved", "--client", "claude-code", "--fields", "id").out == f"{CLAUDE}\n"
    assert mcpctl("sessions", "stats", "--saved", "--count").out == "1\n"
    assert mcpctl("sessions", "stats", "--saved", "--session", "ffff").code == 3


def test_commands_are_no_session_of_a_client(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    of_commands = "9e551015-0000-4000-8000-000000000000"
    opened(paths, created(of_commands, 40, via="cli"), call(7, 41, of_commands, via="cli")).close()
    assert mcpctl("sessions", "stats", "--saved", "--fields", "id").out == f"{CURSOR}\n"


def test_a_project_has_its_own_servers_and_one_that_is_gone_is_not_known(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths, {**DEMO, "notes": {**DEMO["notes"], "projects": ["acme"]}})
    gone = "3e551015-0000-4000-8000-000000000000"
    opened(paths, created(gone, 20, project="gone")).close()
    opened(paths, created(CLAUDE, 21, project="acme", capabilities=raw({}))).close()
    of_acme, of_gone = mcpctl("sessions", "stats", "--saved", "--status", "active,closed", "--json").json
    assert (of_acme["servers"], of_acme["definitions_tokens"]) == (2, definitions(mcpctl, "--project", "acme"))
    assert (of_gone["id"], of_gone["definitions_tokens"], of_gone["saved_tokens"]) == (gone, None, None)


def test_servers_that_never_listed_their_tools_are_counted(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, DEMO)
    two_sessions(paths)
    (row,) = mcpctl("sessions", "stats", "--saved", "--json").json
    assert (row["servers"], row["unlisted"], row["tools"], row["definitions_tokens"]) == (2, 2, 0, 0)
    assert row["saved_percent"] is None
    assert row["saved_tokens"] < 0
