"""Many people's clients in one process: what one of them sets, sees, waits for or has approved is its own."""

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import mcpctl
from mcpctl.base.callers import MODERN_REVISION
from mcpctl.base.paths import Paths
from mcpctl.policy import tokens
from mcpctl.policy.policy_file import PolicyFile
from tests.proxy.in_memory import MemoryClient, MemoryServer, Scene, World, play, tool

Play = Callable[..., None]
PACKAGE = Path(mcpctl.__file__).parent


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    """Plays a scene on this test's home."""

    def begin(played: Scene, **servers: Callable[[], MemoryServer]) -> None:
        play(home, paths, played, **servers)

    return begin


def token(paths: Paths, *servers: str) -> str:
    with PolicyFile.connect(paths) as file:
        return tokens.create(file, servers=servers)[1]


async def keys(client: MemoryClient) -> set[str]:
    return {result["toolKey"] for result in (await client.discover("read"))["results"]}


# ---- nothing of a process

OF_A_PROCESS = {
    "sys.stdin", "sys.stdout", "os._exit", "os.getppid", "signal.signal", "loop.add_signal_handler", "tokens.own_token",
    "own_token", "posix.parents",
}  # fmt: skip
CORE = ("proxy", "upstreams", "catalog", "metatools", "search")


def names_in(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.alias):
            yield node.name


def test_the_core_knows_nothing_of_the_process_that_it_runs_in() -> None:
    files = [file for room in CORE for file in (PACKAGE / room).rglob("*.py") if file.name != "process.py"]
    found = {
        str(file.relative_to(PACKAGE)): names for file in files if (names := OF_A_PROCESS.intersection(names_in(file)))
    }
    assert found == {}


def test_the_token_of_a_request_without_one_is_that_of_its_client_and_not_the_process_s(
    scene: Play, paths: Paths
) -> None:
    async def played(world: World) -> None:
        of_ann, of_bob = token(paths, "notes"), token(paths, "files")
        world.configure(policy={"require_token": True})
        world.begin()
        ann, bob = [await world.client(token=each) for each in (of_ann, of_bob)]
        nobody = await world.client()
        assert [await keys(each) for each in (ann, bob, nobody)] == [{"notes:read"}, {"files:read"}, set()]
        # One that a request claims goes before it, and a project alone leaves it as it is.
        claimed = await bob.discover("read", _meta={"token": of_ann})
        assert {result["toolKey"] for result in claimed["results"]} == {"notes:read"}
        assert await bob.call("files:read", {"n": 1}, _meta={"projectId": ""}) == '{"n": 1}'

    scene(
        played,
        notes=lambda: MemoryServer(tool("read", readOnlyHint=True)),
        files=lambda: MemoryServer(tool("read", readOnlyHint=True)),
    )


# ---- work of a call


async def functions_of_a_call(client: MemoryClient) -> int:
    """All functions that a warm call needs, those written in C included."""
    count = 0

    def on_event(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    for _ in range(5):
        await client.call("files:read", {"n": 1})
    sys.setprofile(on_event)
    for _ in range(10):
        await client.call("files:read", {"n": 1})
    sys.setprofile(None)
    return count


def test_the_work_of_a_call_is_the_same_among_a_thousand_sessions_as_alone(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        alone = await functions_of_a_call(client)
        for _ in range(999):
            other = await world.client(MODERN_REVISION)
        await other.call("files:read", {"n": 1})
        assert await functions_of_a_call(client) <= 1.02 * alone

    scene(played, files=lambda: MemoryServer(tool("read", readOnlyHint=True)))
