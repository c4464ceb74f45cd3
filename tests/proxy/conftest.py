"""`serve(...)` starts `mcpctl serve` on this test's home, in process or as one, and leaves nothing of it behind."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from mcpctl.proxy import session, tool_calls
from tests import scratch
from tests.proxy import in_memory
from tests.proxy.client import LATEST, ROOT, SERVE, TIMEOUT_S, Client, write_config
from tests.proxy.in_memory_http import HttpWorld
from tests.proxy.in_process import InProcess
from tests.proxy.over_http import MANY_AT_ONCE

Serve = Callable[..., Client]
Run = Callable[..., Any]


BOTH = pytest.mark.usefixtures("transport")
"""Marks a suite that is run over both transports, from this one fixture; a test `stdio(why)` is about that alone."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Have a suite run over both transports."""
    if "transport" in metafunc.fixturenames and not metafunc.definition.get_closest_marker("stdio"):
        both = ["stdio", pytest.param("http", marks=pytest.mark.slow)]
        metafunc.parametrize("transport", both, indirect=True)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have calls and searches wait for servers that list what they have for as long as a test does, however busy the
    machine is; a test of who waits no longer says how long that is."""
    monkeypatch.setattr(tool_calls, "_LIST_WAIT_S", TIMEOUT_S)
    monkeypatch.setattr(session, "_ADDED_S", TIMEOUT_S)


@pytest.fixture(scope="module")
def transport(request: pytest.FixtureRequest) -> Iterator[str]:
    """The transport between a client and `mcpctl serve`, in threads and in scenes."""
    name = str(getattr(request, "param", "stdio"))
    with pytest.MonkeyPatch.context() as scenes:
        if name == "http":
            scenes.setattr(in_memory, "World", HttpWorld)
        yield name


def starter(folder: Path, home: Path, *, transport: str, process: bool = False) -> Iterator[Serve]:
    """A function that starts `mcpctl serve` on `home` with these servers; without any, as it is configured already.

    It is started in a thread of this process, and as a process of its own where `process` says so or where it has
    what only a process can have: limits, fewer privileges, or modules that are changed before it loads them.
    """
    clients: list[Client] = []
    as_processes = process

    def start(
        servers: Mapping[str, Sequence[str] | Mapping[str, Any]] | None = None,
        *,
        options: Sequence[str] = (),
        revision: str = LATEST,
        opened: bool = True,
        env: Mapping[str, str] | None = None,
        process: bool = as_processes,
        limit: int | None = None,
        unprivileged: bool = False,
        **sections: Any,
    ) -> Client:
        if servers is not None:
            write_config(home, servers, **sections, **({"http": MANY_AT_ONCE} if transport == "http" else {}))
        stderr = folder / f"stderr-{len(clients)}.txt"
        variables = {"MCPCTL_HOME": str(home), "PYTHONPATH": str(ROOT), **(env or {})}
        client: Client
        assert not (process and transport == "http"), "a process that is spoken to on stdio: mark the test so"
        if process or limit is not None or unprivileged or variables["PYTHONPATH"] != str(ROOT):
            argv = [*SERVE, *options]
            client = Client(argv, stderr, revision=revision, env=variables, limit=limit, unprivileged=unprivileged)
        else:
            for name, value in variables.items():
                environment.setenv(name, value)
            client = InProcess(options, stderr, revision=revision, is_over_http=transport == "http")
        ends.callback(client.close)
        clients.append(client)
        if opened:
            client.open()
        return client

    with pytest.MonkeyPatch.context() as environment, ExitStack() as ends:
        yield start
    for client in clients:
        assert "internal error" not in client.stderr
        assert "Traceback" not in client.stderr


@pytest.fixture
def serve(tmp_path: Path, home: Path, request: pytest.FixtureRequest) -> Iterator[Serve]:
    """Starts `mcpctl serve` on this test's home: for what goes in and comes out."""
    transport = request.getfixturevalue("transport") if "transport" in request.fixturenames else "stdio"
    yield from starter(tmp_path, home, transport=transport)


@pytest.fixture
def serve_process(tmp_path: Path, home: Path) -> Iterator[Serve]:
    """Starts `mcpctl serve` on this test's home, each in a process of its own: for signals, memory, and its end."""
    yield from starter(tmp_path, home, transport="stdio", process=True)


UNHURRIED = """
from mcpctl.proxy import process
process._LONGEST_END_S = process.LAST_ANSWER_S = process._LAST_S = 1000
"""
"""Has what is under way at the end take the time that it takes, however busy the machine is."""


@pytest.fixture
def unhurried(tmp_path: Path) -> dict[str, str]:
    """The environment in which the end waits for all that is under way."""
    (tmp_path / "sitecustomize.py").write_text(f"{UNHURRIED}process._GRACE_S = 1000\n", encoding="utf-8")
    return {"PYTHONPATH": f"{tmp_path}:{ROOT}"}


@pytest.fixture(scope="module")
def npm(request: pytest.FixtureRequest) -> tuple[Path, Path]:
    """The program `node` and the `node_modules` with the PACKAGES of a test module, kept by its name for them."""
    return scratch.npm(scratch.CACHE / "conformance", request.module.INSTALLED, *request.module.PACKAGES)


@pytest.fixture
def run(npm: tuple[Path, Path], home: Path, tmp_path: Path) -> Run:
    """Runs a script of npm's; what it has printed as JSON."""
    node, modules = npm
    env = os.environ | {
        "PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}",
        "MCPCTL_HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "MCPC_HOME_DIR": str(tmp_path / "mcpc"),
    }

    def ran(script: str | Path, *words: str | Path, is_json: bool = True) -> Any:
        place = script if isinstance(script, Path) else modules / ".bin" / script
        done = subprocess.run(
            [str(word) for word in (node, place, *words)], env=env, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout) if is_json else done.stdout

    return ran
