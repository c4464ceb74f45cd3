"""The one decision: every verb against every state that a server, a tool, a toolset and a list can be in."""

from pathlib import Path
from typing import Any

from mcpctl.base.definitions import hash_of
from mcpctl.base.models import Tool
from mcpctl.config.config import Config, parsed
from mcpctl.config.server_settings import Server
from mcpctl.policy import words
from mcpctl.policy.decide import (
    ALLOW,
    ANEW,
    ANNOTATE,
    CALL,
    COMPLETE,
    CURRENT,
    FIND,
    KEPT,
    LIST,
    RESUME,
    SHOW,
    UNAVAILABLE,
    Subject,
    decide,
)  # fmt: skip
from mcpctl.policy.view import View
from mcpctl.toolsets.toolset import ToolReference, Toolset, ref_id
from tests.table import for_each

VERBS = (FIND, SHOW, CALL, RESUME, ANNOTATE, COMPLETE)
CALLS = (CALL, RESUME)
TOOL = Tool("s", "t", {"name": "t", "annotations": {"readOnlyHint": True}}, '{"name":"t"}')


def config(
    project: str | None = None, elsewhere: tuple[str, ...] = (), only: list[str] | None = None, **tools: Any
) -> Config:
    servers = {"s": Server(command="x", tools=tools, only=only), "off": Server(command="x", enabled=False)}
    problems = {"bad": "config.toml: servers.bad.command: is missing"}
    return Config(Path("config.toml"), servers, problems, project=project, elsewhere=frozenset(elsewhere))


def toolset(*references: ToolReference) -> Toolset:
    return Toolset("mine", Path("mine.json"), own=True, tools=references)


NAMED, HASHED = ToolReference("s.t", None), ToolReference(None, ref_id(TOOL))
OTHER, OTHER_HASH = ToolReference("s.other", None), ToolReference(None, "0" * 64)


def verdict(verb: str = CALL, server: str = "s", name: str = "t", tool: Tool | None = TOOL, **given: Any) -> str:
    """The outcome, or the code of a refusal, whose words can be made."""
    view = View(given.pop("config", config()), given.pop("toolset", None))
    decided = decide(Subject(verb, server, name, tool, view, **given))
    if decided.failure is None:
        return decided.outcome
    assert words.for_model(decided.failure)
    error = words.for_person(decided.failure)
    assert error.message
    assert error.hint
    assert not decided.failure.was_sent
    return decided.failure.code


@for_each("verb", VERBS)
@for_each("server, code", [("none", "unknown_tool"), ("off", "server_disabled"), ("bad", "server_unusable")])
def test_nothing_is_had_of_a_server_that_is_not_in_use(verb: str, server: str, code: str) -> None:
    assert verdict(verb, server) == code


@for_each("verb", VERBS)
def test_nothing_is_had_of_a_server_of_another_project(verb: str) -> None:
    assert verdict(verb, config=config("acme", ("s",))) == "not_in_project"


@for_each("verb", VERBS)
def test_a_tool_set_false_can_only_be_shown(verb: str) -> None:
    assert verdict(verb, config=config(t=False)) == (ALLOW if verb == SHOW else "not_permitted")


@for_each("verb", VERBS)
@for_each("only", [[], ["other"], ["T"], ["t?"], ["*x"], ["s.t"], [" t"]])
def test_a_tool_that_only_does_not_have_can_only_be_shown(verb: str, only: list[str]) -> None:
    assert verdict(verb, config=config(only=only)) == (ALLOW if verb == SHOW else "not_permitted")
    assert verdict(verb, config=config(only=only, t=True)) == (ALLOW if verb == SHOW else "not_permitted")


@for_each("verb", VERBS)
@for_each("only", [["t"], ["other", "t"], ["*"], ["t*"], ["?"]])
def test_what_only_has_is_allowed_unless_it_is_set_false(verb: str, only: list[str]) -> None:
    assert verdict(verb, config=config(only=only)) == ALLOW
    assert verdict(verb, config=config(only=only, T=False)) == (ALLOW if verb == SHOW else "not_permitted")


@for_each("name", ["T", " t", "t\u200b", "\uff54"])
def test_only_has_no_name_but_as_it_is_written(name: str) -> None:
    assert verdict(name=name, tool=None, config=config(only=["t"])) == "not_permitted"


@for_each("verb", VERBS)
def test_a_tool_that_nothing_refuses_is_allowed(verb: str) -> None:
    assert verdict(verb) == ALLOW
    assert verdict(verb, config=config(other=False)) == ALLOW


