"""Every answer of the REST interface as a pydantic model, for its OpenAPI document and for tests alone.

They are made from the table of fields and the names that REST has for them. Answers are not made by these models: they
come as they are on record. A member that may be left out has a default; all others are there, null or not.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from mcpctl.base import fields
from mcpctl.base.models import HINTS
from mcpctl.dashboard import rest_names
from mcpctl.dashboard.rest_names import Name

_LEFT_OUT: Any = {"default_factory": lambda: None}
"""A member that need not be there, and is never null."""
_METRICS = "The tokens of a call, estimated as `encoding` says."


class Model(BaseModel):
    """What has no members but these."""

    model_config = ConfigDict(extra="forbid")


class Hint(Model):
    """A hint, where it comes from, and the toolset's file that overrides it."""

    value: bool
    source: Literal["declared", "override", "default"]
    file: Annotated[str, Field(**_LEFT_OUT)]


def _of_hints(name: str, about: str, type_: type, **others: Any) -> Any:
    members = others | {hint: (type_, Field(**_LEFT_OUT)) for hint in HINTS}
    return create_model(name, __base__=Model, __doc__=about, **members)


_ABOUT = "What was declared, or overridden by a toolset; what was not is not there."
ToolAnnotation = _of_hints("ToolAnnotation", _ABOUT, bool, title=(str, Field(**_LEFT_OUT)))
Hints = _of_hints("Hints", "The hints of a tool that are known.", Hint)


class ApprovalAnswer(Model):
    """What a person says of a call that waits."""

    decision: Literal["allow", "deny"]
    scope: fields.Scope = "once"


class Failure(Model):
    """What is wrong, and what to do about it."""

    code: str = Field(description="A word for programs.")
    message: str = Field(description="What is wrong.")
    hint: str = Field(description="What to do about it.")


class Error(Model):
    """An answer that is none."""

    error: Failure


def _row(
    name: str, row: type, names: Sequence[Name], about: str = "", *, base: type[BaseModel] = Model,
    left_out: Collection[str] = (), types: Mapping[str, Any] = {},
) -> type[BaseModel]:  # fmt: skip
    """The model of a row. `types` are those that REST makes of a field, or puts beside them."""
    hints, meanings = get_type_hints(row), fields.meanings(row)
    members: dict[str, Any] = {}
    for each in names:
        outer, _, inner = each.rest.partition(".")
        if inner:
            parts = [part._replace(rest=part.field) for part in names if part.rest.startswith(f"{outer}.")]
            members[outer] = _row(outer.capitalize(), row, parts, _METRICS), ...
            continue
        type_ = types.get(outer, hints.get(each.field))
        told: dict[str, Any] = {"description": each.note or meanings[each.field]}
        if outer == "schema":  # every model has a method of that name
            outer, told["alias"] = "schema_", outer
        if each.is_optional or outer in left_out:
            is_null = NoneType in get_args(type_)
            if each.is_optional and is_null:
                (type_,) = set(get_args(type_)) - {NoneType}
            told |= {"default": None} if is_null and not each.is_optional else _LEFT_OUT
        members[outer] = type_, Field(**told)
    return create_model(name, __base__=base, __doc__=about or row.__doc__, **members)


def _list(name: str, member: str, row: type[BaseModel], what: str) -> type[BaseModel]:
    about = f"Some of the {what}, and how many there are."
    members: dict[str, Any] = {
        member: (list[row], ...), "total": (int, Field(description="The number of all that are asked for.")),  # type: ignore[valid-type]
    }  # fmt: skip
    return create_model(name, __base__=Model, __doc__=about, **members)


class _Group(fields.Total):
    """The calls of one group: what it is grouped by, then its totals."""

    server: Annotated[str, "The server that was called."]
    tool: str
    client_name: str | None
    project: str | None
    status: Annotated[fields.CallStatus, "The outcome, or running."]
    day: Annotated[str, "The day, by the clock of this machine."]
    hour: Annotated[str, "The hour, by the clock of this machine."]


_GROUPS = ("server", "tool", "client_name", "project", "status", "day", "hour")
_MADE: dict[str, Any] = {"annotations": ToolAnnotation, "hints": Hints}
"""The types of what REST puts together of several fields, or has otherwise than --json."""


def _models() -> Iterator[type[BaseModel]]:
    yield from (ToolAnnotation, Hint, Hints, ApprovalAnswer, Failure, Error)
    called = _row("CalledTool", _Group, rest_names.CALLED_TOOL, "What was called in a session, and how it went.")
    decision = _row("Decision", fields.Decision, rest_names.DECISION)
    decisions: Any = list[decision]  # type: ignore[valid-type]
    session = _row("MCPSession", fields.Session, rest_names.SESSION)
    tools: Any = list[called]  # type: ignore[valid-type]
    about = "One session with its aggregates."
    yield create_model("SessionShown", __base__=session, __doc__=about, tools=(tools, ...), decisions=(decisions, ...))
    *some, last = fields.CALL_PAYLOADS
    call = _row(
        "ToolCallRecord", fields.Call, rest_names.CALL,
        f"One call; {', '.join(some)} and {last} are left out where payloads=false.",
        left_out=fields.CALL_PAYLOADS, types=_MADE | {"hints": Hints | None},
    )  # fmt: skip
    about = "One call with what was decided of it."
    yield create_model("ToolCallShown", __base__=call, __doc__=about, decisions=(decisions, ...))
    of_tool = _MADE | {"description": str, "schema": Any, "relevance": float}
    tool = _row("Tool", fields.ToolRow, rest_names.TOOL, types=of_tool)
    shown = rest_names.TOOL_SHOWN[len(rest_names.TOOL) :]
    yield _row("ToolShown", fields.ToolShown, shown, base=tool)
    approval = _row("Approval", fields.Approval, rest_names.APPROVAL)
    grouped = rest_names.total(_GROUPS)
    group = _row("Stat", _Group, grouped, left_out={name.rest for name in grouped[: len(_GROUPS)]})
    server = _row("Server", fields.Server, rest_names.SERVER)
    discovery = _row("Discovery", fields.Discovery, rest_names.DISCOVERY)
    yield from (decision, called, session, call, tool, server, discovery, group, approval)
    yield _list("SessionList", "sessions", session, "sessions")
    yield _list("ToolCallList", "tool_calls", call, "calls")
    yield _list("ToolList", "tools", tool, "tools")
    yield _list("ServerList", "servers", server, "servers")
    yield _list("DiscoveryList", "discoveries", discovery, "searches")
    yield _list("StatList", "stats", group, "groups")
    yield _list("ApprovalList", "approvals", approval, "approvals")


MODELS = {each.__name__: each for each in _models()}
"""All of them by name."""
