"""Many people of one process: what each may do and how often, whose account acts, and who did what."""

from pathlib import Path
from typing import Any

import pytest

from mcpctl.base import posix
from mcpctl.base.paths import Paths
from mcpctl.policy import rates
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.policy.tokens import every
from mcpctl.store.run import Run
from tests.conftest import Mcpctl
from tests.over_http.asgi import Web, play_web, token_of
from tests.over_http.test_front import calls, files, lines
from tests.proxy.client import write_config
from tests.proxy.in_memory import MemoryServer, tool
from tests.table import for_each


def test_a_rate_is_each_token_s_own_and_says_when_to_come_again(
    home: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_of_ann, of_ann = token_of(paths, name="ann")
    _, of_bob = token_of(paths, name="bob")
    now = [1000.0]
    monkeypatch.setattr(rates, "monotonic", lambda: now[0])

    async def scene(at: Web) -> None:
        for token, times, expected in ((of_ann, 3, [False, False, True]), (of_bob, 1, [False])):
            answers = [await at.call("files:read", token=token).whole() for _ in range(times)]
            assert [each.json["result"].get("isError", False) for each in answers] == expected
        refused = await at.call("files:read", token=of_ann).whole()
        assert (refused.status, refused.headers["retry-after"]) == (200, "60")
        assert "try again in 60 s" in refused.json["result"]["content"][0]["text"]
        now[0] += 61
        assert "isError" not in (await at.call("files:read", token=of_ann).whole()).json["result"]
        assert "isError" not in (await at.call("notes:read", token=of_ann).whole()).json["result"]

    policy = {"rate": {"files:*": "2/min"}}
    play_web(home, paths, scene, servers={"files": files, "notes": files}, policy=policy)
    refusals = [line for line in lines(paths, "decisions.made") if line["rule"].startswith("rate")]
    assert {(line["decision"], line["token_id"]) for line in refusals} == {("denied", id_of_ann)}
    assert [line["rule"] for line in refusals] == ["rate files:* 2/min"] * 2


def test_a_server_that_wants_each_person_s_own_login_is_not_called_for_many(home: Path, paths: Paths) -> None:
    async def scene(at: Web) -> None:
        older = await at.open()
        for answer in (at.call("mail:read"), older.call("mail:read")):
            text = (await answer.whole()).json["result"]["content"][0]["text"]
            assert "would act as the account of whoever runs this mcpctl" in text
        assert "isError" not in (await at.call("files:read").whole()).json["result"]
        assert at.world.servers["mail"].calls == []

    servers = {"files": files, "mail": lambda: MemoryServer(tool("read", readOnlyHint=True))}

    async def configured(at: Web) -> None:
        at.world.configure({"mail": {"require_own_login": True}}, http={"require_token": False})
        await at.world.gateway.current()
        await scene(at)

    play_web(home, paths, configured, servers=servers)
    assert {line["server"]: line["status"] for line in calls(paths)} == {"mail": "denied", "files": "ok"}


@for_each("policy", [None, {}])
def test_the_token_of_token_file_bounds_each_request_that_has_none_of_its_own(
    home: Path, paths: Paths, policy: dict[str, Any] | None
) -> None:
    (of_files, _, of_notes) = (token_of(paths, servers=[name])[1] for name in ("files", "mail", "notes"))
    names = ("files", "notes")

    async def scene(at: Web) -> None:
        older = await at.open()

        async def called(**more: Any) -> list[bool]:
            answers = [await at.call(f"{name}:read", **more).whole() for name in names]
            return ["isError" not in answer.json["result"] for answer in answers]

        assert await called() == [True, False]
        assert await called(token=of_notes) == [False, True]
        assert await called(token=of_files) == [True, False]
        if policy is not None:  # a token in _meta counts with a policy alone, as on stdio
            assert await called(meta={"token": of_notes}) == [False, True]
        assert await called() == [True, False]
        answers = [await older.call(f"{name}:read").whole() for name in names]
        assert ["isError" not in answer.json["result"] for answer in answers] == [True, False]

    sections: Any = {} if policy is None else {"policy": policy}
    play_web(home, paths, scene, token=of_files, servers=dict.fromkeys(names, files), **sections)
    assert all(line["token_id"] for line in calls(paths))


def test_who_called_what_is_counted_by_the_names_of_tokens(home: Path, paths: Paths, mcpctl: Mcpctl) -> None:
    of_ann, of_bob = (token_of(paths, name=name)[1] for name in ("ann", "bob"))

    async def scene(at: Web) -> None:
        for token in (of_ann, of_ann, of_bob, None):
            await at.call("files:read", token=token).whole()

    play_web(home, paths, scene, servers={"files": files})
    rows = mcpctl("calls", "stats", "--by", "token", "--json").json
    assert {row["token"]: row["calls"] for row in rows} == {"ann": 2, "bob": 1, None: 1}
    assert mcpctl("calls", "stats", "--by", "token", "--kind", "read", "--json").json == []


def test_every_list_says_whose_calls_those_are_and_who_answered(
    home: Path, paths: Paths, mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    id_, of_ann = token_of(paths, name="ann")

    async def scene(at: Web) -> None:
        await at.newer("tools/call", {"name": "tool_discovery", "arguments": {"query": "read"}}, token=of_ann).whole()
        await (await at.open(of_ann)).call("files:read").whole()
        await at.call("files:drop", token=of_ann).whole()

    servers = {"files": lambda: MemoryServer(tool("read", readOnlyHint=True), tool("drop", destructiveHint=True))}
    play_web(home, paths, scene, servers=servers, policy={})
    assert mcpctl("approvals", "deny", mcpctl("approvals", "ls", "--fields", "id").out.strip()).code == 0
    for command in ("calls ls", "calls ls --kind discovery", "sessions ls", "approvals ls", "policy decisions"):
        words = command.split()
        assert {row["token_id"] for row in mcpctl(*words, "--json").json} <= {id_, None}
        lines_ = mcpctl(*words, tty=True).out.splitlines()
        assert "TOKEN" in lines_[0].split(), command
        assert any("ann" in line.split() for line in lines_), command
    sessions = [row for row in mcpctl("sessions", "ls", "--json").json if row["client_name"] != "mcpctl"]
    assert {row["token_id"] for row in sessions} == {id_}
    for command, field in (("calls", "id"), ("sessions", "session_id")):
        shown = mcpctl(command, "show", mcpctl("calls", "ls", "--limit", "1", "--fields", field).out.strip()).out
        assert f"{id_} (ann)" in shown
    (approval,) = mcpctl("approvals", "ls", "--json").json
    person = posix.person()
    assert (approval["channel"], approval["person"]) == ("command", person)
    shown = mcpctl("approvals", "show").out
    assert f"Asked with the token: {id_} (ann)" in shown
    assert f"by {person}." in shown


def test_tokens_have_a_name_by_which_they_are_revoked_and_explained(
    home: Path, paths: Paths, mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_config(home, {"files": ["files"], "notes": ["notes"]})
    id_, _ = token_of(paths, name="ann", servers=["files"])
    assert [(row["id"], row["name"]) for row in mcpctl("tokens", "ls", "--json").json] == [(id_, "ann")]
    for key, decision in (("files:read", "allow"), ("notes:read", "refused")):
        assert mcpctl("policy", "explain", key, "--token", "ann", "--json").json["decision"] == decision
    assert mcpctl("policy", "explain", "files:read", "--token", "nn").code != 0
    mcpctl("tokens", "revoke", "ann")
    with PolicyFile.connect(paths) as file:
        assert [token.revoked is None for token in every(file)] == [False]
    assert mcpctl("policy", "explain", "files:read", "--token", "ann", "--json").json["code"] == "token_not_valid"


def test_a_token_for_one_project_is_for_that_where_the_request_names_none(
    home: Path, paths: Paths, mcpctl: Mcpctl
) -> None:
    lines_of_table: list[tuple[list[str], dict[str, str], set[str]]] = [
        ([], {}, {"files"}),
        (["shop"], {}, {"files", "till"}),
        (["shop"], {"projectId": "UNASSIGNED"}, {"files"}),
        (["shop"], {"projectId": "office"}, set()),
        (["shop", "office"], {}, {"files"}),
        (["shop", "office"], {"projectId": "office"}, {"files", "desk"}),
        (["gone"], {}, {"files"}),
    ]
    names = ("files", "till", "desk")

    async def scene(at: Web) -> None:
        at.world.configure({"till": {"projects": ["shop"]}, "desk": {"projects": ["office"]}}, policy={})
        await at.world.gateway.current()
        for projects, meta, seen in lines_of_table:
            id_, token = token_of(paths, projects=projects)
            for name in names:
                answer = await at.call(f"{name}:read", token=token, meta=meta).whole()
                assert ("isError" not in answer.json["result"]) == (name in seen), (projects, meta, name)
                if not meta:
                    explained = mcpctl("policy", "explain", f"{name}:read", "--token", id_, "--json").json
                    assert (explained["decision"] == "allow") == (name in seen), (projects, name)

    play_web(home, paths, scene, servers=dict.fromkeys(names, files))
    assert {line["project"] for line in calls(paths) if line["server"] == "till" and line["status"] == "ok"} == {"shop"}


def test_what_a_person_may_do_is_explained_as_over_http_with_rates_that_each_process_counts(
    home: Path, paths: Paths, mcpctl: Mcpctl
) -> None:
    servers: dict[str, dict[str, Any]] = {
        "mail": {"command": "m", "require_own_login": True},
        "files": {"command": "f"},
    }
    write_config(home, servers, policy={"rate": {"files:*": "2/min"}, "limit": {"files:*": "9/d"}})
    token_of(paths, name="ann")
    explained = mcpctl("policy", "explain", "mail:read", "--token", "ann", "--json").json
    assert (explained["decision"], explained["code"]) == ("refused", "own_login_needed")
    assert mcpctl("policy", "explain", "mail:read", "--json").json["decision"] == "ask"
    out = mcpctl("policy", "explain", "files:read", "--token", "ann").out
    line = (home / "config.toml").read_text(encoding="utf-8").splitlines().index('"files:*" = "2/min"') + 1
    assert f"rate:        files:* 2/min (config.toml:{line}): counted by each serve, for each token" in out
    assert "limit:       files:* 9/d" in out
    assert "9 of 9 left" in out


def test_doctor_and_servers_show_say_that_everybody_acts_as_one_account(
    home: Path, paths: Paths, mcpctl: Mcpctl
) -> None:
    servers: dict[str, dict[str, Any]] = {
        "mail": {"command": "mail", "env": {"TOKEN": "${MAIL_TOKEN}"}}, "files": {"command": "files"},
        "own": {"command": "own", "env": {"TOKEN": "${OWN_TOKEN}"}, "require_own_login": True},
    }  # fmt: skip
    write_config(home, servers)
    assert "everybody acts as the account" in mcpctl("servers", "show", "mail").out
    assert "are refused" in mcpctl("servers", "show", "own").out
    assert "account" not in mcpctl("servers", "show", "files").out

    def found() -> list[str]:
        return [each["subject"] for each in mcpctl("doctor", "--json").json if each["code"] == "D120"]

    run = Run(paths)
    try:
        assert found() == []
        run.listens("0.0.0.0:8080")
        assert found() == ["mail"]
    finally:
        run.close()
