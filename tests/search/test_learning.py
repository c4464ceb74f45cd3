"""Learning from use: which tools are lifted, when none is, and how far one session, client or server gets."""

import random
from collections.abc import Iterable, Sequence
from functools import cache, partial
from types import MappingProxyType

import numpy as np
import pytest

from mcpctl.base import bounds
from mcpctl.search import bm25, learning
from mcpctl.search.bm25 import Bm25
from mcpctl.search.learning import Learnt, Lessons, Success, bounded
from tests.bench import search_quality
from tests.search.test_bm25 import keys, tool

TOOLS = [
    tool("crm:list_customers", "List the customers"),
    tool("crm:export_customers", "Write a list of the customers to a file"),
    tool("crm:delete_customer", "Remove one customer"),
    tool("weather:forecast", "The weather of the next days for a place"),
    tool("calendar:create_event", "Put an appointment into the calendar"),
]
EXPORT, LIST = "crm:export_customers", "crm:list_customers"
ENDS = ("for accounting", "of march", "in full", "as a table", "by name", "of this year", "for the boss", "again")
QUERIES = [f"list the customers {end}" for end in ENDS]


@cache
def words() -> Bm25:
    return Bm25(TOOLS)


def used(queries: Iterable[str] = tuple(QUERIES), key: str = EXPORT, **given: str) -> list[Success]:
    """Searches that were followed by a call of a tool, each in a session of its own."""
    return [
        Success((query,), key, **{"session": query, "at": "2030-01-01T00:00:00.000Z", **given}) for query in queries
    ]


def learnt(successes: Sequence[Success], index: Bm25 | None = None) -> tuple[Learnt, Bm25]:
    index = index or words()
    lessons = Lessons(index, successes)
    choice = lessons.learn()
    return choice, index.taught(lambda _: lessons.use(choice))


def test_a_tool_that_was_called_is_lifted_for_near_queries_and_says_for_which() -> None:
    assert keys(words(), "list all the customers for accounting")[0] == LIST
    choice, taught = learnt(used())
    assert (choice.calls, choice.sessions) == (8, 8)
    assert choice.gain > choice.error
    ranking = taught.search(["list all the customers for accounting"])
    assert ranking.hits[0].key == EXPORT
    first = ranking.explain(ranking.hits)[0]
    (part,) = [part for part in first.parts if part.field == "use"]
    assert part.recorded in QUERIES
    assert f"use (≈ {part.recorded!r}): " in first.short
    assert round(sum(part.score for part in first.shares()), 4) == first.relevance
    assert keys(taught, "appointment in the calendar") == keys(words(), "appointment in the calendar")


def test_nothing_is_lifted_where_the_searches_on_record_would_not_have_found_more() -> None:
    """Siblings: near queries are for other tools, so that use says nothing."""
    nouns, verbs = ("vault", "queue", "table", "disk", "topic", "cluster"), ("get", "list", "create", "delete")
    siblings = [
        tool(f"cloud:{verb}_{noun}", f"{verb} a {noun} in the subscription") for noun in nouns for verb in verbs
    ]
    asked = [(f"please {verb} the {noun} of our team", f"cloud:{verb}_{noun}") for noun in nouns for verb in verbs]
    index = Bm25(siblings)
    choice, taught = learnt([Success((query,), key, query) for query, key in asked], index)
    assert (choice.calls, choice.strength) == (24, None)
    assert taught.search([asked[0][0]]).hits == index.search([asked[0][0]]).hits


def test_too_few_calls_or_those_of_one_session_say_nothing() -> None:
    assert learnt(used(QUERIES[: learning.LEAST - 1]))[0].strength is None
    assert learnt(used(session="one"))[0].strength is None
    assert learnt([])[0] == Learnt(0, 0)


def test_a_weak_answer_is_not_lifted_and_stays_weak(monkeypatch: pytest.MonkeyPatch) -> None:
    _, taught = learnt(used())
    assert taught.search([QUERIES[0]]).hits != words().search([QUERIES[0]]).hits
    monkeypatch.setattr(bm25, "weak_below", lambda *_, **__: 2.0)
    assert taught.search([QUERIES[0]]) == words().search([QUERIES[0]])
    assert taught.search([QUERIES[0]]).weak


def test_of_several_queries_a_weak_one_is_not_lifted() -> None:
    _, taught = learnt(used())
    ranking = taught.search(["zorb", QUERIES[0]])
    assert ranking.unanswered == ("zorb",)
    assert ranking.hits[0].key == EXPORT


