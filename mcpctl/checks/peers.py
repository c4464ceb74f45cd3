"""E405, E407 and W507: tools that direct the model about tools of other servers, copy them, or look like them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from mcpctl.base.models import Tool
from mcpctl.base.tool_keys import split
from mcpctl.checks.findings import ToolFinding, quoted
from mcpctl.checks.known_texts import KnownText, KnownTexts
from mcpctl.checks.phrases import Phrase
from mcpctl.checks.reading import PARAMETER, Reading, compact, plain, skeleton

_NEAR = 80
_IDENTIFIER = re.compile(r"[A-Za-z0-9]+(?:[_-]+[A-Za-z0-9]+)*")
_PIECES = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_CAMEL = re.compile(r"[a-z0-9][A-Z]")
_LEAST_DISTINCTIVE = 6
_LEAST_WORD = 4
_WORD = 24  # shorter texts are values of parameters, which may be called as tools are
_DIRECTIVE = re.compile(
    r"\b(?:must|should|shall|need(?:s|ed)? to|ha(?:ve|s) to|required?|requires|always|never|only|first|before|after"
    r"|prior to|instead|call(?:s|ed|ing)?|invok\w+|us(?:e|es|ed|ing)|run(?:s|ning)?|execut\w+|ensure|make sure|do not"
    r"|not|mandatory|when|whenever|if|replac\w+|chang\w+|modif\w+|alter\w*|redirect\w*|forward\w*|send|rerout\w+"
    r"|overrid\w+|superse\w+|prefer\w*|avoid|trigger\w*|rely|follow\w*|pass|set|add|bcc|please|automatically|then"
    r"|any time|every time|each time|by|double|multiply|omit|skip|include|append|attach|provide|fill|specify|deprecated"
    r"|obsolete|switch|broken|unsafe|insecure|unreliable|replaced)\b"
)
_STRICT = re.compile(
    r"\b(?:must|should|shall|need(?:s|ed)? to|ha(?:ve|s) to|required?|always|never|first|before|after|prior to|instead"
    r"|mandatory|whenever|ensure|do not|replac\w+|redirect\w*|modif\w+|chang\w+|overrid\w+|automatically|any time"
    r"|every time|each time)\b"
)
_CALLED = re.compile(
    r"\b(?:call|calling|calls|invoke|invoking|invokes|run|running|execute|executing|use|using|uses) (?:the )?[`'\"]?$"
)
_SURELY_CALLED = re.compile(r"\b(?:call|calling|invoke|invoking|invokes|executing) (?:the )?$")
_ENDS_THERE = re.compile(r"^(?:$|[.,;:)](?: |$)| (?:is|must|should|has|first|and|then|to)\b)")
_BEFORE_MARKS = re.compile(
    r"\b(?:before|after|prior to|instead of|in place of|dependency of|every|each|all|in|of) [`'\"]$"
)
_SAID_TOOL = re.compile(
    r"^[`'\"]?(?: mcp)? (?:tool|function)s?\b|^\(\)|^[`'\"] (?:must|should|may|can|is|gets|was|has)(?: not| never| only"
    r"| always)*(?: be| been)* (?:call|invok|us|run|execut)|^ (?:is|gets|was|has been|are|must be|should be) (?:never "
    r"|only |always |ever )?(?:called|invoked|executed)\b"
)
_MARKS = ("`", "'", '"')
_TOOL_SAID = re.compile(r"\b(?:tool|function)s? (?:called |named )?[`'\"]?$")
_TOOL_IN_WORDS = re.compile(r"\b((?:[a-z0-9]+ ){1,4})(?:mcp )?(?:tool|function)s?\b")
_MOST_NAMES = 2_000
_SAME_TEXT = 0.8
_COMPARED = 4000
_LEAST_WORDS = 4
_SHARED = 0.5
_LEAST_SHARED = 2
_GENERIC = frozenset(("mcp", "server", "api", "tool", "tools", "service", "the", "my"))
"""Words of servers' names that say nothing."""

