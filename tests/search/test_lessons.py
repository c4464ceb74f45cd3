"""Learning from the records: whose use is learnt by whom, what is kept, and what commands and `serve` make of it."""

import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base import bounds
from mcpctl.base.paths import Paths
from mcpctl.search import lessons
from mcpctl.search.bm25 import Bm25
from mcpctl.search.learning import Success
from mcpctl.search.lessons import Learning, successes
from mcpctl.store import journal
from mcpctl.store.journal_lines import AnyLine
from tests.configured import configure, listed, stub
from tests.conftest import Mcpctl
from tests.proxy.in_memory import MemoryServer, World, play
from tests.recorded import call, created, opened, raw, searched
from tests.search.test_learning import EXPORT, LIST, QUERIES, TOOLS, words
from tests.table import for_each

ASKED = QUERIES[0]
OFFERED = raw([{"key": each.key, "relevance": 0.5} for each in TOOLS])


def used(
    paths: Paths, queries: Sequence[str] = QUERIES, key: str = EXPORT, *, first: int = 0, **given: Any
) -> list[Path]:
    """The journals of searches that were followed by a call, each in a session of its own."""
    server, tool = key.split(":")
    of_both = {name: value for name, value in given.items() if name in ("project", "token_id")}
    journals = []
    for number, query in enumerate(queries, first):
        id_ = f"{number:08x}-0000-4000-8000-000000000000"
        search = searched(1, 1, id_, query=raw([query]), results=OFFERED, **of_both)
        search.id = f"{number:08x}-1111-4000-8000-000000000000"
        called: list[AnyLine] = call(id_.replace("0000", "2222", 1), 2, id_, server=server, tool=tool, **given)
        opened(paths, created(id_, **of_both), [search, *called]).close(b"")
        journals += list(paths.sessions.glob(f"*{id_}*"))
    return journals


@pytest.fixture
def shop(paths: Paths) -> Callable[..., None]:
    """A home with the tools of a shop, and with these settings of [search]."""

    def made(**search: Any) -> None:
        configure(paths, {name: stub() for name in ("crm", "weather", "calendar")}, search=search)
        for name in ("crm", "weather", "calendar"):
            listed(paths, name, [{"name": each.name, **each.definition} for each in TOOLS if each.server == name])

    return made


def first(mcpctl: Mcpctl, *options: str) -> str:
    return str(mcpctl("tools", "search", ASKED, "--json", *options).json[0]["key"])


