"""Names similar to a mistyped one: only for messages, never to act on."""

import heapq
import re
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

from mcpctl.base.tool_keys import split

_COMPARED = 150
_NEAR = 0.6  # difflib's default
_NEAR_WORD = 0.8  # one word of a name has to be more alike: `nope` is not near `open_nodes`
_SHORTEST = 3  # shorter words are not compared apart from their name: nearly any two letters are like `as`


def did_you_mean(name: str, names: Iterable[str], otherwise: str) -> str:
    near = alike(name, names)
    return f"did you mean {' or '.join(repr(n) for n in near)}?" if near else otherwise


def alike(name: str, names: Iterable[str], n: int = 3, cutoff: float = _NEAR) -> list[str]:
    return get_close_matches(name, list(names), n=n, cutoff=cutoff)


def nearest(name: str, keys: Iterable[str], n: int = 3) -> list[str]:
    typed = name[:256].lower()
    # A comparison letter by letter is slow, so it is made only for the keys that share the most parts with the name.
    parts = {typed[start : start + 3] for start in range(max(len(typed) - 2, 1))}
    likely = heapq.nlargest(_COMPARED, sorted(keys), key=lambda key: sum(part in key.lower() for part in parts))
    near = sorted((-_likeness(typed, key[:256].lower()), key) for key in likely)
    return [key for likeness, key in near[:n] if likeness <= -_NEAR]


def _likeness(typed: str, key: str) -> float:
    server, name = split(key)
    typed_server, _, typed_name = typed.rpartition(":")
    words = (_ratio(typed_name, word) for word in re.split(r"[\W_]+", name) if len(word) >= _SHORTEST)
    of_word = max((ratio for ratio in words if ratio >= _NEAR_WORD), default=0.0)
    likeness = max(_ratio(typed_name, name), 0.9 * of_word)
    if not typed_server:
        return max(likeness, _ratio(typed, key))
    return likeness if typed_server == server else likeness * (0.9 if _ratio(typed_server, server) else 0.8)


def _ratio(a: str, b: str) -> float:
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.real_quick_ratio() < _NEAR or matcher.quick_ratio() < _NEAR:
        return 0.0
    return matcher.ratio()