@for_each("verb", VERBS)
def test_what_the_policy_denies_is_refused_whatever_is_done_with_it(verb: str) -> None:
    denying = parsed(Path("config.toml"), '[policy]\ndeny = ["s:t"]\n[servers.s]\ncommand = "x"\n')
    assert verdict(verb, config=denying, listing=CURRENT) == (ALLOW if verb == SHOW else "denied")
    other = Tool("s", "u", TOOL.definition, TOOL.text)
    assert verdict(verb, config=denying, name="u", tool=other, listing=CURRENT) == ALLOW


@for_each("verb", VERBS)
@for_each("listing", [KEPT, CURRENT, ANEW])
def test_a_toolset_leaves_out_what_it_does_not_name(verb: str, listing: str) -> None:
    for reference in (OTHER, OTHER_HASH):
        left_out = "not_in_toolset" if verb != SHOW else ALLOW
        assert verdict(verb, toolset=toolset(reference), listing=listing) == left_out
    for reference in (NAMED, HASHED):
        assert verdict(verb, toolset=toolset(reference), listing=listing) == ALLOW


@for_each("verb", CALLS)
@for_each(
    "listing, tools, expected",
    [
        (KEPT, {}, LIST),
        (KEPT, {"x": False}, LIST),
        (CURRENT, {}, LIST),  # it may be new
        (ANEW, {}, "unknown_tool"),
        (ANEW, {"x": False}, "unknown_tool"),
        (UNAVAILABLE, {}, ALLOW),  # a cold cache refuses no real tool
        (UNAVAILABLE, {"x": False}, "not_listed"),
        (UNAVAILABLE, {"x": True}, "not_listed"),
    ],
)
def test_a_call_of_a_tool_that_is_not_listed(verb: str, listing: str, tools: dict[str, Any], expected: str) -> None:
    assert verdict(verb, tool=None, listing=listing, config=config(**tools)) == expected
    if "x" in tools:
        assert verdict(verb, tool=None, listing=listing, config=config(only=["t", "u"])) == expected


@for_each("listing", [KEPT, CURRENT, ANEW, UNAVAILABLE])
def test_a_name_that_a_toolset_cannot_have_is_refused_without_a_list(listing: str) -> None:
    assert verdict(tool=None, listing=listing, toolset=toolset(OTHER)) == "not_in_toolset"


def test_a_hash_is_known_by_the_definition_alone() -> None:
    assert verdict(tool=None, toolset=toolset(HASHED)) == LIST
    assert verdict(tool=None, toolset=toolset(HASHED), listing=UNAVAILABLE) == "not_in_toolset"
    assert verdict(tool=None, toolset=toolset(NAMED), listing=UNAVAILABLE) == ALLOW


@for_each("verb", CALLS)
@for_each(
    "listing, execute_class, expected",
    [
        (KEPT, "read", LIST),  # hints of yesterday decide nothing
        (KEPT, "destructive", LIST),
        (CURRENT, "read", ALLOW),
        (CURRENT, "destructive", "wrong_execute"),
        (ANEW, "read", ALLOW),
        (ANEW, "write", "wrong_execute"),
        (UNAVAILABLE, "read", "not_listed"),
        (UNAVAILABLE, "destructive", "not_listed"),
    ],
)
def test_where_hints_decide_they_are_those_of_the_connection(
    verb: str, listing: str, execute_class: str, expected: str
) -> None:
    assert verdict(verb, listing=listing, execute_class=execute_class) == expected


@for_each("verb", [FIND, SHOW, COMPLETE])
def test_what_is_not_listed_is_not_there(verb: str) -> None:
    assert verdict(verb, tool=None) == "unknown_tool"


def test_notes_are_added_to_what_the_toolset_names_unless_its_server_has_refused_tools() -> None:
    assert verdict(ANNOTATE, tool=None) == "unknown_tool"
    assert verdict(ANNOTATE, tool=None, toolset=toolset(NAMED)) == ALLOW
    assert verdict(ANNOTATE, tool=None, toolset=toolset(OTHER)) == "unknown_tool"
    assert verdict(ANNOTATE, tool=None, toolset=toolset(NAMED), config=config(x=False)) == "unknown_tool"
    assert verdict(ANNOTATE, tool=None, toolset=toolset(NAMED), config=config(only=["t"])) == "unknown_tool"


def test_a_subject_tells_calls_and_definitions_apart() -> None:
    subject = Subject(CALL, "s", "t", TOOL, View(config()), arguments_digest="1")
    assert subject.key == "s:t"
    assert subject.pin == f"{hash_of(TOOL)};r1"
    assert subject._replace(tool=None).pin == ""
    assert subject.binding != subject._replace(arguments_digest="2").binding
