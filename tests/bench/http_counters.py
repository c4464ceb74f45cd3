"""The counters of `tests.bench.counts` for calls over HTTP."""

import functools
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.bench import raw_client, raw_http
from tests.bench.counters import COUNTING, UPSTREAM, Measured, by_file, taken
from tests.bench.counting import let_rest


def profiled(measured: Measured) -> dict[str, dict[str, float]]:
    """All functions in Python of a call of one client, one at a time, by the client's era and by file."""
    counts = {}
    for name, era in (("newer", "modern"), ("older", "legacy")):
        with tempfile.TemporaryDirectory(prefix="mcpctl-bench-") as folder:
            home, port, fifo = Path(folder, "home"), raw_http.free_port(), Path(folder, "counted")
            os.mkfifo(fifo)
            env = {**measured.env, **raw_client.mcpctl_home(home, {"up": UPSTREAM})}
            with (home / "config.toml").open("a", encoding="utf-8") as file:
                file.write("[http]\nrequire_token = false\n")
            command = [measured.python, "-P", str(COUNTING), "profile", str(fifo), "--http", str(port)]
            with raw_http.running(raw_http.HttpTarget("serve --http", command, port, env)) as running:
                client = raw_http.Client(running.target, era)
                raw_http.called([client], 100)
                let_rest(Path(folder))
                take = functools.partial(taken, running.process.pid, fifo)
                counts[name] = by_file(take, functools.partial(raw_http.called, [client]))
    return counts


def of_package(files: Mapping[str, float]) -> float:
    """How many of the functions by file are mcpctl's own."""
    return sum(number for file, number in files.items() if not file.startswith(("/", "<")))
