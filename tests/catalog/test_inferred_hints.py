"""The hints that an HTTP method implies: who has them, which of them decide, and where they are shown."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from mcpctl.base import definitions, hints
from mcpctl.base.acting import acting_word
from mcpctl.base.models import HINTS, Overrides, Tool
from mcpctl.base.paths import Paths
from mcpctl.catalog import cache, drift, rows
from mcpctl.checks.checker import Checker
from mcpctl.config import config
from mcpctl.config.server_settings import Server
from mcpctl.dashboard import badges
from mcpctl.metatools import direct_definitions, direct_tools
from mcpctl.output.text import meaning_of
from mcpctl.policy.rules import Rules, rules_of
from mcpctl.store.state import ListKey, State
from tests.table import for_each

API = Server(openapi="shop.json").fingerprint
INFERRED = "inferred"


def defined(method: str, path: str = "/orders", name: str = "orders", **members: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {argument: {"type": "string"} for argument in members.pop("arguments", ())}
    arguments |= {"choice": members.pop("choices")} if "choices" in members else {}
    meta = {"mcpctl/http": {"method": method, "path": path}}
    return {"name": name, "inputSchema": {"type": "object", "properties": arguments}, "_meta": meta, **members}


def tool(method: str, path: str = "/orders", name: str = "orders", **members: Any) -> Tool:
    return cache.tool("shop", name, json.dumps(defined(method, path, name, **members)), is_of_api=True)


def rules(trust: str = "yes") -> Rules:
    return rules_of(
        config.parsed(Path("c.toml"), f'[policy]\n[servers.shop]\ncommand="x"\ntrust_hints="{trust}"'), None
    )


def risk(of: Tool, trust: str = "yes") -> str:
    return rules(trust).risk("shop", of)


@for_each(
    ("method", "read_only", "destructive", "idempotent", "declared_risk"),
    [
        ("GET", True, False, True, "read-only"),
        ("HEAD", True, False, True, "read-only"),
        ("PUT", False, True, True, "destructive"),
        ("DELETE", False, True, True, "destructive"),
        ("POST", False, False, False, "destructive"),
        ("PATCH", False, False, False, "destructive"),
    ],
)
def test_each_method_implies_what_the_table_says(
    method: str, read_only: bool, destructive: bool, idempotent: bool, declared_risk: str
) -> None:
    effective = hints.effective(tool(method))
    assert [effective[name].value for name in HINTS] == [read_only, destructive, idempotent, True]
    assert hints.risk(effective) == declared_risk
    sources = [effective[name].source for name in HINTS]
    assert sources == [INFERRED, "default" if method == "PUT" else INFERRED, INFERRED, "default"]


def test_only_a_server_of_this_kind_has_inferred_hints_whatever_another_sends(tmp_path: Path) -> None:
    claims = defined("GET", annotations={INFERRED: {"readOnlyHint": True}}, inferred={"readOnlyHint": True})
    claims["_meta"]["mcpctl/tags"] = ["orders"]
    others = [Server(command="openapi-x"), Server(url="https://openapi.example.com/openapi-"), Server(command="")]
    with State.opened(Paths(tmp_path / "c.toml", tmp_path)) as state:
        for fingerprint in (API, *(other.fingerprint for other in others)):
            of = ListKey("shop", fingerprint)
            cache.replace(state, of, [json.dumps(claims).encode()])
            kept, held = cache.load(state, of), cache.held(of, [json.dumps(claims).encode()])
            for listed in (kept, held):
                (made,) = listed.tools if listed else ()
                is_of_api = fingerprint == API
                assert (made.inferred is not None) == is_of_api
                assert bool(hints.snapshot(made) != b"null") == is_of_api
                assert (made.request, list(made.tags)) == (
                    (("GET", "/orders"), ["orders"]) if is_of_api else (("", ""), [])
                )
                assert hints.risk(hints.effective(made)) == ("read-only" if is_of_api else "not-declared")


def test_an_override_goes_before_a_declaration_and_that_before_the_method() -> None:
    declared = tool("DELETE", annotations={"destructiveHint": False})
    assert hints.effective(declared)["destructiveHint"] == hints.Hint(False, "declared")
    overridden = Overrides({"destructiveHint": True}, "f", own=True)
    both = Tool("shop", "t", declared.definition, "{}", overrides=overridden, inferred=declared.inferred)
    assert hints.effective(both)["destructiveHint"] == hints.Hint(True, "override")
    assert hints.effective(tool("DELETE"))["destructiveHint"] == hints.Hint(True, INFERRED)


@for_each("method", ["GET", "HEAD", "PUT", "DELETE", "POST", "PATCH"])
@for_each("trust", ["yes", "pinned", "no"])
def test_a_method_loosens_only_to_read_only_and_only_where_hints_are_trusted(method: str, trust: str) -> None:
    is_loosened = method in ("GET", "HEAD") and trust == "yes"
    silent = "not-declared" if method in ("GET", "HEAD") else "destructive"
    assert risk(tool(method), trust) == ("read-only" if is_loosened else silent)
    assert rules(trust).permission(tool(method)) == ("read" if is_loosened else "destructive")


def test_pinned_hints_do_not_make_a_method_loosen_though_they_are_approved() -> None:
    approved = replace(tool("GET"), is_approved=True)
    assert risk(approved, "pinned") == "not-declared"


@for_each(
    ("acts", "members"),
    [
        ("exec", {"name": "connectCoreV1GetNamespacedPodExec"}),
        ("delete", {"name": "users.delete"}),
        ("delete", {"path": "/users/{id}/delete"}),
        ("delete", {"path": "/users?action=delete"}),
        ("deleteuser", {"path": "/deleteuser"}),
        ("send", {"name": "mail", "title": "Send a mail"}),
        ("sends", {"name": "mail", "title": "Sends a mail"}),
        ("command", {"arguments": ["command"]}),
        ("cmd", {"arguments": ["id", "Cmd"]}),
        ("purge", {"arguments": ["purge"]}),
        ("nuke", {"path": "/a/{id}/nuke"}),
        ("rm", {"path": "/rm/{id}"}),
        ("sendmail", {"name": "sendmail"}),
        ("delete", {"choices": {"enum": ["read", "deleteAll"]}}),
        ("send", {"choices": {"type": "array", "items": {"anyOf": [{"const": "send"}]}}}),
        ("", {"choices": {"enum": ["created", "deleted", 7, None]}}),
        ("start", {"path": "/jobs/{id}/start"}),
        ("run", {"name": "jobs/run"}),
        ("", {"name": "actions/list-workflow-runs", "path": "/repos/{owner}/actions/runs/{run_id}"}),
        ("", {"name": "listDeleted", "path": "/deleted", "arguments": ["deleted_after", "send_to"]}),
        ("", {"name": "readAppsV1NamespacedDaemonSet", "path": "/apis/apps/v1/daemonsets/{delete}"}),
        ("", {"name": "posts/list", "title": "Posts of a user", "path": "/posts"}),
    ],
)
def test_a_get_that_says_that_it_acts_is_not_read_only_for_decisions(acts: str, members: dict[str, Any]) -> None:
    subject = tool("GET", **members)
    assert acting_word(subject) == acts
    assert hints.effective(subject)["readOnlyHint"] == hints.Hint(True, INFERRED)
    assert risk(subject) == ("not-declared" if acts else "read-only")
    assert rules().permission(subject) == ("destructive" if acts else "read")
    found = [finding.rule for finding in Checker([subject]).check(subject)]
    assert found == (["W508"] if acts else [])


def test_a_post_that_destroys_nothing_is_shown_so_and_counts_as_destructive() -> None:
    deletes = tool("POST", "/chat.delete", "chat.delete")
    assert hints.effective(deletes)["destructiveHint"] == hints.Hint(False, INFERRED)
    assert rules().hints("shop", deletes)["destructiveHint"] == hints.Hint(True, "default")
    assert risk(deletes) == "destructive"


@for_each("trust", ["yes", "pinned", "no"])
def test_what_a_method_tightens_counts_always(trust: str) -> None:
    assert rules(trust).hints("shop", tool("DELETE"))["destructiveHint"] == hints.Hint(True, INFERRED)
    for declared in ({}, {"readOnlyHint": True}):
        assert risk(tool("DELETE", annotations=declared), trust) == "destructive"
        assert rules(trust).permission(tool("DELETE", annotations=declared)) == "destructive"
    assert risk(tool("GET", annotations={"destructiveHint": True}), trust) == "destructive"
    assert risk(tool("POST", annotations={"readOnlyHint": True}), trust) == (
        "read-only" if trust == "yes" else "destructive"
    )


@for_each("own", [True, False])
def test_a_read_that_a_toolset_takes_for_a_write_is_destructive(own: bool) -> None:
    written = replace(tool("GET"), overrides=Overrides({"readOnlyHint": False}, "f", own))
    assert risk(written) == "destructive"
    assert hints.effective(written)["destructiveHint"] == hints.Hint(True, "default")


def test_records_and_people_are_told_that_it_was_inferred() -> None:
    known = json.loads(hints.snapshot(tool("DELETE")))
    assert known["destructiveHint"] == {"value": True, "source": INFERRED}
    assert hints.compact(known) == "rDI-"
    assert "destructive true (inferred from its HTTP method)" in hints.hint_line(hints.effective(tool("DELETE")))
    assert hints.declared(tool("POST")) == {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False}


def test_a_client_of_a_direct_tool_is_told_the_hints_that_count() -> None:
    def told(of: Tool) -> Any:
        return json.loads(direct_definitions.definition(("shop__orders", of))).get("annotations")

    assert told(tool("GET")) == {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True}
    assert told(tool("GET", "/exec")) is None
    assert told(tool("POST")) == {"readOnlyHint": False, "idempotentHint": False}
    assert told(tool("DELETE")) == {"readOnlyHint": False, "destructiveHint": True}
    assert told(tool("POST", annotations={"destructiveHint": False}))["destructiveHint"] is False


@for_each("trust", ["yes", "pinned", "no"])
def test_a_client_of_a_direct_tool_is_told_no_more_than_counts_for_its_server(tmp_path: Path, trust: str) -> None:
    folder = tmp_path / trust
    folder.mkdir()
    entry = f'[servers.shop]\nopenapi = "shop.json"\nurl = "https://api.example.com"\ntrust_hints = "{trust}"\n'
    (folder / "config.toml").write_text(entry, encoding="utf-8")
    paths = Paths(folder / "config.toml", folder / "data")
    fingerprint = config.load(paths.config).fingerprints["shop"]
    with State.opened(paths, create=True) as state:
        listed = [json.dumps(defined(method, name=method)).encode() for method in ("GET", "DELETE")]
        cache.replace(state, ListKey("shop", fingerprint), listed)
    with rows.catalog(paths) as catalog:
        shown, _ = direct_tools.of_command(paths, catalog, ["all"])
        told = {
            tool.name: json.loads(direct_definitions.definition((n, tool))).get("annotations")
            for n, tool in shown.named
        }
    assert (told["GET"] is not None) == (trust == "yes")
    assert told["DELETE"] == {"readOnlyHint": False, "destructiveHint": True}


def test_a_tool_that_sends_another_request_is_another_tool() -> None:
    before, after = tool("GET"), tool("DELETE")
    assert definitions.pin_of(before) != definitions.pin_of(after)
    changes = list(drift.of_tool(before, after, lambda _: ()))
    assert [change.rule for change in changes] == ["W807"]
    assert "GET /orders and is DELETE /orders" in changes[0].message
    of_others = [cache.tool("s", "orders", json.dumps(defined(method))) for method in ("GET", "DELETE")]
    assert len(set(map(definitions.pin_of, of_others))) == 1


@for_each("meta", [None, [], {}, {"mcpctl/http": None}, {"mcpctl/http": {"method": ["GET"]}}])
def test_a_definition_without_a_method_implies_nothing(meta: Any) -> None:
    made = cache.tool("shop", "t", msgspec.json.encode({"name": "t", "_meta": meta}).decode(), is_of_api=True)
    assert (made.inferred, made.request) == ({}, ("", ""))
    assert hints.risk(hints.effective(made)) == "not-declared"


@for_each(
    ("method", "field", "meaning"),
    [
        ("POST", "destructive", "nothing says that it destroys, but nobody promises that it does not"),
        ("PATCH", "destructive", "nothing says that it destroys, but nobody promises that it does not"),
        ("GET", "read_only", "it should change nothing, but nobody promises that"),
        ("PUT", "idempotent", "repeating it should change nothing more, but nobody promises that"),
        ("DELETE", "destructive", "it may destroy or overwrite"),
    ],
)
def test_nothing_is_promised_that_only_a_method_says(method: str, field: str, meaning: str) -> None:
    hint = hints.effective(tool(method))[rows.HINT_FIELDS[field]]
    assert meaning_of(field, {"effective": hint.value, "source": hint.source}) == meaning
    texts = " ".join(badge.title for badge in badges.badges(json.loads(hints.snapshot(tool(method)))))
    assert ("Nobody said whether this tool destroys" in texts) == (method in ("POST", "PATCH", "PUT"))
