"""Names near to a mistyped one: for messages, never to act on."""

import heapq
import re
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

_COMPARED = 150
_NEAR = 0.6
"""difflib's own bound for a close match."""


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """A hint with the names nearest to `name`, or `otherwise` when none is near."""
    near = alike(name, known)
    return f"did you mean {' or '.join(repr(n) for n in near)}?" if near else otherwise


def alike(name: str, known: Iterable[str], n: int = 3) -> list[str]:
    """The known names that are spelled most like `name`, best first."""
    return get_close_matches(name, list(known), n=n, cutoff=_NEAR)


def nearest(name: str, keys: Iterable[str], n: int = 3) -> list[str]:
    """The tool keys most like a mistyped key or tool name, best first."""
    wanted = name[:256].lower()
    # Of thousands only those that share most with it are compared letter by letter, which takes its time.
    shared = {wanted[start : start + 3] for start in range(max(len(wanted) - 2, 1))}
    likely = heapq.nlargest(_COMPARED, sorted(keys), key=lambda key: sum(part in key.lower() for part in shared))
    near = sorted((-_likeness(wanted, key[:256].lower()), key) for key in likely)
    return [key for likeness, key in near[:n] if likeness <= -_NEAR]


def _likeness(wanted: str, key: str) -> float:
    """How alike two names are: of the tool, or of a word of it, less what the server differs."""
    server, _, bare = key.partition(":")
    wanted_server, _, wanted_bare = wanted.rpartition(":")
    words = (_ratio(wanted_bare, word) for word in re.split(r"[\W_]+", bare))
    likeness = max(_ratio(wanted_bare, bare), 0.9 * max(words, default=0.0))
    if not wanted_server:
        return max(likeness, _ratio(wanted, key))
    return likeness if wanted_server == server else likeness * (0.9 if _ratio(wanted_server, server) else 0.8)


def _ratio(a: str, b: str) -> float:
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.real_quick_ratio() < _NEAR or matcher.quick_ratio() < _NEAR:
        return 0.0
    return matcher.ratio()
