"""A client of `mcpctl serve` in a thread of this process: the same code, lines and ends, in a tenth of the time."""

import asyncio
import contextlib
import gc
import os
import select
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TextIO
from unittest import mock

import psutil

from mcpctl.base import errors
from mcpctl.base.paths import Paths
from mcpctl.main import main
from mcpctl.metatools.offers import Offer
from mcpctl.policy.tokens import own_token
from mcpctl.proxy import process
from mcpctl.search import meaning
from mcpctl.store.run import Run
from mcpctl.upstreams import upstream
from tests import command_tree
from tests.proxy import over_http
from tests.proxy.client import LATEST, SHARED_THREADS, Client

_ENDS_IN_S = 20.0
_SOON_S = 0.2


class InProcess(Client):
    """`mcpctl serve` with these options, on an event loop in a thread, with two pipes for its stdin and stdout.

    It has neither signals nor memory nor children of its own. Its environment is this process's.
    """

    def __init__(
        self, options: Sequence[str], stderr: Path, *, revision: str = LATEST, is_over_http: bool = False
    ) -> None:
        """With `is_over_http` its lines are posted to what `serve --http` serves."""
        self._is_over_http = is_over_http
        _begins(self)
        self._theirs, ours = os.pipe()
        out, self._stdout = os.pipe()
        self._connect(os.fdopen(ours, "wb", buffering=0), os.fdopen(out, "rb", buffering=0), stderr, revision)
        self._thread = threading.Thread()  # until there is one
        self._status = -1
        try:
            # Text on stderr before the thread runs comes from this one.
            with (
                stderr.open("a", encoding="utf-8") as words,
                contextlib.redirect_stderr(words),
                mock.patch("mcpctl.cli.command_tree.tree", command_tree.of),
                mock.patch.object(process, "run", self._run),
            ):
                self._status = main(["serve", *options])
        finally:
            if self._status:
                os.close(self._theirs)
                os.close(self._stdout)
            if self._status < 0:
                self.close()

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a server in this process has no {name}: start it with process=True")

    def wait(self, timeout: float = _ENDS_IN_S) -> int:
        """Its exit status, which is 0 where it has begun."""
        if not self._status:
            self._thread.join(timeout)
        assert not self._thread.is_alive(), self._story("it does not end")
        return self._status

    def close(self) -> None:
        """End it as a client does; nothing of it is left."""
        if self not in _running:
            return
        self._in.close()
        deadline = time.monotonic() + _ENDS_IN_S
        while self._thread.is_alive() and time.monotonic() < deadline:
            # A server that still has to say something is listened to.
            if self._out.closed or self._read(0.05) == b"":
                self._thread.join(deadline - time.monotonic())
        self._out.close()
        try:
            assert not self._thread.is_alive(), self._story("it does not end")
        finally:
            _ends(self)

    def say(self, text: str) -> None:
        """Have a line on its stderr."""
        with self._stderr.open("a", encoding="utf-8") as words:
            words.write(f"{text}\n")

    def is_of(self, thread: threading.Thread) -> bool:
        """Whether that thread has its event loop."""
        return thread is self._thread

    def _run(
        self,
        paths: Paths,
        *,
        project: str | None,
        toolset: str | None = None,
        token_file: Path | None = None,
        split: bool = False,
        annotate: bool = False,
        verbose: bool = False,
        locked: Path | None = None,
        direct: Sequence[str] = (),
    ) -> None:
        """As `process.run`, but for what makes a process of it."""
        token = own_token(token_file)
        gateway = process.gateway_for(
            paths, project, toolset, token, split=split, verbose=verbose, locked=locked, direct=direct,
            is_for_many=self._is_over_http,
        )  # fmt: skip
        if self._is_over_http:
            gateway = partial(gateway, run=Run(paths), most_processes=100)
        serve = partial(
            over_http.serve if self._is_over_http else process.serve,
            gateway,
            Offer(split, annotate),
            stdin=self._theirs,
            stdout=self._stdout,
            token=token,
        )
        self._thread = threading.Thread(target=self._serve, args=(serve,), name="mcpctl serve", daemon=True)
        self._thread.start()

    def _serve(self, serve: Callable[..., Coroutine[Any, Any, None]]) -> None:
        async def served() -> None:
            asyncio.get_running_loop().set_exception_handler(process.tell)
            await serve(ending=asyncio.Event())

        try:
            asyncio.run(served())
        finally:
            os.close(self._theirs)

    def _state(self) -> str:
        return "running" if self._thread.is_alive() else f"ended with {self._status}"


# ---- what the servers of this process share


_running: list[InProcess] = []
_before: set[object] = set()
_patches = contextlib.ExitStack()


def _begins(client: InProcess) -> None:
    if not _running:
        meaning.shipped()  # mapped once by each process, and then for good
        _before.update(_things())
        for module in (errors, upstream):
            _patches.enter_context(mock.patch.object(module, "print", _print, create=True))
    _running.append(client)
    errors._warned.clear()  # a new process has said nothing yet


def _ends(client: InProcess) -> None:
    """Forget it; nothing may be left of the last one."""
    _running.remove(client)
    if not _running:
        _patches.close()
        try:
            _wait_for_the_end_of_all()
        finally:
            _before.clear()


def _wait_for_the_end_of_all() -> None:
    began = time.monotonic()
    while left := _things() - _before:
        assert time.monotonic() < began + _ENDS_IN_S, f"servers have left {left}"
        select.select([], [], [], 0.01)
        if time.monotonic() > began + _SOON_S:
            gc.collect()  # what nobody refers to any more may hold descriptors and threads


def _print(text: str, *, file: TextIO, flush: bool = False) -> None:
    """On the stderr of the server that says it; the main thread is none's."""
    thread = threading.current_thread()
    if thread is threading.main_thread():
        print(text, file=file, flush=flush)
    else:
        for client in [each for each in _running if each.is_of(thread)] or _running[-1:]:
            client.say(text)


def _things() -> set[object]:
    """The threads, children and descriptors of this process."""
    threads = {thread for thread in threading.enumerate() if not thread.name.startswith(SHARED_THREADS)}
    return {*threads, *psutil.Process().children(), *_descriptors()}


def _descriptors() -> set[str]:
    found = set()
    for descriptor in Path("/dev/fd").iterdir():
        with contextlib.suppress(OSError):
            found.add(f"{descriptor}: {descriptor.readlink()}")
    return found
