"""Idioms of everyday English are read in the words of tools."""

from mcpctl.search.bm25 import Bm25
from mcpctl.search.idioms import without_idioms
from mcpctl.search.tokens import MAX_TEXT
from tests.search.test_bm25 import tool
from tests.table import for_each

TOOLS = [
    tool("files:list_directory", "List the contents of a directory"),
    tool("excel:insert_image", "Place an image at a cell", path={"description": "in the folder of a workbook"}),
    tool("excel:delete_rows", "Remove rows from a sheet"),
    tool("files:get_size", "The size of a file in bytes"),
]


@for_each(
    "text, read",
    [
        ("get rid of the third row", "remove the third row"),
        ("Look it up in the wiki", "search in the wiki"),
        ("what\u2019s in this folder", "list contents this folder"),
        ("how big are my files", "size my files"),
        ("google the opening hours", "search the opening hours"),
        ("google maps route", "google maps route"),
        ("open a pull request", "create a pull request"),
        ("open a page", "open a page"),
        ("please stage my edits", "please add staging my edits"),
        ("at this stage the build fails", "at this stage the build fails"),
        ("get the outlook of tomorrow", "get the outlook of tomorrow"),
        ("", ""),
    ],
)
def test_an_idiom_is_read_as_what_it_means(text: str, read: str) -> None:
    plain, read_as = without_idioms(text)
    assert plain == read
    assert (plain != text.replace("\u2019", "'")) == bool(read_as)


def test_what_no_search_reads_is_not_looked_at_for_idioms() -> None:
    text = f"{' ' * MAX_TEXT}get rid of it"
    assert without_idioms(text) == (text, {})


@for_each(
    "query, key",
    [
        ("get rid of the third row", "excel:delete_rows"),
        ("what's in this folder", "files:list_directory"),
        ("how large is it", "files:get_size"),
    ],
)
def test_the_answer_says_how_an_idiom_was_read(query: str, key: str) -> None:
    ranking = Bm25(TOOLS).search([query])
    assert ranking.hits[0].key == key
    assert " was read as " in ranking.notice and not {"remove", "list", "contents", "size"} & {*ranking.known_words}
