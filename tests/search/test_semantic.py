"""Words and embeddings together: what neither finds alone, and words alone where there are no embeddings."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.models import Tool, unseen
from mcpctl.base.paths import Paths
from mcpctl.config import config
from mcpctl.search import embeddings as module
from mcpctl.search.providers import build, builder
from mcpctl.search.ranking import Ranking
from mcpctl.search.scripts import script
from mcpctl.search.semantic import STRANGERS
from mcpctl.search.tokens import _SENTENCE
from mcpctl.store import state_file
from tests.proxy.client import until
from tests.search.conftest import Made
from tests.search.test_bm25 import CATALOG, tool
from tests.servers.service import Asked, Service, embeddings, vector
from tests.table import for_each

TOOLS = [*CATALOG, tool("rental:book", "Reserve a car"), tool("garage:wash", "Clean what you drive")]


@pytest.fixture
def semantic(made: Made, endpoint: Service) -> Callable[..., Any]:
    """The provider over the endpoint."""
    return lambda tools=TOOLS, **more: made(
        tools, "semantic", **{"semantic_url": f"{endpoint.url}/v1", "semantic_model": "m", **more}
    )


def keys(ranking: Ranking) -> list[str]:
    return [hit.key for hit in ranking.hits]


def test_what_has_no_word_in_common_is_found_by_what_it_means(semantic: Callable[..., Any]) -> None:
    found = semantic().search(["automobile"])
    assert keys(found)[:2] == ["rental:book", "garage:wash"]
    assert [part.field for why in found.explain(found.hits[:2]) for part in why.parts if part.field == "embedding"] == [
        "embedding",
        "embedding",
    ]
    assert (found.provider, found.fallback, found.weak) == ("semantic", None, False)
    assert (found.unknown_words, found.lost_words) == (("automobile",), ())


def test_each_query_gets_its_best_hit_before_any_gets_a_second(semantic: Callable[..., Any]) -> None:
    queries = ["automobile", "photo", "wash"]
    provider = semantic()
    found = provider.search(queries, limit=3)
    assert {keys(provider.search([query], limit=1))[0] for query in queries} == found.firsts <= set(keys(found))


def test_words_that_neither_a_tool_has_nor_the_model_knows_are_told(semantic: Callable[..., Any]) -> None:
    found = semantic().search(["zebra"])
    assert (found.weak, found.lost_words) == (True, ("zebra",))


def test_a_tool_that_says_little_is_near_to_what_its_server_is_near_to(semantic: Callable[..., Any]) -> None:
    tools = [tool(f"{name}:start", "Begin with a car") for name in ("studio", "workshop")]
    tools += [tool("studio:shoot", "Take a photo"), tool("workshop:wash", "Clean a vehicle")]
    found = keys(semantic(tools).search(["automobile"]))
    assert found.index("workshop:start") < found.index("studio:start")


def test_of_a_very_long_request_a_dozen_sentences_are_embedded(semantic: Callable[..., Any], endpoint: Service) -> None:
    provider = semantic()
    provider.search(["storm"])
    before = len(endpoint.asked)
    provider.search([". ".join(f"Sentence number {n}" for n in range(100))])
    assert [len(asked.body["input"]) for asked in endpoint.asked[before:]] == [13]


def test_a_model_that_knows_none_of_the_words_counts_for_nothing(semantic: Callable[..., Any]) -> None:
    words_alone, beside = build(TOOLS).search(["Bilder suchen"]), semantic().search(["Bilder suchen"])
    assert keys(beside)[0] == keys(words_alone)[0] == "bing:image_search"
    assert beside.hits[0].relevance == words_alone.hits[0].relevance


def test_words_still_count(semantic: Callable[..., Any]) -> None:
    assert keys(semantic().search(["storm warnings"]))[:2] == ["weather:alerts", "weather:forecast"]
    assert semantic().search(["slack:send_message"]).hits[0].relevance == 1


def test_the_parts_of_an_explanation_add_up_with_the_embedding_as_one(semantic: Callable[..., Any]) -> None:
    ranking = semantic().search(["wash an automobile", "report a bug in the repository"], context="a photo")
    found = ranking.explain(ranking.hits)
    assert [why.key for why in found] == keys(ranking)
    assert all(why.score == pytest.approx(why.relevance, abs=1e-4) for why in found if why.score < 0.9)
    assert {part.field for why in found for part in why.parts} >= {"embedding", "name", "summary"}


def test_a_context_is_embedded_with_the_queries_in_one_request(semantic: Callable[..., Any], endpoint: Service) -> None:
    provider = semantic()
    provider.search(["warm"])
    before = len(endpoint.asked)
    provider.search(["automobile", "ticket"], context="storm")
    assert [asked.body["input"] for asked in endpoint.asked[before:]] == [["automobile", "ticket", "storm"]]


def test_a_long_request_is_as_near_to_a_tool_as_its_nearest_sentence(
    semantic: Callable[..., Any], endpoint: Service
) -> None:
    provider = semantic()
    alone = provider.search(["Get me an automobile"])
    text = "We are on the way to the sea, all of us! Hm. Get me an automobile\nNothing else is planned in town"
    before = len(endpoint.asked)
    found = provider.search([text])
    (asked,) = endpoint.asked[before:]
    assert asked.body["input"] == [
        text,
        "We are on the way to the sea, all of us",
        "Nothing else is planned in town",
    ]  # the sentence between is known already
    assert keys(found)[0] == keys(alone)[0] == "rental:book"
    near = [sum(why.by_word()[""].values()) for why in (*alone.explain(alone.hits[:1]), *found.explain(found.hits[:1]))]
    assert near[0] == pytest.approx(near[1])


def test_a_query_is_embedded_once_and_an_empty_one_never(semantic: Callable[..., Any], endpoint: Service) -> None:
    provider = semantic()
    provider.search(["automobile"])
    before = len(endpoint.asked)
    assert provider.search(["automobile"]) == provider.search(["automobile"])
    assert len(endpoint.asked) == before
    assert keys(provider.search(["", "  ", "automobile"])) == ["rental:book", "garage:wash"]
    assert provider.search([""]).fallback is None
    assert all(text.strip() for asked in endpoint.asked for text in asked.body["input"])


def test_what_is_asked_is_as_openai_has_it(
    semantic: Callable[..., Any], endpoint: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCPCTL_SEMANTIC_TOKEN", "s3cret")
    semantic(semantic_model="text-embedding-3-small").search(["automobile"])
    assert {asked.path for asked in endpoint.asked} == {"/v1/embeddings"}
    assert {asked.headers["authorization"] for asked in endpoint.asked} == {"Bearer s3cret"}
    told = [asked.body | {"input": None} for asked in endpoint.asked]
    assert told == [{"model": "text-embedding-3-small", "input": None, "encoding_format": "float"}] * 2
    texts = [text for asked in endpoint.asked for text in asked.body["input"]]
    assert set(texts) >= {"automobile", *STRANGERS, "rental book: Reserve a car", "garage wash: Clean what you drive"}
    assert len(texts) == 1 + len(STRANGERS) + len(TOOLS)


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        ({}, "my server get HTTP Page2 now"),
        ({"description": "Gets it. Then waits."}, "my server get HTTP Page2 now: Gets it."),
        (
            {
                "description": " One line\nand another",
                "inputSchema": {"properties": {"a_b": {"properties": {"c": {}}}, "d": {"description": "not this"}}},
            },
            "my server get HTTP Page2 now: One line (a_b, c, d)",
        ),
    ],
)
def test_of_a_tool_its_names_first_sentence_and_parameters_are_embedded(
    semantic: Callable[..., Any], endpoint: Service, definition: dict[str, Any], text: str
) -> None:
    semantic([Tool("my-server", "getHTTPPage2_now", definition, "")]).search(["automobile"])
    assert text in endpoint.asked[0].body["input"]


def test_vectors_of_an_older_mcpctl_are_forgotten_and_made_anew(semantic: Callable[..., Any], paths: Paths) -> None:
    semantic().search(["automobile"])
    with closing(state_file.connect(paths)) as db:
        names = [name for name, _ in state_file.STEPS]
        later = names[names.index("vectors in 16 bits") :]
        db.executemany("DELETE FROM steps WHERE name = ?", [(name,) for name in later])
        db.execute("UPDATE vectors SET vector = ?", (b"\0\0\0\1" * 262,))
        db.execute("INSERT INTO vectors SELECT model, 'an old text', vector FROM vectors LIMIT 1")
    assert keys(semantic().search(["automobile"])) == ["rental:book", "garage:wash"]
    with closing(state_file.connect(paths)) as db:
        sizes = db.execute("SELECT count(*), min(length(vector)), max(length(vector)) FROM vectors").fetchone()
    assert sizes == (len(TOOLS) + len(STRANGERS), 2 * 262, 2 * 262)


def test_the_whole_address_of_an_endpoint_will_do(semantic: Callable[..., Any], endpoint: Service) -> None:
    semantic(semantic_url=f"{endpoint.url}/v1/embeddings/").search(["automobile"])
    assert {asked.path for asked in endpoint.asked} == {"/v1/embeddings"}


def test_what_an_address_asks_for_stays_at_its_end(semantic: Callable[..., Any], endpoint: Service) -> None:
    semantic(semantic_url=f"{endpoint.url}/v1?api-version=2024").search(["automobile"])
    assert {asked.path for asked in endpoint.asked} == {"/v1/embeddings?api-version=2024"}


def test_vectors_of_tools_are_made_once_for_all_processes(semantic: Callable[..., Any], endpoint: Service) -> None:
    first = semantic().search(["automobile"])
    before = len(endpoint.asked)
    assert keys(semantic([*TOOLS, tool("new:tool", "A photo")]).search(["automobile"])) == keys(first)
    assert [asked.body["input"] for asked in endpoint.asked[before:]] == [["new tool: A photo"], ["automobile"]]


def test_vectors_of_another_model_are_others(semantic: Callable[..., Any], endpoint: Service) -> None:
    semantic().search(["automobile"])
    before = len(endpoint.asked)
    semantic(semantic_model="other").search(["automobile"])
    assert len(endpoint.asked) == before + 2


def test_the_oldest_vectors_go(semantic: Callable[..., Any], paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_VECTORS", 5)
    semantic().search(["automobile"])
    for name in "abcdef":
        semantic([tool(f"a:{name}")]).search(["automobile"])
    with closing(state_file.connect(paths)) as db:
        assert db.execute("SELECT count(*) FROM vectors").fetchone()[0] == 2 * (1 + len(STRANGERS))


def test_a_cache_that_cannot_be_had_costs_nothing_but_time(semantic: Callable[..., Any], paths: Paths) -> None:
    first = semantic().search(["automobile"])
    for broken in (b"\0", b"\0" * 4):
        with closing(state_file.connect(paths)) as db:
            db.execute("UPDATE vectors SET vector = ? WHERE rowid > 3", (broken,))
        provider = semantic()
        assert [provider.search(["automobile"]) for _ in range(3)][-1] == first
    paths.state.write_bytes(b"rubbish")
    paths.state.with_name("state.db-wal").unlink(missing_ok=True)
    assert semantic().search(["automobile"]) == first


def test_where_nothing_can_be_kept_the_vectors_of_the_last_catalog_are(
    made: Made, endpoint: Service, home: Path, paths: Paths
) -> None:
    made(TOOLS, "off", semantic_url=endpoint.url, semantic_model="m")
    paths.state.mkdir(parents=True)
    make = builder(config.load(home / "config.toml"), paths, "semantic", unseen)
    make(TOOLS, None, None).search(["automobile"])
    before = len(endpoint.asked)
    make([*TOOLS, tool("new:tool", "A photo")], None, None).search(["automobile"])
    assert [asked.body["input"] for asked in endpoint.asked[before:]] == [["new tool: A photo"]]


def test_tools_that_have_changed_are_not_read_to_the_end(
    made: Made, endpoint: Service, home: Path, paths: Paths
) -> None:
    many = [tool(f"s:t{n}", f"number {n}") for n in range(400)]
    reading, go_on = threading.Event(), threading.Event()

    def slow(asked: Asked) -> Any:
        reading.set()
        go_on.wait(30)
        return embeddings(asked)

    made(TOOLS, "off", semantic_url=endpoint.url, semantic_model="m")
    make = builder(config.load(home / "config.toml"), paths, "semantic", unseen)
    endpoint.answer = slow
    older = make(many, None, None)
    assert reading.wait(30)
    newer = make(TOOLS, None, None)
    go_on.set()
    assert newer.search(["automobile"]).provider == "semantic"
    assert older.search(["number"]).fallback == "semantic: the tools have changed"
    assert sum(len(asked.body["input"]) for asked in endpoint.asked) < 100


def test_a_model_that_finds_everything_alike_leaves_the_words(semantic: Callable[..., Any], endpoint: Service) -> None:
    endpoint.answer = lambda asked: {
        "data": [{"index": n, "embedding": [1.0, 0.01 * n]} for n, _ in enumerate(asked.body["input"])]
    }
    assert semantic().search(["storm"]).fallback == "semantic: the model returns nearly the same vector for every text"


@pytest.mark.parametrize("query", ["", "the of", "?!", "\U0001f642"])
def test_a_query_without_a_word_is_near_to_nothing(semantic: Callable[..., Any], query: str) -> None:
    found = semantic().search([query])
    assert (found.hits, found.provider, found.weak) == ((), "semantic", True)


def test_many_long_queries_are_embedded_in_portions(semantic: Callable[..., Any], endpoint: Service) -> None:
    provider = semantic()
    provider.search(["storm"])
    before = len(endpoint.asked)
    queries = [". ".join(f"Sentence {n} of query {m}" for n in range(20)) for m in range(32)]
    assert provider.search(queries, context="storm").fallback is None
    sizes = [len(asked.body["input"]) for asked in endpoint.asked[before:]]
    assert max(sizes) <= 32
    assert sum(sizes) <= 33 * 2


def test_notes_are_searched_by_their_words_and_not_embedded(
    made: Made, endpoint: Service, home: Any, paths: Paths
) -> None:
    made(TOOLS, "semantic", semantic_url=endpoint.url, semantic_model="m")
    loaded = config.load(home / "config.toml")
    note = "\n\nAsk the caretaker."
    noted = Tool("bing", "image_search", {"description": f"Find images{note}"}, "", note)
    provider = builder(loaded, paths, on_progress=unseen)([noted, *TOOLS], {noted.key: note}, None)
    assert keys(provider.search(["caretaker"]))[0] == noted.key
    assert not any("caretaker." in text for asked in endpoint.asked for text in asked.body["input"])


def test_many_may_search_at_once(semantic: Callable[..., Any]) -> None:
    provider = semantic()
    queries = ["automobile", "storm", "defect", "photo", "telegram"] * 8
    alone = {query: provider.search([query]) for query in set(queries)}
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda query: provider.search([query]), queries)) == [alone[query] for query in queries]


@pytest.mark.parametrize("tools", [[], [tool("a:b")], [tool("a:b", "A car"), tool("a:c", "A car")]])
def test_small_catalogs(semantic: Callable[..., Any], tools: list[Tool]) -> None:
    found = semantic(tools).search(["automobile"])
    assert found.fallback is None
    assert keys(found) == [each.key for each in tools if each.description]


def test_while_tools_are_read_words_rank_and_then_no_more(semantic: Callable[..., Any], endpoint: Service) -> None:
    readable = threading.Event()

    def slow(asked: Asked) -> Any:
        if len(asked.body["input"]) > 2:
            readable.wait(30)
        return embeddings(asked)

    endpoint.answer = slow
    provider = semantic(on_progress=None, semantic_timeout_s=0.05)
    first = provider.search(["storm"])
    assert (first.provider, keys(first)) == ("bm25", keys(build(TOOLS).search(["storm"])))
    assert first.fallback == f"semantic: the tools are still being indexed, 0 of {len(TOOLS) + len(STRANGERS)} so far"
    whys = first.explain(first.hits)
    assert all(why.score == pytest.approx(why.relevance, abs=1e-4) for why in whys)
    assert provider.search(["storm"]).fallback == first.fallback  # and nobody waits for it again
    readable.set()
    until("the tools are read", lambda: provider.search(["automobile"]).fallback is None)
    found = provider.search(["automobile"])
    assert keys(found) == ["rental:book", "garage:wash"]


def json_of(value: bytes) -> Callable[[Asked], Any]:
    return lambda asked: (200, {}, value)


FAILURES = {
    "HTTP 500 Internal Server Error: no more": lambda asked: (500, {}, b'{"error": {"message": "no more"}}'),
    "HTTP 401 Unauthorized; MCPCTL_SEMANTIC_TOKEN is not set": lambda asked: (401, {}, b""),
    "its answer is not that of an embeddings endpoint": json_of(b"hello"),
    "(Object missing required field `data`)": json_of(b"{}"),
    "an embedding with no numbers, or with more than 16,384": json_of(
        b'{"data": [{"index": 0, "embedding": [' + b"0," * (6 << 20) + b"0]}]}"
    ),
    "all of one length": lambda asked: {
        "data": [{"index": n, "embedding": [1.0] * (n + 1)} for n, _ in enumerate(asked.body["input"])]
    },
    "(Expected `float`, got `null`": json_of(b'{"data": [{"index": 0, "embedding": [null]}]}'),
    "does not have one embedding for each text": json_of(b'{"data": []}'),
    "the model returned zero or non-finite vectors": lambda asked: {
        "data": [{"index": n, "embedding": [0.0, 0.0]} for n, _ in enumerate(asked.body["input"])]
    },
    "it redirects to another place: http://192.0.2.1/": lambda asked: (307, {"location": "http://192.0.2.1/"}, b""),
}


@pytest.mark.parametrize("why", FAILURES)
def test_an_endpoint_that_fails_leaves_the_words(semantic: Callable[..., Any], endpoint: Service, why: str) -> None:
    endpoint.answer = FAILURES[why]
    provider = semantic()
    found = provider.search(["storm"])
    assert (found.provider, keys(found)) == ("bm25", keys(build(TOOLS).search(["storm"])))
    assert found.fallback is not None
    assert found.fallback.startswith("semantic: ")
    assert why in found.fallback
    endpoint.answer = embeddings
    assert provider.search(["storm"]).fallback is None


def test_sentences_end_where_they_did_and_many_dots_cost_no_more_than_their_number() -> None:
    text = "Read it... now!  Then; write?! It. \u4f60\u597d\u3002\u518d\u89c1"
    parts = ["Read it", "now", "Then", "write", "It", "\u4f60\u597d", "\u518d\u89c1"]
    assert [part.strip() for part in _SENTENCE.split(text) if part.strip()] == parts
    assert len(_SENTENCE.split("." * 2_000_000)) == 1  # hours, were each looked at from each before it


def test_a_model_that_changes_the_length_of_its_vectors_is_asked_about_all_tools_again(
    semantic: Callable[..., Any], endpoint: Service
) -> None:
    provider = semantic()
    provider.search(["storm"])
    endpoint.answer = lambda asked: {"data": [{"index": 0, "embedding": [1.0, 2.0]}]}
    told = "the model returned 262 numbers for a tool, and 2 for a query"
    assert provider.search(["telegram"]).fallback == f"semantic: {told}"
    endpoint.answer = lambda asked: {
        "data": [{"index": n, "embedding": vector(text)[:-1]} for n, text in enumerate(asked.body["input"])]
    }
    found = provider.search(["post"])
    assert (found.provider, found.fallback) == ("semantic", None)


def test_what_was_learnt_anew_asks_a_model_that_has_changed_no_second_time(
    semantic: Callable[..., Any], endpoint: Service
) -> None:
    provider = semantic()
    taught = [provider.taught(lambda _: None) for _ in range(2)]
    for each in taught:
        each.search(["storm"])
    endpoint.answer = lambda asked: {
        "data": [{"index": n, "embedding": vector(text)[:-1]} for n, text in enumerate(asked.body["input"])]
    }
    fallbacks = [each.search([query]).fallback for query in ("telegram", "post") for each in taught]
    assert [bool(fallback) for fallback in fallbacks] == [True, False, False, False]


def test_a_service_that_is_slow_or_not_there_leaves_the_words(semantic: Callable[..., Any], endpoint: Service) -> None:
    provider = semantic(semantic_timeout_s=0.2)
    provider.search(["storm"])
    ended = threading.Event()
    endpoint.answer = lambda asked: ended.wait(30)
    try:
        assert provider.search(["telegram"]).fallback == "semantic: no answer within 0.2 s"
    finally:
        ended.set()
    gone = semantic(semantic_url="http://127.0.0.1:9/v1").search(["storm"])
    assert gone.fallback == "semantic: nothing listens there (connection refused)"


def test_without_a_model_words_rank(made: Made) -> None:
    assert made(TOOLS, "semantic").search(["storm"]).fallback == "semantic: [search] has no semantic_model"


def english_alone(asked: Asked) -> Any:
    """A model whose vectors of texts in other scripts are all about the same, and near to a car."""
    asked.body["input"] = [text if text.isascii() else f"car {'of ' * 9}" for text in asked.body["input"]]
    return embeddings(asked)


def of_many_languages(asked: Asked) -> Any:
    """A model that reads other scripts, too."""
    asked.body["input"] = [text.replace("汽车", " car ") for text in asked.body["input"]]
    return embeddings(asked)


@for_each(
    ("query", "name"),
    [
        ("租一辆汽车", "CJK"),
        ("車を借りる", "KANA"),
        ("用 docker 启动容器", "CJK"),
        ("start the docker container 容器", ""),
        ("забронировать машину", "CYRILLIC"),
        ("자동차 예약", "HANGUL"),
        ("réserver une voiture", ""),
        ("🚗 123", ""),
        ("", ""),
    ],
)
def test_the_script_of_a_query_is_that_of_a_third_of_its_letters(query: str, name: str) -> None:
    assert script(query) == name


def test_a_model_that_cannot_read_a_script_counts_for_nothing_in_it(
    semantic: Callable[..., Any], endpoint: Service
) -> None:
    endpoint.answer = english_alone
    for query in ("搜索图片", "天气", "画像を検索", "поиск картинок", "wetter 天气预报"):
        beside, alone = semantic().search([query]), build(TOOLS).search([query])
        assert [*beside.hits] == [*alone.hits], query
        assert not any(part.field == "embedding" for why in beside.explain(beside.hits) for part in why.parts)
    assert keys(semantic().search(["automobile"]))[0] == "rental:book"


def test_a_model_of_many_languages_counts_in_all_of_them(semantic: Callable[..., Any], endpoint: Service) -> None:
    endpoint.answer = of_many_languages
    found = semantic().search(["租一辆汽车"])
    assert keys(found)[0] == "rental:book"
    assert "embedding" in {part.field for why in found.explain(found.hits[:1]) for part in why.parts}


def test_whether_a_model_reads_a_script_is_asked_once(semantic: Callable[..., Any], endpoint: Service) -> None:
    provider = semantic()
    provider.search(["天气"])
    before = len(endpoint.asked)
    provider.search(["图片"])
    assert [asked.body["input"] for asked in endpoint.asked[before:]] == [["图片"]]
