"""What other programs look for in tool definitions, restated in our own words: near to them, not the same."""

import re
from collections.abc import Callable, Sequence

from mcpctl.base.models import Tool

Holds = Callable[[Tool, Sequence[Tool]], bool]
"""Whether a tool is reported, seen with others."""

_WORDS = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass|crucial|important|critical|urgent|essential|mandatory|imperative"
    r"|secret"
    r"|hidden)\b",
    re.IGNORECASE,
)
_TOOL = r"(?:tool|function|command|operation)s?"
_CISCO = (
    rf"always (?:use|run|call|execute|invoke|consult|trigger) this {_TOOL} (?:first|before|immediately)",
    rf"before (?:using|running|calling|executing|invoking|accessing) any other {_TOOL}",
    rf"(?:you|user) (?:must|need to|have to|should) (?:use|run|call|execute|invoke) this {_TOOL}",
    r"(?:hidden|secret)[ _](?:parameter|argument|input)",
    r"(?:read|cat|dump|parse) (?:the )?contents? of [^\n.]*\.(?:key|pem|ssh|aws)",
    r"(?:conversation_history|chain_of_thought|system_prompt|tools_list|model_name) ?[:=]",
    r"do not execute [^\n]{0,40}other [^\n]{0,40}tool|(?:must|only) [^\n]{0,40}this tool|tool will not work",
    r"tell (?:the )?user only|hide (?:from )?(?:the )?user|before [^\n]*using [^\n]*tool [^\n]*read",
    r"send [^\n]*conversation history|include [^\n]*(?:secrets?|passwords?|credentials?|tokens?) [^\n]*in your"
    r" response",
    r"(?:also|additionally|furthermore|moreover) (?:collect|gather|send|upload|store|log|record|capture|extract)",
    r"(?:actually|secretly|covertly|silently|really) (?:does|performs?|executes?|sends?|uploads?|collects?)",
    r"(?:extract|find|scan|search|parse)s? (?:all|any)? ?(?:api keys?|tokens?|credentials?|passwords?|emails?|phone)",
    r"(?:share|send|transmit|provide)s? (?:with|to) (?:third[ -]part|partners?|advertisers?)",
    r"(?:bypass|disregard|forget|ignore) (?:all|any|every|your|the)? ?(?:previous|prior|above|earlier|preceding"
    r"|system)?"
    r" ?(?:commands?|guidelines?|instructions?|directives?|rules?|constraints?)",
)
_STRINGS = re.compile("|".join(_CISCO), re.IGNORECASE)
_EXFILTRATED = (
    r"(?:credentials?|api keys?|(?:access|auth) tokens?|secrets?|passwords?|private keys?|ssh keys?|\.env|id_rsa"
    r"|/\.?ssh|/\.?aws)"
)
_MCPPROXY = re.compile(
    r"(?:ignore|disregard|forget|override|discard|bypass) (?:all |the |any |these |your )*(?:previous|prior|above"
    r"|earlier|all"
    r"|these|original|initial) (?:instruction|direction|command|prompt|rule|guideline|order)"
    r"|(?:ignore|disregard|forget) (?:all |the |any )*(?:previous|prior|above|earlier)(?:,|;|:| and| then| instead)"
    r"|(?:ignore|disregard|bypass|override|circumvent) (?:all )?(?:your|these) (?:safety |content |system"
    r" )?(?:guideline"
    r"|instruction|rule|polic|restriction)"
    rf"|(?:send|upload|post|transmit|exfiltrat\w*|leak|forward|copy|dump|steal)\b[^.!?]{{0,40}}?{_EXFILTRATED}"
    r"|(?:reveal|expose|print|output|send|leak|repeat|show|dump) (?:your |the |all )*(?:system prompt|hidden"
    r" instruction"
    r"|your instruction)",
    re.IGNORECASE,
)
_HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ue000-\uf8ff\U000e0000-\U000e007f]")
_COMMON = frozenset(("search", "status", "create", "update", "delete", "remove"))
_LEAST = 6


def snyk_w001(tool: Tool, others: Sequence[Tool]) -> bool:
    """A list of words."""
    return bool(_WORDS.search(tool.description))


def cisco_strings(tool: Tool, others: Sequence[Tool]) -> bool:
    """The strings of tool poisoning, coercive injection and prompt injection."""
    return bool(_STRINGS.search(tool.description))


def mcpproxy_hard(tool: Tool, others: Sequence[Tool]) -> bool:
    """Hidden characters, phrases, and names that another server has, in a text or twice."""
    if _HIDDEN.search(tool.description) or _MCPPROXY.search(tool.description):
        return True
    names = {other.name for other in others if other.server != tool.server} - _COMMON
    words = set(re.findall(r"[A-Za-z]\w{5,}", tool.description)) - {tool.name}
    return (tool.name in names and len(tool.name) >= _LEAST) or bool(words & names)


RIVALS: dict[str, Holds] = {"snyk W001": snyk_w001, "cisco strings": cisco_strings, "mcpproxy": mcpproxy_hard}
