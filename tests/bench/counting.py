"""Counts from within, for `tests.bench.counts`, which starts this file by its path in the Python that is measured.

`counting.py entries|profile FIFO [OPTION]…` is `mcpctl serve` with these options: at SIGUSR1 it writes all that it has
counted so far, as JSON, into FIFO. `counting.py scenes` plays scenes in memory and prints what it has counted.
"""

import cProfile
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import mcpctl

PACKAGE = str(Path(mcpctl.__file__).parent) + "/"
RUNS, QUESTIONS = 50, 9
"""How often a scene's call is made: those that ask less often, since more questions would be too many for a minute."""

WAITED, WROTE = "waited", "wrote"
Entry = tuple[int, str, str, int]
"""The clock's nanoseconds, a file and a function of the package, and how many of its functions are entered already; or,
without a file, that the event loop has waited, or that something was written."""


class Entries:
    """The functions of the package that the main thread enters, comprehensions and resumed coroutines included."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, CodeType | str, int]] = []

    def begin(self) -> None:
        """Count from here on."""
        sys.setprofile(self._on_event)

    def _on_event(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            if frame.f_code.co_filename.startswith(PACKAGE):
                self._entries.append((time.monotonic_ns(), frame.f_code, _depth(frame)))
        elif event == "c_return" and type(getattr(argument, "__self__", None)).__name__ in ("epoll", "kqueue"):
            self._entries.append((time.monotonic_ns(), WAITED, 0))
        elif event == "c_call" and argument in (os.write, os.writev):
            self._entries.append((time.monotonic_ns(), WROTE, 0))

    def taken(self) -> list[Entry]:
        """All since they were last taken."""
        entries, self._entries = self._entries, []
        return [
            (at, "", code, 0) if isinstance(code, str) else (at, *_place(code), depth) for at, code, depth in entries
        ]


def _place(code: CodeType) -> tuple[str, str]:
    return code.co_filename.removeprefix(PACKAGE), code.co_qualname


def _depth(frame: FrameType) -> int:
    depth, outer = 0, frame.f_back
    while outer:
        depth += outer.f_code.co_filename.startswith(PACKAGE)
        outer = outer.f_back
    return depth


class Profile:
    """How often every function of any package was called by the main thread."""

    def __init__(self) -> None:
        self._profile = cProfile.Profile()

    def begin(self) -> None:
        """Count from here on."""
        self._profile.enable()

    def taken(self) -> list[tuple[str, str, int]]:
        """File, function and calls so far; the file of those written in C is empty."""
        return [
            (*(_place(entry.code) if isinstance(entry.code, CodeType) else ("", entry.code)), entry.callcount)
            for entry in self._profile.getstats()
        ]


def serve(counter: Entries | Profile, fifo: Path, options: list[str]) -> int:
    """`mcpctl serve` with a counter."""
    from mcpctl.main import main

    def tell(number: int, frame: FrameType | None) -> None:
        fifo.write_text(json.dumps(counter.taken()), encoding="utf-8")

    signal.signal(signal.SIGUSR1, tell)
    counter.begin()
    return main(["serve", *options])


def let_rest(folder: Path) -> None:
    """Have what is remembered there look as after a while without changes, as it is nearly always."""
    for log in folder.rglob("*.db-wal"):
        os.utime(log, (0, 0))


# ---- in memory


def scenes() -> dict[str, list[list[Entry]]]:
    """The entries of the calls of each scene: a call, one with a policy, one by a tool's name, and one that is asked
    about."""
    from tests.proxy.in_memory import MemoryServer, World, text_of, tool

    yes = {"result": {"action": "accept", "content": {"answer": "once"}}}
    counter = Entries()

    def server() -> MemoryServer:
        return MemoryServer(tool("read", readOnlyHint=True), tool("delete", destructiveHint=True))

    async def counted(world: World, call: Callable[[], Awaitable[None]], times: int) -> list[list[Entry]]:
        runs = []
        for _ in range(times):
            let_rest(world.paths.data)
            counter.begin()
            await call()
            sys.setprofile(None)
            runs.append(counter.taken())
        return runs

    async def called(world: World) -> list[list[Entry]]:
        client = await world.client()

        async def call() -> None:
            assert await client.call("files:read", {"path": "/x"}) == '{"path": "/x"}'

        return await counted(world, call, RUNS)

    async def called_directly(world: World) -> list[list[Entry]]:
        client = await world.client()
        await client.request("tools/list", {})

        async def call() -> None:
            answer = await client.request("tools/call", {"name": "files__read", "arguments": {"path": "/x"}})
            assert text_of(answer) == '{"path": "/x"}'

        return await counted(world, call, RUNS)

    async def asked_for(world: World) -> list[list[Entry]]:
        client = await world.client(capabilities={"elicitation": {}})

        async def call() -> None:
            answer = client.start_call("files:delete", {"path": "/x"})
            question = await client.questions.get()
            client.send(id=question["id"], **yes)
            assert text_of(await answer) == '{"path": "/x"}'

        return await counted(world, call, QUESTIONS)

    return {
        "call": _played(called, server, {}),
        "policy": _played(called, server, {"policy": {"confirm": "always"}}),
        "direct": _played(called_directly, server, {"serve": {"direct": ["files:*"]}}),
        "asked": [way for _ in range(3) for way in _played(asked_for, server, {"policy": {"confirm": "always"}})],
    }


def _played(scene: Any, server: Callable[[], Any], sections: dict[str, Any]) -> list[list[Entry]]:
    from mcpctl.base.paths import find
    from tests.proxy.in_memory import World, play

    runs: list[list[Entry]] = []

    async def whole(world: World) -> None:
        world.configure(**sections)
        world.begin()
        runs.extend(await scene(world))

    with tempfile.TemporaryDirectory() as folder:
        play(Path(folder), find(env={"MCPCTL_HOME": folder}), whole, files=server)
    return runs


if __name__ == "__main__":
    kind, *rest = sys.argv[1:]
    if kind == "scenes":
        print(json.dumps(scenes()))
    else:
        sys.exit(serve(Entries() if kind == "entries" else Profile(), Path(rest[0]), rest[1:]))
