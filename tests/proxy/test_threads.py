"""A busy `serve` has its event loop and three threads, whatever it is asked, and no database stops the rest."""

import json
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing

import pytest

from mcpctl.base.paths import Paths
from mcpctl.policy.policy_file import PolicyFile
from tests.proxy.client import Client, until
from tests.proxy.conftest import Serve
from tests.servers import command

pytestmark = pytest.mark.process

LONG = json.dumps({"text": "much " * 200_000}).encode()


def names() -> Counter[str]:
    """How many threads there are that work for `serve`, by what they are called; those of starts end with them."""
    each = (thread.name for thread in threading.enumerate() if thread.name not in ("MainThread", "mcpctl serve"))
    return Counter(name.partition("_")[0] for name in each)


def busy(client: Client) -> Counter[str]:
    """The most threads that there are while calls, searches, questions and long answers are in flight."""
    most: Counter[str] = Counter()
    for _ in range(5):
        ids = [client.start_call("counter:echo", json.dumps({"n": n}).encode()) for n in range(20)]
        ids += [client.start_call("counter:echo", LONG)]
        ids += [client.start_call("strict:strict_result", b'{"a": 1, "b": 2}')]
        ids += [client.start_tool("tool_discovery", {"query": [f"count {n}"]}) for n in range(5)]
        for id_ in ids:
            most |= names()
            client.answer(id_)
    return most


@pytest.mark.slow
def test_a_busy_serve_has_three_threads_beside_its_event_loop(serve: Serve) -> None:
    before = names()
    client = serve(
        {"counter": command("counter"), "strict": command("strict")},
        policy={"ask": ["strict:*"], "confirm_destructive": False}, responses={"limit_tokens": 1000},
    )  # fmt: skip
    assert not client.call("counter:echo").is_error
    until("the starts of servers, which have threads of their own", lambda: "apart" not in names())
    most = busy(client) - before
    most.pop("asyncio", None)
    assert set(most) <= {"aside"}
    assert most["aside"] <= 3


@pytest.mark.parametrize("held", ["state", "policy"])
def test_a_database_that_another_process_holds_stops_neither_searches_nor_long_answers(
    held: str, serve: Serve, paths: Paths
) -> None:
    client = serve(
        {"counter": command("counter"), "strict": command("strict")},
        policy={"ask": ["strict:*"], "confirm_destructive": False}, responses={"limit_tokens": 1000},
    )  # fmt: skip
    assert not client.call("counter:echo").is_error
    client.discover("echo")
    with PolicyFile.connect(paths):
        pass
    with closing(sqlite3.connect(getattr(paths, held), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        waiting = [client.start_call("strict:strict_result", b'{"a": %d, "b": 2}' % n) for n in range(8)]
        began = time.monotonic()
        assert not client.call("counter:echo", LONG).is_error
        assert client.discover("count")
        assert time.monotonic() - began < 5, "no thread waits for who has it"
        other.execute("ROLLBACK")
    for id_ in waiting:
        client.answer(id_)
