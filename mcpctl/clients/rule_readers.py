"""The permission rules in the files of Claude Code, Cursor, Codex and Gemini CLI, each in its own format."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mcpctl.clients.client_files import members
from mcpctl.clients.permission_rules import ANY, MOST, ClientRule, Names, flat, tables, texts
from mcpctl.config.policy_settings import ALLOW, ASK, DENY

Document = Mapping[str, Any]
ONLY = "a list of the only tools is only in [servers.NAME] here: mcpctl servers import"
NOT_MCP = "it is not about a tool of an MCP server"
_PATTERN = "it has a pattern for arguments, and rules here look at none"
_CLASS_OF_ONE = "it combines a server with the hints of its tools, which no rule here can"


def claude_code(document: Document, names: Names) -> Iterator[ClientRule]:
    """`permissions` of settings.json: https://code.claude.com/docs/en/permissions"""
    permissions = members(document.get("permissions"))
    for effect in (DENY, ASK, ALLOW):
        for text in texts(permissions.get(effect)):
            yield _claude_rule(effect, text, names)
    mode = permissions.get("defaultMode")
    if mode in ("bypassPermissions", "dontAsk", "auto"):
        yield ClientRule(f"defaultMode {mode}", why="it is for all tools, not only for those of MCP servers")


def _claude_rule(effect: str, text: str, names: Names) -> ClientRule:
    name = text.removeprefix("mcp__")
    if text == ANY and effect != ALLOW:
        return ClientRule(text, effect, ((ANY, ANY),))
    if name == text:
        return ClientRule(text, effect, why=NOT_MCP)
    if "(" in text:
        return ClientRule(text, effect, why=_PATTERN)
    server, separator, tool = name.partition("__")
    if ANY not in server:
        targets = [(one, tool or ANY) for one, tool in names.split(name, "__")]
        return ClientRule(text, effect, tuple(targets), is_respelled=True)
    if effect == ALLOW:
        return ClientRule(text, effect, why="Claude Code ignores an allow rule without the whole name of a server")
    if separator:
        return ClientRule(text, effect, ((server, tool or ANY),))
    # The __ between server and tool may be in any of its stars.
    cuts = [place for place, character in enumerate(server) if character == ANY]
    return ClientRule(text, effect, tuple((server[: cut + 1], server[cut:]) for cut in cuts))


def cursor(document: Document, names: Names) -> Iterator[ClientRule]:
    """`mcpAllowlist` of permissions.json: https://cursor.com/docs/reference/permissions"""
    for text in texts(document.get("mcpAllowlist")):
        server, colon, tool = text.partition(":")
        if not colon or not server or not tool:
            yield ClientRule(text, ALLOW, why="it is not server:tool")
        elif "?" in text:
            yield ClientRule(text, ALLOW, why="a ? in a name would stand for any character here")
        else:
            yield ClientRule(text, ALLOW, ((server, tool),))
    for text in texts(document.get("terminalAllowlist")):
        yield ClientRule(text, ALLOW, why=NOT_MCP)
    if document.get("autoRun"):
        yield ClientRule("autoRun", why="it is advice for a model in plain words")


_CODEX = {"approve": ALLOW, "prompt": ASK}


def codex(document: Document, names: Names) -> Iterator[ClientRule]:
    """`mcp_servers` of config.toml: https://developers.openai.com/codex/config-reference"""
    for server, table in tables(document.get("mcp_servers")):
        only = texts(table["enabled_tools"]) if "enabled_tools" in table else None
        for tool in texts(table.get("disabled_tools")):
            yield ClientRule(flat((server, "disabled_tools", tool)), DENY, ((server, tool),), is_glob=False)
        if only is not None:
            yield ClientRule(flat((server, "enabled_tools")), why=ONLY)
        mode = table.get("default_tools_approval_mode")
        where = f"{flat((server, 'default_tools_approval_mode'))} = {mode}"
        if mode == "approve" and only is not None:
            yield from (ClientRule(f"{where}, {tool}", ALLOW, ((server, tool),), is_glob=False) for tool in only)
        elif mode is not None:
            yield _codex_rule(where, mode, server, ANY)
        for tool, settings in tables(table.get("tools")):
            mode = settings.get("approval_mode")
            if mode is not None:
                yield _codex_rule(f"{flat((server, 'tools', tool))} = {mode}", mode, server, tool, is_of_tool=True)


