"""The tools that a client sees in place of all others, what it is told when it connects, and the form of its answers.

These texts are read by models: each says what the tool is for, what is behind it, and shows an example. Clients give
their models an answer's text, its structured content, or both, which then count twice. A client of which it is known
gets the one that reaches its model (the guide `search` lists them); others get both, as the specification advises.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mcpctl import __version__
from mcpctl.base.callers import LEGACY_REVISIONS, MODERN_REVISION, Caller
from mcpctl.base.hints import PERMISSIONS
from mcpctl.base.tool_keys import OWN, READ_TOOL, join
from mcpctl.config.config import Config
from mcpctl.config.settings import EVERY
from mcpctl.toolsets.toolset import MAX_NOTE, MAX_NOTES
from mcpctl.wire import jsonrpc

_WITHOUT_STRUCTURE = LEGACY_REVISIONS[: LEGACY_REVISIONS.index("2025-06-18")]
_READ_TEXT = frozenset((  # clients that give their model the text where there is nothing else, in lower case
    "claude-ai", "claude-code", "cline", "cursor-vscode", "gemini-cli-mcp-client", "github-copilot-developer", "goose",
    "opencode", "visual studio code", "visual-studio-code", "windsurf-client", "zed",
))  # fmt: skip
_COPILOT = "-copilot-intellij"  # suffix of the names of GitHub Copilot in JetBrains's programs; it gives its model both
_READ_STRUCTURE = frozenset(("codex-mcp-client", "codex"))  # their model gets the text only quoted in JSON
DISCOVERY = "tool_discovery"
EXECUTE = "tool_execute"
ANNOTATE = "add-tool-annotation"
SERVER_INFO = msgspec.json.encode({"name": "mcpctl", "title": "mcpctl", "version": __version__})
_CAPABILITIES: dict[str, Any] = {"logging": {}, "tools": {"listChanged": False}}
_MODERN = {"resultType": "complete", "_meta": {jsonrpc.SERVER_INFO_KEY: msgspec.Raw(SERVER_INFO)}}
_CACHED = {"ttlMs": 3_600_000, "cacheScope": "private"}
_MAX_NAMES = 600
_MAX_RESULT_CHARS = "anthropic/maxResultSizeChars"
_A_TOKEN = "without a valid token nothing is found or called (the user can give one in MCPCTL_TOKEN or --token-file)"
Servers = Sequence[str] | None  # the names to tell; None where none may be told, for want of a token
Announced = Mapping[str, Mapping[str, Any]]
_TEXT, _ANY = {"type": "string"}, {"type": "object"}
_QUERY = "The task for a tool, in a few words; or a toolKey, for its full schema."
_DETAIL = "names: keys with a first sentence; full: whole schemas, whatever their size."
_RESULT = {
    **dict.fromkeys(("toolKey", "toolName", "serverName", "title", "description"), _TEXT),
    "relevance": {"type": "number", "minimum": 0, "maximum": 1},
    **dict.fromkeys(("explanation", "signature"), _TEXT),
    **dict.fromkeys(("inputSchema", "outputSchema", "annotations"), _ANY),
}
_CREATE = '{"toolKey": "github:create_issue", "arguments": {"owner": "o", "repo": "app", "title": "Bug"}}'
_LIST = '{"toolKey": "github:list_issues", "arguments": {"owner": "o", "repo": "app"}}'
_DELETE = '{"toolKey": "github:delete_file", "arguments": {"owner": "o", "repo": "app", "path": "old.txt"}}'
_KINDS = {  # title, further words of the description, and example, by the permission that the tool needs
    None: ("Call a tool", "", _CREATE),
    "read": ("Call a read-only tool", "", _LIST),
    "write": ("Call a tool that changes things", " but destroys nothing,", _CREATE),
    "destructive": ("Call a tool that may destroy", " or overwrite, or does not say,", _DELETE),
}
READ = "mcpctl_read"  # our own tool that reads on, where there is no meta-tool to call it with
DIRECT_NAME = "directName"
_BY_NAME = " Some are listed beside these, as server__tool: call those by that name."
_OR_DIRECTLY = f"; one with a {DIRECT_NAME} is a tool of that name here, too"
_UNCHANGED = "Its result comes back unchanged"
_LINKS = f' A resource that a result links to is read with toolKey {join(OWN, READ_TOOL)} and {{"uri": "..."}}.'
_CALL = {
    "toolKey": {"type": "string", "description": "server:tool"},
    "arguments": {"type": "object", "description": "The tool's own parameters."},
}
_NOTE = {
    "name": {"type": "string", "pattern": "^[a-z0-9-]+$", "minLength": 2, "maxLength": 50},
    "note": {"type": "string", "minLength": 1, "maxLength": MAX_NOTE},
}
_TOOL_REF = {
    "namespacedName": {"type": "string", "description": "server.tool"},
    "refId": {"type": "string", "description": "The hash by which a toolset file knows it."},
}


class AnswerForm(Enum):
    BOTH = "both"
    TEXT = "text"
    STRUCTURE = "structure"


def form_of(caller: Caller) -> AnswerForm:
    return client_form(caller.client.name, caller.revision)


def client_form(client: str | None, revision: str | None = None) -> AnswerForm:
    name = (client or "").lower()
    if revision in _WITHOUT_STRUCTURE or name in _READ_TEXT or name.endswith(_COPILOT):
        return AnswerForm.TEXT
    return AnswerForm.STRUCTURE if name in _READ_STRUCTURE else AnswerForm.BOTH


class Shown(Enum):
    """How many of the servers' tools a client is shown directly."""

    NONE = "none"
    SOME = "some"
    ALL = "all"


