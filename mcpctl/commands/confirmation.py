"""Asking a person, and the changes that only a person may make: a model could otherwise say yes for its user."""

import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

import typer

from mcpctl.base import posix
from mcpctl.base.errors import Refused, before_warning, warn
from mcpctl.base.paths import Paths
from mcpctl.catalog import loosening

if TYPE_CHECKING:
    from mcpctl.policy.approvals import CallApproval
    from mcpctl.policy.question import ConsentQuestion
    from mcpctl.proxy.consent_forms import AskHere
    from mcpctl.toolsets.toolset_files import ToolsetFile

AGENTS = (  # variables set by programs in which a model runs commands
    "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "GEMINI_CLI", "CURSOR_AGENT", "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "OPENCODE", "AMP_THREAD_ID", "GOOSE_TERMINAL",
    "COPILOT_AGENT_SESSION_ID", "AI_AGENT",
)  # fmt: skip


_LONGEST_ANSWER = 4096
_ANSWERS = {b"y\n": True, b"yes\n": True, b"\n": False, b"n\n": False, b"no\n": False, b"": None}


def show(diff: Iterable[str]) -> None:
    from mcpctl.output.text import line_of

    for line in diff:
        typer.echo(line_of(line), err=True)


def reply(question: str, terminal: TextIO | None = None) -> str:
    """The line that a person types there, else at stdin; raises KeyboardInterrupt at Ctrl-C and Ctrl-D. It leaves
    stdout as it is."""
    from mcpctl.output.text import line_of

    source, line = terminal or sys.stdin, ""
    _forget_keys(source)
    try:
        typer.echo(line_of(f"{question} "), err=True, nl=False)
        line = source.readline()
    finally:
        if not line:  # the terminal is in the line of the question
            typer.echo(err=True)
    if not line:
        raise KeyboardInterrupt
    return line.strip()


def _forget_keys(terminal: TextIO) -> None:
    """Drop the keys that were pressed before the question: they are no answer to it."""
    if terminal.isatty():
        import termios

        termios.tcflush(terminal.fileno(), termios.TCIFLUSH)


def agrees(question: str, *, default: bool = False) -> bool:
    answers = {"y": True, "yes": True, "n": False, "no": False, "": default}
    while (answer := reply(f"{question} [{'Y/n' if default else 'y/N'}]:").lower()) not in answers:
        typer.echo("answer y or n", err=True)
    return answers[answer]


def ask(question: str, hint: str = "see the change again with: --dry-run") -> None:
    """Ask about a change that was shown; raises `Refused` if the answer is no."""
    code = "declined"
    try:
        if agrees(question):
            return
    except KeyboardInterrupt:
        code = "interrupted"
    raise Refused("nothing was written: you said no", hint, code)


def freed(paths: Paths, before: str, after: str) -> str:
    """The tools, in words, that a change of config.toml lets be called without a yes; empty where there are none."""
    keys = loosening.by_config(paths, before, after)
    return loosening.told(keys) if keys else ""


def agree(summary: Iterable[str], *, yes: bool) -> bool:
    """Say what a change of clients' files comes to, and ask; false where nobody is asked. Raises `Refused`."""
    from mcpctl import output

    if yes or not is_terminal():
        return False
    for line in summary:
        output.say(line, always=True)
    ask("Write this?")
    return True


@contextmanager
def undisturbed() -> Iterator[None]:
    """Have Ctrl-C wait until several files are written that belong together."""
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


class _Asker:
    """Asks about calls, one after the other, on the terminal: a yes is for that call alone."""

    def __init__(self) -> None:
        self.approval: CallApproval | None = None  # the one that is not answered yet

    async def __call__(self, approval: "CallApproval", question: "ConsentQuestion") -> bool | None:
        import shutil

        self.approval = approval
        for clear in before_warning:
            clear()
        for line in question.lines_of(approval, shutil.get_terminal_size().columns):
            typer.echo(line, err=True)
        _forget_keys(sys.stdin)
        typer.echo("May it be called? [y/N] ", nl=False, err=True)
        while (said := await _line()) not in _ANSWERS:
            typer.echo("Answer y or n: ", nl=False, err=True)
        if _ANSWERS[said] is not None:
            self.approval = None
        return _ANSWERS[said]


