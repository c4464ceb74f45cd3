"""What `calls replay` prints: what would run or ran, and how the results differ."""

import difflib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mcpctl.base.errors import McpctlError, Problems, Refused, UpstreamFailed, WrongUsage
from mcpctl.base.models import Row
from mcpctl.base.texts import counted
from mcpctl.base.tool_keys import OWN
from mcpctl.output import Columns
from mcpctl.output.text import line_of

if TYPE_CHECKING:
    from mcpctl.calling.replay import Replay
    from mcpctl.store.records import Records

_MOST_CALLS = 1000
_MOST_LINES = 2000
"""Lines of a result that are compared; comparing takes up to the product of both."""
_WORDS = {"would_run": "would run", "needs_execute": "needs --execute"}
COLUMNS = Columns(
    fields=(
        "id", "key", "arguments", "hints", "plan", "why", "replayed_as", "recorded_status", "status",
        "recorded_duration_ms", "duration_ms", "same", "recorded_result", "result",
    ),
    shown=("id", "key", "arguments", "hints", "plan", "why", "status", "same"),
    cut=frozenset(("arguments", "why", "recorded_result", "result")),
    goes=("hints", "arguments", "why"),
    ids=frozenset(("id", "replayed_as")),
    render={"plan": lambda plan: _WORDS.get(plan, plan)},
    noun="calls",
)  # fmt: skip


def meant(records: "Records", refs: Sequence[str], session: str | None) -> list[Row]:
    """The calls with these ids, or all of a session, oldest first: the first rounds, and nothing that was a replay, nor
    what was read on of its answers, or of resources, for its model."""
    if session is None:
        found = {row["id"]: row for row in map(records.call, refs)}
        if searches := [id_ for id_, row in found.items() if "tool" not in row]:
            raise WrongUsage(f"{searches[0]} is a search", "searches are repeated with: mcpctl tools search")
    else:
        calls = records.session(session)["calls"].rows(None, 0)
        ids = [row["id"] for row in calls if row["parent_id"] is None and row["server"] != OWN]
        if len(ids) > _MOST_CALLS:
            raise WrongUsage(f"the session has {len(ids):,} calls", f"name at most {_MOST_CALLS:,} by their ids")
        found = {id_: records.call(id_) for id_ in ids}
    return list(found.values())


def row(replay: "Replay", new: Row | None) -> Row:
    """One call: what became of it, and its result then and now, without what was redacted in either."""
    old = replay.row
    return {
        "id": old["id"], "key": replay.key, "arguments": old["arguments"], "hints": replay.hints, "plan": replay.plan,
        "why": replay.why or None, "replayed_as": replay.record_id, "recorded_status": old["status"],
        "status": new and new["status"], "recorded_duration_ms": old["duration_ms"],
        "duration_ms": new and new["duration_ms"], "same": _is_same(old, new), "recorded_result": _result(old),
        "result": new and _result(new),
    }  # fmt: skip


def diff(rows: Sequence[Row]) -> Iterator[str]:
    """How the results differ, as unified diffs, those of calls that ran."""
    for each in _ran(rows):
        if each["same"]:
            continue
        if each["same"] is None:
            yield line_of(f"# {each['id']} {each['key']}: a result is on record only in part, so nothing is compared")
            continue
        old, new = _pretty(each["recorded_result"]), _pretty(each["result"])
        before = f"{each['id']} {each['key']} ({each['recorded_status']})"
        after = f"{each['replayed_as']} {each['key']} ({each['status']})"
        if max(len(old), len(new)) > _MOST_LINES:
            yield line_of(f"# {before} and {after} differ, and are too long to be compared line by line")
            continue
        yield from (line_of(line) for line in difflib.unified_diff(old, new, before, after, lineterm=""))


def failure(rows: Sequence[Row], replays: Sequence["Replay"], *, compared: bool) -> McpctlError | None:
    """What to raise once all is printed: the first that could not be called again, had no answer, or differs."""
    for replay in replays:
        if replay.plan == "cannot":
            why = f"{replay.row['id']} {replay.key} is not called again: {replay.why}"
            return Refused(why, _instead(replay.row), "not_replayed")
    for replay in replays:
        if isinstance(replay.failure, UpstreamFailed) and replay.failure.code != "tool_error":
            return replay.failure
    if compared and (different := sum(each["same"] is False for each in _ran(rows))):
        of = f"{different} of {sum(each['same'] is not None for each in _ran(rows))}"
        return Problems(f"{of} results differ", "leave out --diff to see them in a list", "differs")
    return None


def not_compared(rows: Sequence[Row]) -> str:
    """How many results could not be compared, in a sentence; empty where all could."""
    ran = _ran(rows)
    left = sum(each["same"] is None for each in ran)
    return f"{left} of {counted(len(ran), 'result')} not compared: on record only in part" if left else ""


def _ran(rows: Sequence[Row]) -> list[Row]:
    return [each for each in rows if each["plan"] == "ran"]


def _instead(row: Row) -> str:
    """The command that a person can run instead."""
    if row["server"] != OWN:
        return "run it yourself, with the missing arguments: mcpctl tools call"
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
