"""How a query is read: slips, abbreviations, courtesies, and languages of which the catalog has no word."""

from collections.abc import Sequence

import numpy as np
import pytest

from mcpctl.base.models import Tool
from mcpctl.search.bm25 import Bm25
from mcpctl.search.fields import texts
from mcpctl.search.meaning import WordTable
from mcpctl.search.pins import Pins
from mcpctl.search.posting_lists import Corpus, Okapi
from mcpctl.search.query_reading import Query, Reader
from mcpctl.search.tokens import stem
from tests.search.test_bm25 import CATALOG, keys, tool
from tests.table import for_each

CLUSTER = [
    tool("kubernetes:list_namespaces", "List the namespaces of a cluster"),
    tool("kubernetes:get_configmap", "Read one configmap"),
    tool("github:merge_pull_request", "Merge a pull request into its base branch"),
    tool("http:send_request", "Send a request to a server"),
    tool("store:find_database", "Find a database by its name"),
    tool("shop:db_backup", "Back up what was sold"),
    tool("pages:read_directory", "Read a directory"),
]


def read(query: str, tools: Sequence[Tool] = (*CATALOG, *CLUSTER), known: str = "word") -> Query:
    stems = list(dict.fromkeys(map(stem, known.split())))
    dictionary = WordTable.of(stems, np.zeros((len(stems), 2), np.int8), [1_000] * len(stems))
    return Reader(Okapi(Corpus.read(map(texts, tools))), dictionary, Pins(tools).folded_names).read(query)


@pytest.mark.parametrize("slipped", ["reqest", "requuest", "request"[1:], "reqeust", "rewuest", "tequest"])
def test_one_slip_is_corrected_in_a_query_of_any_length(slipped: str) -> None:
    query = f"send the {slipped} to a server and list the namespaces of the cluster by name"
    assert dict(read(query).read_as) == {slipped: ["request"]}


def test_a_word_of_the_dictionary_is_unknown_but_never_corrected() -> None:
    found = read("serve the namespaces", known="serve")
    assert (found.unknown, found.unheard, found.read_as) == (["serve"], [], {})
    assert dict(read("serve the namespaces").read_as) == {"serve": ["server"]}


def test_words_of_a_language_that_nobody_knows_are_not_corrected() -> None:
    found = read("ouvrir une brancha avec le serveur maintenant")
    assert not found.read_as
    assert found.unknown == found.unheard == ["ouvrir", "brancha", "serveur", "maintenant"]


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("lsit namepsaces of one clutser", {"lsit": "list", "namepsaces": "namespaces", "clutser": "cluster"}),
        ("sned teh reqeust to the serevr", {"sned": "send", "reqeust": "request", "serevr": "server"}),
    ],
)
def test_a_query_of_which_most_words_were_mistyped_is_of_no_other_language(query: str, meant: dict[str, str]) -> None:
    assert dict(read(query).read_as) == {word: [reading] for word, reading in meant.items()}


def test_of_a_name_the_first_letter_is_right() -> None:
    assert not read("send the message to Lames").read_as
    assert dict(read("list the Namspaces of it").read_as) == {"namspaces": ["namespaces"]}


def test_a_word_of_which_a_slip_leaves_the_stem_is_told_in_full() -> None:
    assert dict(read("creatr", [tool("s:create_issue")]).read_as) == {"creatr": ["create"]}


@pytest.mark.parametrize(
    ("query", "expected", "notice"),
    [
        ("list k8s ns", "kubernetes:list_namespaces", "'k8s' was read as kubernetes. 'ns' was read as namespace."),
        ("merge PR", "github:merge_pull_request", "'pr' was read as pull request."),
        ("get cm", "kubernetes:get_configmap", "'cm' was read as configmap."),
        ("find the dbs", "store:find_database", ""),
    ],
)
def test_an_abbreviation_finds_what_it_stands_for(query: str, expected: str, notice: str) -> None:
    found = Bm25([*CATALOG, *CLUSTER]).search([query])
    assert found.hits[0].key == expected
    assert found.notice == notice
    assert found.unknown_words == ()


