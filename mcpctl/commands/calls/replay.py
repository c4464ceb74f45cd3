"""`mcpctl calls replay`"""

import difflib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mcpctl.base.errors import McpctlError, Problems, Refused, UpstreamFailed, WrongUsage
from mcpctl.base.models import Found, Row
from mcpctl.commands import complete
from mcpctl.commands import options as opt

if TYPE_CHECKING:
    from mcpctl.calling.replay import Replay
    from mcpctl.store.records import Records

_MOST_CALLS = 1000
_SERVERS = "list servers with: mcpctl servers ls"
_MOST_LINES = 2000  # lines of a result that are compared; comparing takes up to the product of both


def replay(
    calls: list[str] | None = opt.argument("[ID...]", "Ids, their beginnings, or last.", complete.calls, default=None),
    session: str | None = opt.option("--session", "ID", "All calls of this session, or of last.", complete.sessions),
    execute: bool = opt.flag("--execute", "Run also the calls of tools that may change something."),
    dry_run: bool = opt.flag("--dry-run", "Show what would run; run nothing."),
    diff: bool = opt.flag("--diff", "Print how the results differ; exit 7 if one does."),
    *,
    listing: opt.Rows,
    place: opt.ToolsetLocation,
) -> None:
    """Call recorded tools again, and compare the results. Their arguments are the same.

    Calls of read-only tools run; others are shown, and run with --execute. The declaration of the server today decides,
    not the recorded one. [policy] applies as for tools call, and a terminal asks in the same way. A call whose
    arguments were redacted or cut is never called again; the column WHY names the field. Answers that the session's
    model read with @mcpctl:read are left out.

    All run in one session with each server, one after the other. Each is on record, with via replay and the id of the
    old call as parent_id. Results are compared as they are on record: SAME is empty where one was cut.

    Examples:
      mcpctl calls replay last --diff
      mcpctl calls replay --session last --dry-run
      mcpctl calls replay --session 3f2a --execute --json | jq '.[] | select(.same == false)'
    """
    from mcpctl import output
    from mcpctl.calling import replay as replays
    from mcpctl.commands.columns import REPLAYS
    from mcpctl.commands.confirmation import asking, nothing_looser

    options = listing.chosen()
    output.chosen_fields(REPLAYS, options)  # unknown ones are refused before anything runs
    if bool(calls) == (session is not None):
        raise WrongUsage("name calls, or one session with --session", "for example: mcpctl calls replay last")
    if diff and options != output.ListOptions():
        raise WrongUsage("--diff prints diffs and no rows", "leave it out; under --json each row has same and result")
    paths = place.paths()
    nothing_looser(paths, place.toolset, place.project)
    with place.records() as records:
        old = _recorded(records, calls or (), session)
    planned = replays.planned(
        paths, old, execute=execute, dry_run=dry_run, toolset=place.toolset, project=place.project
    )
    if not dry_run:
        with asking(json=options.effective in ("json", "jsonl")) as ask:
            replays.run(paths, planned, execute=execute, toolset=place.toolset, project=place.project, ask=ask)
    with place.records() as records:
        rows = [_row(each, records.call(each.record_id) if each.record_id else None) for each in planned]
    if diff:
        output.write_lines(_diff(rows))
    else:
        output.write_list(Found.of(rows), REPLAYS, options)
    if waiting := list(dict.fromkeys(each.key for each in planned if each.plan == "needs_execute")):
        more = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
        output.say(f"not called without --execute, since it may change something: {waiting[0]}{more}", always=diff)
    if diff and (left := _not_compared(rows)):
        output.say(left, always=True)
    if not dry_run and (failure := _failure(rows, planned, compared=diff)):
        raise failure


