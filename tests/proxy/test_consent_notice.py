"""`[policy] notify`: a person is told that a call waits, by its id alone, and nothing waits for that."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.policy import approvals
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.proxy import consent_notice
from tests.configured import demo_tools
from tests.conftest import Mcpctl
from tests.proxy.client import until
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryServer, Scene, World, play, tool

pytestmark = [pytest.mark.process, BOTH]
Told = Callable[[], list[dict[str, Any]]]
SCRIPT = """#!{python}
import json, os, sys
with open({log!r}, "a") as log:
    print(json.dumps({{"arguments": sys.argv[1:], "environment": dict(os.environ), "cwd": os.getcwd()}}), file=log)
{more}
"""


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """Makes a command that notes how it was run."""

    def made(more: str = "") -> str:
        import sys

        file = tmp_path / "tell"
        file.write_text(SCRIPT.format(python=sys.executable, log=str(tmp_path / "told"), more=more), encoding="utf-8")
        file.chmod(0o700)
        return str(file)

    return made


@pytest.fixture
def told(tmp_path: Path) -> Told:
    """All runs of the command."""

    def read() -> list[dict[str, Any]]:
        log = tmp_path / "told"
        return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []

    return read


@pytest.fixture
def scene(home: Path, paths: Paths) -> Callable[[Scene], None]:
    def begin(played: Scene) -> None:
        play(
            home,
            paths,
            played,
            files=lambda: MemoryServer(tool("delete"), tool("drop"), tool("read", readOnlyHint=True)),
        )

    return begin


async def happens(is_so: Callable[[], object]) -> None:
    while not is_so():
        await asyncio.sleep(0.01)


def ids(paths: Paths) -> list[str]:
    """Those that wait, the newest last."""
    with PolicyFile.connect(paths) as file:
        return [approval.id for approval in reversed(approvals.listed(file, pending=True))]


def begin(world: World, *notify: str) -> None:
    world.configure(policy={"deny": ["*:drop"], "notify": list(notify)})
    world.begin()


def test_the_command_gets_the_id_and_nothing_of_the_call(
    scene: Callable[[Scene], None],
    script: Callable[..., str],
    told: Told,
    paths: Paths,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "hunter2222")
    monkeypatch.setenv("MCPCTL_TOKEN", "")
    monkeypatch.setenv("DISPLAY", ":7")

    async def played(world: World) -> None:
        begin(world, script(), "a call; waits $HOME")
        client = await world.client(capabilities={})
        await client.call("files:delete", {"path": "/secret"})
        await happens(told)

    scene(played)
    (run,) = told()
    assert run["arguments"] == ["a call; waits $HOME", *ids(paths)]
    assert run["environment"]["DISPLAY"] == ":7"
    assert run["environment"]["MCPCTL_DATA_DIR"] == str(paths.data)
    assert {"GITHUB_TOKEN", "MCPCTL_TOKEN"}.isdisjoint(run["environment"])
    assert "secret" not in json.dumps(run)


def test_the_id_stands_where_it_is_wanted_and_what_waits_already_is_not_told_again(
    scene: Callable[[Scene], None],
    script: Callable[..., str],
    told: Told,
    paths: Paths,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consent_notice, "_PAUSE_S", 0)

    async def played(world: World) -> None:
        begin(world, script(), "--id={id}", "see")
        client = await world.client(capabilities={"elicitation": {}})
        answer = client.start_call("files:delete", {"n": 1})
        question = await client.questions.get()
        await happens(told)
        client.send(id=question["id"], result={"action": "cancel"})
        await answer
        for _ in range(3):
            await client.call("files:delete", {"n": 1})
        await client.call("files:drop")
        await client.call("files:read")
        client.start_call("files:delete", {"n": 2})
        await happens(lambda: len(told()) > 1)

    scene(played)
    assert [run["arguments"] for run in told()] == [[f"--id={id_}", "see"] for id_ in ids(paths)]


def test_of_many_that_begin_to_wait_the_last_is_told(
    scene: Callable[[Scene], None], script: Callable[..., str], told: Told, paths: Paths, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(consent_notice, "_PAUSE_S", 0)
    go = tmp_path / "go"

    async def played(world: World) -> None:
        begin(world, script(f"while not os.path.exists({str(go)!r}): pass"))
        client = await world.client(capabilities={})
        await client.call("files:delete", {"n": 0})
        await happens(told)
        for number in range(1, 6):
            await client.call("files:delete", {"n": number})
        go.touch()
        await happens(lambda: len(told()) > 1)

    scene(played)
    first, *_, last = ids(paths)
    assert [run["arguments"] for run in told()] == [[first], [last]]


@pytest.mark.parametrize(
    ("more", "said"), [("sys.exit(3)", "has failed, with status 3"), (None, "cannot be run: No such file")]
)
def test_a_failure_is_told_once_and_stops_nothing(
    more: str | None, said: str, scene: Callable[[Scene], None], script: Callable[..., str], told: Told,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(consent_notice, "_PAUSE_S", 0)
    errors: list[str] = []

    async def played(world: World) -> None:
        begin(world, "/nowhere/tell" if more is None else script(more))
        client = await world.client(capabilities={})
        for number in range(3):
            assert "not run yet" in await client.call("files:delete", {"n": number})
            notices = client.session.dispatch.consent._notices
            assert notices
            assert notices._telling
            await notices._telling
            errors.append(capsys.readouterr().err)

    scene(played)
    assert said in errors[0]
    assert errors[1:] == ["", ""]


def test_one_that_does_not_end_is_killed(
    scene: Callable[[Scene], None], script: Callable[..., str], told: Told, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(consent_notice, "_LONGEST_S", 0.01)
    pids: list[int] = []

    async def played(world: World) -> None:
        begin(world, script("import time; time.sleep(600)"))
        client = await world.client(capabilities={})
        await client.call("files:delete")
        notices = client.session.dispatch.consent._notices
        assert notices
        assert notices._running
        assert "has not ended in" in await notices._running
        assert notices._process
        pids.append(notices._process.pid)

    scene(played)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_a_command_tells_too_and_leaves_nothing_running(
    mcpctl: Mcpctl, paths: Paths, script: Callable[..., str], told: Told
) -> None:
    demo_tools(paths, policy={"ask": ["notes:*"], "notify": [script()]})
    assert mcpctl("tools", "call", "notes:list_notes").code == 6
    until("the notice", told)
    assert [run["arguments"] for run in told()] == [ids(paths)]
