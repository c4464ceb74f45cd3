"""A view is the same object for all requests of its caller, until anything changes that decides."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpctl.base.callers import Caller, Claims
from mcpctl.base.paths import Paths
from mcpctl.policy import approvals
from mcpctl.policy.approvals import Grant
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store.state import State
from mcpctl.toolsets import in_force
from tests.configured import toolset
from tests.proxy.client import LATEST
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryServer, World, play, tool

pytestmark = BOTH

ONE, OTHER = Caller(LATEST, claims=Claims(project="a")), Caller(LATEST, claims=Claims(project="b"))


def files() -> MemoryServer:
    return MemoryServer(tool("read", readOnlyHint=True))


def test_each_caller_has_a_view_of_its_own_whoever_asks_in_between(home: Path, paths: Paths) -> None:
    async def played(world: World) -> None:
        for name in "ab":
            toolset(paths, f"t{name}", "files:read")
        world.configure(projects={name: {"toolset": f"t{name}"} for name in "ab"})
        world.begin()
        await world.gateway.current()
        views = [world.gateway.view(caller) for caller in (ONE, OTHER, None)]
        for _ in range(3):
            assert all(world.gateway.view(view.caller) is view for view in views)
            catalogs = [world.gateway.catalog(view) for view in views]
            assert all(world.gateway.catalog(view) is each for view, each in zip(views, catalogs, strict=True))
        assert [(view.project, view.toolset and view.toolset.name) for view in views] == [
            ("a", "ta"), ("b", "tb"), (None, None),
        ]  # fmt: skip
        assert [view.toolset_place and view.toolset_place.reference for view in views] == ["ta", "tb", None]

    play(home, paths, played, files=files)


def edited(world: World) -> None:
    world.configure(policy={"deny": ["files:write"]})


def allowed(world: World) -> None:
    with PolicyFile.connect(world.paths) as file:
        approvals.give(file, Grant("files:read", "", "", "", ""), time.time() + 60)


def equipped(world: World) -> None:
    with State.connect(world.paths) as state:
        state.equip("ta")


def rewritten(world: World) -> None:
    toolset(world.paths, "ta", "files:read", "files:write")
    with State.connect(world.paths) as state:
        state.equip("ta")


@pytest.mark.parametrize("change", [edited, allowed, equipped, rewritten])
def test_another_view_is_made_as_soon_as_anything_changes(
    change: Callable[[World], None], home: Path, paths: Paths
) -> None:
    async def played(world: World) -> None:
        toolset(paths, "ta", "files:read")
        world.configure(policy={})
        world.begin()
        await world.gateway.current()
        before = world.gateway.view(ONE)
        before.verdicts["files"] = "kept"
        change(world)
        await world.gateway.current()
        after = world.gateway.view(ONE)
        assert after is not before
        assert not after.verdicts
        assert world.gateway.view(ONE) is after

    play(home, paths, played, files=files)


def test_another_view_is_made_as_soon_as_a_server_lists_anything(home: Path, paths: Paths) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        await world.gateway.current()
        before = world.gateway.view(ONE)
        await world.gateway.refresh(["files"], ONE)
        assert world.gateway.view(ONE) is not before

    play(home, paths, played, files=files)


def test_no_view_outlives_the_following_of_its_toolset(
    home: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_force, "_MOST_FOLLOWED", 1)

    async def played(world: World) -> None:
        for name in "ab":
            toolset(paths, f"t{name}", "files:read")
        world.configure(projects={name: {"toolset": f"t{name}"} for name in "ab"})
        world.begin()
        client = await world.client()
        for name in "ab":
            assert await client.call("files:read", _meta={"projectId": name}) == "{}"
        toolset(paths, "ta", "files:other")
        assert "is not in the toolset" in await client.call("files:read", _meta={"projectId": "a"})

    play(home, paths, played, files=files)
