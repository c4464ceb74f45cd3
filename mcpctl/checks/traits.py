"""What parameters, hints and lengths say of a tool: W503, W506, W508 and the information rules."""

import re
from collections.abc import Iterator

from mcpctl.base.models import HINTS, Tool
from mcpctl.checks.confusables import compact
from mcpctl.checks.findings import Finding, quoted
from mcpctl.checks.reading import Reading, plain
from mcpctl.secrets import redact, shapes

_CONTEXT = frozenset((
    "systemprompt", "llmmodelname", "llmmodel", "llmname", "aimodelname", "agentmodel", "agentmodelname",
    "callingmodel", "modelcontext", "llmcontext", "conversationhistory", "chathistory", "conversationcontext",
    "conversationlog", "fullconversation", "previousmessages", "messagehistory", "toolslist", "toollist",
    "availabletools", "alltools", "chainofthought", "cot", "systeminstructions", "systemmessage",
    "agentinstructions", "developermessage", "developerprompt", "originaluserquery", "originalprompt", "userprompt",
    "lastusermessage", "llmreasoning", "modelreasoning", "hiddencontext", "sidenote", "sidecar", "memorydump",
    "agentmemory", "contextwindow", "promptcontext", "callhistory", "toolcallhistory", "toolcalllog",
    "agentcontext", "userquestion",
))  # fmt: skip
_ACTS = frozenset((
    "delete", "remove", "drop", "destroy", "erase", "purge", "wipe", "truncate", "send", "execute", "exec", "kill",
    "terminate", "transfer", "pay", "overwrite", "upload", "uninstall", "install", "publish", "deploy", "revoke",
    "cancel", "shutdown", "reboot", "write",
))  # fmt: skip
_ACTS_IN_WORDS = re.compile(
    r"^(?:this tool )?(?:permanently |irreversibly )?(?:deletes?|removes?|drops?|destroys?|erases?|purges?|wipes?"
    r"|sends?|executes?"
    r"|kills?|terminates?|transfers?|pays|overwrites?|uninstalls?|publishes|deploys?) (?:an? |the |all |any |files?"
    r"|arbitrary |messages?"
    r"|emails?|e-mails?|funds|money|payments?)"
)
_SHELL = frozenset(("command", "shellcommand", "cmd", "script", "shell"))
_READS = frozenset((
    "get", "list", "read", "show", "find", "search", "query", "fetch", "describe", "count", "check", "preview",
    "view", "lookup", "inspect",
))  # fmt: skip
_PAGES = re.compile(r"page|next|continuation|cursor|sync|pagination|resume", re.IGNORECASE)
_LONG_DESCRIPTION = 6_000
_LONG_DEFINITION = 40_000


def findings(tool: Tool, reading: Reading) -> Iterator[Finding]:
    """What is to be said of one tool by itself."""
    yield from _parameters(tool, reading)
    yield from _secrets(tool, reading)
    yield from _pretends(tool, reading)
    if not any(isinstance(tool.annotations.get(hint), bool) for hint in HINTS):
        yield Finding(tool.key, "I602", "annotations", "none of the four hints is declared")
    yield from _length(tool, reading)


def _parameters(tool: Tool, reading: Reading) -> Iterator[Finding]:
    for part in reading.parameters:
        if not part.place.startswith("inputSchema"):
            continue
        if compact(part.text) in _CONTEXT:
            yield Finding(
                tool.key, "W503", part.place, f"the parameter {quoted(part.text)} asks for the model's context"
            )
        elif redact.is_secret_name(part.text[:200]) and not _PAGES.search(part.text[:200]):
            yield Finding(tool.key, "I601", part.place, f"the parameter {quoted(part.text)} is named like a credential")


def _secrets(tool: Tool, reading: Reading) -> Iterator[Finding]:
    # Nearly no tool has one, so that all texts are looked at at once first.
    if not _spans("\n".join(part.text for part in reading.parts)):
        return
    for part in reading.parts:
        for begin, end in _spans(part.text)[:1]:
            # The secret itself is never shown.
            message = f"{part.place} has a text of {end - begin} bytes that looks like a secret"
            yield Finding(tool.key, "W506", part.place, message)


def _spans(text: str) -> list[shapes.Span]:
    return list(shapes.spans(text.encode("utf-8", "replace")))


def _pretends(tool: Tool, reading: Reading) -> Iterator[Finding]:
    if tool.annotations.get("readOnlyHint") is not True:
        return
    words = re.findall(r"[a-z]+", " ".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+", tool.name)).lower())
    if not _READS.isdisjoint(words[:1]):
        return
    if words and words[0] in _ACTS:
        yield Finding(tool.key, "W508", "name", f"declares readOnlyHint, and its name begins with '{words[0]}'")
    elif says := _ACTS_IN_WORDS.match(plain(tool.description[:200])):
        yield Finding(tool.key, "W508", "description", f"declares readOnlyHint, and says {quoted(says[0])}")
    elif shell := [part for part in reading.parameters if compact(part.text) in _SHELL and part.place.count(".") == 2]:
        message = f"declares readOnlyHint, and has the parameter {quoted(shell[0].text)}"
        yield Finding(tool.key, "W508", shell[0].place, message)


def _length(tool: Tool, reading: Reading) -> Iterator[Finding]:
    if not reading.is_whole:
        yield Finding(tool.key, "E409", "inputSchema", "the definition has more text than is read of one tool")
    if len(tool.description) > _LONG_DESCRIPTION:
        yield Finding(tool.key, "I603", "description", f"the description has {len(tool.description)} characters")
    elif (length := sum(len(part.text) for part in reading.parts)) > _LONG_DEFINITION:
        yield Finding(tool.key, "I603", "inputSchema", f"all texts together have {length} characters")