SHADOWS = (
    Phrase("E405", "directs the model about other servers",
           ("other server", "other mcp server", "another server", "another mcp server", "different server"),
           r"\b(?:do not|never|avoid|stop) (?:use|using|call|calling|trust|trusting|invoke|invoking)\bG25\b(?:other"
           r"|another|different) (?:mcp )?servers?\b|\btools? (?:of|from|on|by) (?:any |all )?(?:other"
           r"|another) (?:mcp )?servers?\bG40\b(?:must not|should not|never|are unsafe|are insecure|are deprecated"
           r"|are obsolete|are disabled|compromised)\b"),
    Phrase("E405", "changes what another tool does",
           ("behavio", "side effect", "side-effect", "supersede", "replaces its", "replace its", "is called",
            "is invoked", "is used", "is executed", "was called", "are called", "calling", "invoking", "calls",
            "invoke"),
           r"\b(?:modif|chang|alter|overrid|affect|influenc|tak|has|replac|intercept"
           r"|control)\w* (?:\w+ ){0,4}?(?:behaviou?r|side[- ]?effect|operation|functioning|semantics|output"
           r"|results?)s? (?:of|on) (?:the )?(?:also present |other |existing )*ID\b",
           quotable=False),
    Phrase("E405", "takes another tool's place", ("supersede", "takes over", "functionality"),
           r"\b(?:supersedes?|takes over|replaces the functionality of) (?:the )?ID\b",
           quotable=False),
    Phrase("E405", "directs the model about another tool",
           ("is called", "is invoked", "is used", "is executed", "is triggered", "is run", "was called",
            "gets called"),
           r"\b(?:when|whenever|each time|every time|any time|anytime|once|if|after|before) (?:the )?ID(?: (?:tool"
           r"|function))? (?:is|gets|was|has been) (?:ever )?(?:called|invoked|used|executed|triggered"
           r"|run)\bG90\b(?:must|first|always|also|instead|bcc|cc|rerout\w*|redirect\w*|forward\w*|send|replace|change"
           r"|set|use|add|ensure|never|on every)\b",
           quotable=False),
    Phrase("E405", "directs the model about another tool",
           ("replace its", "ignore its", "discard its", "replace the", "discard the", "ignore the"),
           r"\bID (?:tool|function)\bG80\b(?:always |must |should |instead )*(?:replace|ignore|discard"
           r"|overwrite) (?:its|the) (?:output|results?|response|value|data)",
           quotable=False),
)  # fmt: skip
"""Phrases that need no other tool to be known; their group `name` is the tool that they are about."""