def test_no_use_lifts_a_tool_above_one_that_the_query_names() -> None:
    _, taught = learnt(used(["list_customers", "list customers", "listCustomers", *QUERIES]))
    assert [(hit.key, hit.relevance) for hit in taught.search(["list_customers"]).hits][:1] == [(LIST, 1.0)]


def test_a_tool_that_is_not_seen_is_not_there_to_be_lifted() -> None:
    others = Bm25([each for each in TOOLS if each.key != EXPORT])
    choice, taught = learnt(used(), others)
    assert choice.calls == 0
    assert EXPORT not in keys(taught, QUERIES[0])


def test_a_tool_with_nothing_else_of_a_query_does_not_become_its_first_hit() -> None:
    """However often it was called, and whatever the choice."""
    assert max(share for _, share in learning.STRENGTHS) < 1
    lessons = Lessons(words(), [*used(key="weather:forecast"), *used(["a", "b"])])
    units = np.array([learning.unit(words().scores(each.queries[0])) for each in lessons.kept], np.float32)
    for strength in learning.STRENGTHS:
        lifts = lessons.use(Learnt(10, 10, strength, texts=["it"] * 10, vectors=units))
        found = keys(words().taught(partial(lambda lifts, _: lifts, lifts)), QUERIES[0])
        assert found[0] == LIST
    assert "weather:forecast" in found


def test_older_use_counts_less() -> None:
    """By half for 90 days before the session in the middle, which no single session moves."""
    old = used(QUERIES[:3], at="2029-07-05T00:00:00.000Z")
    weights = learning._weights([*used(QUERIES[3:]), *old])
    assert weights[0] == 1
    assert weights[-1] == pytest.approx(0.25, abs=0.01)
    assert (learning._weights([*used(QUERIES[3:], at="2039-01-01T00:00:00Z", session="new"), *used()])[-8:] == 1).all()
    assert learning._weights(used(at="yesterday")).tolist() == [1] * 8


def test_one_session_client_or_server_has_its_part_and_no_more() -> None:
    known = MappingProxyType({each.key: 0 for each in TOOLS})
    many = [f"query {number}" for number in range(1000)]
    assert len(bounded(used(many, session="one"), known)) == bounds.LEARNT_OF_TOOL
    both = [each for key in (*known, "gone:tool") for each in used(many, key, session="one")]
    assert len(bounded(both, known)) == bounds.LEARNT_OF_SESSION
    assert len(bounded(used(many, client="one"), known)) == bounds.LEARNT_OF_CLIENT
    clients = [replace_client(each, str(number)) for number, each in enumerate(used(many))]
    assert len(bounded(clients, known)) == bounds.LEARNT_OF_SERVER
    servers = [each for key in known for each in used(many, key)]
    mixed = [replace_client(each, str(number)) for number, each in enumerate(servers)]
    assert len(bounded(mixed, known)) == bounds.LEARNT
    retried = used(many[:1], client="x") * 9
    assert len(bounded(retried, known)) == 1


def replace_client(success: Success, client: str) -> Success:
    return success._replace(client=client, session=f"{success.session} {client}")


@pytest.mark.slow
def test_200_poisoned_searches_of_one_session_change_one_first_hit_in_a_hundred_at_most() -> None:
    sets = {each.name: each for each in search_quality.probes()}
    index = Bm25(sets["long"].tools)
    chance = random.Random(1)
    labels = [label for name in ("long", "typos", "other-words") for label in sets[name].labels]
    chance.shuffle(labels)
    half = len(labels) // 2
    history = [
        Success(label.queries, label.expect[0][0], str(number), "one", "2030-01-01T00:00:00Z")
        for number, label in enumerate(labels[:half])
    ]
    evil = index.tools[7].key
    asked = [f"{label.queries[0]} {turn}" for turn in range(5) for label in labels[:half]][:200]
    poison = [Success((query,), evil, "evil", "one", "2031-01-01T00:00:00Z") for query in asked]
    assert len(poison) == 200
    for before in ([], history):
        honest, poisoned = learnt(before, index)[1], learnt([*before, *poison], index)[1]
        changed = sum(
            honest.search(label.queries).hits[:1] != poisoned.search(label.queries).hits[:1] for label in labels[half:]
        )
        assert changed <= len(labels[half:]) / 100
