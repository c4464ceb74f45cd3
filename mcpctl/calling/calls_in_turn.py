"""Calls that lines ask for, one after the other, by a command: the servers stay up from one to the next."""

import asyncio
from collections.abc import Callable

from mcpctl.base import bounds, tool_keys
from mcpctl.base.errors import McpctlError, WrongUsage
from mcpctl.base.paths import Paths
from mcpctl.calling import one_shot
from mcpctl.calling.one_shot import Arguments
from mcpctl.calling.own_session import OwnSession, Result, own_session
from mcpctl.config.config import Config
from mcpctl.wire.reader import Line, LineReader

ParseLine = Callable[[bytes], tuple[str, str, Arguments]]  # the server, tool and arguments that a line asks for
Answer = Callable[[Result | McpctlError], None]


def run(
    paths: Paths,
    stdin: int,
    parse: ParseLine,
    answer: Answer,
    timeout_s: float | None = None,
    toolset: str | None = None,
    project: str | None = None,
) -> McpctlError | None:
    """Make the calls that the lines of a descriptor ask for, one after the other, on record in one session. Every line
    is answered, with what was raised where there is no result; the first failure is returned."""
    loaded = one_shot.load(paths, project, timeout_s)
    return asyncio.run(_run(loaded, paths, toolset, stdin, parse, answer))


async def _run(
    loaded: Config, paths: Paths, toolset: str | None, stdin: int, parse: ParseLine, answer: Answer
) -> McpctlError | None:
    async with own_session(loaded, paths, toolset) as session:
        calls = _Calls(loaded, session, parse, answer)
        reader = LineReader(stdin, session.gateway.turn.readers, calls.begin, calls.end, calls.too_long)
        try:
            await calls.ended
        finally:
            reader.close()
    return calls.failure


class _Calls:
    def __init__(self, loaded: Config, session: OwnSession, parse: ParseLine, answer: Answer) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.failure: McpctlError | None = None  # the first one
        self._loaded = loaded
        self._session = session
        self._parse = parse
        self._answer = answer

    def begin(self, line: Line) -> asyncio.Future[None] | None:
        text = bytes(line).strip()
        if not text:
            return None
        task = asyncio.ensure_future(self._make(text))
        task.add_done_callback(self._check)
        return task

    def too_long(self, *_: bytes) -> None:
        self._take(WrongUsage(f"a line has more than {bounds.MESSAGE >> 20} MB", "pass less text", "line_too_long"))

    def end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    async def _make(self, line: bytes) -> None:
        try:
            server, name, arguments = self._parse(line)
            if server not in self._loaded.elsewhere:  # which is refused on record, as a client's call is
                self._loaded.server(server)
            gateway = self._session.gateway
            view = gateway.view(self._session.caller)
            await gateway.load(server, view)
            passed = arguments(gateway.catalog(view).find(server, name))
            self._take(await self._session.call(tool_keys.join(server, name), passed, as_sent=True))
        except McpctlError as error:
            self._take(error)

    def _take(self, made: Result | McpctlError) -> None:
        self.failure = self.failure or (made if isinstance(made, McpctlError) else made.failure)
        try:
            self._answer(made)
        except (McpctlError, SystemExit) as error:  # nobody reads the answers, or they have no room
            self._fail(error)

    def _check(self, task: "asyncio.Future[None]") -> None:
        if not task.cancelled() and (error := task.exception()):
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if not self.ended.done():
            self.ended.set_exception(error)