def test_an_abbreviation_that_tools_have_counts_more_than_what_it_stands_for() -> None:
    assert keys(Bm25(CLUSTER), "db") == ["shop:db_backup", "store:find_database"]
    assert not read("db").read_as


def test_an_abbreviation_is_none_among_words_that_bind_in_another_language() -> None:
    tools = [tool("elasticsearch:count", "Count documents"), *CATALOG]
    assert dict(read("count in es", tools).read_as) == {"es": ["elasticsearch"]}
    assert not read("gibt es das issue", tools).read_as


def test_a_word_in_full_finds_tools_that_have_its_abbreviation_alone() -> None:
    tools = [tool("a:list_pr", "Those that are open"), tool("b:drop_dir", "Forget one"), *CATALOG]
    assert keys(Bm25(tools), "directory")[0] == "b:drop_dir"
    assert keys(Bm25(tools), "pull request")[0] == "a:list_pr"


def test_an_abbreviation_of_which_tools_have_nothing_is_unknown_and_has_a_meaning() -> None:
    found = read("open the MR", CATALOG)
    assert (found.unknown, found.unheard) == (["mr"], [])
    assert {"mr", "merg", "request"} <= found.meaning.keys()


@for_each(
    ("said", "expected"),
    [
        ("Could you please show me the issues?", "github:list_issues"),
        ("how do I send_message", "slack:send_message"),
        ("I would like to know what the weather is, thanks!", "met:weather"),
        ("请帮我查询一下天气", "met:weather"),
        ("天気を教えてください", "met:weather"),
        ("please", None),
    ],
)
def test_courtesies_do_not_decide_what_is_found(said: str, expected: str | None) -> None:
    tools = [
        tool("github:list_issues", "List issues"), tool("slack:send_message", "Send a message"),
        tool("met:weather", "查询天气 天気"), tool("tv:show_program", "Show what is on"), *CLUSTER,
    ]  # fmt: skip
    hits = Bm25(tools).search([said]).hits
    assert (hits[0].key if hits else None) == expected


def test_of_chinese_what_no_tool_has_is_unknown_as_it_is_written() -> None:
    tools = [tool("bing:image_search", "使用必应搜索图片"), *CATALOG]
    assert read("翻译视频的字幕", tools).unknown == ["翻译视频", "字幕"]
    assert read("搜索图片的字幕", tools).unknown == ["字幕"]
    assert read("搜索视频", tools).unknown == ["视频"]


def test_a_compound_means_its_parts_and_is_unknown_where_no_tool_has_them() -> None:
    found = read("Wettervorhersage", known="wetter vorhersage")
    assert (found.unknown, found.unheard, found.read_as) == (["wettervorhersage"], [], {})
    assert {"wetter", "vorhersag"} <= found.meaning.keys()
    tools = [tool("de:wetter", "Die Vorhersage für morgen"), *CATALOG]
    assert dict(read("Wettervorhersage", tools, "wetter vorhersage").read_as) == {
        "wettervorhersage": ["wetter vorhersage"]
    }


def test_a_mistyped_word_of_the_dictionary_has_its_meaning_though_no_tool_has_it() -> None:
    found = read("read the manuel of it", known="manual")
    assert (found.unknown, found.unheard, found.read_as) == (["manuel"], [], {})
    assert "manual" in found.meaning


def test_a_right_word_is_corrected_only_to_make_the_name_of_a_tool() -> None:
    tools = [tool("s:create_issue"), tool("s:float_value"), *CATALOG]
    assert dict(read("crate issue", tools, "crate flat").read_as) == {"crate": ["create"]}
    assert not read("crate this issue now", tools, "crate flat").read_as
    assert not read("flat", tools, "crate flat").read_as


def test_umlauts_may_be_written_as_two_letters() -> None:
    assert dict(read("Laender", [tool("geo:länder"), *CATALOG], "länder").read_as) == {"laender": ["länder"]}


