"""Every test has a home of its own, and one way to run a command: through `main`, with what holds for all checked."""

import ctypes
import gc
import io
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from mcpctl.base.errors import ExitCode
from mcpctl.base.paths import Paths, find
from mcpctl.commands.confirmation import AGENTS
from mcpctl.main import main
from tests import command_tree

if TYPE_CHECKING:
    from tests.postgres import Cluster, Recorded
    from tests.registry.own_registry import OwnRegistry

ROOT = Path(__file__).resolve().parent.parent
MCPCTL = [sys.executable, "-m", "mcpctl"]
"""The command line as a process of its own; in every test's environment it finds this checkout."""
# Where the environment says to keep nothing that is compiled, each of hundreds of processes would compile all of it.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.umask(0o022)  # what a test makes and says nothing of may be read by others, whoever starts it
# A home is synced to its disk thousands of times: where there is one in memory that takes it, it is there.
MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and os.access(MEMORY, os.W_OK):
    room = os.statvfs(MEMORY)
    if not room.f_flag & getattr(os, "ST_NOEXEC", 0) and room.f_bavail * room.f_frsize > 2 << 30:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
# How long an example takes says more of the machine than of the code; each run tries others.
settings.register_profile("few", max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("many", settings.get_profile("few"), max_examples=50)


def pytest_configure(config: pytest.Config) -> None:
    """Whoever asks for the tests that make up their examples gets many of them."""
    settings.load_profile("many" if "hypothesis" in config.option.markexpr else "few")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the slow ones, unless they are asked for: by their marker, or by the name of their file."""
    if "slow" in config.option.markexpr or any(".py" in argument for argument in config.args):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if not item.get_closest_marker("slow")]


def pytest_collection_finish() -> None:
    """Look for garbage among what tests make, not among the tests, which all stay."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


CODES = {code.value for code in ExitCode}


def without_privileges() -> None:
    """Take from a child of root what lets root write everywhere and see everything; others never had it."""
    if os.geteuid() == 0:
        for capability in set(range(64)) - {6, 7}:  # CAP_SETGID, CAP_SETUID: to become somebody else is allowed
            ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and nothing of the user's own environment."""
    for name in [name for name in os.environ if name.startswith("MCPCTL_")]:
        monkeypatch.delenv(name)
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):  # no program of the machine's is started
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "home"
    monkeypatch.setenv("MCPCTL_HOME", str(folder))
    monkeypatch.setenv("MCPCTL_DEBUG", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setattr("mcpctl.base.errors._warned", {})
    monkeypatch.setattr("mcpctl.secrets.redact.learnt", {})
    # No server of an example is asked anything.
    monkeypatch.setattr("mcpctl.commands.server_logins.say_needed", lambda *_: [])
    return folder


@pytest.fixture
def paths(home: Path) -> Paths:
    """Where things are in this test's home."""
    return find()


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program of a client's servers is there, but those whose names say that they are not."""
    from mcpctl.clients import client_config

    which = SimpleNamespace(which=lambda name, path: None if "no-such-program" in name else name)
    missing_program = client_config.missing_program

    def missing(*args: Any) -> str:
        with monkeypatch.context() as patched:
            patched.setattr(client_config, "shutil", which)
            return missing_program(*args)

    monkeypatch.setattr(client_config, "missing_program", missing)


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody sits at a terminal of their own."""
    monkeypatch.setattr("mcpctl.base.posix.has_terminal", lambda: True)
    for name in AGENTS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> "Iterator[OwnRegistry]":
    """A registry of servers, which is the one that is asked."""
    from tests.registry.own_registry import own_registry

    with own_registry() as registry:
        monkeypatch.setenv("MCPCTL_REGISTRY", registry.url)
        yield registry


@pytest.fixture(scope="session")
def cluster() -> "Iterator[Cluster]":
    """PostgreSQL, for the tests of one process."""
    from tests import postgres

    with postgres.cluster() as made:
        yield made


@pytest.fixture
def store(cluster: "Cluster") -> str:
    """The address of a database with the tables of records, which are empty."""
    return cluster.database(cluster.grown)


@pytest.fixture(params=["local", pytest.param("postgres", marks=[pytest.mark.process, pytest.mark.slow])])
def recorded(request: pytest.FixtureRequest) -> "Recorded":
    """Opens the records of a data directory, here and in PostgreSQL."""
    from tests import postgres

    return postgres.recorded(request.param, request)


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, as JSON."""
        return json.loads(self.out)

    @property
    def jsonl(self) -> list[Any]:
        """What it printed, one JSON value a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> Any:
        """The error object on stderr, under --json: its last line, after any warnings."""
        return json.loads(self.err.splitlines()[-1])["error"]


class _Stream(io.TextIOWrapper):
    def __init__(self, tty: bool) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)
        self._tty = tty

    def isatty(self) -> bool:
        return self._tty

    def text(self) -> str:
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode()


Mcpctl = Callable[..., Ran]


@pytest.fixture
def mcpctl(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mcpctl]:
    """Run one command line in process; `tty` is whether stdout and stderr are a terminal."""

    def run(*args: str, stdin: str = "", tty: bool = False) -> Ran:
        out, err = _Stream(tty), _Stream(tty)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.StringIO(stdin))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            patch.setattr("mcpctl.cli.command_tree.tree", command_tree.of)
            code = main(list(args))
        ran = Ran(int(code), out.text(), err.text())
        _check(ran, args)
        return ran

    yield run


def _check(ran: Ran, args: tuple[str, ...]) -> None:
    """What holds for every command."""
    assert ran.code in CODES, ran
    assert "\x1b" not in ran.out + ran.err
    assert "Traceback" not in ran.err
    if ran.code:
        # What a check finds and what a tool answers is data, whatever it says.
        answers = {"check", "diff", "doctor", "eval", "init", "refresh", "replay"}.intersection(args)
        answers |= {"call"} if {"call", "--json"}.issubset(args) else set()
        assert ran.out == "" or answers, ran
        assert ran.err != ""
    elif "--json" in args and "tail" not in args:  # which prints one object a line
        assert ran.json is not None or ran.out == "null\n"


@pytest.fixture
def sigint_counts() -> Iterator[None]:
    """Whoever started the tests may ignore it, as shells have what runs in the background do; children inherit that."""
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, kept)