def test_use_is_learnt_only_where_that_is_switched_on(
    mcpctl: Mcpctl, paths: Paths, shop: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop()
    before = mcpctl("tools", "search", ASKED, "--json", "--explain", "--fields", "key,relevance,explanation").out
    used(paths)
    with monkeypatch.context() as patch:
        patch.setattr(lessons, "successes", None)  # would fail if it were asked
        after = mcpctl("tools", "search", ASKED, "--json", "--explain", "--fields", "key,relevance,explanation").out
    assert after == before
    assert not paths.learnt.exists()
    shop(learn=True)
    assert first(mcpctl) == EXPORT
    told = mcpctl("tools", "search", ASKED, "--explain", "--limit", "1", tty=True).out
    assert f"(≈ '{ASKED}')" in told
    assert "(all words): use 0." in told


def test_an_empty_home_has_nothing_to_learn_from(mcpctl: Mcpctl, paths: Paths, shop: Callable[..., None]) -> None:
    shop(learn=True)
    assert first(mcpctl) == LIST
    assert not paths.index.exists()


def test_one_project_and_token_learn_nothing_of_others(paths: Paths) -> None:
    used(paths, QUERIES[:2])
    used(paths, QUERIES[:3], first=20, project="books")
    used(paths, QUERIES[:4], first=40, token_id="t1")
    used(paths, QUERIES[:5], first=60, project="books", token_id="t1")
    whose = {(None, ""): 2, ("books", ""): 3, (None, "t1"): 4, ("books", "t1"): 5, ("books", "t2"): 0, ("other", ""): 0}
    assert {each: len(successes(paths, *each)) for each in whose} == whose


def test_calls_that_failed_were_refused_or_are_repeated_teach_nothing(paths: Paths) -> None:
    for number, status in enumerate(("failed", "denied", "tool_error", "cancelled", "interrupted")):
        used(paths, QUERIES[:1], first=number, status=status)
    used(paths, QUERIES[:1], first=20, via="replay")
    assert successes(paths, None) == []
    used(paths, QUERIES[:1], first=30)
    used(paths, QUERIES[:1], "crm:unheard_of", first=40)  # no search had found it
    (success,) = successes(paths, None)
    assert success == Success((ASKED,), EXPORT, success.session, "claude-code", success.at)


def test_a_session_of_many_searches_and_calls_leaves_what_others_teach(paths: Paths, monkeypatch: Any) -> None:
    monkeypatch.setattr(bounds, "LEARNT_SEARCHES", 100)
    monkeypatch.setattr(bounds, "LEARNT_CALLS", 200)
    used(paths)
    session = "00000999-0000-4000-8000-000000000000"
    lines: list[AnyLine] = []
    for number in range(200):
        search = searched(1, 3, session, query=raw([f"search {number}"]), results=OFFERED)
        search.id = f"{number:08x}-3333-4000-8000-000000000000"
        lines += [search, *call(f"{number:08x}-4444-4000-8000-000000000000", 4, session, server="crm", tool="none")]
    opened(paths, created(session), lines).close(b"")
    assert len(successes(paths, None)) == len(QUERIES)


@for_each("query", [None, [1], {"a": 1}, [["a"]], "text", []])
def test_records_that_were_edited_teach_nothing(
    mcpctl: Mcpctl, paths: Paths, shop: Callable[..., None], query: Any
) -> None:
    shop(learn=True)
    used(paths)
    session = "00000999-0000-4000-8000-000000000000"
    search = searched(1, 1, session, query=raw(query), results=OFFERED)
    called = call("00000999-2222-4000-8000-000000000000", 2, session, server="crm", tool="export_customers")
    opened(paths, created(session), [search, *called]).close(b"")
    assert first(mcpctl) == EXPORT
    assert mcpctl("tools", "eval", "--from-records", "--json").json[0]["learning_calls"] == len(QUERIES)


def test_what_was_learnt_is_kept_and_made_again_where_records_have_gone(
    mcpctl: Mcpctl, paths: Paths, shop: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop(learn=True)
    journals = used(paths)
    assert first(mcpctl) == EXPORT
    kept = paths.learnt.stat().st_mtime_ns
    with monkeypatch.context() as patch:
        patch.setattr("mcpctl.search.learning.Lessons.learn", None)  # would fail if it were asked
        assert first(mcpctl) == EXPORT
    assert paths.learnt.stat().st_mtime_ns == kept
    paths.learnt.write_bytes(b"torn")
    assert first(mcpctl) == EXPORT
    for each in journals[2:]:
        assert journal.evict(each)
    assert first(mcpctl) == LIST


def test_tools_eval_says_what_learning_would_bring_and_from_how_many_calls(
    mcpctl: Mcpctl, paths: Paths, shop: Callable[..., None], tmp_path: Path
) -> None:
    shop()
    used(paths)
    (row,) = mcpctl("tools", "eval", "--from-records", "--json").json
    assert (row["learning"], row["learning_calls"]) == ("on", 8)
    assert row["learning_gain"] > row["learning_error"] > 0
    assert row["recall@1"] < 1
    shop(learn=True)
    assert mcpctl("tools", "eval", "--from-records", "--json").json[0]["recall@1"] == row["recall@1"]
    queries = tmp_path / "q.jsonl"
    queries.write_text('{"query": "list the customers for accounting", "expect": [["crm:export_customers"]]}\n')
    assert mcpctl("tools", "eval", "--queries", str(queries), "--json").json[0]["recall@1"] == 1
    shop(optimization="off")
    assert mcpctl("tools", "eval", "--from-records", "--json").json[0]["learning"] is None


def test_the_doctor_says_where_learning_would_bring_much(
    mcpctl: Mcpctl, paths: Paths, shop: Callable[..., None]
) -> None:
    shop()
    used(paths)

    def codes() -> list[str]:
        return [row["code"] for row in mcpctl("doctor", "--json").json if row["code"] == "D153"]

    assert codes() == ["D153"]
    shop(learn=True)
    assert codes() == []


def test_serve_finds_what_the_command_finds(
    home: Path, paths: Paths, mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lessons, "_FIRST_S", 60)  # however slow the machine is

    def server(name: str) -> MemoryServer:
        return MemoryServer(*({"name": each.name, **each.definition} for each in TOOLS if each.server == name))

    async def scene(world: World) -> None:
        world.configure(search={"learn": True})
        used(paths)
        world.begin()
        client = await world.client()
        found = await client.discover(ASKED)
        hits = {each["toolKey"]: each["relevance"] for each in found["results"]}
        assert next(iter(hits)) == EXPORT
        rows = mcpctl("tools", "search", ASKED, "--json").json
        assert {row["key"]: round(row["relevance"], 2) for row in rows} == hits

    names = ("crm", "weather", "calendar")
    play(home, paths, scene, **{name: partial(server, name) for name in names})


def test_no_search_of_serve_waits_for_the_records(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search gets what is there, and a later one what was learnt meanwhile; each project and token its own."""
    may_read, has_read = threading.Event(), threading.Event()

    def slow(paths: Paths, project: str | None, token: str) -> Sequence[Success]:
        assert may_read.wait(60)
        has_read.set()
        return [Success((query,), EXPORT, query) for query in QUERIES] if token == "t1" else []

    monkeypatch.setattr(lessons, "successes", slow)
    monkeypatch.setattr(lessons, "_FIRST_S", 0)
    learning = Learning(paths)
    provider = words()
    assert learning.taught(provider, None, "t1") is provider
    assert not has_read.is_set()
    may_read.set()
    learning._pupils[provider][None, "t1"].looking.result(60)
    assert learning.taught(provider, None, "t1").search([ASKED]).hits[0].key == EXPORT
    learning.taught(provider, None, "t2")
    learning._pupils[provider][None, "t2"].looking.result(60)
    assert learning.taught(provider, None, "t2").search([ASKED]).hits[0].key == LIST


def test_serve_goes_on_with_what_it_knows_where_the_records_cannot_be_read(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> Sequence[Success]:
        raise OSError("it is gone")

    monkeypatch.setattr(lessons, "successes", broken)
    monkeypatch.setattr(lessons, "_EVERY_S", 0)
    monkeypatch.setattr(lessons, "_REST", 0)
    learning = Learning(paths)
    for _ in range(3):
        assert learning.taught(words(), None, "").search([ASKED]).hits[0].key == LIST
        learning._pupils[words()][None, ""].looking.result(60)
    assert capsys.readouterr().err.count("nothing new is learnt from use: it is gone") == 1


def test_the_records_are_read_once_for_each_index_that_is_in_use_and_keep_no_other(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []

    def read(*whose: object) -> Sequence[Success]:
        reads.append(whose)
        return []

    monkeypatch.setattr(lessons, "successes", read)
    monkeypatch.setattr(lessons, "_EVERY_S", 60)
    learning = Learning(paths)
    of_all, of_some = Bm25(TOOLS), Bm25(TOOLS[:2])
    for _ in range(3):
        for number in range(20):
            learning.taught(of_all, None, f"t{number}")
        learning.taught(of_some, None, "t0")
    learning._line.add(lambda: None).result(60)
    assert len(reads) == 21
    gone = weakref.ref(of_some)
    del of_some
    assert gone() is None
