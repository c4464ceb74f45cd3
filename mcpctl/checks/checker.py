"""The check of tool definitions, and of arguments that are too long for a person to read."""

import re
import time
from collections.abc import Iterable, Iterator
from itertools import chain

from mcpctl.base.acting import ACTS, SHELL, acting_word, words_of
from mcpctl.base.models import HINTS, Tool
from mcpctl.checks import hidden
from mcpctl.checks.findings import ERROR, ToolFinding, quoted
from mcpctl.checks.instructions import INSTRUCTIONS
from mcpctl.checks.known_texts import KnownTexts
from mcpctl.checks.leaks import LEAKS
from mcpctl.checks.orders import ORDERS
from mcpctl.checks.peers import SHADOWS, Peers
from mcpctl.checks.phrases import matches
from mcpctl.checks.reading import Reading, compact, plain
from mcpctl.secrets import redact, shapes

_PHRASES = (*INSTRUCTIONS, *LEAKS, *ORDERS)
_IN_PAYLOADS = tuple(phrase for phrase in _PHRASES if phrase.rule in ("E403", "E404", "E408"))
_SHORTEST_PAYLOAD = 20
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
_ACTS_IN_WORDS = re.compile(
    r"^(?:this tool )?(?:permanently |irreversibly )?(?:deletes?|removes?|drops?|destroys?|erases?|purges?|wipes?"
    r"|sends?|executes?|kills?|terminates?|transfers?|pays|overwrites?|uninstalls?|publishes|deploys?) (?:an? |the "
    r"|all |any |files?|arbitrary |messages?|emails?|e-mails?|funds|money|payments?)"
)
_READS = frozenset((
    "get", "list", "read", "show", "find", "search", "query", "fetch", "describe", "count", "check", "preview",
    "view", "lookup", "inspect",
))  # fmt: skip
_PAGES = re.compile(r"page|next|continuation|cursor|sync|pagination|resume", re.IGNORECASE)
_LONG_DESCRIPTION = 6_000
_LONG_DEFINITION = 40_000


