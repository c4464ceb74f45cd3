"""Records of every kind, what REST says of them, and what the command line says."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import Raw
from starlette.testclient import TestClient

from mcpctl.base.paths import Paths
from mcpctl.dashboard.rest_names import Name
from mcpctl.store import journal_lines
from tests.conftest import Mcpctl
from tests.recorded import at, call, call_id, created, hints, opened, raw, started, two_sessions

KILLED = "3e551015-0000-4000-8000-000000000003"
ALIVE = "4e551015-0000-4000-8000-000000000004"
BIG = '{"n":123456789012345678901234567890,"f":1.10,"e":1e400}'


@contextmanager
def every_kind(paths: Paths) -> Iterator[None]:
    """Six calls and two searches; and, later, calls that are running, interrupted, cut, redacted, large and replays."""
    two_sessions(paths)
    opened(paths, created(KILLED, 30, client_name=None, client_version=None, project="acme"), [
        started(7, 31, KILLED, client_name=None, client_version=None, project="acme"),
    ]).close()  # fmt: skip
    replayed = hints(None, None, None, None)
    alive = opened(paths, created(ALIVE, 40), [
        *call("a1" + call_id(1)[2:], 41, ALIVE, arguments=Raw(BIG.encode()), request_id=raw("req-é"), toolset="mine"),
        *call("a2" + call_id(1)[2:], 42, ALIVE, arguments=raw({"password": "[redacted:0a1b2c3d]"})),
        *call("a3" + call_id(1)[2:], 43, ALIVE, response=raw("the beginn"), response_truncated=True,
              response_bytes=9_000_000),
        *call("a4" + call_id(1)[2:], 44, ALIVE, via="replay", parent_id=call_id(1), annotations=replayed),
        *call("a5" + call_id(1)[2:], 45, ALIVE, status="cancelled", response=raw(None), error=raw({"code": "x"})),
        started(8, 46, ALIVE, tool="=cmd|' /C calc'!A0"),
        journal_lines.DecisionMade(
            timestamp=at(46), id="d1", session_id=ALIVE, call_id=call_id(8), key="weather:x", decision="approved",
            rule="ask *", rule_place=None, channel="dashboard", scope="once", arguments_hash="ab", pin=None,
            token_id=None, project=None, waited_ms=7, enforced=True,
        ),
    ])  # fmt: skip
    try:
        yield
    finally:
        alive.close()


def decoded(text: str) -> Any:
    """JSON with its numbers as they are written."""
    return json.loads(text, parse_int=str, parse_float=str)


def asked(client: TestClient, path: str, **parameters: Any) -> Any:
    """What REST answers."""
    answer = client.get(f"/api/v1{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    return decoded(answer.text)


def printed(mcpctl: Mcpctl, *words: str) -> Any:
    """What the command line prints under `--json`."""
    ran = mcpctl(*words, "--json")
    assert (ran.code, ran.err) == (0, "")
    return decoded(ran.out)


def same(answer: dict[str, Any], row: dict[str, Any], names: Sequence[Name], *more: str) -> None:
    """Every member of the answer is that field of the row, but for what is made of it; and there are no others."""
    members = set(more)
    for name in names:
        if name.made or not name.field:
            members.add(name.member)
        elif row.get(name.field) is not None or not name.is_optional:
            members.add(name.member)
            inner = name.rest.partition(".")[2]
            value = answer[name.member][inner] if inner else answer[name.member]
            assert value == row[name.field], name
    made = {name.member for name in names if name.made and name.is_optional}
    assert members - made <= set(answer) <= members