async def _line() -> bytes:
    """A line that is typed, in small letters; empty at the end of the input, as by Ctrl-D."""
    import asyncio

    loop, stdin = asyncio.get_running_loop(), sys.stdin.fileno()
    typed: asyncio.Future[bytes] = loop.create_future()

    def take() -> None:
        if not typed.done():
            typed.set_result(os.read(stdin, _LONGEST_ANSWER))

    loop.add_reader(stdin, take)
    read = b""
    try:
        read = await typed
    finally:
        loop.remove_reader(stdin)
        if not read:
            typer.echo(err=True)
    return read and read.strip().lower() + b"\n"


@contextmanager
def asking(*, json: bool) -> "Iterator[AskHere | None]":
    """How the person at this terminal is asked about a call that needs it; None where nobody can be asked here."""
    if json or not is_terminal() or not may_be_a_person():
        yield None
        return
    asker = _Asker()
    try:
        yield asker
    except KeyboardInterrupt:
        if asker.approval:
            from mcpctl.store import clock

            id_, until = asker.approval.id, clock.local(asker.approval.expires)
            warn(f"you gave no answer: it can be answered until {until}, with: mcpctl approvals allow {id_} (or deny)")
        raise


def only_for_people(action: str) -> None:
    """Raises `Refused` where nobody sits at a terminal, or a model may run this: against accidents, not deceit."""
    if why := _why_nobody():
        raise Refused(f"only a person can {action}: {why}", "run it in a terminal of your own", "needs_a_person")


def nothing_looser(paths: Paths, toolset: str | None, project: str | None, key: str = "") -> None:
    """Raises `Refused` where an agent names a toolset or a project by which this, or without a key anything, is called
    without a yes, and is not without them."""
    from mcpctl.toolsets import in_force

    named = in_force.chosen(toolset)
    if (named or project) and (agent := _agent()) and (keys := loosening.by_naming(paths, named, project, key)):
        parts = [f"toolset '{named}'"] if named else []
        parts += [f"project '{project}'"] if project else []
        what = f"call with {' and '.join(parts)}, by which more is called without a question: {loosening.told(keys)}"
        options = " and ".join([*(["--toolset"] if named else []), *(["--project"] if project else [])])
        hint = f"leave out {options} and the variables for it, or run it in a terminal of your own"
        raise Refused(f"only a person can {what}: {agent} is set, so an agent runs this", hint, "needs_a_person")


def may_be_a_person() -> bool:
    return not _why_nobody()


def _agent() -> str | None:
    return next((name for name in AGENTS if os.environ.get(name)), None)


def _why_nobody() -> str:
    """The sign that no person runs this; empty where a person may."""
    if agent := _agent():
        return f"{agent} is set, so an agent runs this"
    return "" if posix.has_terminal() else "this does not run in front of a terminal"


@dataclass(frozen=True)
class Gate:
    """Checks a change before it is written: only a person may let more be called without a yes. Each method raises
    `Refused` where nobody sits at a terminal of their own; `from_script` stands in for a person, but not where an agent
    runs this. A permitted change is put on record. A `dry` gate only warns of a refusal."""

    paths: "Paths"
    from_script: bool = False
    dry: bool = False

    def config(self, before: str, after: str) -> None:
        self._permit(loosening.by_config(self.paths, before, after), self.paths.config.name, before, after)

    def toolset(self, place: "ToolsetFile", before: str, after: str) -> None:
        self._permit(loosening.by_toolset(self.paths, place, before, after), place.reference, before, after)

    def equip(self, reference: str | None, place: str = "the equipped toolset") -> None:
        self._permit(loosening.by_equipping(self.paths, reference), place, "", str(reference))

    def document(self, name: str, moved: str, before: str, after: str) -> None:
        """A new document of an API, with which requests or clients go elsewhere; it is said of it how."""
        changes = loosening.by_document(self.paths, name, before, after)
        self._permit(changes, f"the document of {name}", before, after, f"read a document of '{name}' by which {moved}")

    def _permit(self, changes: Sequence[str], place: str, before: str, after: str, action: str = "") -> None:
        if not changes:
            return
        why = _why_nobody()
        if why and (_agent() or not self.from_script):
            what = action or f"have this called without a question, or more often: {loosening.told(changes)}"
            message = f"only a person can {what}: {why}"
            no_agent = "" if _agent() else "; in a Dockerfile or in CI, add --from-script"
            if not self.dry:
                raise Refused(message, f"run it in a terminal of your own{no_agent}", "needs_a_person")
            warn(f"this would be refused here: {message}")
        elif not self.dry:
            loosening.record(self.paths, changes, place, after, "script" if why else "terminal", before)
