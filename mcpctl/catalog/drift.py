"""What changed in the tools, prompts and resources of servers, from one definition to the next, by the rules of `tools
diff`.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcpctl.base import definitions, hints
from mcpctl.base.feature_names import is_feature
from mcpctl.base.models import HINTS, Tool

_SCHEMAS = ("inputSchema", "outputSchema")
_TOO_DEEP = "(nested too deep to be shown)"
Suspicion = Callable[[Tool], Iterable[str]]
"""What looks like an attack in a tool's definition, in words of ours."""


def no_suspicion(tool: Tool) -> Iterable[str]:
    """What is found where nothing is looked for."""
    return ()


@dataclass(frozen=True)
class Change:
    """One thing that changed."""

    server: str
    tool: str
    """Empty where it is about the server as a whole."""
    rule: str
    message: str
    old: str | None = None
    new: str | None = None
    line: int | None = None
    """Where the lock file has it."""


def of_tool(old: Tool, new: Tool, suspicion: Suspicion = no_suspicion) -> Iterator[Change]:
    """What changed from one definition of a tool to another."""
    if definitions.pin_of(old) == definitions.pin_of(new):
        return
    if old.description != new.description:
        yield _change(new, "W801", "the description changed", old.description, new.description)
    for schema in ("name", *definitions.OF_FEATURES) if is_feature(new.name) else _SCHEMAS:
        before, after = _json(old.definition.get(schema)), _json(new.definition.get(schema))
        if before != after or before == _TOO_DEEP:
            yield _change(new, "W802", f"{schema} changed", before, after)
    if (before := _json(definitions.shown(old.definition))) != (after := _json(definitions.shown(new.definition))):
        yield _change(new, "W806", "what clients show of it changed", before, after)
    if _titles(old) != _titles(new):
        yield _change(new, "I903", "the title changed", old.title, new.title)
    yield from _hints(old, new)
    yield from _suspicious(new, suspicion)


def of_new(tool: Tool, suspicion: Suspicion = no_suspicion) -> Iterator[Change]:
    """A tool that was not there."""
    hints_declared = json.dumps(definitions.declared_hints(tool))
    text = "\n".join([tool.description, f"hints: {hints_declared}", _json(tool.definition.get("inputSchema")) or ""])
    yield _change(tool, "W803", "the tool is new", None, text)
    yield from _suspicious(tool, suspicion)


def gone(server: str, name: str, why: str = "") -> Change:
    """A tool that is not there any more."""
    return Change(server, name, "I901", f"the tool is gone{f': {why}' if why else ''}")


def _hints(old: Tool, new: Tool) -> Iterator[Change]:
    before, after = hints.effective(old), hints.effective(new)
    declared, declares = definitions.declared_hints(old), definitions.declared_hints(new)
    for name in HINTS:
        if declared.get(name) == declares.get(name):
            continue
        is_looser = before[name].value != after[name].value and hints.is_loose(name, after[name].value)
        told = f"{name} was {_said(declared, name)} and is {_said(declares, name)}"
        yield _change(new, "E701" if is_looser else "I902", told, _said(declared, name), _said(declares, name))


def _suspicious(tool: Tool, suspicion: Suspicion) -> Iterator[Change]:
    for said in suspicion(tool):
        yield _change(tool, "E702", said)


def _titles(tool: Tool) -> tuple[Any, Any]:
    return tool.definition.get("title"), tool.annotations.get("title")


def _said(declared: Mapping[str, bool], name: str) -> str:
    return str(declared[name]).lower() if name in declared else "not declared"


def _json(value: Any) -> str | None:
    try:
        said = json.loads(definitions.canonical(value))
    except definitions.TooDeep:
        return _TOO_DEEP
    return None if said is None else json.dumps(said, indent=2, sort_keys=True, ensure_ascii=False)


def _change(tool: Tool, rule: str, message: str, old: str | None = None, new: str | None = None) -> Change:
    return Change(tool.server, tool.name, rule, message, old, new)
