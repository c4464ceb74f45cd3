"""How `serve` is made to end, and the time in which it promises that nothing is left."""

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from tests.proxy.client import Client, living, until

PROMISED_S = 1.8
"""In which nothing is left, on a machine that has nothing else to do."""
SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


def close_input(client: Client) -> None:
    """The client goes."""
    client.end_input()


def sending(number: signal.Signals) -> Callable[[Client], None]:
    """The system says so."""
    return lambda client: client.process.send_signal(number)


ENDINGS = {"EOF": close_input} | {number.name: sending(number) for number in SIGNALS}


def started(client: Client, *files: Path) -> list[psutil.Process]:
    """The processes of orphan servers that have said so in these files, and what those have started."""
    for file in files:
        until("the server", file.exists)
    found = [psutil.Process(int(pid)) for file in files for pid in file.read_text().split()]
    assert living(found) == found
    below = {child for each in found for child in each.children(recursive=True)}
    return [*found, *sorted(below.difference(found), key=lambda child: child.pid)]


class Promise:
    """The promised time, from now on: what the machine keeps processes waiting for a core does not count."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._began = time.monotonic()
        self._waited = [self._waits()]

    def kept(self, processes: Sequence[psutil.Process] = ()) -> None:
        """`serve` has ended with status 0, and these processes with it."""
        while self._client.process.poll() is None or living(processes):
            self._waited.append(max(self._waits(), self._waited[-1]))
            allowed = PROMISED_S + self._waited[-1] - self._waited[0]
            assert time.monotonic() - self._began < allowed, "the promised time is over"
            select.select([], [], [], 0.01)
        assert self._client.wait() == 0

    def _waits(self) -> float:
        """How long `serve` and we have waited for a core, in seconds (Linux; elsewhere not known)."""
        waited = 0
        for pid in (os.getpid(), self._client.process.pid):
            for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
                with contextlib.suppress(OSError, IndexError):
                    waited += int(thread.read_text().split()[1])
        return waited / 1e9
