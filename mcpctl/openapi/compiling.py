"""Compiling the document of an entry, in a process of its own: a stranger's document may take for ever."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from mcpctl.base import bounds
from mcpctl.base.errors import McpctlError, Unusable
from mcpctl.openapi import snapshot
from mcpctl.openapi.faults import WrongDocument
from mcpctl.openapi.operations import ChosenEntry
from mcpctl.openapi.process import NO_MEMORY
from mcpctl.openapi.sources import Sources

if TYPE_CHECKING:
    from mcpctl.base.paths import Paths
    from mcpctl.config.server_settings import Server

_SCRIPT = Path(__file__).with_name("process.py")
_WAIT_S = 120.0  # its CPU is bounded; this is for a machine that gives it none


class _Failure(msgspec.Struct):
    code: str
    message: str
    hint: str


class _ProcessLine(msgspec.Struct):
    """A line of the process: one of these."""

    read: str | None = None
    size: int = 0
    error: _Failure | None = None
    bug: str = ""


def compile_entry(
    paths: "Paths", name: str, server: "Server", permit: Callable[[snapshot.CompiledDocument], None] | None = None
) -> snapshot.CompiledDocument:
    """Read the document of an entry, compile it, and keep that for `serve` if it is permitted; raises `McpctlError`."""
    content = _made(paths, server)
    document = msgspec.json.decode(content, type=snapshot.CompiledDocument)
    if permit:
        permit(document)
    snapshot.save(paths, name, server, content)
    return document


def unkept(paths: "Paths", server: "Server") -> snapshot.CompiledDocument:
    """The compiled document of an entry that is not written; raises `McpctlError`."""
    return msgspec.json.decode(_made(paths, server), type=snapshot.CompiledDocument)


def whole_definition(paths: "Paths", server: "Server", tool: str) -> dict[str, Any]:
    """The definition of one tool as the document has it now, however long; raises `McpctlError`."""
    content = _made(paths, server, tool)
    document = msgspec.json.decode(content, type=snapshot.CompiledDocument)
    definition: dict[str, Any] = msgspec.json.decode(document.operations[0].definition)
    return definition


def _made(paths: "Paths", server: "Server", whole: str = "") -> bytes:
    from mcpctl.config.entry_secrets import masked_url

    place = server.openapi
    source = masked_url(place) if "://" in place else place
    label = source if "://" in place else str(paths.config.parent / place)
    sources = Sources(place, paths.config.parent, label)
    document = sources.document()
    entry = ChosenEntry(
        place=sources.place, name=label, source=source, url=server.url, include=server.include,
        exclude=server.exclude, deprecated=server.deprecated, parameters=list(server.parameters),
        headers=list(server.headers), origins=server.origins, whole=whole,
    )  # fmt: skip
    return _compiled(entry, document, sources)


def _compiled(entry: ChosenEntry, document: bytes, sources: Sources) -> bytes:
    import subprocess  # commands that only read records need no processes

    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", str(_SCRIPT), *filter(os.path.isabs, sys.path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env={}, cwd="/", start_new_session=True,
    )  # fmt: skip
    late = threading.Timer(_WAIT_S, process.terminate)
    late.daemon = True
    with contextlib.suppress(BrokenPipeError), process:
        late.start()
        try:
            assert process.stdin and process.stdout
            process.stdin.write(msgspec.json.encode(entry) + b"\n")
            _send(process.stdin, document)
            if content := _answer(process.stdin, process.stdout, sources):
                return content
        finally:
            late.cancel()
            process.kill()  # the status of one that has ended stays as it is
    raise _ended(entry.name, process.returncode)


def _answer(pipe: IO[bytes], output: IO[bytes], sources: Sources) -> bytes:
    """The compiled document; nothing where the process has ended without one."""
    while line := output.readline():
        message = msgspec.json.decode(line, type=_ProcessLine)
        if message.read is not None:
            try:
                _send(pipe, sources.file(message.read))
            except WrongDocument:
                raise
            except McpctlError as error:
                pipe.write(msgspec.json.encode({"error": f"{message.read}: {error.message}"}) + b"\n")
                pipe.flush()
        elif message.size:
            content = output.read(message.size)
            return content if len(content) == message.size else b""
        elif message.error:
            raise WrongDocument(message.error.message, message.error.hint, message.error.code)
        elif message.bug:
            raise RuntimeError(message.bug)
    return b""


def _send(pipe: IO[bytes], content: bytes) -> None:
    pipe.write(b'{"size":%d}\n' % len(content))
    pipe.write(content)
    pipe.flush()


def _ended(name: str, status: int) -> McpctlError:
    """The reason why the process has ended without an answer: its bounds, or somebody else's signal."""
    if status == -signal.SIGXCPU:
        bound = f"{bounds.OPENAPI_S} s of CPU ({bounds.OPENAPI_LONGEST_S} s beyond {bounds.OPENAPI_QUICK >> 20} MB)"
    elif status in (NO_MEMORY, -signal.SIGABRT, -signal.SIGSEGV):
        bound = f"{bounds.OPENAPI_MEMORY >> 20} MB of memory"
    elif status < 0:
        hint = "try again: a machine that has no memory or time left ends processes"
        reason = f"the process that reads {name} was ended by {signal.Signals(-status).name}"
        return Unusable(reason, hint, "reading_interrupted")
    else:
        raise RuntimeError(f"the process that compiles has ended with status {status}")
    hint = "choose the operations that you need with --include, or make the document smaller"
    return WrongDocument(f"{name} takes more than {bound}", hint, "openapi_too_large")