def _codex_rule(where: str, mode: Any, server: str, tool: str, *, is_of_tool: bool = False) -> ClientRule:
    effect = _CODEX.get(str(mode))
    if effect is None:
        return ClientRule(where, why=_CLASS_OF_ONE if mode in ("auto", "writes") else "it is not a mode of Codex")
    goes_first = is_of_tool and effect == ALLOW
    return ClientRule(where, effect, ((server, tool),), is_glob=not is_of_tool, goes_before_ask=goes_first)


def gemini(document: Document, names: Names) -> Iterator[ClientRule]:
    """settings.json, or the rules of a file in policies/: https://geminicli.com/docs/reference/policy-engine"""
    servers = dict(tables(document.get("mcpServers")))
    trusts = any(table.get("trust") is True for table in servers.values())
    yield from _gemini_policies(list(_rules(document)), names, trusts=trusts)
    for server, table in servers.items():
        yield from _gemini_server(server, table)
    connected, tools = members(document.get("mcp")), members(document.get("tools"))
    for server in texts(connected.get("excluded")):
        yield ClientRule(flat(("mcp", "excluded", server)), DENY, ((server, ANY),))
    if "allowed" in connected:
        yield ClientRule("mcp.allowed", why="a list of the only servers is a project here: man 5 mcpctl-config")
    for text in (*texts(tools.get("allowed")), *texts(tools.get("exclude"))):
        yield ClientRule(f"tools: {text}", why="write it as a rule with mcpName in Gemini CLI's policies")


def _gemini_server(server: str, table: Document) -> Iterator[ClientRule]:
    for tool in texts(table.get("excludeTools")):
        yield ClientRule(flat((server, "excludeTools", tool)), DENY, ((server, tool),), is_glob=False)
    only = texts(table.get("includeTools")) if "includeTools" in table else None
    if only is not None:
        yield ClientRule(flat((server, "includeTools")), why=ONLY)
    if table.get("trust") is True:
        for tool in [ANY] if only is None else only:
            yield ClientRule(flat((server, "trust")), ALLOW, ((server, tool),), is_glob=only is None)


_GEMINI = {"deny": DENY, "ask_user": ASK, "allow": ALLOW}
_CONDITIONS = {
    "argsPattern": _PATTERN, "subagent": "it is only for a subagent", "modes": "it is only for some approval modes",
    "interactive": "it is only for sessions with or without a person",
}  # fmt: skip
_CLASSES = {  # the classes, by a hint, that have at least the tools of a rule about it; only @read-only has no others
    ("readOnlyHint", True): ("@read-only",),
    ("readOnlyHint", False): ("@changing", "@destructive"),
    ("destructiveHint", True): ("@destructive",),
    ("openWorldHint", True): ("@open-world",),
}


_PLACE = "place in its file"  # the member that says which file a rule is from, where several are read as one


def gemini_files(documents: Sequence[tuple[str, Document]]) -> Document:
    """The settings and policies of one user as one document: priorities order the rules of all files together."""
    together: dict[str, Any] = {}
    rules: list[Document] = []
    for name, document in documents:
        together.update({key: value for key, value in document.items() if key != "rule"})
        rules += [{**rule, _PLACE: f"{name} {number}"} for number, rule in enumerate(_rules(document), 1)]
    return {**together, "rule": rules}


def _rules(document: Document) -> Iterator[Document]:
    rules = document.get("rule")
    yield from (rule for rule in rules[:MOST] if isinstance(rule, dict)) if isinstance(rules, list) else ()


