"""The pages of calls: a list with its filters, and one call, or one search, whole."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from mcpctl import hints
from mcpctl.dashboard import json_text
from mcpctl.dashboard.board import Board, board_of
from mcpctl.dashboard.choices import ROWS
from mcpctl.dashboard.record_filters import Asked
from mcpctl.dashboard.rendering import from_json, page
from mcpctl.errors import McpctlError
from mcpctl.models import CALL_FIELDS, CALL_PAYLOADS, CALL_STATUSES, Row
from mcpctl.store.filters import HINTS, CallFilter
from mcpctl.store.records import Records
from mcpctl.store.replayable import obstacle

FIELDS = tuple(name for name in CALL_FIELDS if name not in CALL_PAYLOADS)
_SESSIONS = 100
"""Sessions that may be chosen from."""
_NAMES = 12
"""Servers, and tools of one, that there are links to: those that were called most."""


def calls(request: Request) -> Response:
    """The calls on record, newest first."""
    asked, board = Asked.of(request), board_of(request)
    with board.records() as records:
        if "sessionId" in asked.values:
            session = records.session_id(asked.values["sessionId"])
            asked = replace(asked, values={**asked.values, "sessionId": session})
        wanted = asked.wanted
        if asked.before:
            wanted = replace(wanted, before=records.call_id(asked.before))
        found = list(records.calls(wanted, FIELDS).rows(ROWS + 1, asked.offset))
        is_whole = asked.is_first and len(found) <= ROWS
        total = len(found) if is_whole else board.summaries.count(records, asked.wanted)
        older = asked.older(found[ROWS - 1]["id"]) if len(found) > ROWS else ""
        names = _names(records, asked.get("server"))
        return page(
            request, "calls.html", asked=asked, calls=found[:ROWS], total=total, older=older,
            sessions=_to_choose(records, asked.get("sessionId")),
            filters=asked.choices({"status": CALL_STATUSES, "hint": HINTS, **names}),
        )  # fmt: skip


def _to_choose(records: Records, chosen: str) -> Sequence[Row]:
    recent = list(records.sessions().rows(_SESSIONS, 0))
    if chosen and all(row["id"] != chosen for row in recent):
        recent += records.sessions(CallFilter(sessions=(chosen,))).rows(1, 0)
    return recent


def _names(records: Records, server: str) -> Mapping[str, Sequence[str]]:
    """The servers that were called most, and of the one that is asked for the tools."""
    counted = {name: Counter[str]() for name in ("server", "tool")}
    for (of, tool), (count, _) in records.usage().items():
        counted["server"][of] += count
        if of == server:
            counted["tool"][tool] = count
    return {name: [value for value, _ in values.most_common(_NAMES)] for name, values in counted.items()}


def call(request: Request) -> Response:
    """One call whole, or one search."""
    board = board_of(request)
    with board.records() as records:
        found = records.call(request.path_params["id"])
        asked = Asked(request.url.path, {"sessionId": found["session_id"]})
        if "tool" not in found:
            return page(request, "search.html", asked=asked, search=_search(found))
        # A round that follows is of the same session; what was replayed names its call, in a session of its own.
        rounds = records.calls(CallFilter(sessions=(found["session_id"],), parents=(found["id"],)), FIELDS)
        then, now = from_json(found["annotations"]), _hints_now(board, found)
        return page(
            request, "call.html", asked=asked, call=found, rounds=list(rounds.rows(ROWS, 0)),
            payloads={name: json_text.shown(found[name]) for name in CALL_PAYLOADS},
            texts=json_text.texts(found["response"]), then=then, now=now,
            is_changed=_values(then) != _values(now),
            replay=_replay(found["id"], now), obstacle=obstacle(found),
        )  # fmt: skip


def _replay(call: str, now: Mapping[str, Any] | str) -> str:
    """The command that calls it again: what does not only read runs only where that is said."""
    only_reads = not isinstance(now, str) and _values(now).get("readOnlyHint")
    return f"mcpctl calls replay {shlex.quote(call)}" + ("" if only_reads else " --execute")


def _hints_now(board: Board, call: Row) -> Mapping[str, Any] | str:
    """The hints of the call's tool as its server last listed it, with the toolset in force; or why they are unknown."""
    try:
        with board.catalog(project=call["project"]) as catalog:
            tool = catalog.find(call["server"], call["tool"])
            return from_json(hints.snapshot(tool)) or {} if tool else "its server does not list this tool any more"
    except McpctlError as error:
        return error.message


def _values(known: Any) -> Mapping[str, bool]:
    return {name: hint.value for name, hint in hints.recorded(known).items()}


def searches(records: Records, wanted: CallFilter, at_most: int) -> Sequence[Row]:
    """The newest searches, each with its queries and what they found."""
    return [_search(row) for row in records.discoveries(wanted).rows(at_most, 0)]


def _search(row: Row) -> Row:
    query = from_json(row["query"])
    queries = query if isinstance(query, list) else [] if query is None else [query]
    return {**row, "queries": list(map(str, queries)), "hits": list(_hits(from_json(row["results"])))}


def _hits(results: Any) -> Iterator[Mapping[str, Any]]:
    for hit in results if isinstance(results, list) else ():
        if isinstance(hit, dict) and isinstance(hit.get("key"), str):
            yield {"key": hit["key"], "relevance": hit.get("relevance")}


ROUTES: list[BaseRoute] = [Route("/tool-calls", calls), Route("/tool-calls/{id}", call)]
