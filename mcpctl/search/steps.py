"""The steps of a request that asks for one thing after another: `read the file, fix the date, then commit it`."""

import re

READING = """
    get list show find search read see view fetch look lookup display describe check count compare download query
    browse inspect retrieve monitor print tell explain
"""
DELETING = "delete remove drop erase destroy revoke purge clear unfollow unstar unsubscribe discard"
CHANGING = """
    create add make set update open start stop cancel publish send enable disable change edit write put give invite run
    store register merge fork insert replace rename approve reject upload submit assign close require propose squash
    withdraw attach react dismiss sync transfer install trigger retry restart reset lock unlock pin unpin share schedule
    capture confirm verify generate scale evict drain cordon grant deploy apply move restore suspend resume renew reopen
"""
_MORE = "click comment commit convert calculate fill include leave log plot press push save wait"
_VERBS = frozenset(f"{READING} {DELETING} {CHANGING} {_MORE}".split())
_OF_NOUNS = "a all an everything her him his it me my our their them the these this those us your"
_OTHERS = """
    and are as at because but by can do for from had has have how i if in is like no not of on or since so than that
    there they to until was we were what when where which while who with without you
"""
_DETERMINERS = frozenset(_OF_NOUNS.split())
_PARTICLES = frozenset(("back", "down", "in", "off", "on", "out", "over", "up"))
_SMALL = _VERBS | _DETERMINERS | frozenset(_OTHERS.split())
LEAD = re.compile(
    r"(?:(?:please|(?:can|could|would) you|how (?:do|can|to)(?: i| you| we)?|i (?:want|need|would like|'d like) to"
    r"|(?:an? |the )?tools? (?:to|that|for|which)|help me|let me|let us|let's|first|also|to) )+"
)
_NEXT = "then|after that|afterwards|finally|dann|danach|anschließend|anschliessend|luego|después|puis|ensuite"
_CUT = re.compile(
    rf"(?P<next>(?:[,;]\s*|\s+)(?:(?:and|und|y|et)\s+)?(?:{_NEXT})\b,?\s+|;\s+"
    "|[,\uff0c\u3001\u3002]?(?:然后|接着|それから|その後))"
    r"|,\s+(?:and\s+)?|\s+and\s+"
)
_WORD = re.compile("[a-z0-9'\u2019-]+")
_QUOTED = re.compile(
    "(?<!\\w)(?:\"[^\"]+\"|'[^']+'(?!\\w)|`[^`]+`|\\([^)]+\\)"
    "|\u201c[^\u201d]+\u201d|\u201e[^\u201c]+\u201c|\u00ab[^\u00bb]+\u00bb)"
)
"""A name, a title or code, which has no steps."""
_END = re.compile("[.?!]\\s+\\S|[\u3002\uff1f\uff01\n]\\s*\\S")
_READ = 500  # the characters of a request that may be steps
_BEGINNING = 100  # of a part, which tells whether it is one
_MOST = 6


def steps(text: str) -> list[str]:
    """The parts of one sentence, each of which asks for something; the text alone if that is one thing."""
    text = text.strip()
    if len(text) > _READ or _END.search(text) or not _CUT.search(text):
        return [text]
    parts, start = [], 0
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    for cut in _CUT.finditer(text):
        if any(first < cut.start() < end for first, end in quoted):
            continue
        part, rest = text[start : cut.start()], text[cut.end() :]
        if _is_whole(part) and (cut["next"] or (_is_order(part) and _is_order(rest) and not rest[0].isupper())):
            parts.append(part)
            start = cut.end()
    last = text[start:]
    return [*parts, last] if 0 < len(parts) < _MOST and (_is_whole(last) or _is_order(last)) else [text]


def _is_whole(part: str) -> bool:
    """Whether a part says what is to be done to what, and is not the first of several verbs: `find and replace`."""
    words = _WORD.findall(part.lower())
    return not part.isascii() or (len(words) > 1 and (words[-1] in _DETERMINERS or not _SMALL.issuperset(words)))


def _is_order(part: str) -> bool:
    """Whether a part begins with a verb, as far as that can be told from it and the next words."""
    part = part[:_BEGINNING].lower()
    lead = LEAD.match(part)
    first, second, third = [*_WORD.findall(part, lead.end() if lead else 0)[:3], "", "", ""][:3]
    if first in _VERBS:
        return bool(second) and second != "of"
    is_noun = first in _SMALL or first.endswith("ing") or (first.endswith("s") and not first.endswith("ss"))
    return not is_noun and (second in _DETERMINERS or (second in _PARTICLES and third in _DETERMINERS))
