"""Which servers a request sees, and what its token lets it do there, as far as that needs no server."""

from pathlib import Path
from typing import Any

from mcpctl.base.callers import Claims
from mcpctl.base.errors import Unusable
from mcpctl.base.models import Tool
from mcpctl.config.config import Config, parsed
from mcpctl.config.policy_settings import PolicyTable, ProjectPolicyTable, in_force
from mcpctl.policy import words
from mcpctl.policy.decide import (
    ALLOW,
    ANNOTATE,
    CALL,
    COMPLETE,
    CURRENT,
    FIND,
    KEPT,
    LIST,
    REFUSE,
    RESUME,
    SHOW,
    Subject,
    decide,
)  # fmt: skip
from mcpctl.policy.tokens import Token, digest_of
from mcpctl.policy.view import UNBOUND, Access, View, access_of
from tests.table import for_each

VERBS = (FIND, SHOW, CALL, RESUME, ANNOTATE, COMPLETE)
FILE = """
[servers.free]
command = "x"
[servers.acme]
command = "x"
projects = ["acme"]
[servers.off]
command = "x"
enabled = false
projects = ["acme"]
[servers.bad]
projects = ["acme"]
[projects.acme]
"""
READS = Tool("free", "t", {"annotations": {"readOnlyHint": True}}, "{}")
CHANGES = Tool("free", "t", {"annotations": {"readOnlyHint": False}}, "{}")


def config(policy: str = "", project: str | None = None) -> Config:
    return parsed(Path("config.toml"), FILE + policy, project)


def seen(loaded: Config, claims: Claims = Claims(), *tokens: Token) -> tuple[Config, Access]:  # noqa: B008
    return access_of(loaded, claims, tokens, 10.0)


def test_without_a_policy_a_token_counts_for_nothing() -> None:
    loaded = config()
    for claims in (Claims(), Claims(token="x")):
        assert seen(loaded, claims) == (loaded, UNBOUND)


def test_requests_that_see_the_same_see_the_same_configuration() -> None:
    loaded = config("[policy]")
    token = Token("a", digest_of("t"), frozenset(("acme",)))
    for claims in (
        Claims(),
        Claims(project="acme"),
        Claims(project=""),
        Claims(project="nothing"),
        Claims("t", "acme"),
    ):
        assert seen(loaded, claims, token)[0] is seen(loaded, claims, token)[0]
    assert seen(loaded, Claims(project="nothing"))[0] is seen(loaded, Claims(project="no other"))[0]
    assert seen(loaded, Claims(of_person=True))[0] is loaded


@for_each("project", ["", "UNASSIGNED", "nothing"])
def test_entries_that_are_not_seen_have_no_problems(project: str) -> None:
    narrowed, _ = seen(config(), Claims(project=project))
    assert narrowed.problems == {}
    assert set(narrowed.elsewhere) >= {"acme", "off", "bad"}
    assert set(seen(config(), Claims(project="acme"))[0].problems) == {"bad"}


@for_each("section", ["[projects.UNASSIGNED]", '[servers.x]\ncommand = "x"\nprojects = ["UNASSIGNED"]'])
def test_no_project_can_have_the_name_of_none(section: str) -> None:
    try:
        problems = config(section).problems["x"]
    except Unusable as error:
        problems = error.message
    assert "UNASSIGNED stands for the servers without one" in problems


@for_each("verb", VERBS)
@for_each("code", ["no_token", "token_not_valid"])
def test_who_is_barred_is_told_the_same_of_everything(verb: str, code: str) -> None:
    view = View(config("[policy]"), access=Access(problem=code))
    failures = [
        decide(Subject(verb, server, name, tool, view, "read")).failure
        for server, name, tool in (("free", "t", READS), ("free", "u", None), ("off", "t", None), ("none", "t", None))
    ]
    assert {failure.code for failure in failures if failure} == {code}
    assert len({words.for_model(failure) for failure in failures if failure}) == 1
    assert code in words.DENIED


@for_each("verb", VERBS)
def test_what_is_only_recorded_is_not_refused_and_yet_said(verb: str) -> None:
    view = View(config('[policy]\nmode = "record"'), access=Access(problem="no_token", binds=False))
    verdict = decide(Subject(verb, "free", "t", READS, view, listing=CURRENT))
    assert verdict.outcome == ALLOW
    assert (verdict.failure.code if verdict.failure else None) == (None if verb == SHOW else "no_token")


@for_each("verb", [FIND, CALL, RESUME, ANNOTATE])
@for_each("tool", [READS, CHANGES])
@for_each("policy", ["[policy]", ""])
@for_each("binds", [True, False])
def test_a_read_only_token_is_for_tools_that_read(verb: str, tool: Tool, policy: str, binds: bool) -> None:
    view = View(config(policy), access=Access(Token("a", "h", read_only=True), binds=binds))
    verdict = decide(Subject(verb, "free", "t", tool, view, listing=CURRENT))
    is_refused = tool is CHANGES or verb == ANNOTATE
    assert (verdict.failure.code if verdict.failure else None) == ("token_read_only" if is_refused else None)
    assert verdict.outcome == (REFUSE if is_refused and binds else ALLOW)


@for_each("verb", [CALL, RESUME])
def test_hints_that_a_token_is_held_to_are_those_of_the_connection(verb: str) -> None:
    view = View(config(), access=Access(Token("a", "h", read_only=True)))
    assert decide(Subject(verb, "free", "t", READS, view, listing=KEPT)).outcome == LIST


# ---- a project that only a request names


@for_each(
    ("name", "base", "of_project", "expected"),
    [
        ("mode", "enforce", "off", "enforce"),
        ("mode", "record", "enforce", "enforce"),
        ("default", "ask", "allow", "ask"),
        ("default", "ask", "deny", "deny"),
        ("confirm", "always", "session", "always"),
        ("confirm", "always", "never", "never"),
        ("auto_approve_read_only", False, True, False),
        ("auto_approve_read_only", True, False, False),
        ("confirm_destructive", True, False, True),
        ("confirm_destructive", False, True, True),
    ],
)
def test_a_project_that_only_tightens_takes_nothing_back(name: str, base: Any, of_project: Any, expected: Any) -> None:
    table, own = PolicyTable(**{name: base}), ProjectPolicyTable(**{name: of_project})
    assert getattr(in_force(table, "acme", own, only_tightens=True).table, name) == expected
    assert getattr(in_force(table, "acme", own).table, name) == of_project


def test_of_a_project_that_only_tightens_what_it_allows_is_left_out() -> None:
    own = ProjectPolicyTable(allow=["*"], ask=["a:*"], deny=["d:*"])

    def rules(table: PolicyTable | None, *, only_tightens: bool) -> set[str]:
        written = in_force(table, "acme", own, only_tightens=only_tightens).rules
        return {rule.label for rule in written if rule.table[0] == "projects"}

    assert rules(PolicyTable(), only_tightens=True) == {"ask a:*", "deny d:*"}
    assert rules(PolicyTable(), only_tightens=False) == {"allow *", "ask a:*", "deny d:*"}
    # Where nothing is kept back without the project, its policy is its own.
    for table in (None, PolicyTable(mode="off")):
        assert rules(table, only_tightens=True) == {"allow *", "ask a:*", "deny d:*"}
