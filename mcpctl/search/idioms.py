"""Idioms, as people say them to people, in the words of tools: by its own words, `get rid of` is near to `get`."""

import re
from functools import cache

from mcpctl.search.tokens import MAX_TEXT

_BEGINNING = 3  # of an idiom: so many letters that all of its forms have
# Phrases of everyday English whose words, one by one, mean something else. The forms of one are separated by a bar.
_IDIOMS = {
    "remove": r"get(?:ting)? rid of | got rid of | throw(?:ing)? (?:away|out) | tak(?:e|ing) out",
    "search": r"look(?:ing)? (?:(?:something|it|this|that|them) )?up | find(?:ing)? out(?: about)?"
    r" | google(?= (?:an?|the|for|how|what|who|where|when|why|if|whether|some|my)\b)",
    "create": r"open(?:ing)?(?= (?:an?|another) (?:new )?(?:pull request|pr|merge request|issue|ticket|bug)\b)",
    "add staging": r"stage(?<!(?:is|he| a) stage)(?= (?:my|the|all|these|this|our)\b)",
    "find": r"look(?:ing)? for",
    "view": r"have a look at | take a look at | look(?:ing)? at",
    "size": r"how (?:big|large|heavy)(?: (?:is|are|was|were))?",
    "count": r"how (?:many|often)",
    "duration": r"how long (?:does|did|do|will|is|was)",
    "price": r"how (?:expensive|much (?:do|does|did|is|are))",
    "list contents": r"what(?:'s| is| are) (?:in|inside)",
    "current time": r"what time is it | what(?:'s| is) the time",
    "current date": r"what day is it | what(?:'s| is) (?:today's|the) date(?: today)?",
    "add note": r"writ(?:e|ing) (?:(?:it|this|that|them) )?down | jot(?:ting)? (?:(?:it|this|that|them) )?down"
    r" | not(?:e|ing) (?:it )?down | put(?:ting)? (?:it |this )?down | make a note(?: of)? | take notes",
    "store memory": r"keep in mind | remember(?= that| to|:)",
    "convert": r"turn(?:ing)? (?:(?:it|this|them) )?into | chang(?:e|ing) (?:(?:it|this|them) )?into",
    "restore": r"bring(?:ing)? back",
    "reset": r"start(?:ing)? over",
}


@cache
def _patterns() -> tuple[frozenset[str], re.Pattern[str], dict[str, re.Pattern[str]]]:
    """The beginnings of all idioms, the idioms, and those of each meaning. A look at the beginnings of a text's words
    takes a third of the time of a search for idioms, and few texts have one."""
    begins = frozenset(form[:_BEGINNING] for said in _IDIOMS.values() for form in said.split(" | "))
    forms = {
        meant: "|".join(f"[{form[0]}{form[0].upper()}]{form[1:]}" for form in said.split(" | "))
        for meant, said in _IDIOMS.items()
    }
    every = re.compile(rf"\b(?:{'|'.join(forms.values())})\b")
    return begins, every, {meant: re.compile(said) for meant, said in forms.items()}


def without_idioms(text: str) -> tuple[str, dict[str, list[str]]]:
    """A text with words of tools in place of its idioms, and those that it had, each with what is meant."""
    text, rest = text[:MAX_TEXT].replace("\u2019", "'"), text[MAX_TEXT:]
    read_as: dict[str, list[str]] = {}
    begins, every, of_meaning = _patterns()
    if begins.isdisjoint([word[:_BEGINNING] for word in text.lower().split()]):
        return text + rest, read_as

    def words_of_tools(match: re.Match[str]) -> str:
        meant = next(meant for meant, said in of_meaning.items() if said.match(match.string, match.start()))
        read_as[match[0].lower()] = [meant]
        return meant

    return every.sub(words_of_tools, text) + rest, read_as
