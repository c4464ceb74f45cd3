"""The texts of commands, and untrusted text made safe for a terminal."""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from mcpctl.base.models import RawJson, Row
from mcpctl.base.texts import beginning, counted, duration

_KEYS = 5  # of a change of the configuration that are shown
_UNSAFE = (  # not compiled before there is a text to look at that is not plain
    # C0 and C1 controls, line and paragraph separators, bidirectional overrides and isolates, invisible marks
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


RED, PLAIN = "\x1b[31m", "\x1b[0m"
PAINTED = frozenset(("tool_error", "failed", "denied", "interrupted"))  # the statuses that are red


def is_coloured() -> bool:
    """Whether stdout is a terminal with colours and its user wants them (no-color.org)."""
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in (None, "", "dumb")


def line_of(text: str) -> str:
    """`text` on one line: white space becomes spaces, and characters that could command a terminal become U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_UNSAFE, _replacement, text)


def block_of(text: str) -> str:
    """`text` with its lines and tabs, without characters that could command a terminal."""
    return re.sub(_UNSAFE, lambda match: match[0] if match[0] in "\n\t" else "\N{REPLACEMENT CHARACTER}", text)


def quoted(text: str) -> str:
    """`block_of` a foreign text, with a bar before its further lines, so that they cannot pass for ours."""
    first, *rest = block_of(text).splitlines() or [""]
    return "\n".join([first, *(f"  | {line}" for line in rest)])


def plain_json(text: str) -> str:
    """The JSON with every character escaped that could command a terminal."""
    return re.sub(_UNSAFE, lambda match: match[0] if match[0] == "\n" else json.dumps(match[0])[1:-1], text)


def _replacement(match: re.Match[str]) -> str:
    return " " if match[0] in "\t\n\r\v\f\u2028\u2029" else "\N{REPLACEMENT CHARACTER}"


_TIME = r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z"
TIMES = frozenset((
    "start_time", "last_activity", "end_time", "started_at", "listed_at", "last_used", "failed_at", "created_at",
    "created", "login_expires_at", "made_at",
))  # fmt: skip


_MOMENTS = TIMES | {"answered_at", "expires_at", "ended_at", "revoked_at", "expires"}


def here(text: str, *, at_terminal: bool | None = None) -> str:
    """A text of ours with its times as the clock here has them, for a person at a terminal; elsewhere they are UTC."""
    at_terminal = sys.stdout.isatty() if at_terminal is None else at_terminal
    return re.sub(_TIME, _local, text) if at_terminal else text


def _local(match: re.Match[str]) -> str:
    from datetime import datetime

    try:
        then = datetime.fromisoformat(match[0]).astimezone()
    except (ValueError, OverflowError):
        return match[0]
    return then.strftime("%Y-%m-%d %H:%M:%S" if match[0].count(":") > 1 else "%Y-%m-%d %H:%M")


def pairs(row: Row) -> Iterator[str]:
    width = max(map(len, row), default=0)
    for name, value in row.items():
        if isinstance(value, RawJson):
            value = _decoded(value)
        if isinstance(value, Mapping | list | tuple) and value:
            yield f"{name}:"
            for line in _indented(value):
                yield f"  {line_of(line)}"
        else:
            text = _scalar(value)
            yield f"{name + ':':<{width + 1}} {here(text) if name in _MOMENTS else text}".rstrip()


def tool(row: Row) -> Iterator[str]:
    """One tool. Texts of its server are indented: they are not ours."""
    yield line_of(row["key"])
    if row["title"]:
        yield f"  {line_of(row['title'])}"
    if not row["permitted"]:
        how = line_of(f"see: mcpctl policy explain {row['key']}")
        yield f"not permitted by its server's entry, so it is neither found nor called; {how}"
    if row["held"]:
        look = line_of(f"look at it with: mcpctl tools diff {row['key']}")
        yield f"held ({row['held']}), so it is neither found nor called; {look}"
    if row["in_toolset"] is False:
        yield line_of(f"not in the toolset '{row['toolset']}', which is in force, so it is neither found nor called")
    yield ""
    yield from (f"  {line}".rstrip() for line in block_of(row["description"] or "(no description)").splitlines())
    yield ""
    for field in MEANINGS:
        yield f"{field.replace('_', ' ') + ':':<13}{_hint(field, row[field])}"
    yield f"{'risk:':<13}{row['risk']}"
    yield ""
    calls = f"{counted(row['usage'], 'call')} on record, the last at {here(row['last_used'] or '')}"
    yield f"{'usage:':<13}{calls if row['usage'] else 'no call on record'}"
    if row.get("http"):
        yield from _request(row)
    yield f"parameters:  {line_of(row['signature'])}"
    definition = _decoded(row["definition"])
    for name in ("inputSchema", "outputSchema"):
        if isinstance(definition, Mapping) and name in definition:
            yield f"{name}:"
            for line in _indented(definition[name]):
                yield f"  {line_of(line)}"


def _request(row: Row) -> Iterator[str]:
    """The request of a tool of an HTTP API, and the security schemes of which it takes one alternative."""
    request, unset = row["http"], row["unset"] or {}

    def no_value(scheme: str) -> str:
        return f"no value: {line_of(unset[scheme])}" if scheme in unset else "no value"

    yield f"{'request:':<13}{line_of(request['method'])} {line_of(request['base'])}{line_of(request['path'])}"
    alternatives = [
        " with ".join(f"{line_of(scheme)} ({'has a value' if has_value else no_value(scheme)})"
                      for scheme, has_value in each.items()) or "none"
        for each in row["security"]
    ]  # fmt: skip
    yield f"{'credentials:':<13}{'; or '.join(alternatives) or 'none'}"


def toolset(row: Row) -> Iterator[str]:
    yield from pairs({name: value for name, value in row.items() if name != "tools"})
    for tool in row["tools"]:
        yield ""
        remarks = {"ok": "", "changed": "  (changed since it was added)", "unknown": "  (no such tool is listed)"}
        yield line_of(tool["key"] or f"refId {tool['ref_id']}") + remarks[tool["status"]]
        for name, value in tool["overrides"].items():
            yield line_of(f"  {name}: {value if isinstance(value, str) else str(value).lower()}")
        for note in tool["notes"]:
            yield line_of(f"  {note['name']}: {note['note']}")


def explained(row: Row) -> Iterator[str]:
    yield f"{line_of(row['key'])}  {row['relevance']:.4f}"
    why = row["explanation"]
    if why["pinned"]:
        yield f"  pinned: the query is its {why['pinned']}"
    if why["said"]:
        yield line_of(f"  explanation: {why['said']}")
    by_word: dict[str, list[str]] = {}
    for part in why["parts"]:
        near = f" (≈ {part['near']['word']} {part['near']['cosine']:.2f})" if "near" in part else ""
        near += f" (≈ '{part['recorded']}')" if "recorded" in part else ""
        by_word.setdefault(part["word"] or "", []).append(f"{part['field']} {part['score']:.4f}{near}")
    for word, parts in by_word.items():
        yield line_of(f"  {word or '(all words)'}: {', '.join(parts)}")
    if by_word:
        yield f"  sum: {why['score']:.4f}"
    if why["unknown_words"]:
        yield line_of(f"  no tool has: {', '.join(why['unknown_words'])}")


CALL_OF_SESSION = ("id", "started_at", "server", "tool", "status", "duration_ms")  # fields in a session's text


def session(row: Row) -> Iterator[str]:
    lists = ("tools", "calls", "reads", "decisions")
    yield from pairs({name: value for name, value in row.items() if name not in lists})
    yield from _section("tools called:", map(_calls_of_tool, row["tools"]))
    yield from _section("calls:", map(_call_of_session, row["calls"].rows(None, 0)))
    yield from _section("read:", map(_read, row["reads"].rows(None, 0)))
    made = (f"{made['made_at']}  {_key(made)}  {decision(made)}" for made in row["decisions"].rows(None, 0))
    yield from _section("decisions:", map(here, made))


def _key(made: Row) -> str:
    key = made["key"] or "-"
    return beginning(key.split(", "), _KEYS) if made["decision"] == "loosened" else key


def _section(heading: str, lines: Iterator[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        if number == 0:
            yield from ("", heading)
        yield line_of(f"  {line}")


def _calls_of_tool(row: Row) -> str:
    denied = f", {row['denied']} of them denied" if row["denied"] else ""
    calls = f"{counted(row['calls'], 'call')}, {row['failed']} failed{denied}, {row['duration_ms'] or 0} ms"
    return f"{row['server']}:{row['tool']}  {calls}"


def _call_of_session(row: Row) -> str:
    duration = "" if row["duration_ms"] is None else f"  {row['duration_ms']} ms"
    return f"{row['id']}  {here(row['started_at'])}  {row['server']}:{row['tool']}  {row['status']}{duration}"


def _read(row: Row) -> str:
    name = f"{row['server'] or '-'}  {row['kind']} {row['name']}"
    return f"{row['id']}  {here(row['started_at'])}  {name}  {row['status']}  {row['duration_ms']} ms"


def decision(row: Row) -> str:
    by = ", ".join(part for part in (row["rule"], row["rule_place"]) if part)
    scope = f" ({row['scope']})" if row["scope"] else ""
    recorded = "" if row["enforced"] else " (only recorded)"
    return f"{answered(row)}{scope}: {by}{recorded}"


def answered(row: Row) -> str:
    made, channel, waited_ms = row["decision"], row["channel"], row["waited_ms"]
    after = "" if waited_ms is None else f", after {duration(waited_ms)}"
    if made == "unanswerable":
        itself = f"declined by the client itself, in {waited_ms} ms"
        return _NOBODY.get(channel, "nobody could be asked") if waited_ms is None else itself
    if made == "expired" and channel == "dismissed":
        return f"the form was closed without an answer{after}"
    if made == "expired":
        return "nobody answered" if waited_ms is None else f"nobody answered in {duration(waited_ms)}"
    if channel in ("rule", "grant"):
        return f"{made}, the same call again" if channel == "grant" and row["scope"] == "once" else str(made)
    person = row.get("person") if channel in ("terminal", "dashboard", "command") else None
    if person or (made in ("approved", "declined") and channel in ("client", "terminal", "dashboard")):
        where = f" {'by a' if channel == 'command' else 'in the'} {channel}"
        where = "" if person and channel in person else where
        return f"{made} by {person or 'the user'}{where}{after}"
    return f"{made} {'in' if made == 'asked' else 'by'} the {channel}{after}"


_NOBODY = {
    "client": "the client cannot ask",
    "asked": "the client was asked before",
    "limit": "too many questions were open in the client",
}


def call(row: Row) -> Iterator[str]:
    yield from pairs({name: value for name, value in row.items() if name != "decisions"})
    for made in row.get("decisions", ()):
        yield line_of(here(f"decided: {made['made_at']}  {decision(made)}"))


MEANINGS = {  # the meaning of each hint in effect, where true and where false
    "read_only": ("it changes nothing", "it may change things"),
    "destructive": ("it may destroy or overwrite", "it destroys nothing"),
    "idempotent": ("repeating it changes nothing more", "repeating it may do more"),
    "open_world": ("it reaches outside systems", "it stays in its own domain"),
}


_INFERRED = {  # the meaning of those that would loosen: no API has to do as the method of a request says
    ("read_only", True): "it should change nothing, but nobody promises that",
    ("destructive", False): "nothing says that it destroys, but nobody promises that it does not",
    ("idempotent", True): "repeating it should change nothing more, but nobody promises that",
}
_HINT_FROM = {"declared": "declared", "inferred": "inferred from its HTTP method"}


def meaning_of(field: str, value: Mapping[str, Any]) -> str:
    """The meaning of a hint in effect, no more than its source can say."""
    meaning = MEANINGS[field][0 if value["effective"] else 1]
    return _INFERRED.get((field, value["effective"]), meaning) if value["source"] == "inferred" else meaning


def _hint(field: str, value: Mapping[str, Any]) -> str:
    words = meaning_of(field, value)
    if value["source"] == "default":
        return f"not declared; counts as: {words}"
    where = f"override in {line_of(value['file'])}" if value["source"] == "override" else _HINT_FROM[value["source"]]
    return f"{'yes' if value['effective'] else 'no'} ({where}): {words}"


def _indented(value: Any) -> list[str]:
    """The lines of a value as JSON: one, where it is nested too deep to be indented."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2)
    except RecursionError:
        text = json.dumps(value, ensure_ascii=False)  # in C, which goes deeper
    return text.splitlines()


def _decoded(text: RawJson) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return str(text)


def _scalar(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    return line_of(str(value) if isinstance(value, str | int | float) else json.dumps(value))
