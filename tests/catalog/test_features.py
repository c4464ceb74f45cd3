"""Prompts and resources as one request sees them, and whose a URI is."""

import json
from typing import Any

from mcpctl.base import bounds
from mcpctl.base.failure import Failed
from mcpctl.base.feature_names import NAMED_BY, PROMPTS, RESOURCES, TEMPLATES
from mcpctl.base.models import Tool
from mcpctl.catalog.features import Feature, FeaturePart, Features
from tests.proxy import library
from tests.table import for_each


def feature(kind: str, server: str, name: str) -> Feature:
    definition = {NAMED_BY[kind]: name}
    return Feature(kind, server, name, Tool(server, f"@{kind}/{name}", definition, json.dumps(definition)))


def seen(*named: tuple[str, str, str]) -> Features:
    return library.seen([feature(*each) for each in named])


def owner(features: Features, uri: str) -> Any:
    """Whose it is there, or why it is nobody's."""
    try:
        found = features.owner(uri)
    except Failed as error:
        return error.failure.code, error.failure.facts.get("servers")
    return found.server, found.uri


UNKNOWN = ("unknown_resource", None)


def test_prompts_are_named_after_their_server() -> None:
    features = seen((PROMPTS, "a", "plan"), (PROMPTS, "a", "code review"), (PROMPTS, "b", "plan"))
    assert [*features.prompts] == ["a_plan", "a_code review", "b_plan"]
    assert features.prompts["b_plan"].server == "b"


def test_of_two_that_would_be_called_the_same_both_are_called_otherwise() -> None:
    features = seen((PROMPTS, "a", "b_c"), (PROMPTS, "a_b", "c"), (PROMPTS, "a_b", "d"))
    assert [*features.prompts] == ["a__b_c", "a_b__c", "a_b_d"]


def test_whatever_servers_call_their_prompts_none_is_lost() -> None:
    names = [("a", "b_c"), ("a", "_b_c"), ("a", "__b_c"), ("a_", "b_c"), ("a__", "b_c"), ("a_b", "c"), ("a__b", "c")]
    features = seen(*((PROMPTS, *each) for each in names))
    assert len(features.prompts) == len(names)
    assert [(each.server, each.name) for each in features.prompts.values()] == names
    assert [*features.prompts] == [*seen(*((PROMPTS, *each) for each in names)).prompts]


def test_a_uri_that_several_servers_list_is_listed_for_each_and_no_other_is_changed() -> None:
    features = seen(
        (RESOURCES, "a", "note://1"), (RESOURCES, "a", "note://2"), (RESOURCES, "b", "note://2"),
        (TEMPLATES, "a", "x://{y}"), (TEMPLATES, "b", "x://{y}"),
    )  # fmt: skip
    assert [*features.resources] == ["note://1", "mcpctl+a:note://2", "mcpctl+b:note://2"]
    assert [*features.templates] == ["mcpctl+a:x://{y}", "mcpctl+b:x://{y}"]
    assert features.resources["mcpctl+b:note://2"].name == "note://2"
    assert owner(features, "note://2") == ("ambiguous_resource", ["a", "b"])
    assert owner(features, "mcpctl+b:note://2") == ("b", "note://2")


WORLD = (
    (RESOURCES, "a", "note://1"), (RESOURCES, "a", "file:///etc/hosts"), (TEMPLATES, "a", "item://{id}"),
    (TEMPLATES, "a", "both://{id}"), (PROMPTS, "p", "hello"),
    (RESOURCES, "b", "wiki://home"), (RESOURCES, "b", "shared://b"), (RESOURCES, "c", "shared://c"),
    (TEMPLATES, "b", "both://{+id}"), (TEMPLATES, "b", "{+anything}"),
)  # fmt: skip


@for_each(
    ("uri", "whose"),
    [
        ("note://1", ("a", "note://1")),
        ("item://9", ("a", "item://9")),
        ("both://9", ("ambiguous_resource", ["a", "b"])),
        ("both://9/10", ("b", "both://9/10")),
        ("wiki://elsewhere", ("b", "wiki://elsewhere")),
        ("item://9/10", ("a", "item://9/10")),
        ("shared://d", ("ambiguous_resource", ["b", "c"])),
        ("Note://1", UNKNOWN),
        ("wiki://home%20", ("b", "wiki://home%20")),
        ("file:///etc/passwd", UNKNOWN),
        ("https://example.com", UNKNOWN),
        ("secret://of/nobody", UNKNOWN),
        ("", UNKNOWN),
        ("no scheme", UNKNOWN),
        ("mcpctl+c:secret://x", ("c", "secret://x")),
        ("mcpctl+c:", UNKNOWN),
        ("mcpctl+d:shared://c", UNKNOWN),
        ("mcpctl+p:note://1", UNKNOWN),
        ("mcpctl+a:mcpctl+b:wiki://home", ("a", "mcpctl+b:wiki://home")),
        ("note://" + "1" * bounds.URI, UNKNOWN),
    ],
)  # fmt: skip
def test_a_uri_is_of_who_lists_it_or_whose_template_it_is_or_who_has_its_scheme(uri: str, whose: Any) -> None:
    assert owner(seen(*WORLD), uri) == whose


@for_each(
    ("template", "uri", "whose"),
    [
        ("wiki://{+any}", "wiki://of/b", ("ambiguous_resource", ["a", "b"])),
        ("wiki://o{+any}", "wiki://of/b", ("ambiguous_resource", ["a", "b"])),
        ("wiki://of/{+any}", "wiki://of/b", ("a", "wiki://of/b")),
        ("wiki://team/{+any}", "wiki://team/b", ("ambiguous_resource", ["a", "b"])),
        ("file:///{+path}", "file:///srv/b", ("ambiguous_resource", ["a", "b"])),
        ("file:///srv/a/{+path}", "file:///srv/a/1", ("a", "file:///srv/a/1")),
        ("urn:isbn:{n}", "urn:isbn:7", ("a", "urn:isbn:7")),
    ],
)
def test_a_template_does_not_take_what_another_server_may_have(template: str, uri: str, whose: Any) -> None:
    theirs = [(RESOURCES, "b", each) for each in ("wiki://home", "wiki://team/1", "file:///srv/1", "urn:oid:1")]
    assert owner(seen((TEMPLATES, "a", template), (RESOURCES, "a", "wiki://of/1"), *theirs), uri) == whose
    assert owner(seen((TEMPLATES, "a", template)), uri) == ("a", uri)


def test_what_is_held_is_read_in_no_way() -> None:
    held = [feature(RESOURCES, "a", "note://bad"), feature(TEMPLATES, "a", "bad://{x}")]
    good = [feature(RESOURCES, "a", "note://good"), feature(RESOURCES, "a", "bad://listed")]
    parts = [
        FeaturePart.of(RESOURCES, "a", [each.tool for each in good], [held[0].tool]),
        FeaturePart.of(TEMPLATES, "a", [feature(TEMPLATES, "a", "note://{+any}").tool], [held[1].tool]),
    ]
    features = Features(parts, "1")
    assert owner(features, "note://fine") == ("a", "note://fine")
    assert [owner(features, f"{how}note://bad") for how in ("", "mcpctl+a:")] == [UNKNOWN, UNKNOWN]
    assert [owner(features, f"{how}bad://1") for how in ("", "mcpctl+a:")] == [UNKNOWN, UNKNOWN]
    assert owner(features, "bad://listed") == ("a", "bad://listed")