def _recorded(records: "Records", refs: Sequence[str], session: str | None) -> list[Row]:
    """The calls with these ids, or of a session, oldest first, without later rounds, replays and reads by models."""
    from mcpctl.base.tool_keys import OWN

    if session is None:
        calls = {row["id"]: row for row in map(records.call, refs)}
        if searches := [id_ for id_, row in calls.items() if "tool" not in row]:
            raise WrongUsage(f"{searches[0]} is a search", "searches are repeated with: mcpctl tools search")
        return list(calls.values())
    rows = records.session(session)["calls"].rows(None, 0)
    ids = [row["id"] for row in rows if row["parent_id"] is None and row["server"] != OWN]
    if len(ids) > _MOST_CALLS:
        raise WrongUsage(f"the session has {len(ids):,} calls", f"name at most {_MOST_CALLS:,} by their ids")
    return [records.call(id_) for id_ in ids]


def _row(replay: "Replay", new: Row | None) -> Row:
    old = replay.row
    return {
        "id": old["id"], "key": replay.key, "arguments": old["arguments"], "hints": replay.hints, "plan": replay.plan,
        "why": replay.why or None, "replayed_as": replay.record_id, "recorded_status": old["status"],
        "status": new and new["status"], "recorded_duration_ms": old["duration_ms"],
        "duration_ms": new and new["duration_ms"], "same": _is_same(old, new), "recorded_result": _result(old),
        "result": new and _result(new),
    }  # fmt: skip


def _diff(rows: Sequence[Row]) -> Iterator[str]:
    from mcpctl.output.text import line_of

    for row in _ran(rows):
        if row["same"]:
            continue
        if row["same"] is None:
            yield line_of(f"# {row['id']} {row['key']}: a result is on record only in part, so nothing is compared")
            continue
        old, new = _pretty(row["recorded_result"]), _pretty(row["result"])
        before = f"{row['id']} {row['key']} ({row['recorded_status']})"
        after = f"{row['replayed_as']} {row['key']} ({row['status']})"
        if max(len(old), len(new)) > _MOST_LINES:
            yield line_of(f"# {before} and {after} differ, and are too long to be compared line by line")
            continue
        yield from (line_of(line) for line in difflib.unified_diff(old, new, before, after, lineterm=""))


def _failure(rows: Sequence[Row], replays: Sequence["Replay"], *, compared: bool) -> "McpctlError | None":
    for replay in replays:
        if replay.plan == "cannot":
            why = f"{replay.row['id']} {replay.key} is not called again: {replay.why}"
            return Refused(why, _instead(replay), "not_replayed")
    for replay in replays:
        if isinstance(replay.failure, UpstreamFailed) and replay.failure.code != "tool_error":
            return replay.failure
    if compared and (different := sum(row["same"] is False for row in _ran(rows))):
        of = f"{different} of {sum(row['same'] is not None for row in _ran(rows))}"
        return Problems(f"{of} results differ", "leave out --diff to see them in a list", "differs")
    return None


def _not_compared(rows: Sequence[Row]) -> str:
    from mcpctl.base.texts import counted

    left = sum(row["same"] is None for row in _ran(rows))
    return f"{left} of {counted(len(_ran(rows)), 'result')} not compared: on record only in part" if left else ""


def _ran(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["plan"] == "ran"]


def _instead(replay: "Replay") -> str:
    from mcpctl.base.tool_keys import OWN
    from mcpctl.store.recordable import obstacle

    row = replay.row
    if replay.failure and replay.failure.hint:
        return replay.failure.hint
    if row["server"] != OWN:
        return "run it yourself, with the missing arguments: mcpctl tools call" if obstacle(row) else _SERVERS
    if row["parent_id"]:
        return f"print the stored answer with: mcpctl calls response {row['parent_id']}"
    return "read the resource yourself with: mcpctl resources read URI"


def _is_same(old: Row, new: Row | None) -> bool | None:
    if new is None or ((old["response_truncated"] or new["response_truncated"]) and old["status"] == new["status"]):
        return None
    return old["status"] == new["status"] and _pretty(_result(old)) == _pretty(_result(new))


def _result(call: Row) -> Any:
    return call["error"] if call["response"] is None else call["response"]


def _pretty(result: str | None) -> list[str]:
    if result is None:
        return []
    try:
        return json.dumps(json.loads(result), indent=2, ensure_ascii=False).splitlines()
    except (ValueError, RecursionError):
        return [str(result)]