def _gemini_policies(rules: list[Document], names: Names, *, trusts: bool) -> Iterator[ClientRule]:
    ask_priorities = [_priority(rule) for rule in rules if rule.get("decision") == "ask_user"]
    for_all = max((_priority(rule) for rule in rules if _is_for_all(rule)), default=-1)
    for number, rule in enumerate(rules, 1):
        effect, priority = _GEMINI.get(str(rule.get("decision")), ""), _priority(rule)
        where = f"rule {rule.get(_PLACE, number)} ({rule.get('decision')})"
        if _condition(rule) and effect in (ASK, DENY):
            # To be asked about every such call loosens nothing; to leave the rule out might.
            yield from _gemini_rule(f"{where}, {_condition(rule)}", ASK, rule, names, False)
        elif condition := _condition(rule):
            yield ClientRule(where, effect, why=condition)
        elif not effect:
            yield ClientRule(where, why="it decides nothing that is known here")
        elif _is_for_all(rule) and priority == for_all and effect != ALLOW and not trusts:
            yield ClientRule(where, effect, is_default=True)
        elif priority < for_all or (priority == for_all and effect == ALLOW and not _is_for_all(rule)):
            yield ClientRule(where, effect, why="a rule for all tools goes before it")
        else:
            first = effect == ALLOW and all(other < priority for other in ask_priorities)
            yield from _gemini_rule(where, effect, rule, names, first)


def _condition(rule: Document) -> str:
    """Why a rule does not apply to every call; empty where it does."""
    return next((why for key, why in _CONDITIONS.items() if rule.get(key) not in (None, [], "")), "")


def _is_for_all(rule: Document) -> bool:
    narrower = ("toolAnnotations", "commandPrefix", "commandRegex")
    names = rule.get("mcpName", ANY), rule.get("toolName", ANY)
    return names == (ANY, ANY) and not any(rule.get(key) for key in narrower) and not _condition(rule)


def _gemini_rule(where: str, effect: str, rule: Document, names: Names, first: bool) -> Iterator[ClientRule]:
    if rule.get("commandPrefix") or rule.get("commandRegex"):
        yield ClientRule(where, effect, why=NOT_MCP)
        return
    given = rule.get("toolName", ANY)
    tools = [given] if isinstance(given, str) else texts(given)
    server = rule.get("mcpName")
    if annotations := rule.get("toolAnnotations"):
        classes = _classes(annotations) if server in (None, ANY) and tools == [ANY] else ()
        if classes and (effect != ALLOW or classes == ("@read-only",)):
            yield ClientRule(where, effect, tuple((name, "") for name in classes))
            return
        if effect == ALLOW:
            yield ClientRule(where, effect, why=_CLASS_OF_ONE)
            return
        where, effect = f"{where}, {_CLASS_OF_ONE}", ASK  # as with a condition
    for tool in tools:
        label = f"{where} {server or ''}:{tool}" if isinstance(server, str) else f"{where} {tool}"
        if isinstance(server, str):
            yield ClientRule(label, effect, ((server, tool),), goes_before_ask=first)
        elif tool == ANY:
            yield ClientRule(label, effect, ((ANY, ANY),))
        elif tool.startswith("mcp_"):
            flat_name = tool.removeprefix("mcp_")  # server_tool, or * for any server
            split = names.split(flat_name, "_")
            if flat_name.startswith(ANY):
                split = [(ANY, flat_name[1:].removeprefix("_"))]
            targets = tuple((one, name or ANY) for one, name in split)
            yield ClientRule(label, effect, targets, is_respelled=True, goes_before_ask=first)
        else:
            yield ClientRule(label, effect, why=NOT_MCP)


def _classes(annotations: Any) -> tuple[str, ...]:
    items = list(members(annotations).items())
    return _CLASSES.get(items[0], ()) if len(items) == 1 and isinstance(items[0][1], bool) else ()


def _priority(rule: Document) -> float:
    priority = rule.get("priority")
    return priority if isinstance(priority, int | float) else 0


READERS: Mapping[str, Callable[[Document, Names], Iterator[ClientRule]]] = {
    "claude-code": claude_code,
    "cursor": cursor,
    "codex": codex,
    "gemini": gemini,
}
