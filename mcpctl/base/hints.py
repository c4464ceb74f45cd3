"""The hints of a tool about its behaviour: the one place that decides which values count."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from mcpctl.base.models import HINTS, HTTP, Tool

DEFAULTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
"""The protocol's defaults: https://modelcontextprotocol.io/specification, ToolAnnotations."""

RISKS = ("read-only", "changing", "destructive", "not-declared")  # in the order in which lists group by it

PERMISSIONS = ("read", "write", "destructive")  # clients can give these separately, the least first

MARK = "*"  # marks an overridden hint in narrow columns

_LOOSE = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}

MEANINGLESS_IF_READ_ONLY = ("destructiveHint", "idempotentHint")

_READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True}
_ADDS = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False}
_BY_METHOD: Mapping[str, Mapping[str, bool]] = {
    "GET": _READS, "HEAD": _READS, "POST": _ADDS, "PATCH": _ADDS,
    "PUT": {"readOnlyHint": False, "idempotentHint": True},
    "DELETE": {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True},
}  # fmt: skip
_NOTHING: Mapping[str, bool] = {}
_WORSE = {("override", "declared"), ("override", "inferred"), ("override", "default"), ("inferred", "declared"),
          ("declared", "inferred")}  # fmt: skip
"""Where a tool is destructive by the first and read-only by the second, it is destructive."""


class Hint(NamedTuple):
    """The source is `override`, `declared`, `inferred` (from the method of a tool of an HTTP API) or `default`."""

    value: bool
    source: str

    @property
    def is_known(self) -> bool:
        """Whether a server, toolset or HTTP method set the value; a default is the protocol's guess."""
        return self.source != "default"


def inferred(definition: Mapping[str, Any]) -> Mapping[str, bool]:
    """The hints that the HTTP method of an operation implies, from the definition that was made of it."""
    meta = definition.get("_meta")
    request = meta.get(HTTP) if isinstance(meta, dict) else None
    return _BY_METHOD.get(str(request.get("method")), _NOTHING) if isinstance(request, dict) else _NOTHING


def effective(tool: Tool) -> dict[str, Hint]:
    """The override, else the declaration, else what the HTTP method implies, else the default; unset, read-only means
    not destructive and idempotent."""
    return _decide(tool.annotations, tool.inferred or _NOTHING, tool.overrides.hints if tool.overrides else {})


def deciding(tool: Tool, *, may_infer: bool = False) -> dict[str, Hint]:
    """The four hints that decide whether a call is permitted, such as one by `tool_execute_read`: those in effect, but
    an override that loosens a hint (to read-only, not destructive, idempotent or closed) applies only from the user's
    own data directory. A file in a repository is only as trustworthy as the repository. A method loosens nothing, but
    that it only reads, where it `may_infer` that and nothing in the tool says that it acts."""
    return _deciding(tool, tool.annotations, may_infer)


@lru_cache(maxsize=4096)
def trusted(tool: Tool, *, may_loosen: bool, may_infer: bool = False) -> Mapping[str, Hint]:
    """The four hints that rules compare: a server's declaration only tightens, unless it `may_loosen`."""
    if may_loosen:
        return deciding(tool, may_infer=may_infer)
    declared = {name: value for name, value in tool.annotations.items() if value != _LOOSE.get(name)}
    return _deciding(tool, declared, may_infer)


def _deciding(tool: Tool, declared: Mapping[str, Any], may_infer: bool) -> dict[str, Hint]:
    overrides, inferred = tool.overrides, tool.inferred or _NOTHING
    if inferred:
        inferred = inferred if may_infer and _only_reads(tool) else tightening(inferred)
    if overrides is None or overrides.own:
        return _decide(declared, inferred, overrides.hints if overrides else {})
    without = _decide(declared, inferred, {})
    tighter = {n: v for n, v in overrides.hints.items() if v != _LOOSE[n] or without[n].value == v}
    return _decide(declared, inferred, tighter)


def _only_reads(tool: Tool) -> bool:
    """Whether it reads by its method, and nothing in it says that it acts."""
    from mcpctl.base.acting import acting_word  # the tools of most servers have no method

    return bool(tool.inferred and tool.inferred.get("readOnlyHint")) and not acting_word(tool)


def tightening(hints: Mapping[str, bool]) -> dict[str, bool]:
    return {name: value for name, value in hints.items() if value != _LOOSE[name]}