class Peers:
    """All tools together, with the indexes in which they are looked up."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._by_name: dict[str, dict[str, str]] = defaultdict(dict)
        self._by_skeleton: dict[str, list[Tool]] = defaultdict(list)
        self._words: dict[str, set[str]] = defaultdict(set)
        self._names: dict[str, dict[str, Tool]] = defaultdict(dict)
        for tool in tools:
            if " " not in tool.name:  # a name with spaces is a phrase of ordinary sentences
                self._by_name[compact(tool.name)].setdefault(tool.server, tool.name)
            self._by_skeleton[skeleton(tool.name)].append(tool)
            self._words[tool.server].update(_pieces(tool.name))
            self._names[tool.server][tool.name] = tool

    def _others(self, tool: Tool, name: str) -> str:
        """The key of another server's tool of that name, if this server has none of it."""
        servers = self._by_name.get(compact(name))
        if not servers or tool.server in servers or compact(name) == compact(tool.name):
            return ""
        other = next((server for server in servers if not self._is_same_program(tool.server, server)), None)
        return f"{other}:{servers[other]}" if other is not None else ""

    def directed(self, tool: Tool, reading: Reading, known: KnownTexts) -> Iterator[ToolFinding]:
        own = {compact(part.text) for part in reading.parts if part.kind == PARAMETER or len(part.text) < _WORD}
        for part in reading.parts:
            if part.kind == PARAMETER or part.place == "name":
                continue
            if not self._may_name(known[part.text], part.text):
                continue
            for key in self._named(tool, part.text, own):
                message = f"{part.place} directs the model about {quoted(key)}, a tool of another server"
                yield ToolFinding(tool.key, "E405", part.place, message)
                return
        for match in known.matches(reading, SHADOWS):
            name = compact(match.name)
            if not match.quoted and name not in own and tool.server not in self._by_name.get(name, {}):
                place = reading.part(match.start).place
                yield ToolFinding(tool.key, "E405", place, f"{place} {match.phrase.what}: {quoted(match.said)}")
                return

    def _may_name(self, known: KnownText, text: str) -> bool:
        """Whether a text has a name of any tool, or says that something is one: nearly none does."""
        if len(self._names) < _LEAST_SHARED:
            return False
        if known.names_tools is None:
            lowered = text.lower()
            bare = {name.replace("_", "").replace("-", "") for name in _IDENTIFIER.findall(lowered)}
            in_words = " tool" in lowered or " function" in lowered
            known.names_tools = in_words or "__" in text or not self._by_name.keys().isdisjoint(bare)
        return known.names_tools

    def _named(self, tool: Tool, text: str, own: set[str]) -> Iterator[str]:
        """The keys of other servers' tools that a text directs the model about."""
        for number, match in enumerate(_IDENTIFIER.finditer(text)):
            if number >= _MOST_NAMES * 50:
                return
            name = match[0]
            bare = name.lower().replace("_", "").replace("-", "")
            if (bare not in self._by_name and "__" not in name) or len(name) < _LEAST_WORD:
                continue
            key = self._others(tool, name) or self._others(tool, name.rpartition("__")[2])
            if key and self._directs(tool, text, match, key, is_own=bare in own):
                yield key
        yield from self._in_words(tool, text, own)

    def _directs(self, tool: Tool, text: str, match: re.Match[str], key: str, *, is_own: bool) -> bool:
        before, after = text[max(match.start() - _NEAR, 0) : match.start()], text[match.end() : match.end() + _NEAR]
        lowered, rest, (_, name) = before.lower(), after.lower(), split(key)
        strict = bool(_STRICT.search(lowered) or _STRICT.search(rest))
        means_tool = _SAID_TOOL.search(rest) or _TOOL_SAID.search(lowered)
        if is_own and not means_tool:
            return False
        if _is_distinctive(match[0]) and _is_distinctive(name):
            # Words with a hyphen are more often words than names, and DuckDuckGo is somebody's name.
            is_camel = bool(_CAMEL.search(match[0]))
            if is_camel and match[0][0].isupper() and not means_tool and match[0] != name:
                return False
            plainly = "_" in match[0] or is_camel or means_tool or _CALLED.search(lowered)
            return strict or bool(plainly and (_DIRECTIVE.search(lowered) or _DIRECTIVE.search(rest)))
        if not strict or match[0] != name or not _pieces(match[0]).isdisjoint(self._words[tool.server]):
            return False
        if before[-1:] in _MARKS and after[:1] in _MARKS:
            means_tool = means_tool or _CALLED.search(lowered) or _BEFORE_MARKS.search(lowered)
        return bool(means_tool or (_SURELY_CALLED.search(lowered) and _ENDS_THERE.search(rest)))

    def _in_words(self, tool: Tool, text: str, own: set[str]) -> Iterator[str]:
        """The tools that are named in words: "the send email tool"."""
        lowered = text.lower()
        if " tool" not in lowered and " function" not in lowered:
            return
        for match in _TOOL_IN_WORDS.finditer(lowered):
            words = match[1].split()
            for length in range(len(words), 1, -1):
                name = "".join(words[-length:])
                key = self._others(tool, name) if name in self._by_name and name not in own else ""
                near = lowered[max(match.start() - _NEAR, 0) : match.end() + _NEAR]
                if key and len(_pieces(split(key)[1])) > 1 and _STRICT.search(near):
                    yield key

    def alike(self, tool: Tool) -> Iterator[ToolFinding]:
        """E407 and W507: tools of other servers whose names look the same."""
        for other in self._by_skeleton[skeleton(tool.name)]:
            if other.server == tool.server and other.name == tool.name:
                continue
            if compact(other.name) != compact(tool.name):
                yield ToolFinding(tool.key, "W507", "name", f"the name looks like that of {quoted(other.key)}")
            elif other.server != tool.server and self._is_copy(tool, other):
                yield ToolFinding(
                    tool.key, "E407", "description", f"name and text are nearly those of {quoted(other.key)}"
                )
                return

    def _is_copy(self, tool: Tool, other: Tool) -> bool:
        """Whether one text is the other with a few words more, or other capitals; equal texts are one program twice."""
        if tool.description.split() == other.description.split() or not _is_distinctive(tool.name):
            return False
        texts = (plain(each.description[:_COMPARED]) for each in (tool, other))
        few, many = sorted((set(re.findall(r"\w+", text)) for text in texts), key=len)
        is_near = len(few) >= _LEAST_WORDS and len(few) >= _SAME_TEXT * len(many) and few <= many
        return is_near and not self._is_same_program(tool.server, other.server)

    def _is_same_program(self, one: str, other: str) -> bool:
        """Whether two servers are one program: they are called alike, or most of their tools are."""
        few, many = sorted((_pieces(one) - _GENERIC, _pieces(other) - _GENERIC), key=len)
        if few and (few <= many or len(few & many) >= _LEAST_SHARED):
            return True
        mine, theirs = self._names[one].keys(), self._names[other].keys()
        shared = len(mine & theirs)
        return shared >= _LEAST_SHARED and shared >= _SHARED * len(mine | theirs)


def _pieces(name: str) -> set[str]:
    return {piece.lower() for piece in _PIECES.findall(name)}


def _is_distinctive(name: str) -> bool:
    """Whether a name is hardly a word of a sentence: it has several parts."""
    parts = _PIECES.findall(name)
    joined = "_" in name or "-" in name or bool(_CAMEL.search(name))
    return joined and len(parts) > 1 and sum(map(len, parts)) >= _LEAST_DISTINCTIVE