class Checker:
    """Checks tools that are seen together: how they relate is looked up in an index that is made once."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._peers = Peers(tools)
        self._known = KnownTexts((*_PHRASES, *SHADOWS))

    def check(self, tool: Tool) -> list[ToolFinding]:
        """The findings of one of the tools: at most one of each rule and place, errors first."""
        reading = Reading(tool, self._known.read)
        findings: dict[tuple[str, str], ToolFinding] = {}
        for finding in chain(
            _hidden(tool, reading, self._known), _phrases(tool, reading, self._known),
            _payloads(tool, reading, self._known), self._peers.directed(tool, reading, self._known),
            self._peers.alike(tool), _parameters(tool, reading), _secrets(tool, reading), _pretends(tool, reading),
            _hints(tool), _length(tool, reading),
        ):  # fmt: skip
            findings.setdefault((finding.rule, finding.place), finding)
        return sorted(findings.values(), key=lambda finding: finding.rule)


def is_held(findings: Iterable[ToolFinding]) -> bool:
    """Whether a tool with these findings is to be held: one of them is an error."""
    return any(finding.severity == ERROR for finding in findings)


def _hidden(tool: Tool, reading: Reading, known: KnownTexts) -> Iterator[ToolFinding]:
    for part in reading.parts:
        if words := known[part.text].odd:
            yield ToolFinding(tool.key, "E401", part.place, f"{part.place} has {words}")


def _phrases(tool: Tool, reading: Reading, known: KnownTexts) -> Iterator[ToolFinding]:
    for match in known.matches(reading, _PHRASES):
        place = reading.part(match.start).place
        if not match.quoted:
            yield ToolFinding(tool.key, match.phrase.rule, place, f"{place} {match.phrase.what}: {quoted(match.said)}")
        elif match.phrase.rule.startswith("E"):
            message = f"{place} quotes what would be {match.phrase.rule}: {quoted(match.said)}"
            yield ToolFinding(tool.key, "W509", place, message)


def _payloads(tool: Tool, reading: Reading, known: KnownTexts) -> Iterator[ToolFinding]:
    for part in reading.parts:
        for text in known[part.text].encoded if len(part.text) >= _SHORTEST_PAYLOAD else ():
            if hidden.COMMAND.search(text) or any(not match.quoted for match in matches(plain(text), _IN_PAYLOADS)):
                message = f"{part.place} has an encoded payload that says {quoted(text)}"
                yield ToolFinding(tool.key, "E406", part.place, message)


def _parameters(tool: Tool, reading: Reading) -> Iterator[ToolFinding]:
    for part in reading.parameters:
        if not part.place.startswith("inputSchema"):
            continue
        if compact(part.text) in _CONTEXT:
            message = f"the parameter {quoted(part.text)} asks for the model's context"
            yield ToolFinding(tool.key, "W503", part.place, message)
        elif redact.is_secret_name(part.text[:200]) and not _PAGES.search(part.text[:200]):
            yield ToolFinding(
                tool.key, "I601", part.place, f"the parameter {quoted(part.text)} is named like a credential"
            )


def _secrets(tool: Tool, reading: Reading) -> Iterator[ToolFinding]:
    # Nearly no tool has one, so that all texts are looked at at once first.
    if not _spans("\n".join(part.text for part in reading.parts)):
        return
    for part in reading.parts:
        for begin, end in _spans(part.text)[:1]:
            # The secret itself is never shown.
            message = f"{part.place} has a text of {end - begin} bytes that looks like a secret"
            yield ToolFinding(tool.key, "W506", part.place, message)


def _spans(text: str) -> list[shapes.Span]:
    return list(shapes.spans(text.encode("utf-8", "replace")))


def _pretends(tool: Tool, reading: Reading) -> Iterator[ToolFinding]:
    if tool.annotations.get("readOnlyHint") is not True:
        if tool.inferred and tool.inferred.get("readOnlyHint") and (word := acting_word(tool)):
            message = f"is read-only by its method {tool.request[0]}, and says '{word}': it does not count as read-only"
            yield ToolFinding(tool.key, "W508", "name", message)
        return
    words = words_of(tool.name)
    if not _READS.isdisjoint(words[:1]):
        return
    if words and words[0] in ACTS:
        yield ToolFinding(tool.key, "W508", "name", f"declares readOnlyHint, and its name begins with '{words[0]}'")
    elif says := _ACTS_IN_WORDS.match(plain(tool.description[:200])):
        yield ToolFinding(tool.key, "W508", "description", f"declares readOnlyHint, and says {quoted(says[0])}")
    elif shell := [part for part in reading.parameters if compact(part.text) in SHELL and part.place.count(".") == 2]:
        message = f"declares readOnlyHint, and has the parameter {quoted(shell[0].text)}"
        yield ToolFinding(tool.key, "W508", shell[0].place, message)


def _hints(tool: Tool) -> Iterator[ToolFinding]:
    if not tool.inferred and not any(isinstance(tool.annotations.get(hint), bool) for hint in HINTS):
        yield ToolFinding(tool.key, "I602", "annotations", "none of the four hints is declared")


def _length(tool: Tool, reading: Reading) -> Iterator[ToolFinding]:
    if not reading.is_whole:
        yield ToolFinding(tool.key, "E409", "inputSchema", "the definition has more text than is read of one tool")
    if len(tool.description) > _LONG_DESCRIPTION:
        yield ToolFinding(tool.key, "I603", "description", f"the description has {len(tool.description)} characters")
    elif (length := sum(len(part.text) for part in reading.parts)) > _LONG_DEFINITION:
        yield ToolFinding(tool.key, "I603", "inputSchema", f"all texts together have {length} characters")


# ---- arguments

_PIECE = 1 << 14
_OVERLAP = 512  # how much of a piece is in the next one, too: a phrase over the end of one is found there
_MOST = 8
_REST = re.compile(r"[^\s\"]{0,60}(?:(?<!sh) [^\s\"]{1,60})?")  # of a command, enough to know it
_JSON_MARK = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))|\"", re.DOTALL)


def found_in(text: str) -> list[str]:
    """Commands, orders, hidden characters and payloads of a text, piece by piece so that other threads go on."""
    found: dict[str, None] = {}
    for begin in range(0, max(1, len(text)), _PIECE):
        found.update(dict.fromkeys(_in_piece(text[max(0, begin - _OVERLAP) : begin + _PIECE])))
        if len(found) >= _MOST:
            break
        time.sleep(0)
    return list(found)[:_MOST]


def _in_piece(piece: str) -> Iterator[str]:
    text = _JSON_MARK.sub(_read, piece).replace("${IFS}", " ").replace("$IFS", " ")
    commands = [quoted(match[0] + _rest(text, match.end())) for match in hidden.COMMAND.finditer(text)]
    yield from commands
    if odd := hidden.odd_characters(text.replace("\n", " ").replace("\t", " ").replace("\r", " ")):
        yield odd
    for match in matches(plain(text), _PHRASES):
        if not match.quoted and not (commands and match.phrase.rule == "E406"):
            yield f"{quoted(match.said)} ({match.phrase.rule})"
    yield from (f"an encoded {quoted(said)}" for said in hidden.decoded(text) if hidden.COMMAND.search(said))


def _rest(text: str, end: int) -> str:
    rest = _REST.match(text, end)
    return rest[0] if rest else ""


def _read(mark: re.Match[str]) -> str:
    """The character that an escape of JSON stands for; a quotation mark of JSON is where a value begins or ends."""
    if mark[1]:
        return chr(int(mark[1], 16))
    return "\n" if mark[0] == '"' else " " if mark[2] in "nrtbf" else mark[2]