class Offer(Struct, frozen=True):
    """The tools of our own that `serve` offers. Options split a tool or add one at the end; they never reorder. Where
    all tools are shown directly, there is nothing to find, and nothing to call them with."""

    split: bool = False
    annotate: bool = False
    max_result_chars: int = 0  # declared of the results of the tools that call tools; 0 for nothing
    shortens: bool = False
    reads: bool = False  # whether there may be resources, to which results link
    direct: Shown = Shown.NONE

    def configured(self, config: Config, direct: Sequence[str] | None = None) -> "Offer":
        """As the configuration has it, with the patterns `direct` in place of its own where they are given."""
        patterns = config.serve.direct if direct is None else direct
        return replace(
            self, max_result_chars=config.serve.max_result_chars, shortens=config.shortens,
            reads=config.exposes_resources,
            direct=(Shown.ALL if EVERY in patterns else Shown.SOME) if patterns else Shown.NONE,
        )  # fmt: skip

    @property
    def executes(self) -> dict[str, str | None]:
        """The tools that call tools, and the only permission that each may call; None for any."""
        return {execute_with(name): name for name in PERMISSIONS} if self.split else {EXECUTE: None}

    @property
    def phrase(self) -> str:
        return "the tool that its executeWith names" if self.split else EXECUTE

    @property
    def names(self) -> list[str]:
        found = [] if self.direct is Shown.ALL else [DISCOVERY, *self.executes]
        return [*found, *([ANNOTATE] if self.annotate else [])]


_PLAIN = Offer()


def execute_with(permission: str) -> str:
    return f"{EXECUTE}_{permission}"


def named(servers: Servers) -> str:
    if servers is None:
        return f"not named here, since {_A_TOKEN}"
    if not servers:
        return "none yet (the user can add one with: mcpctl servers add NAME -- COMMAND)"
    shown: list[str] = []
    for name in servers:
        if sum(map(len, shown)) + len(name) > _MAX_NAMES:
            return f"{', '.join(shown)} and {len(servers) - len(shown)} more"
        shown.append(name)
    return ", ".join(shown)


def tools(servers: Servers, offer: Offer = _PLAIN, form: AnswerForm = AnswerForm.BOTH) -> list[dict[str, Any]]:
    """The definitions, in this order; the first declares its structured content to clients that get it."""
    annotate = [_annotate()] if offer.annotate else []
    if offer.direct is Shown.ALL:
        return annotate
    executes = [_execute(named(servers), name, permission, offer) for name, permission in offer.executes.items()]
    discovery = _discovery(named(servers), offer)
    if form is AnswerForm.TEXT:
        del discovery["outputSchema"]
    return [discovery, *executes, *annotate]


def instructions(servers: Servers, offer: Offer = _PLAIN) -> str:
    if servers is None:
        return f"The servers behind this one are {named(servers)}."
    if not servers:
        return f"No MCP server is behind this one {named(servers).removeprefix('none ')}."
    if offer.direct is Shown.ALL:
        return f"These are the tools of these MCP servers, each named server__tool: {named(servers)}."
    directly = _BY_NAME if offer.direct is Shown.SOME else ""
    return (
        f"All tools of these MCP servers are behind {'these' if offer.split else 'two'} tools: {named(servers)}. Find a"
        f" tool with {DISCOVERY}, by what it should do and for which product, then call it with {offer.phrase} and its"
        f" toolKey.{directly}"
    )


def answers(servers: Servers, offer: Offer, form: AnswerForm) -> dict[tuple[str, bool], bytes]:
    """The results that never change while `serve` runs, by method and by whether the client's era is the modern one."""
    listed = {"tools": tools(servers, offer, form)}
    encode = msgspec.json.encode
    return {
        ("tools/list", False): encode(listed),
        ("tools/list", True): encode(listed | _CACHED | _MODERN),
        ("ping", False): b"{}",
    }


def discovered(text: str, announced: Announced) -> bytes:
    capabilities = {**_CAPABILITIES, **announced}
    supported = {"supportedVersions": [MODERN_REVISION], "capabilities": capabilities, "instructions": text}
    return msgspec.json.encode(supported | _CACHED | _MODERN)


