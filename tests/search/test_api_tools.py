"""The tools of HTTP APIs in a search: what is read of them, how much it counts, and what a query wants done."""

import json
from typing import Any

from mcpctl.base.models import Tool
from mcpctl.catalog import cache
from mcpctl.search.api_tools import ApiTools
from mcpctl.search.bm25 import Bm25
from mcpctl.search.fields import FIELDS, OPERATION_FIELDS, fields_of, texts, trust
from tests.table import for_each

BOILERPLATE = "Tokens need the `zebra` scope.\n\nThe giraffe plan has it, and the elephant plan too."


def operation(
    name: str, method: str = "GET", path: str = "/things", summary: str = "", text: str = "", *, is_of_api: bool = True,
    tags: tuple[str, ...] = (), **properties: Any,
) -> Tool:  # fmt: skip
    definition = {
        "name": name, **({"title": summary} if summary else {}),
        "description": "\n\n".join(each for each in (summary, text) if each) or f"{method} {path}",
        "inputSchema": {"type": "object", "properties": properties},
        "_meta": {"mcpctl/http": {"method": method, "path": path}, "mcpctl/tags": list(tags)},
    }  # fmt: skip
    return cache.tool("shop", name, json.dumps(definition), is_of_api=is_of_api)


def by_field(tool: Tool) -> dict[str, str]:
    of_tool = texts(tool)
    return {field.name: text.strip() for field, text in zip(fields_of(of_tool), of_tool, strict=True)}


def best(query: str, *tools: Tool) -> str:
    hits = Bm25(tools).search([query]).hits
    return hits[0].key.partition(":")[2] if hits else ""


def test_each_part_of_an_operation_is_a_field() -> None:
    body = {"type": "object", "properties": {"colour": {"description": "hidden words"}, "size": {}}}
    owner = {"description": "more hidden words", "enum": ["hidden"]}
    order = operation(
        "orders/create", "POST", "/orders/{owner}/lines", "Add a line", f"First.\n\n{BOILERPLATE}", tags=("orders",),
        owner=owner, body=body,
    )  # fmt: skip
    fields = by_field(order)
    assert fields.pop("method").split()[0] == "create"
    assert fields == {
        "name": "orders/create", "title": "Add a line", "server": "shop", "summary": "First.",
        "description": BOILERPLATE, "notes": "", "parameters": "owner body colour size",
        "path": "/orders/ /lines orders",
    }  # fmt: skip


def test_an_operation_without_a_summary_has_its_first_paragraph_for_one() -> None:
    fields = by_field(operation("t", text="Lists things.\n\nMore."))
    assert (fields["title"], fields["summary"], fields["description"]) == ("Lists things.", "", "More.")
    assert by_field(operation("t", "GET", "/things"))["title"] == "GET /things"
    assert by_field(operation("t", text="[deprecated] Lists things."))["title"] == "Lists things."


def test_later_paragraphs_count_a_fourth_as_much_as_the_first() -> None:
    weights = {field.name: field.weight for field in OPERATION_FIELDS}
    assert weights["description"] == weights["summary"] / 4
    early = operation("early", summary="Do it", text="About the zebra.\n\nAbout other things, and so on.")
    late = operation("late", summary="Do it", text="About other things.\n\nAbout the zebra, and so on.")
    assert best("zebra", late, early) == "early"


def test_boilerplate_of_a_thousand_operations_does_not_hide_what_one_does() -> None:
    others = [operation(f"op{n}", summary=f"Get part {n}", text=f"It is so.\n\n{BOILERPLATE}") for n in range(50)]
    meant = operation("feed", summary="Feed the giraffe", text="It eats.")
    assert best("feed the giraffe in a plan of the scope", *others, meant) == "feed"


@for_each(
    ("query", "expected"),
    [
        ("delete an order", "DELETE"),
        ("remove an order", "DELETE"),
        ("please remove the order", "DELETE"),
        ("I want to delete an order", "DELETE"),
        ("what is in an order", "GET"),
        ("show me an order", "GET"),
        ("an order", "GET"),
        ("orders of a customer", "GET"),
        ("tool to create an order", "POST"),
        ("order a book: hand an order in", "POST"),
        ("how do I make an order", "POST"),
        ("attach an order", "POST"),
    ],
)
def test_a_query_finds_what_does_as_it_says(query: str, expected: str) -> None:
    tools = [
        operation(f"order{n}", method, "/orders/{id}", "Order") for n, method in enumerate(("GET", "POST", "DELETE"))
    ]
    kinds = ApiTools(tools).fitting(query).tolist()
    assert ("GET", "POST", "DELETE")[kinds.index(max(kinds))] == expected


@for_each(
    "operation_of_caller",
    [
        {"summary": "Get the authenticated user"},
        {"summary": "Get it", "path": "/user"},
        {"summary": "Get it", "path": "/v1/me/orders"},
        {"summary": "Get it", "path": "/accounts/self"},
    ],
)
def test_who_am_i_finds_what_is_about_the_one_who_asks(operation_of_caller: dict[str, str]) -> None:
    others = [operation("user", summary="Get a user", path="/users/{id}"), operation("list", summary="List users")]
    assert best("who am I", *others, operation("self", **operation_of_caller)) == "self"  # type: ignore[arg-type]
    assert best("who am I", *others) == ""


def test_a_deprecated_operation_comes_after_the_one_in_its_place() -> None:
    old, new = operation("a", text="[deprecated] Lists orders."), operation("b", text="Lists orders.")
    assert best("list orders", old, new) == "b"


def test_the_parts_of_an_explanation_are_the_relevance() -> None:
    tools = [
        operation(f"o{n}", m, "/orders", "Delete my order", "It is gone.") for n, m in enumerate(("GET", "DELETE"))
    ]
    ranking = Bm25(tools).search(["delete my order"])
    for hit, explanation in zip(ranking.hits, ranking.explain(ranking.hits), strict=True):
        assert abs(explanation.score - hit.relevance) < 0.02
    assert ranking.hits[0].relevance > ranking.hits[1].relevance


def test_a_tool_of_another_server_is_read_as_ever_whatever_it_sends() -> None:
    sent = operation("t", "DELETE", "/x", "Title", "First sentence. Second.\n\nThird.", is_of_api=False, tags=("tag",))
    assert fields_of(texts(sent)) == FIELDS
    assert "delete" not in " ".join(texts(sent))
    assert "tag" not in " ".join(texts(sent))


def test_other_tools_weigh_the_same_beside_an_api() -> None:
    others = [operation(f"t{n}", text="Reads a file. " * n, is_of_api=False) for n in range(1, 4)]
    alone = Bm25(others)._engine.corpus.norms
    together = Bm25([*others, operation("z", summary="Delete a user")])._engine.corpus.norms
    assert (together[:3] == alone).all()


def test_a_long_last_paragraph_does_not_make_an_operation_less_trusted() -> None:
    listed = ", ".join(f"alpha{n} beta{n}" for n in range(60))
    assert trust(texts(operation("t", summary="Get a user", text=f"Gets a user.\n\n{listed}"))) == 1.0
    assert trust(texts(operation("t", summary=listed))) < 1.0