class Seen(str):
    """A word that counts how often it is looked into."""

    __slots__ = ()
    times = 0

    def __contains__(self, part: object) -> bool:
        Seen.times += 1
        return super().__contains__(str(part))


def test_single_characters_are_not_looked_for_in_every_pair() -> None:
    chinese = [chr(0x7100 + n) for n in range(400)]
    engine = Okapi(Corpus.read([texts(tool("s:t", "".join(chinese[:300])))]))
    engine.corpus.surface = list(map(Seen, engine.corpus.surface))
    reader = Reader(engine, WordTable.of([], np.zeros((0, 2), np.int8), []))
    assert reader.read(chinese[5]).read_as == {chinese[5]: ["".join(chinese[4:6]), "".join(chinese[5:7])]}
    assert reader.read(" ".join(chinese[200:])).unheard == chinese[300:]
    assert Seen.times <= len(engine.corpus.surface)


def test_letters_that_are_cut_off_are_no_words() -> None:
    tools = [tool("s:drive_letter", "Letters s, m, t, d, l"), tool("s:folder", "What's in it"), *CATALOG]
    for query in ("what's in the folder", "I\u2019m lost, isn't it the folder", "l'ordre d'un folder"):
        assert not set("smtdl") & {*read(query, tools).terms, *read(query, tools).meaning}
    assert "d" in read("drive d", tools).terms


@pytest.mark.parametrize("query", ["I would like pizza, will you?", "Can you please find a letter"])
def test_courtesies_are_no_words_that_tools_have(query: str) -> None:
    tools = [tool("s:send_letter", "You can post what you like. Please wait, it will be sent."), *CATALOG]
    assert {"can", "will", "please", "would", "you"}.isdisjoint(read(query, tools).terms.values())


@pytest.mark.parametrize(
    "query",
    ["listar los archivos de una carpeta", "un archivo nuevo", "ver del archivo", "registros del pod", "quelle heure",
     "ver los pods", "Dateien im Ordner anzeigen", "l'heure de la Corse",
     "显示文件夹的内容", "フォルダの中身", "показать файлы"],
)  # fmt: skip
def test_small_words_and_letters_tell_that_a_query_is_not_in_english(query: str) -> None:
    assert not read(query).in_english


@for_each(
    "query",
    ["weather in Los Angeles", "what do the issues say", "ls dir", "del cal event", "del archive",
     "ver 2", "open the café issue", "die",
     "Convert LA time to EST", "search for '天气' in all of my open issues", ""],
)  # fmt: skip
def test_a_small_word_of_another_language_may_be_in_an_english_query(query: str) -> None:
    assert read(query, [tool("s:get_weather", "Time in Los Angeles (LA). Convert it."), *CATALOG]).in_english


def test_words_of_other_languages_are_not_mistyped_english() -> None:
    tools = [tool("s:registry", "Registrys of houses in version 2"), tool("s:rm", "Delete a house"), *CATALOG]
    provider = Bm25(tools)
    assert [provider.search([query]).notice for query in ("ver registros del pod", "quelle heure est-il")] == ["", ""]


def test_articles_of_other_languages_are_no_rare_words() -> None:
    tools = [
        tool("demo:structured", "For New York, Chicago or Los Angeles"),
        tool("s:listar", "De un archivo"),
        *CATALOG,
    ]
    found = keys(Bm25(tools), "listar los archivos de una carpeta")
    assert found[0] == "s:listar"
    assert "demo:structured" not in found
    assert keys(Bm25(tools), "weather in los angeles")[0] == "demo:structured"


def test_a_weak_answer_lists_no_courtesies_as_words_that_tools_have() -> None:
    tools = [*(tool(f"s:tool{n}", "The letter of it is" + " what you need" * n) for n in range(40)), *CATALOG]
    found = Bm25(tools).search(["I need a letter about cathedral gargoyle masonry scaffolding buttress choir nave"])
    assert (found.weak, found.known_words) == (True, ("letter",))