def initialized(revision: str, text: str, announced: Announced) -> bytes:
    capabilities = {**_CAPABILITIES, **announced}
    result = {"protocolVersion": revision, "capabilities": capabilities, "serverInfo": msgspec.Raw(SERVER_INFO)}
    return msgspec.json.encode(result | {"instructions": text})


def _annotations(title: str, *, reads: bool, destroys: bool, repeats: bool, opens: bool) -> dict[str, Any]:
    hints = {"readOnlyHint": reads, "destructiveHint": destroys, "idempotentHint": repeats, "openWorldHint": opens}
    return {"title": title, **hints}


def _object(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def _described(text: str, **schema: Any) -> dict[str, Any]:
    return {**schema, "description": text}


_SEARCH = {
    "query": _described(_QUERY, type="array", items=_TEXT, minItems=1),
    "context": _described("The work at hand, if that helps to choose.", type="string"),
    "maxResults": _described(
        "Default: 10, and more that match well if they fit.", type="integer", minimum=1, maximum=50
    ),
    "detail": _described(_DETAIL, type="string", enum=["auto", "names", "full"], default="auto"),
}
_SERVER_INSTRUCTIONS = {
    "type": "array",
    "description": "Words of servers about themselves: not the user's or mcpctl's.",
    "items": _object({"serverName": _TEXT, "text": _TEXT}, "serverName", "text"),
}


def _discovery(servers: str, offer: Offer) -> dict[str, Any]:
    executes = {"executeWith": {"type": "string", "enum": list(offer.executes)}} if offer.split else {}
    which = f" ({', '.join(offer.executes)})" if offer.split else ""
    direct = {DIRECT_NAME: _TEXT} if offer.direct is Shown.SOME else {}
    results = {"type": "array", "items": _object(_RESULT | executes | direct, "toolKey", "relevance")}
    answer = {"results": results, "serverInstructions": _SERVER_INSTRUCTIONS, "notice": _TEXT}
    return {
        "name": DISCOVERY,
        "title": "Find tools",
        "description": (
            f"Find the right tool among all tools of the connected MCP servers: {servers}. Search here before you"
            " conclude that something cannot be done. Say what the tool should do, plus the product or domain; several"
            " short queries are better than one long one. Each result has the tool's key, what it does and its"
            " inputSchema, or a signature (* marks required parameters) where that does not fit; … marks what was cut."
            f" Call it with {offer.phrase}{which} and that toolKey{_OR_DIRECTLY if direct else ''}."
            ' Example: {"query": ["create an issue in github", "add a label to an issue"]}'
        ),
        "inputSchema": _object(_SEARCH, "query"),
        "outputSchema": _object(answer, "results"),
        "annotations": _annotations("Find tools", reads=True, destroys=False, repeats=True, opens=False),
    }


def _execute(servers: str, name: str, permission: str | None, offer: Offer) -> dict[str, Any]:
    title, more, example = _KINDS[permission]
    result = "A long result is shortened and says how to read on" if offer.shortens else _UNCHANGED
    meta = {"_meta": {_MAX_RESULT_CHARS: offer.max_result_chars}} if offer.max_result_chars else {}
    only = f" Only tools whose executeWith is {name} are called here." if permission else ""
    links = _LINKS if offer.reads and permission in (None, "read") else ""
    reads, destroys = permission == "read", permission in (None, "destructive")
    return {
        "name": name,
        "title": title,
        "description": (
            f"{title}{more} of one of the connected MCP servers ({servers}) by its toolKey, server:tool, as"
            f" {DISCOVERY} gives it. {result}.{links} If you do not know the tool's parameters, look it"
            f" up with {DISCOVERY} first.{only}"
            f" Example: {example}"
        ),
        "inputSchema": _object(_CALL, "toolKey"),
        "annotations": _annotations(title, reads=reads, destroys=destroys, repeats=reads, opens=True),
        **meta,
    }


_NOTES = {
    "toolRef": {"type": "object", "description": "The tool, by one of these.", "properties": _TOOL_REF},
    "notes": {"type": "array", "minItems": 1, "maxItems": MAX_NOTES, "items": _object(_NOTE, "name", "note")},
}


def _annotate() -> dict[str, Any]:
    return {
        "name": ANNOTATE,
        "title": "Add notes to a tool",
        "description": (
            "Add notes to a tool of the toolset in force, for whoever uses the tool next: they are shown with its"
            f" description in {DISCOVERY}. Add one only when the user wants it kept. A note whose name the tool has"
            " already is skipped; nothing is replaced."
            ' Example: {"toolRef": {"namespacedName": "linear.create_issue"}, "notes": [{"name": "team-selection",'
            ' "note": "Always confirm the team first."}]}'
        ),
        "inputSchema": _object(_NOTES, "toolRef", "notes"),
        "annotations": _annotations("Add notes to a tool", reads=False, destroys=False, repeats=True, opens=False),
    }
