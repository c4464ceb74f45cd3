"""A request for one thing after another is ranked as a list of queries is."""

from mcpctl.search.providers import build
from mcpctl.search.steps import steps
from tests.search.conftest import Made
from tests.search.test_bm25 import tool
from tests.servers import service
from tests.table import for_each

SEVERAL = (
    ("stage my edits, commit them, then open a pull request", ["stage my edits", "commit them", "open a pull request"]),
    ("find the invoice and then send it to Bob", ["find the invoice", "send it to Bob"]),
    ("please read notes.txt; after that delete it", ["please read notes.txt", "delete it"]),
    ("load the file, sort it by price and draw a chart", ["load the file", "sort it by price", "draw a chart"]),
    ("open the page and take a screenshot.", ["open the page", "take a screenshot."]),
    ("lies die Datei und dann schicke sie an Anna", ["lies die Datei", "schicke sie an Anna"]),
    ("lee el archivo, luego bórralo todo", ["lee el archivo", "bórralo todo"]),
    ("crée une branche, puis ouvre une demande", ["crée une branche", "ouvre une demande"]),
    ("打开文件然后发送邮件", ["打开文件", "发送邮件"]),
    ("ファイルを読む、それから送信する", ["ファイルを読む", "送信する"]),
)
ONE = (
    'create an issue titled "fix login, update the docs, and close the ticket"',
    "read the file 'a, delete the b.txt' please",
    "translate “please open the door and then leave” to German",
    "run `open the page, then list the rows` in the shell",
    "create a table (add the id, then add a name)",
    "list files, folders and links",
    "create, update and delete issues",
    "find and replace text in a file",
    "search issues, pull requests and discussions about the parser, newest first",
    "delete old, unused pods from the staging namespace",
    "find hotels in Sydney, Australia that allow dogs",
    "the page is down, the user cannot log in",
    "show branches, local and remote",
    "in the budget, replace euro with dollar",
    "find any concerts in Long Beach, CA on the 12th of March",
    "it broke. Read the log, then tell me",
    "then open it",
    "open it, then",
    "",
    " , ",
)


@for_each("text, parts", SEVERAL)
def test_steps_of_a_sentence_are_told_apart(text: str, parts: list[str]) -> None:
    assert steps(text) == parts


@for_each("text", ONE)
def test_a_request_for_one_thing_stays_whole(text: str) -> None:
    assert steps(text) == [text.strip()]


def test_a_text_of_very_many_steps_is_one() -> None:
    assert len(steps("read a1, " * 5 + "read a2")) == 6
    assert len(steps("read a1, " * 6 + "read a2")) == 1
    assert len(steps(f"read {'a' * 500}, then delete it")) == 1


MAIL, COPY, LINK = "mail:send_message", "files:copy_file", "web:open_link"
TOOLS = [
    tool(MAIL, "Send a message to a person"),
    tool(COPY, "Copy a file to another folder"),
    tool(LINK, "Open the address of a link"),
    *(tool(f"mail{n}:send_message_{n}", "Send a message to a person, and copy others") for n in range(9)),
]


def test_each_step_gets_its_best_tool() -> None:
    provider = build(TOOLS)
    found = provider.search(["send a message to Bob, copy the file and open the link"], limit=3)
    assert {COPY, LINK} < found.firsts and {hit.key for hit in found.hits} == found.firsts
    assert {query for query, _ in found.best_of} == {"send a message to Bob", "copy the file", "open the link"}
    assert {why.query for why in found.explain(found.hits)} == {query for query, _ in found.best_of}
    assert len(provider.search(["send a message to Bob, copy the file and open the link", "link"]).best_of) == 2


def test_a_name_that_reads_like_steps_is_one_query() -> None:
    named = tool("a:copy files, then delete them", "")
    assert build([*TOOLS, named]).search([named.name]).hits[0].key == named.key


def test_an_embedding_model_is_asked_for_each_step(made: Made, endpoint: service.Service) -> None:
    provider = made(TOOLS, "semantic", semantic_url=f"{endpoint.url}/v1", semantic_model="m")
    found = provider.search(["send a message to Bob, then open the link"])
    assert not found.fallback and dict(found.best_of)["open the link"] == LINK
