"""Calls that need consent are asked about in the client's own way, answered once, and sent only as the user agreed."""

import asyncio
import json
import os
import shlex
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.errors import Unusable
from mcpctl.base.paths import Paths
from mcpctl.dashboard.running import claimed
from mcpctl.policy import approvals
from mcpctl.policy.approvals import CallApproval, Grant
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.proxy import consent, consent_forms, memory, questions
from mcpctl.proxy.memory import PolicyMemory
from mcpctl.store.state import StateError
from tests.proxy.client import INFO, LATEST, MODERN, journal_lines
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryClient, MemoryConnection, MemoryServer, Scene, World, play, text_of, tool

pytestmark = BOTH

Play = Callable[..., None]
ELICITATION: dict[str, Any] = {"elicitation": {}}
ERAS = pytest.mark.parametrize("revision", [LATEST, MODERN])
DELETE = "files:delete"


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    """Plays a scene with servers in memory."""

    def begin(played: Scene, **servers: Callable[[], MemoryServer]) -> None:
        play(home, paths, played, **{"files": files, **servers})

    return begin


@pytest.fixture(autouse=True)
def answers_of_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer is so quick that nobody can have given it."""
    monkeypatch.setattr(consent_forms, "BY_ITSELF_MS", 0)
    monkeypatch.setattr(consent_forms, "_FILLED_MS", 0)


def files() -> MemoryServer:
    return MemoryServer(
        tool("read", readOnlyHint=True),
        tool("delete", readOnlyHint=False, destructiveHint=True),
        tool("put", readOnlyHint=False, destructiveHint=True, idempotentHint=True),
    )


def began(world: World, **policy: Any) -> MemoryServer:
    world.configure(policy=policy)
    world.begin()
    return world.servers["files"]


class Person:
    """A client that can be asked, and the answers that come from there."""

    def __init__(self, client: MemoryClient) -> None:
        self.client = client
        self.forms: list[dict[str, Any]] = []

    async def call(
        self, answer: Mapping[str, Any] | None, key: str = DELETE, arguments: Mapping[str, Any] | None = None
    ) -> str:
        """The text that a call is answered with, where its question is answered so; None for one that is not asked."""
        answering = self.client.start_call(key, arguments)
        if answer is None:
            return text_of(await answering)
        if self.client.revision == MODERN:
            result = (await answering)["result"]
            return text_of(await self.again(result, answer, key, arguments))
        question = await self.client.questions.get()
        self.forms.append(question["params"])
        self.client.send(id=question["id"], **answer)
        return text_of(await answering)

    def again(
        self, result: Mapping[str, Any], answer: Mapping[str, Any], key: str, arguments: Mapping[str, Any] | None
    ) -> "asyncio.Future[dict[str, Any]]":
        ((name, asked),) = result["inputRequests"].items()
        self.forms.append(asked["params"])
        responses = {name: answer.get("result", answer)}
        return self.client.start_call(key, arguments, requestState=result["requestState"], inputResponses=responses)


async def person(world: World, revision: str = LATEST, **capabilities: Any) -> Person:
    return Person(await world.client(revision, capabilities or ELICITATION))


def said(choice: Any) -> dict[str, Any]:
    return {"result": {"action": "accept", "content": {"answer": choice}}}


YES, NO, SESSION = said("once"), said("no"), said("session")
DECLINED = {"result": {"action": "decline"}}
DISMISSED = {"result": {"action": "cancel"}}


def decisions(home: Path) -> list[str]:
    """The decisions, by whom, for how long, in order."""
    made = [line for line in journal_lines(home) if line["type"] == "decisions.made"]
    return [" ".join(filter(None, (each["decision"], each["channel"], each["scope"]))) for each in made]


def kept(paths: Paths) -> list[CallApproval]:
    with PolicyFile.connect(paths) as file:
        return list(approvals.listed(file))


def answered(paths: Paths, scope: str | None, **more: Any) -> None:
    """Somebody answers the newest approval in a terminal."""
    with PolicyFile.connect(paths) as file:
        newest = approvals.listed(file)[0]
        assert approvals.answer(file, newest.id, scope=scope, channel="terminal", **more)


# ---- what clients answer


@ERAS
def test_a_yes_lets_the_call_through_once(revision: str, scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        server, asked = began(world), await person(world, revision)
        assert await asked.call(YES, arguments={"path": "/x"}) == '{"path": "/x"}'
        assert len(server.calls) == 1
        assert set(server.calls[0]) <= {"name", "arguments", "_meta"}
        assert await asked.call(YES, arguments={"path": "/x"}) == '{"path": "/x"}'
        assert len(asked.forms) == 2

    scene(played)
    assert decisions(home) == ["asked client", "approved client once"] * 2
    (first, *_) = [line for line in journal_lines(home) if line["type"] == "decisions.made"]
    assert first["rule"] == "confirm_destructive @destructive"
    assert first["rule_place"] == "built in"
    assert first["key"] == DELETE
    assert len(first["arguments_hash"]) == 64
    assert first["pin"].startswith("sha256/v2:")


@ERAS
def test_the_form_is_one_required_choice_that_nobody_has_made(revision: str, scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        began(world)
        asked = await person(world, revision)
        await asked.call(YES, arguments={"path": "a\u202eb\x1b[2J", "password": "hunter22"})
        (form,) = asked.forms
        assert form["requestedSchema"] == {
            "type": "object",
            "properties": {
                "answer": {
                    "type": "string",
                    "title": "May it be called?",
                    "enum": ["no", "once", "session"],
                    "enumNames": ["No", "Yes, this call", "Yes, all calls of this tool until the session ends"],
                }
            },
            "required": ["answer"],
        }
        lines = form["message"].splitlines()
        (kept_one,) = kept(paths)
        assert lines[:-1] == [
            f"tester (session {kept_one.session[:8]}) wants to call files:delete.",
            "It may make changes that cannot be undone (destructive, as its server declares).",
            "Its arguments:",
            "  | path: a\\u202eb\\x1b[2J",
            "  | password: hunter22",
            "Warning: the checks find in them: the hidden character U+202E.",
            "Warning: in them, 1 value looks like a secret.",
            "Asked by the rule: confirm_destructive @destructive, built in",
        ]
        assert lines[-1].startswith("It can be answered until ")
        assert lines[-1].endswith(f"mcpctl approvals show {kept_one.id}")

    scene(played)


NO_YES: tuple[dict[str, Any], ...] = (
    DECLINED, {"result": {"action": "cancel"}}, {"result": {"action": "accept"}},
    {"result": {"action": "accept", "content": {}}}, said(True), said("yes"), said(["once"]), said("always"),
    {"result": {"action": "decline", "content": {"answer": "once"}}}, {"result": {}},
    {"result": {"action": "accept", "content": {"confirm": True}}},
)  # fmt: skip


@ERAS
@pytest.mark.slow
def test_what_is_no_yes_of_a_person_leaves_it_open_elsewhere(
    revision: str, scene: Play, paths: Paths, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consent_forms, "BY_ITSELF_MS", 3_600_000)

    async def played(world: World) -> None:
        server = began(world)
        for number, answer in enumerate(NO_YES):
            asked, arguments = await person(world, revision), {"number": number}
            text = await asked.call(answer, arguments=arguments)
            approval = kept(paths)[0]
            assert text.splitlines()[0].startswith(
                f"mcpctl: not run yet: files:delete may make changes that cannot be undone and needs the user's"
                f" consent (approval {approval.id},"
                " which can be answered until "
            ), answer
            assert text.splitlines()[1:] == [
                f"Ask the user to answer in a terminal of their own: mcpctl approvals show {approval.id}. Do not run"
                " that command yourself, and do not call another tool instead.",
                "When the user says it is approved, call the tool again with the same arguments.",
            ]
            assert (approval.state, len(kept(paths))) == ("pending", 2 * number + 1), answer
            assert await asked.call(None, arguments=arguments) == text, "it is asked about once"
            answered(paths, "once")
            assert json.loads(await asked.call(None, arguments=arguments)) == arguments
            assert len(server.calls) == number + 1
            again = await asked.call(None, arguments=arguments)
            assert "not run yet" in again, "nor again for the same call in this session"

    scene(played)
    made = ["asked client", "unanswerable client", "unanswerable asked", "allowed terminal once", "unanswerable asked"]
    assert decisions(home) == made * len(NO_YES)


def test_an_error_is_no_answer(scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        server, asked = began(world), await person(world)
        assert "not run yet" in await asked.call({"error": {"code": -32600, "message": "no window"}})
        assert (server.calls, kept(paths)[0].state) == ([], "pending")

    scene(played)


@ERAS
def test_a_no_that_nobody_can_have_given_leaves_it_open(
    revision: str, scene: Play, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consent_forms, "_FILLED_MS", 3_600_000)

    async def played(world: World) -> None:
        began(world)
        asked = await person(world, revision)
        assert "not run yet" in await asked.call(NO)
        assert kept(paths)[0].state == "pending"
        assert await asked.call(YES, arguments={"a": 1}) == '{"a": 1}', "but a yes counts"

    scene(played)


@ERAS
@pytest.mark.parametrize("answer", [NO, DECLINED])
def test_a_no_is_for_this_call_and_the_next_one_is_asked_about_anew(
    answer: dict[str, Any], revision: str, scene: Play, paths: Paths, home: Path
) -> None:
    async def played(world: World) -> None:
        server, asked = began(world), await person(world, revision)
        said_no = "mcpctl: tool 'files:delete' was not run: the user said no; do not retry it"
        assert await asked.call(answer) == said_no
        assert [each.state for each in kept(paths)] == ["denied"]
        assert await asked.call(YES) == "{}"
        assert len(asked.forms) == 2
        assert len(server.calls) == 1

    scene(played)
    assert decisions(home) == ["asked client", "declined client", "asked client", "approved client once"]
    made = [line for line in journal_lines(home) if line["type"] == "decisions.made"]
    assert [line["waited_ms"] is None for line in made] == [True, False, True, False]


@ERAS
def test_three_forms_are_open_and_ten_shown_a_minute(revision: str, scene: Play, paths: Paths, home: Path) -> None:
    async def played(world: World) -> None:
        began(world)
        asked = await person(world, revision)
        calls = [asked.client.start_call(DELETE, {"n": n}) for n in range(20)]
        refused = [text_of(await call) for call in calls[3:]]
        assert all("not run yet" in text for text in refused)
        assert len(kept(paths)) == 20
        results = [(await call)["result"] for call in calls[:3]] if revision == MODERN else []
        for n in range(3):
            if revision == MODERN:
                assert text_of(await asked.again(results[n], YES, DELETE, {"n": n})) == f'{{"n": {n}}}'
            else:
                question = await asked.client.questions.get()
                asked.client.send(id=question["id"], **YES)
        if revision != MODERN:
            assert sorted([text_of(await call) for call in calls[:3]]) == [f'{{"n": {n}}}' for n in range(3)]
        for n in range(20, 27):
            assert await asked.call(YES, arguments={"n": n}) == f'{{"n": {n}}}'
        assert "not run yet" in await asked.call(None, arguments={"n": 27})

    scene(played)
    assert decisions(home).count("asked client") == 10
    assert decisions(home).count("unanswerable limit") == 18


def busy(_: PolicyFile) -> Any:
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    raise StateError(error)


@pytest.mark.parametrize("is_held", [False, True])
def test_a_yes_with_an_end_holds_until_then(
    is_held: bool, scene: Play, paths: Paths, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def played(world: World) -> None:
        began(world)
        asked = await person(world)
        await asked.call(DISMISSED)
        now = time.time()
        grant = kept(paths)[0].grant._replace(session="")
        answered(paths, "always", grant=grant, until=now + 3600)
        assert await asked.call(None, arguments={"n": 1}) == '{"n": 1}'
        with monkeypatch.context() as later:
            later.setattr(time, "time", lambda: now + 3601)
            if is_held:
                later.setattr(PolicyFile, "version", property(busy))
            assert "said no" in await asked.call(NO, arguments={"n": 2})

    scene(played)
    assert "allowed grant always" in decisions(home)


def test_a_no_waited_since_its_own_client_was_asked(scene: Play, paths: Paths, home: Path) -> None:
    async def played(world: World) -> None:
        began(world)
        first, second = await person(world), await person(world)
        await first.call(DISMISSED)
        with PolicyFile.connect(paths) as file:
            file.db.execute("UPDATE approvals SET created = created - 90")
        assert "said no" in await second.call(NO)

    scene(played)
    (declined,) = [line for line in journal_lines(home) if line.get("decision") == "declined"]
    assert declined["waited_ms"] < 60_000


def test_a_refusal_names_the_dashboard_where_one_runs(scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        began(world)
        client = await world.client(LATEST, {})
        assert "dashboard" not in await client.call(DELETE)
        with claimed(paths) as claim:
            assert claim
            claim.publish(4711, read_only=False)
            assert "or in the dashboard at http://127.0.0.1:4711/approvals" in await client.call(DELETE)

    scene(played)


@ERAS
def test_what_is_long_is_shown_in_part_and_searched_whole(revision: str, scene: Play, paths: Paths, home: Path) -> None:
    harmless = "all is well here\n" * 500
    arguments = {"content": f"{harmless}rm -rf ~/ # \u202e{harmless}the end", "token": "hunter2222"}

    async def played(world: World) -> None:
        began(world)
        asked = await person(world, revision)
        assert "was not run" in await asked.call(NO, arguments=arguments)
        (form,) = asked.forms
        assert form["requestedSchema"]["properties"]["answer"]["enum"] == ["no", "once"]
        message = form["message"]
        assert "  | content: 1,001 lines, " in message
        assert "  … 986 lines not shown …" in message
        assert "the end" in message
        assert "hunter2222" in message
        assert "'rm -rf ~/" in message.split("Warning: the checks find in them: ")[1]
        assert f"mcpctl approvals show --full {kept(paths)[0].id}" in message
        assert len(message) < 4000

    scene(played)
    assert b"hunter2222" not in paths.policy.read_bytes()
    assert all("hunter2222" not in str(line) for line in journal_lines(home))


@ERAS
def test_what_waits_elsewhere_is_kept_whole_until_it_is_answered(revision: str, scene: Play, paths: Paths) -> None:
    arguments = {"content": "x" * 5000 + "tail", "password": "hunter2222"}

    async def played(world: World) -> None:
        began(world)
        client = await world.client(revision, {})
        await client.call(DELETE, arguments)
        with PolicyFile.connect(paths) as file:
            (whole,) = approvals.listed(file, whole=True)
            assert whole.whole
            assert "tail" in whole.whole
            assert "hunter2222" not in whole.whole
            assert (whole.hidden, whole.left_out) == (1, 0)
            assert len(whole.arguments) < 2200
            assert approvals.answer(file, whole.id, scope=None, channel="terminal")
            assert approvals.find(file, whole.id).whole is None
        await client.call(DELETE, arguments)
        with PolicyFile.connect(paths) as file:
            file.db.execute("UPDATE approvals SET expires = 1")
            approvals.forget_expired(file)
            assert [each.whole for each in approvals.listed(file, whole=True)] == [None, None]

    scene(played)


@ERAS
def test_a_yes_for_the_session_holds_until_it_ends(revision: str, scene: Play, paths: Paths, home: Path) -> None:
    async def played(world: World) -> None:
        began(world)
        asked = await person(world, revision)
        assert await asked.call(SESSION, arguments={"n": 1}) == '{"n": 1}'
        assert await asked.call(None, arguments={"n": 2}) == '{"n": 2}'
        other = await person(world, revision)
        assert await other.call(YES) == "{}", "another session is asked"

    scene(played)
    assert decisions(home)[:3] == ["asked client", "approved client session", "allowed grant session"]
    with PolicyFile.connect(paths) as file:
        assert file.db.execute("SELECT count(*) FROM grants").fetchone() == (0,)


@ERAS
def test_a_yes_for_the_session_is_for_the_session_that_gave_it(revision: str, scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        server = began(world)
        first, second = await person(world, revision), await person(world, revision)
        await first.call(DISMISSED, arguments={"n": 1})
        assert await second.call(SESSION, arguments={"n": 1}) == '{"n": 1}'
        assert await second.call(None, arguments={"n": 2}) == '{"n": 2}'
        assert "not run yet" in await first.call(DISMISSED, arguments={"n": 2})
        with PolicyFile.connect(paths) as file:
            (approval,) = [each for each in approvals.listed(file) if each.scope == "session"]
            approvals.withdraw(file, approval, channel="terminal", person="")
        assert "not run yet" in await second.call(DISMISSED, arguments={"n": 3})
        assert len(server.calls) == 2

    scene(played)


@ERAS
@pytest.mark.parametrize("capabilities", [{}, {"sampling": {}}, {"elicitation": {"url": {}}}, {"elicitation": None}])
def test_a_client_without_forms_is_told_what_the_user_can_do(
    revision: str, capabilities: dict[str, Any], scene: Play, paths: Paths
) -> None:
    async def played(world: World) -> None:
        server = began(world)
        client = await world.client(revision, capabilities)
        assert "not run yet: files:delete may make changes that cannot be undone" in await client.call(DELETE)
        answered(paths, "once")
        assert await client.call(DELETE) == "{}"
        assert "not run yet" in await client.call(DELETE), "a yes is used once"
        assert len(server.calls) == 1

    scene(played)


def test_form_is_what_elicitation_with_modes_must_have(scene: Play) -> None:
    async def played(world: World) -> None:
        began(world)
        asked = await person(world, LATEST, elicitation={"form": {}, "url": {}})
        assert await asked.call(YES) == "{}"

    scene(played)


# ---- waiting


def test_who_does_not_answer_in_time_may_answer_later(scene: Play, paths: Paths, home: Path) -> None:
    async def played(world: World) -> None:
        server = began(world, confirm_wait_s=0.05)
        asked = await person(world)
        assert "not run yet" in await asked.call(None, arguments={"n": 1})
        question = await asked.client.questions.get()
        assert question["method"] == "elicitation/create"
        asked.client.send(id=question["id"], **YES)
        while kept(paths)[0].state == "pending":
            await asyncio.sleep(0.005)
        assert server.calls == [], "an answer that comes late sends nothing"
        assert await asked.call(None, arguments={"n": 1}) == '{"n": 1}'

    scene(played)
    assert decisions(home) == ["asked client", "expired client", "approved client once", "allowed client once"]


def test_a_no_that_comes_late_is_on_record(scene: Play, home: Path, paths: Paths) -> None:
    async def played(world: World) -> None:
        began(world, confirm_wait_s=0.05)
        asked = await person(world)
        assert "not run yet" in await asked.call(None)
        asked.client.send(id=(await asked.client.questions.get())["id"], **NO)
        while kept(paths)[0].state != "denied":
            await asked.client.call("files:read")
        await asked.client.call("files:read")

    scene(played)
    assert decisions(home) == ["asked client", "expired client", "declined client"]


def test_the_time_of_people_is_not_that_of_the_server(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure({"files": {"call_timeout_s": 0.2}}, policy={})
        world.begin()
        asked = await person(world)
        answering = asked.client.start_call(DELETE)
        question = await asked.client.questions.get()
        await asyncio.sleep(0.3)  # the time itself is what is tested
        asked.client.send(id=question["id"], **YES)
        assert text_of(await answering) == "{}"

    scene(played)


def test_a_terminal_answers_while_the_client_is_asked(scene: Play, paths: Paths, home: Path) -> None:
    async def played(world: World) -> None:
        began(world)
        asked = await person(world)
        for scope, expected in (("once", "{}"), (None, "the user said no"), ("session", "{}")):
            answering = asked.client.start_call(DELETE, {} if scope != "session" else {"n": 1})
            question = await asked.client.questions.get()
            grant = kept(paths)[0].grant if scope == "session" else None
            answered(paths, scope, grant=grant)
            assert expected in text_of(await answering) or scope == "session"
            withdrawn = await asked.client.questions.get()
            assert withdrawn["method"] == "notifications/cancelled"
            assert withdrawn["params"]["requestId"] == question["id"]
            asked.client.send(id=question["id"], **YES)  # too late: nobody is asked any more
            with PolicyFile.connect(paths) as file:
                file.db.execute("DELETE FROM approvals")

    scene(played)


def test_a_no_counts_as_long_as_the_call_has_not_been_made(scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        server, asked = began(world), await person(world)
        answering = asked.client.start_call(DELETE)
        question = await asked.client.questions.get()
        answered(paths, "once")
        asked.client.send(id=question["id"], **NO)
        assert "the user said no" in text_of(await answering)
        assert "not run yet" in await asked.call(DISMISSED, arguments={"n": 1})
        answered(paths, "once")
        answered(paths, None)
        assert "the user said no" in await asked.call(NO, arguments={"n": 1}), "it is asked about anew"
        assert server.calls == []

    scene(played)


def test_progress_is_told_while_the_user_is_asked(scene: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consent, "_LOOK_S", 0.01)
    monkeypatch.setattr(consent, "_PROGRESS_S", 0.0)

    async def played(world: World) -> None:
        began(world)
        asked = await person(world)
        answering = asked.client.start_call(DELETE, _meta={"progressToken": "p"})
        question = await asked.client.questions.get()
        told = [(await asked.client.questions.get())["params"] for _ in range(2)]
        assert [each["progress"] for each in told] == [0.001, 0.002]
        assert told[0]["progressToken"] == "p"
        asked.client.send(id=question["id"], **YES)
        assert text_of(await answering) == "{}"

    scene(played)


def test_a_call_that_is_taken_back_is_asked_about_no_more(scene: Play) -> None:
    async def played(world: World) -> None:
        server, asked = began(world), await person(world)
        asked.client.start_call(DELETE, id=7)
        question = await asked.client.questions.get()
        asked.client.send(method="notifications/cancelled", params={"requestId": 7})
        withdrawn = await asked.client.questions.get()
        assert withdrawn["params"]["requestId"] == question["id"]
        asked.client.send(id=question["id"], **YES)
        assert await asked.call(YES, arguments={"n": 1}) == '{"n": 1}'
        assert len(server.calls) == 1

    scene(played)


def test_no_server_takes_the_question_away(scene: Play) -> None:
    async def asks_without_end(connection: MemoryConnection, _: dict[str, Any]) -> dict[str, Any]:
        asked = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
        for number in range(questions.MOST_OPEN + 9):
            connection.answers[f"x{number}"] = asyncio.get_running_loop().create_future()
            connection.say(id=f"x{number}", method="elicitation/create", params=asked)
        return {"content": []}

    async def played(world: World) -> None:
        world.configure(policy={"allow": ["asks:*"], "confirm_destructive": False, "ask": [DELETE]})
        world.begin()
        asked = await person(world)
        answering = asked.client.start_call(DELETE)
        question = await asked.client.questions.get()
        await asked.client.call("asks:ask")
        asked.client.send(id=question["id"], **YES)
        assert text_of(await answering) == "{}"

    scene(played, asks=lambda: MemoryServer(tool("ask"), answer=asks_without_end))


# ---- what the yes is bound to


def test_other_arguments_need_a_yes_of_their_own(scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        server = began(world)
        client = await world.client()
        await client.call(DELETE, {"amount": 1, "to": "a"})
        answered(paths, "once")
        for other in ({"amount": 1000, "to": "a"}, {"amount": 1.0, "to": "a"}, {"amount": "1", "to": "a"}, {}):
            assert "not run yet" in await client.call(DELETE, other)
        assert await client.call(DELETE, {"to": "a", "amount": 1}) == '{"to": "a", "amount": 1}', "order is nothing"
        assert len(server.calls) == 1

    scene(played)


def test_a_retry_with_other_arguments_gains_nothing(scene: Play) -> None:
    async def played(world: World) -> None:
        server, asked = began(world), await person(world, MODERN)
        parked = (await asked.client.start_call(DELETE, {"n": 1}))["result"]
        other = await asked.again(parked, YES, DELETE, {"n": 2})
        assert "is not open" in text_of(other)
        for key in ("files:put", "files:DELETE"):
            assert "is not open" in text_of(await asked.again(parked, YES, key, {"n": 1}))
        assert server.calls == []
        assert text_of(await asked.again(parked, YES, DELETE, {"n": 1})) == '{"n": 1}'
        assert "is not open" in text_of(await asked.again(parked, YES, DELETE, {"n": 1})), "once"
        assert len(server.calls) == 1

    scene(played)


def test_a_no_is_a_no_though_another_yes_holds_meanwhile(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        server, asked = began(world), await person(world, MODERN)
        first = (await asked.client.start_call(DELETE, {"n": 1}))["result"]
        second = (await asked.client.start_call(DELETE, {"n": 2}))["result"]
        assert text_of(await asked.again(first, SESSION, DELETE, {"n": 1})) == '{"n": 1}'
        assert "the user said no" in text_of(await asked.again(second, NO, DELETE, {"n": 2}))
        assert [call["arguments"] for call in server.calls] == [{"n": 1}]
        third = await asked.client.call(DELETE, {"n": 2})
        assert third == '{"n": 2}', "the yes to all calls holds"

    scene(played)


def test_a_yes_that_is_not_needed_any_more_is_heard(scene: Play) -> None:
    async def played(world: World) -> None:
        server, asked = began(world), await person(world, MODERN)
        parked = (await asked.client.start_call(DELETE, {"n": 1}))["result"]
        world.configure(policy={"allow": [DELETE]})
        assert text_of(await asked.again(parked, YES, DELETE, {"n": 1})) == '{"n": 1}'
        assert len(server.calls) == 1

    scene(played)


@pytest.mark.parametrize("answer", [NO, YES])
def test_an_answer_for_a_call_that_is_denied_meanwhile_is_heard(
    answer: dict[str, Any], scene: Play, paths: Paths
) -> None:
    async def played(world: World) -> None:
        server, asked = began(world), await person(world, MODERN)
        parked = [(await asked.client.start_call(DELETE, {"n": n}))["result"] for n in range(3)]
        world.configure(policy={"deny": [DELETE]})
        for n, each in enumerate(parked):
            refusal = text_of(await asked.again(each, answer, DELETE, {"n": n}))
            assert ("the user said no" if answer is NO else "denied by the user's policy") in refusal
        assert {each.state for each in kept(paths)} == {"denied" if answer is NO else "allowed"}
        assert await asked.call(YES, "files:put") == "{}", "the client may be asked again"
        assert len(server.calls) == 1

    scene(played)


def test_a_call_that_is_taken_back_uses_up_no_yes(scene: Play, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    async def played(world: World) -> None:
        server, client = began(world), await world.client()
        assert "not run yet" in await client.call(DELETE)
        answered(paths, "once")
        run, was_taken_back = world.gateway.policy.run, asyncio.Event()

        async def taken_back(work: Callable[[PolicyFile], Any]) -> Any:
            found = await run(work)
            if kept(paths)[0].state != "allowed":  # other work may come before
                client.send(method="notifications/cancelled", params={"requestId": 50})
                await client.delivered()
                was_taken_back.set()
            return found

        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(world.gateway.policy, "run", taken_back)
            client.start_call(DELETE, id=50)
            await was_taken_back.wait()
        while kept(paths)[0].state != "allowed":
            await asyncio.sleep(0.005)
        assert await client.call(DELETE) == "{}"
        assert "not run yet" in await client.call(DELETE)
        assert len(server.calls) == 1

    scene(played)


@ERAS
def test_a_definition_that_changes_meanwhile_is_asked_about_anew(revision: str, scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure(policy={"on_change": "allow"})
        world.begin()
        server, asked = world.servers["files"], await person(world, revision)
        answering = asked.client.start_call(DELETE)
        if revision == MODERN:
            result = (await answering)["result"]
        else:
            question = await asked.client.questions.get()
        server.tools[1] = {**server.tools[1], "description": "Deletes all."}
        await world.gateway.refresh(["files"], asked.client.session.caller)
        if revision == MODERN:
            second = (await asked.again(result, YES, DELETE, None))["result"]
            assert second["resultType"] == "input_required"
        else:
            asked.client.send(id=question["id"], **YES)
            second = await asked.client.questions.get()
            assert second["method"] == "elicitation/create"
        assert server.calls == []

    scene(played)


@ERAS
def test_a_definition_that_changes_while_the_yes_is_kept_is_asked_about_anew(revision: str, scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure(policy={"on_change": "allow"})
        world.begin()
        server, asked = world.servers["files"], await person(world, revision)
        run = world.gateway.policy.run

        async def changing(work: Any) -> Any:
            done = await run(work)
            if getattr(work, "func", None) is approvals.answer:
                server.tools[1] = {**server.tools[1], "description": "Deletes all."}
                await world.gateway.refresh(["files"], asked.client.session.caller)
            return done

        world.gateway.policy.run = changing  # type: ignore[method-assign]
        answering = asked.client.start_call(DELETE)
        if revision == MODERN:
            again = await asked.again((await answering)["result"], YES, DELETE, None)
            assert again["result"]["resultType"] == "input_required"
        else:
            asked.client.send(id=(await asked.client.questions.get())["id"], **YES)
            assert (await asked.client.questions.get())["method"] == "elicitation/create"
        assert server.calls == []

    scene(played)


async def in_rounds_of_results(_: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
    """Ask for input by the result, once."""
    if "inputResponses" in params:
        return {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}
    asked = {"message": "How many?", "requestedSchema": {"type": "object", "properties": {}}}
    requests = {"q": {"method": "elicitation/create", "params": asked}}
    return {"resultType": "input_required", "requestState": "s", "inputRequests": requests}


@ERAS
def test_a_definition_that_changes_between_rounds_is_asked_about_anew(revision: str, scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure(policy={"on_change": "allow"})
        world.begin()
        server, asked = world.servers["asks"], await person(world, revision)
        answer = {"action": "accept", "content": {}}
        answering = asked.client.start_call("asks:ask")
        if revision == MODERN:
            parked = await asked.again((await answering)["result"], YES, "asks:ask", None)
        else:
            asked.client.send(id=(await asked.client.questions.get())["id"], **YES)
            question = await asked.client.questions.get()
        server.tools[0] = {**server.tools[0], "description": "Asks for more."}
        await world.gateway.refresh(["asks"], asked.client.session.caller)
        if revision == MODERN:
            asked_anew = (await asked.again(parked["result"], answer, "asks:ask", None))["result"]["inputRequests"]
            assert "wants to call asks:ask." in json.dumps(asked_anew)
        else:
            asked.client.send(id=question["id"], result=answer)
            assert "wants to call asks:ask." in (await asked.client.questions.get())["params"]["message"]
        assert len(server.calls) == 1

    scene(played, asks=lambda: MemoryServer(tool("ask"), answer=in_rounds_of_results, modern=True))


def test_the_form_says_what_a_definition_that_has_changed_may_do_now(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure(policy={"ask": ["harmless:*"], "on_change": "allow"})
        world.begin()
        server, asked = world.servers["harmless"], await person(world)
        asked.client.start_call("harmless:x")
        question = await asked.client.questions.get()
        assert (
            "It changes things, and destroys nothing (changing, as its server declares)."
            in question["params"]["message"]
        )
        server.tools[0] = tool("x", readOnlyHint=False, destructiveHint=True)
        await world.gateway.refresh(["harmless"], asked.client.session.caller)
        asked.client.send(id=question["id"], **YES)
        assert (
            "It may make changes that cannot be undone (destructive, as its server declares)."
            in (await asked.client.questions.get())["params"]["message"]
        )

    scene(played, harmless=lambda: MemoryServer(tool("x", readOnlyHint=False, destructiveHint=False)))


@ERAS
def test_what_the_file_denies_meanwhile_is_not_sent(revision: str, scene: Play) -> None:
    async def played(world: World) -> None:
        server, asked = began(world), await person(world, revision)
        answering = asked.client.start_call(DELETE)
        if revision == MODERN:
            result = (await answering)["result"]
        else:
            question = await asked.client.questions.get()
        world.configure(policy={"deny": [DELETE]})
        if revision == MODERN:
            answering = asked.again(result, YES, DELETE, None)
        else:
            asked.client.send(id=question["id"], **YES)
        assert "denied by the user's policy" in text_of(await answering)
        assert server.calls == []

    scene(played)


def test_a_yes_to_one_call_is_for_the_session_that_was_asked_about_it(scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        server = began(world)
        one, two = await world.client(), await world.client()
        assert "not run yet" in await one.call(DELETE)
        answered(paths, "once")
        assert "not run yet" in await two.call(DELETE)
        assert server.calls == []
        assert len(kept(paths)) == 2
        assert await one.call(DELETE) == "{}"
        assert "not run yet" in await two.call(DELETE)
        assert len(server.calls) == 1

    scene(played)


def test_two_equal_calls_of_a_session_share_one_yes_and_one_of_them_runs(scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        server = began(world)
        client = await world.client()
        assert "not run yet" in await client.call(DELETE)
        assert "not run yet" in await client.call(DELETE)
        assert len(kept(paths)) == 1
        answered(paths, "once")
        answers = await asyncio.gather(client.call(DELETE), client.call(DELETE))
        assert sorted(answer.startswith("mcpctl: not run yet") for answer in answers) == [False, True]
        assert len(server.calls) == 1

    scene(played)


PARENT, GRANDPARENT = os.getppid(), 7


def expected(paths: Paths, *, client: str = "claude-code", process: int = PARENT) -> approvals.CallApproval:
    """The approval that a hook leaves which had a client ask by itself about the call of the first approval."""
    with PolicyFile.connect(paths) as file:
        first = approvals.listed(file)[-1]
        of_no_session = first.grant._replace(session="")
        wanted = approvals.CallApproval(
            approvals.binding_of(of_no_session, first.arguments_hash), *of_no_session, first.risk, first.hints,
            first.arguments, first.arguments_hash, "", "",
        )  # fmt: skip
        approvals.expect(file, wanted, client, process)
    return wanted


@pytest.mark.stdio("a hook knows its client by the process")
@pytest.mark.parametrize("process", [PARENT, GRANDPARENT])
def test_what_a_client_asks_by_itself_counts_once_and_for_it_alone(
    process: int, scene: Play, paths: Paths, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpctl.base.posix.parents", lambda: [PARENT, GRANDPARENT])
    monkeypatch.setitem(INFO, "name", "claude-code")

    async def played(world: World) -> None:
        server = began(world, claude_hook=True)
        client = await world.client()
        await client.call(DELETE, {"n": 1})
        expected(paths, process=process)
        wanted = expected(paths, process=process)
        with PolicyFile.connect(paths) as file:
            assert approvals.open_for(file, wanted).state == "pending", "not for commands"
        assert "not run yet" in await client.call(DELETE, {"n": 2})
        assert await client.call(DELETE, {"n": 1}) == '{"n": 1}'
        assert "not run yet" in await client.call(DELETE, {"n": 1})
        assert len(server.calls) == 1

    scene(played)
    assert "allowed hook once" in decisions(home)


@pytest.mark.parametrize(
    "policy, name, left",
    [
        ({"claude_hook": False}, "claude-code", {}),
        ({"claude_hook": True}, "cursor", {}),
        ({"claude_hook": True}, "claude-code", {"client": "cursor"}),
        ({"claude_hook": True}, "claude-code", {"process": os.getpid()}),
    ],
)
def test_what_another_client_or_process_has_asked_counts_for_none(
    policy: dict[str, Any], name: str, left: dict[str, Any], scene: Play, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(INFO, "name", name)

    async def played(world: World) -> None:
        server = began(world, **policy)
        client = await world.client()
        await client.call(DELETE)
        expected(paths, **left)
        assert "not run yet" in await client.call(DELETE)
        assert server.calls == []

    scene(played)


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("claude_hook", [False, True])
def test_a_hook_that_a_shell_runs_lets_nothing_run(
    claude_hook: bool, scene: Play, paths: Paths, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(INFO, "name", "claude-code")
    said = {"tool_name": "mcp__mcpctl__tool_execute", "tool_input": {"toolKey": DELETE, "arguments": {"n": 1}}}
    hook = shlex.join([sys.executable, "-m", "mcpctl", "policy", "hook", "claude-code"])
    script = f"echo {shlex.quote(json.dumps(said))} | {hook}; true"

    async def played(world: World) -> None:
        server = began(world, claude_hook=claude_hook)
        client = await world.client()
        await client.discover("delete")  # the hook knows what was listed
        shell = await asyncio.create_subprocess_exec(
            "sh", "-c", script, stdout=asyncio.subprocess.PIPE, env={**os.environ, "MCPCTL_HOME": str(home)}
        )
        out, _ = await shell.communicate()
        assert b'"permissionDecision":"ask"' in out
        assert "not run yet" in await client.call(DELETE, {"n": 1})
        assert server.calls == []

    scene(played)
    assert [each.state for each in kept(paths) if each.channel == "hook"] == ["allowed"] * claude_hook


# ---- values of the policy


@ERAS
def test_always_asks_each_time_and_offers_no_session(revision: str, scene: Play) -> None:
    async def played(world: World) -> None:
        began(world, confirm="always")
        asked = await person(world, revision)
        for _ in range(2):
            assert await asked.call(YES, "files:put") == "{}"
        assert [form["requestedSchema"]["properties"]["answer"]["enum"] for form in asked.forms] == [["no", "once"]] * 2
        assert "not run yet" in await asked.call(SESSION)

    scene(played)


@ERAS
def test_never_asks_nobody(revision: str, scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        server, asked = began(world, confirm="never"), await person(world, revision)
        text = await asked.call(None)
        assert text.endswith("needs the user's consent, which the user's policy never asks for; do not retry it")
        assert server.calls == []

    scene(played)
    assert decisions(home) == ["denied rule"]


@ERAS
def test_a_repeat_that_does_nothing_more_is_not_asked_about(revision: str, scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        began(world)
        asked = await person(world, revision)
        assert await asked.call(YES, "files:put", {"n": 1}) == '{"n": 1}'
        assert await asked.call(None, "files:put", {"n": 1}) == '{"n": 1}'
        assert await asked.call(YES, "files:put", {"n": 2}) == '{"n": 2}'

    scene(played)
    assert decisions(home)[2] == "allowed grant once"


@ERAS
def test_a_yes_is_for_repeats_only_where_the_question_said_so(
    revision: str, scene: Play, paths: Paths, home: Path
) -> None:
    async def played(world: World) -> None:
        server = began(world)
        shown_in_part = {"text": "\n".join(f"line {number}" for number in range(300))}
        asked = await person(world, revision)
        for _ in range(2):
            await asked.call(YES, "files:put", shown_in_part)
        assert {form["requestedSchema"]["properties"]["answer"]["enumNames"][1] for form in asked.forms} == {
            "Yes, this call"
        }
        unasked = await person(world, revision, sampling={})
        for _ in range(2):
            assert "not run yet" in await unasked.call(None, "files:put", {"n": 1})
            answered(paths, "once")
            assert await unasked.call(None, "files:put", {"n": 1}) == '{"n": 1}'
        assert len(server.calls) == 4

    scene(played)
    assert "allowed grant once" not in decisions(home)


@ERAS
def test_a_yes_that_is_taken_back_holds_for_no_repeat(revision: str, scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        server, asked = began(world), await person(world, revision)
        await asked.call(SESSION, "files:put", {"n": 1})
        with PolicyFile.connect(paths) as file:
            approvals.withdraw(file, approvals.listed(file)[0], channel="terminal", person="")
        assert "the user said no" in await asked.call(NO, "files:put", {"n": 1}), "it is asked about anew"
        assert len(server.calls) == 1

    scene(played)


@ERAS
def test_a_policy_that_only_records_stops_nothing(revision: str, scene: Play, home: Path, paths: Paths) -> None:
    async def played(world: World) -> None:
        server, asked = began(world, mode="record", deny=["files:put"]), await person(world, revision)
        assert await asked.call(None) == await asked.call(None, "files:put") == "{}"
        assert len(server.calls) == 2

    scene(played)
    made = [line for line in journal_lines(home) if line["type"] == "decisions.made"]
    assert [(each["decision"], each["enforced"]) for each in made] == [("asked", False), ("denied", False)]
    assert [line["status"] for line in journal_lines(home) if line["type"] == "calls.finished"] == ["ok", "ok"]
    assert kept(paths) == []


def test_without_a_policy_nobody_is_asked_and_nothing_is_kept(scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        asked = await person(world)
        assert await asked.call(None) == "{}"

    scene(played)
    assert not paths.policy.exists()


# ---- rounds


async def in_rounds(connection: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
    """Ask for input in the middle of the call."""
    answer = await connection.ask_client(
        "elicitation/create", {"message": "How many?", "requestedSchema": {"type": "object", "properties": {}}}
    )
    return {"content": [{"type": "text", "text": json.dumps(answer.get("result"))}]}


@ERAS
def test_what_a_tool_asks_in_the_middle_needs_no_second_yes(revision: str, scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure(policy={})
        world.begin()
        asked = await person(world, revision)
        answer = {"action": "accept", "content": {"n": 3}}
        if revision == MODERN:
            parked = (await asked.client.start_call("asks:ask"))["result"]
            second = (await asked.again(parked, YES, "asks:ask", None))["result"]
            assert "How many?" in json.dumps(second["inputRequests"])
            text = text_of(await asked.again(second, answer, "asks:ask", None))
        else:
            answering = asked.client.start_call("asks:ask")
            question = await asked.client.questions.get()
            asked.client.send(id=question["id"], **YES)
            question = await asked.client.questions.get()
            assert "How many?" in question["params"]["message"]
            asked.client.send(id=question["id"], result=answer)
            text = text_of(await answering)
        assert json.loads(text) == answer

    scene(played, asks=lambda: MemoryServer(tool("ask"), answer=in_rounds))


# ---- what the model gets


@ERAS
def test_secrets_are_masked_in_what_the_model_gets_where_that_is_wanted(revision: str, scene: Play) -> None:
    secret = "ghp_" + "a1B2" * 9

    async def tells(_: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        if params["arguments"].get("long"):
            return {
                "content": [{"type": "text", "text": secret + "x y " * 20_000}],
                "structuredContent": {"id": "a" * 40},
            }
        return {"content": [{"type": "text", "text": f"it is {secret}"}], "structuredContent": {"id": "a" * 40}}

    async def played(world: World) -> None:
        world.configure(policy={"redact_responses": "secrets"})
        world.begin()
        client = await world.client(revision)
        for arguments in ({}, {"long": True}):
            result = (await client.start_call("tells:tell", arguments))["result"]
            assert secret not in json.dumps(result)
            assert "[redacted:" in result["content"][0]["text"]
            assert result["structuredContent"] == {"id": "a" * 40}
        world.configure(policy={})
        assert secret in await client.call("tells:tell")

    scene(played, tells=lambda: MemoryServer(tool("tell", readOnlyHint=True), answer=tells))


# ---- attempts that never became a call


def test_every_attempt_is_on_record(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        world.configure(policy={"deny": ["files:put"]})
        world.begin()
        client = await world.client()
        ask = partial(client.request, "tools/call")
        await ask({"name": "tool_execute", "arguments": {"toolKey": 7}})
        await ask({"name": "tool_execute", "arguments": {"toolKey": DELETE, "arguments": "no"}})
        await ask({"name": "tool_execute_read", "arguments": {"toolKey": DELETE}})
        await ask({"name": DELETE, "arguments": {}})
        await client.call("files:put")
        await client.call("files:nothing")
        client.start_call("files:read", id=99)
        await client.start_call("files:put", id=99)

    scene(played)
    made = [line for line in journal_lines(home) if line["type"] == "decisions.made"]
    assert [(each["key"], each["decision"], each["rule"], each["call_id"] is None) for each in made] == [
        ("", "denied", "bad_arguments", True),
        (DELETE, "denied", "bad_arguments", True),
        ("files:put", "denied", "deny files:put", False),
        ("files:put", "denied", "id_in_use", True),
    ]


# ---- what is kept


@contextmanager
def held(paths: Paths) -> Iterator[None]:
    """Somebody else writes into policy.db and does not end."""
    with closing(sqlite3.connect(paths.policy, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        yield


def remove(paths: Paths) -> None:
    for file in paths.data.glob("policy.db*"):
        file.unlink()


def damage(paths: Paths) -> None:
    for file in paths.data.glob("policy.db*"):
        with file.open("r+b") as opened:  # never shorter than it was: a thread may have it mapped
            opened.write(b"x" * 100_000)


@pytest.mark.parametrize("lose", [remove, damage])
def test_a_yes_that_is_lost_holds_no_more(lose: Callable[[Paths], None], scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        server, asked = began(world), await person(world)
        assert await asked.call(SESSION) == "{}"
        assert await asked.call(None) == "{}"
        await world.gateway.policy.run(lambda _: None)  # what is still being written would be whole again
        lose(paths)
        assert "not run yet" in await asked.call(None)
        remove(paths)
        paths.state.unlink()  # the loss is accepted
        assert await asked.call(YES) == "{}", "it is asked about anew, in a file of its own"
        assert len(kept(paths)) == 1
        assert len(server.calls) == 3

    scene(played)


def test_a_yes_in_a_file_that_is_overwritten_counts_no_more_though_it_seems_in_use(
    scene: Play, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for a moment, while another connection makes out what is left of its log."""

    async def played(world: World) -> None:
        server, asked = began(world), await person(world)
        assert await asked.call(SESSION) == "{}"
        monkeypatch.setattr(PolicyFile, "version", property(busy))
        assert await asked.call(None) == "{}"  # in use, and there
        await world.gateway.policy.run(lambda _: None)
        damage(paths)
        await asked.call(None)
        assert len(server.calls) == 2

    scene(played)


