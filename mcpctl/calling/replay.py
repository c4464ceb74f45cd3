"""Calls on record, called again as they were: what would run, and what became of it."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from mcpctl.base import hints, tool_keys
from mcpctl.base.errors import McpctlError, UpstreamFailed
from mcpctl.base.models import Row, Tool
from mcpctl.base.paths import Paths
from mcpctl.calling.one_shot import load
from mcpctl.calling.own_session import OwnSession, own_session
from mcpctl.catalog.cache import Catalog
from mcpctl.config.config import Config
from mcpctl.metatools import own_tool
from mcpctl.policy import words
from mcpctl.policy.decide import ASK, CALL, CURRENT, REFUSE, Subject, decide
from mcpctl.policy.view import View
from mcpctl.proxy.consent_forms import AskHere
from mcpctl.store import recordable
from mcpctl.store.journal_lines import REPLAY
from mcpctl.store.state import State
from mcpctl.toolsets import in_force

PLANS = ("would_run", "ran", "needs_execute", "cannot")  # `ran` also where its server failed, `cannot` where refused
_READ = "read"


@dataclass
class Replay:
    row: Row  # as it is on record
    hints: str  # the declaration of its tool today, in one column
    plan: str  # one of `PLANS`
    why: str = ""
    record_id: str | None = None  # its id on record as it was called again
    failure: McpctlError | None = field(default=None)  # why it has no answer of its tool

    @property
    def key(self) -> str:
        return tool_keys.join(self.row["server"], self.row["tool"])


def planned(
    paths: Paths, rows: Iterable[Row], *, execute: bool, dry_run: bool = False, toolset: str | None = None,
    project: str | None = None,
) -> list[Replay]:  # fmt: skip
    """The plan: read-only calls run, with `execute` all; with `dry_run` also what the policy says of the others."""
    loaded = load(paths, project)
    with State.opened(paths) as state:
        catalog = Catalog(View(loaded, in_force.current(paths, loaded, toolset, state)), state)
        return [_planned(loaded, catalog, row, execute=execute, dry_run=dry_run) for row in rows]


def _planned(loaded: Config, catalog: Catalog, row: Row, *, execute: bool, dry_run: bool) -> Replay:
    is_own = row["server"] == tool_keys.OWN
    tool = own_tool.TOOL if is_own else catalog.find(row["server"], row["tool"])
    declared = hints.compact(msgspec.json.decode(hints.snapshot(tool)))
    why = recordable.obstacle(row)
    if not why and row["server"] not in loaded.servers and row["server"] not in loaded.elsewhere:
        why = f"no server '{row['server']}' is configured"
    if why:
        return Replay(row, declared, "cannot", why)
    if execute or (tool and catalog.view.rules.permission(tool) == _READ):
        return _foreseen(catalog, row, declared, tool) if dry_run and tool else Replay(row, declared, "would_run")
    return Replay(row, declared, "needs_execute", "" if tool else "no server has listed it")


def _foreseen(catalog: Catalog, row: Row, declared: str, tool: Tool) -> Replay:
    """The configuration's decision on the call today; the call itself is decided again, on record."""
    verdict = decide(Subject(CALL, row["server"], row["tool"], tool, catalog.view, listing=CURRENT))
    if verdict.outcome == REFUSE and verdict.failure:
        return Replay(row, declared, "cannot", words.for_person(verdict.failure).message)
    return Replay(row, declared, "would_run", "it needs your consent" if verdict.outcome == ASK else "")


def run(
    paths: Paths, replays: Sequence[Replay], *, execute: bool, toolset: str | None = None, project: str | None = None,
    ask: AskHere | None = None,
) -> None:  # fmt: skip
    async def made(planned: Sequence[Replay]) -> None:
        async with own_session(load(paths, project), paths, toolset, via=REPLAY, ask=ask) as session:
            for replay in planned:
                await _call(session, replay, execute=execute)

    if planned := [replay for replay in replays if replay.plan == "would_run"]:
        asyncio.run(made(planned))


async def _call(session: OwnSession, replay: Replay, *, execute: bool) -> None:
    arguments = (replay.row["arguments"] or "{}").encode()
    try:
        result = await session.call(  # the declaration of the server at that moment decides once more
            replay.key, arguments, as_sent=True, execute_class=None if execute else _READ, replays=replay.row["id"]
        )
        replay.plan, replay.failure = "ran", result.failure
    except UpstreamFailed as error:
        replay.plan, replay.why, replay.failure = "ran", error.message, error
    except McpctlError as error:
        replay.plan, replay.why, replay.failure = "cannot", error.message, error
        if error.code == "wrong_execute":
            replay.plan, replay.why = "needs_execute", "its server does not say any more that it only reads"
    replay.record_id = session.record_id or None
