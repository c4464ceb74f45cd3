"""The REST interface as an OpenAPI 3.1 document, made from its operations, the table of fields, and REST's names.

Answers are not made by these pydantic models: they come as they are on record. A member that may be left out has a
default; all others are there, null or not."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.json_schema import models_json_schema

from mcpctl import __version__
from mcpctl.base import fields
from mcpctl.base.models import HINTS
from mcpctl.dashboard import rest_names
from mcpctl.dashboard.rest import DEFAULT, FLAGS, MEANINGS, MOST, OF_TOOLS, Operation
from mcpctl.dashboard.rest_names import Name
from mcpctl.dashboard.streaming import EVENT_PARAMETERS

_LEFT_OUT: Any = {"default_factory": lambda: None}  # a member that need not be there, and is never null
_HINT = "true or false, or null to leave it to the server; the others stay as they are."
_SHOWN = "The member shown of the answer without it, which only shows the change."
_METRICS = "The tokens of a call, estimated as `encoding` says."
_REF = "#/components/schemas/{model}"
_ERROR = {"description": "An error", "content": {"application/json": {"schema": {"$ref": _REF.format(model="Error")}}}}
_EVENTS = {
    "operationId": "events",
    "summary": "Events as they happen.",
    "description": "Server-sent events: the lines of mcpctl calls tail -f --json, and changes of approvals, tools and"
    " servers. An event's id is a position; the header Last-Event-ID goes on from it, and an event reset says that it"
    " cannot. The filters are those of calls. 503 where too many streams are open.",
    "responses": {"200": {"description": "OK", "content": {"text/event-stream": {}}}, "default": _ERROR},
}
_SINCE = {"name": "since", "in": "query", "description": "A position to go on from.", "schema": {"type": "string"}}
_SCHEMAS: dict[str, dict[str, Any]] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "default": DEFAULT},
    "offset": {"type": "integer", "minimum": 0, "default": 0},
    **{name: {"type": "boolean"} for name in FLAGS},
}


class _Exact(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Group(fields.Total):
    server: Annotated[str, "The server that was called."]
    tool: str
    client_name: str | None
    project: str | None
    status: Annotated[fields.CallStatus, "The outcome, or running."]
    day: Annotated[str, "The day, by the clock of this machine."]
    hour: Annotated[str, "The hour, by the clock of this machine."]


def _model(name: str, about: str, base: type[BaseModel] = _Exact, /, **members: Any) -> Any:
    return create_model(name, __base__=base, __doc__=about, **members)


def _hints(name: str, about: str, type_: type, **others: Any) -> Any:
    return _model(name, about, **others, **{hint: (type_, Field(**_LEFT_OUT)) for hint in HINTS})


def _text(description: str) -> Any:
    return str, Field(description=description)


def _several(model: Any) -> Any:
    return list[model], ...


def _row(
    name: str, row: type, names: Sequence[Name], about: str = "", *, base: type[BaseModel] = _Exact,
    left_out: Collection[str] = (), types: Mapping[str, Any] = {},
) -> Any:  # fmt: skip
    """The model of a row. `types` are those that REST makes of a field, or puts beside them."""
    hints, meanings = get_type_hints(fields.Stored) | get_type_hints(row), fields.meanings(row)
    members: dict[str, Any] = {}
    for each in names:
        outer, _, inner = each.rest.partition(".")
        if inner:
            parts = [part._replace(rest=part.field) for part in names if part.rest.startswith(f"{outer}.")]
            members[outer] = _row(outer.capitalize(), row, parts, _METRICS), ...
            continue
        type_ = types.get(outer, hints.get(each.field))
        described: dict[str, Any] = {"description": each.note or meanings[each.field]}
        if outer == "schema":  # every model has a method of that name
            outer, described["alias"] = "schema_", outer
        if each.is_optional or outer in left_out:
            is_null = NoneType in get_args(type_)
            if each.is_optional and is_null:
                (type_,) = set(get_args(type_)) - {NoneType}
            described |= {"default": None} if is_null and not each.is_optional else _LEFT_OUT
        members[outer] = type_, Field(**described)
    return _model(name, about or row.__doc__ or "", base, **members)


def _models() -> Iterator[Any]:
    about = "The hints that were declared, or overridden by a toolset; others are not there."
    annotation = _hints("ToolAnnotation", about, bool, title=(str, Field(**_LEFT_OUT)))
    source = Literal["declared", "override", "default"]
    about = "A hint, where it comes from, and the toolset's file that overrides it."
    hint = _model("Hint", about, value=(bool, ...), source=(source, ...), file=(str, Field(**_LEFT_OUT)))
    hints = _hints("Hints", "The hints of a tool that are known.", hint)
    failure = _model(
        "Failure", "The problem, and what to do about it.",
        code=_text("A word for programs."), message=_text("The problem."),
        hint=_text("The command or edit that fixes it."),
    )  # fmt: skip
    yield from (annotation, hint, hints, failure)
    yield _model("Error", "An answer that is an error.", error=(failure, ...))
    yield _model(
        "ApprovalAnswer", "A person's answer to a call that waits.",
        decision=(Literal["allow", "deny"], ...), scope=(fields.Scope, "once"),
    )  # fmt: skip
    yield _model(
        "ReviewAnswer",
        "A person's approval of what is held.",
        shown=_text("The member shown of the row that was seen."),
    )
    yield _model("Reviewed", "The approval of what was held.", approved=_text("Its key."))
    told = {name: (bool | None, Field(description=_HINT, **_LEFT_OUT)) for name in OF_TOOLS}
    about = "The hints of a tool to be overridden, and the change that was shown."
    yield _model("HintAnswer", about, **told, shown=(str | None, Field(None, description=_SHOWN)))
    yield _model(
        "HintOverride", "A change of a toolset's file, written or only shown.",
        toolset=_text("The toolset's name."), path=_text("Its file."),
        diff=(list[str], Field(description="The change, line by line.")),
        loosened=(list[str], Field(description="The tools that are called without a question then.")),
        shown=_text("A hash of all this, with which it is written."),
        written=(bool, Field(description="Whether it was written.")),
    )  # fmt: skip
    yield _model(
        "Waiting", "All that waits for a person.", approvals=(int, Field(description="The number of calls.")),
        review=(int, Field(description="The number of things that are held.")),
        total=(int, Field(description="The sum of both.")),
    )  # fmt: skip
    called = _row("CalledTool", _Group, rest_names.CALLED_TOOL, "A tool that was called in a session, with its totals.")
    decision = _row("Decision", fields.Decision, rest_names.DECISION)
    decisions = _several(decision)
    listed = _row("DecisionListed", fields.Decision, rest_names.DECISION_LISTED, types={"client_name": str | None})
    session = _row("MCPSession", fields.Session, rest_names.SESSION)
    about = "One session with its aggregates."
    yield _model("SessionShown", about, session, tools=_several(called), decisions=decisions)
    made = {"annotations": annotation, "hints": hints}
    *some, last = fields.CALL_PAYLOADS
    call = _row(
        "ToolCallRecord", fields.Call, rest_names.CALL,
        f"One call; {', '.join(some)} and {last} are left out where payloads=false.",
        left_out=fields.CALL_PAYLOADS, types=made | {"hints": hints | None},
    )  # fmt: skip
    yield _model("ToolCallShown", "One call with the decisions about it.", call, decisions=decisions)
    of_tool = made | {"description": str, "schema": Any, "relevance": float}
    tool = _row("Tool", fields.ToolRow, rest_names.TOOL, types=of_tool)
    yield _row("ToolShown", fields.ToolShown, rest_names.TOOL_SHOWN[len(rest_names.TOOL) :], base=tool)
    approval = _row("Approval", fields.Approval, rest_names.APPROVAL)
    groups = tuple(_Group.__annotations__)
    grouped = rest_names.total(groups)
    group = _row("Stat", _Group, grouped, left_out={name.rest for name in grouped[: len(groups)]})
    failures = _row("ErrorGroup", fields.ErrorGroup, rest_names.ERROR_GROUP)
    meanings = fields.meanings(fields.Total) | {"last_done": "The start of the last call that was done, or null."}
    types = {"p95_ms": int | None, "last_done": str | None}
    health = _model(
        "Health", "The calls of a server in the last 24 hours.",
        **{name: (types.get(name, int), Field(description=meanings[name])) for name in rest_names.HEALTH_FIELDS},
    )  # fmt: skip
    server = _row("Server", fields.ServerRow, rest_names.SERVER, types={"health": health})
    discovery, read = (
        _row(name, row, names)
        for name, row, names in (
            ("Discovery", fields.Discovery, rest_names.DISCOVERY), ("Read", fields.Read, rest_names.READ),
        )
    )  # fmt: skip
    held = _row("Held", fields.Held, rest_names.HELD)
    yield from (
        decision,
        listed,
        called,
        session,
        call,
        tool,
        health,
        server,
        discovery,
        read,
        group,
        failures,
        approval,
        held,
    )
    about = "Some of the events of a session, and the number of all."
    yield _model("Timeline", about, **_timeline(call, discovery, read, decision))
    for name, row, member, noun in (
        ("SessionList", session, "sessions", "sessions"), ("ToolCallList", call, "tool_calls", "calls"),
        ("ToolList", tool, "tools", "tools"), ("ServerList", server, "servers", "servers"),
        ("DiscoveryList", discovery, "discoveries", "searches"), ("ReadList", read, "reads", "reads"),
        ("DecisionList", listed, "decisions", "decisions"),
        ("StatList", group | failures, "stats", "groups"),
        ("ApprovalList", approval, "approvals", "approvals"),
        ("ReviewList", held, "review", "things that are held"),
    ):  # fmt: skip
        total = int, Field(description="The number of all that match.")
        yield _model(name, f"Some of the {noun}, and the number of all.", **{member: _several(row), "total": total})


def _timeline(call: Any, discovery: Any, read: Any, decision: Any) -> dict[str, Any]:
    kinds = {"call": call, "search": discovery, "read": read, "decision": decision}
    of_kinds = {name: (model, Field(**_LEFT_OUT)) for name, model in kinds.items()}
    event = _model(
        "TimelineEvent", "An event, under the member that it names. A decision is on an attempt that became no call.",
        event=(Literal["call", "search", "read", "decision"], ...), timestamp=_text("The time when it began."),
        decisions=(list[decision], Field(description="The decisions about it, in their order.")), **of_kinds,
    )  # fmt: skip
    return {"timeline": _several(event), "total": (int, Field(description="The number of all."))}


MODELS: dict[str, type[BaseModel]] = {each.__name__: each for each in _models()}  # tests compare answers with these


@cache
def document(base: str, operations: Iterable[Operation]) -> dict[str, Any]:
    _, schemas = models_json_schema([(each, "validation") for each in MODELS.values()], ref_template=_REF)
    paths: dict[str, Any] = {}
    for each in operations:
        place = paths.setdefault(f"{base}{each.path.replace(':path', '')}", {})
        place[each.method.lower()] = _operation(each)
    parameters = [_SINCE, *(_in_query(name) for name in EVENT_PARAMETERS if name != "since")]
    paths[f"{base}/events"] = {"get": {**_EVENTS, "parameters": parameters}}
    description = "The records, tools and servers of mcpctl on this machine. mcpctl-records(5) explains each member."
    token = {"type": "http", "scheme": "bearer", "description": "The output of mcpctl dashboard token. It reads only."}
    return {
        "openapi": "3.1.0",
        "info": {"title": "mcpctl dashboard", "version": __version__, "description": description},
        "paths": paths,
        "components": {"schemas": schemas["$defs"], "securitySchemes": {"token": token}},
        "security": [{"token": []}],
    }


def _operation(operation: Operation) -> dict[str, Any]:
    schema = {"$ref": _REF.format(model=operation.model)} if operation.model else {}
    is_of_session = operation.path == "/sessions/{id}/tool-calls"
    described: dict[str, Any] = {
        "operationId": "session_tool_calls" if is_of_session else operation.answer.__name__,
        "summary": (operation.answer.__doc__ or "").partition("\n")[0],
        "parameters": [*map(_in_path, re.findall(r"\{(\w+)", operation.path)), *map(_in_query, operation.parameters)],
        "responses": {
            "200": {"description": "OK", "content": {kind: {"schema": schema} for kind in operation.kinds}},
            "default": _ERROR,
        },
    }
    if operation.method == "POST":
        body = {"schema": {"$ref": _REF.format(model=operation.body)}}
        described["requestBody"] = {"required": True, "content": {"application/json": body}}
        described["security"] = []
        described["description"] = "With the cookie of a login and its form token in X-Form-Token; never with a token."
    return described


def _in_path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _in_query(name: str) -> dict[str, Any]:
    schema = _SCHEMAS.get(name, {"type": "string"})
    return {"name": name, "in": "query", "description": MEANINGS[name], "schema": schema}