@pytest.mark.parametrize("how", ["damaged", "newer"])
def test_with_a_new_policy_nothing_is_called_where_what_is_kept_cannot_be_read(
    how: str, scene: Play, paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        assert await client.call(DELETE) == "{}"
        with PolicyFile.connect(paths) as file:
            file.db.execute("INSERT INTO steps VALUES ('of tomorrow')")
        if how == "damaged":
            damage(paths)
        world.configure(policy={"deny": [DELETE], "ask": ["files:read"]})
        for key in (DELETE, "files:read"):
            assert "cannot be told, since policy.db cannot be read" in await client.call(key)

    scene(played)
    assert how in capsys.readouterr().err


@pytest.mark.stdio("a session ends otherwise there")
def test_nobody_waits_long_for_who_holds_what_is_kept(
    scene: Play, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consent, "_END_S", 0.05)

    async def played(world: World) -> None:
        server, asked = began(world), await person(world)
        assert await asked.call(SESSION) == "{}"
        monkeypatch.setattr(memory, "_PATIENCE_S", 0.05)
        with held(paths):
            calls = [asked.client.start_call("files:put", {"n": n}) for n in range(9)]
            for call in calls:
                assert "not run yet" in text_of(await call)
            assert await asked.call(None) == "{}", "what holds already needs nobody"
            await asked.client.session.close(0)
            world.clients.clear()
        assert len(server.calls) == 2

    scene(played)


def test_a_question_is_taken_back_where_what_is_kept_cannot_be_read(
    scene: Play, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(_: object) -> None:
        raise Unusable("policy.db is in use by another process", "try again", "policy_held")

    async def played(world: World) -> None:
        server, asked = began(world), await person(world)
        for n in range(4):
            calling = asked.client.start_call(DELETE, {"n": n})
            question = await asked.client.questions.get()
            with monkeypatch.context() as now:
                now.setattr(world.gateway.policy, "run", fails)
                with PolicyFile.connect(paths) as file:
                    approvals.give(file, Grant("files:other", "", "", "", ""))
                assert "not run yet" in text_of(await calling)
            withdrawn = await asked.client.questions.get()
            assert withdrawn["method"] == "notifications/cancelled"
            assert withdrawn["params"]["requestId"] == question["id"]
        assert server.calls == []

    scene(played)


@pytest.mark.stdio("a session ends otherwise there")
def test_a_session_may_end_after_what_is_kept_is_closed(scene: Play) -> None:
    async def played(world: World) -> None:
        began(world)
        asked = await person(world)
        assert await asked.call(SESSION) == "{}"
        world.gateway.policy.close()
        await asked.client.session.close(0)
        world.clients.clear()
        world.gateway.policy = PolicyMemory(world.paths)

    scene(played)


def test_what_the_file_denies_while_a_server_starts_is_not_sent(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        server = world.servers["files"]
        client = await world.client()
        assert await client.call("files:read") == "{}"
        await server.connections[0].stop()
        server.may_start.clear()
        answering = client.start_call(DELETE)
        while len(server.connections) < 2:
            await asyncio.sleep(0.005)
        world.configure(policy={"deny": [DELETE]})
        server.may_start.set()
        assert "denied by the user's policy" in text_of(await answering)
        assert len(server.calls) == 1

    scene(played)


def test_a_change_of_the_file_counts_for_a_call_that_waits_for_something_else(
    scene: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "ghp_" + "a1B2" * 9

    async def tells(_: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": f"it is {secret}"}]}

    async def played(world: World) -> None:
        world.configure(policy={"redact_responses": "secrets"})
        world.begin()
        client = await world.client(LATEST)
        assert secret not in await client.call("tells:tell")
        known = asyncio.Event()
        settling = asyncio.ensure_future(known.wait())
        settling.add_done_callback(lambda _: world.gateway.follower._settled())
        monkeypatch.setattr(world.gateway.follower, "settling", settling)
        calling = client.start_call("tells:tell")
        world.configure(policy={})
        known.set()
        assert secret in (await calling)["result"]["content"][0]["text"]

    scene(played, tells=lambda: MemoryServer(tool("tell", readOnlyHint=True), answer=tells))