def _decide(
    annotations: Mapping[str, Any], inferred: Mapping[str, bool], overrides: Mapping[str, bool]
) -> dict[str, Hint]:
    hints: dict[str, Hint] = {}
    for name in HINTS:
        declared = annotations.get(name)
        if name in overrides:
            hints[name] = Hint(overrides[name], "override")
        elif isinstance(declared, bool):
            hints[name] = Hint(declared, "declared")
        elif name in inferred:
            hints[name] = Hint(inferred[name], "inferred")
        else:
            hints[name] = Hint(DEFAULTS[name], "default")
        if name == "readOnlyHint" and hints[name].value != inferred.get(name, hints[name].value):
            # The method says otherwise: of all that it implies, only that it destroys is left.
            inferred = {"destructiveHint": True} if inferred.get("destructiveHint") else _NOTHING
    if hints["readOnlyHint"].value:
        for name in MEANINGLESS_IF_READ_ONLY:
            if not hints[name].is_known:
                hints[name] = Hint(name == "idempotentHint", "default")
    return hints


def is_loose(name: str, value: bool) -> bool:
    return _LOOSE[name] == value


def permission(tool: Tool, *, may_infer: bool = False) -> str:
    """One of `PERMISSIONS`; a tool without a declaration needs `destructive`."""
    hints = deciding(tool, may_infer=may_infer)
    return {"read-only": "read", "changing": "write"}.get(risk(hints), "destructive")


def risk(hints: Mapping[str, Hint]) -> str:
    """The worst that a tool may do, one of `RISKS`. `not-declared`: neither its read-only nor its destructive hint is
    set. `changing`: it is not read-only, and its server or a toolset says that it is not destructive. `destructive`:
    also a tool that only says that it is not read-only, which the protocol counts as destructive, a declared read-only
    tool that a toolset overrides as destructive or whose method deletes, and one that is declared destructive though
    its method reads."""
    read_only = hints.get("readOnlyHint") or Hint(DEFAULTS["readOnlyHint"], "default")
    destructive = hints.get("destructiveHint") or Hint(DEFAULTS["destructiveHint"], "default")
    if destructive.value and (destructive.source, read_only.source) in _WORSE:
        return "destructive"
    if read_only.value:
        return "read-only"
    if not read_only.is_known and not destructive.is_known:
        return "not-declared"
    # POST and PATCH imply that nothing is destroyed, and `POST /chat.delete` exists.
    return "destructive" if destructive.value or destructive.source == "inferred" else "changing"


def declared(tool: Tool) -> dict[str, bool]:
    """The hints that a server, toolset or HTTP method has set, without defaults."""
    return {name: hint.value for name, hint in effective(tool).items() if hint.is_known}


@lru_cache(maxsize=4096)
def snapshot(tool: Tool | None) -> bytes:
    """The hints for a call's record: JSON `{hint: {value, source}}`, null when there are none."""
    import msgspec

    hints = (
        {n: {"value": h.value, "source": h.source} for n, h in effective(tool).items() if h.is_known} if tool else {}
    )
    return msgspec.json.encode(hints) if hints else b"null"


def recorded(known: Any) -> dict[str, Hint]:
    """The hints in the JSON of a `snapshot`; odd ones are left out."""
    entries = {name: known.get(name) for name in HINTS} if isinstance(known, Mapping) else {}
    return {
        name: Hint(entry["value"], str(entry.get("source")))
        for name, entry in entries.items()
        if isinstance(entry, Mapping) and isinstance(entry.get("value"), bool)
    }


def cell(hint: Hint) -> str:
    """`yes` or `no`, with `*` if it is overridden; `-` if it is not declared."""
    if not hint.is_known:
        return "-"
    return ("yes" if hint.value else "no") + (MARK if hint.source == "override" else "")


def compact(known: Mapping[str, Any] | None) -> str:
    """The hints as letters such as `RdI-`: a capital for true, small for false, `-` not declared, `*` overridden."""
    out, hints = "", recorded(known)
    for name, letter in zip(HINTS, "RDIO", strict=True):
        if hint := hints.get(name):
            out += (letter if hint.value else letter.lower()) + (MARK if hint.source == "override" else "")
        else:
            out += "-"
    return out


def hint_line(effective: Mapping[str, Hint]) -> str:
    """Hints in one line, with their sources: "not declared" is not a no."""
    forms = {
        "declared": "{} (declared by its server)", "inferred": "{} (inferred from its HTTP method)",
        "override": "{} (set by a toolset)", "default": "not declared (counts as {})",
    }  # fmt: skip
    return ", ".join(
        f"{name.removesuffix('Hint')} {forms[hint.source].format(str(hint.value).lower())}"
        for name, hint in effective.items()
    )
