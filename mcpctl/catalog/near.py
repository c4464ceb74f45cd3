"""Near names for a mistyped key."""

from collections.abc import Iterable
from difflib import SequenceMatcher


def nearest(name: str, keys: Iterable[str], n: int = 3) -> list[str]:
    """The keys most like a mistyped key or tool name, best first; for messages, never to act on."""
    wanted = name[:256].lower()
    near = sorted((-_likeness(wanted, key[:256].lower()), key) for key in keys)
    return [key for likeness, key in near[:n] if likeness <= -_NEAR]


_NEAR = 0.6
"""difflib's own bound for a close match."""


def _likeness(wanted: str, key: str) -> float:
    """How alike two names are; a bare name may be on any server, a key rather on the server it names."""
    bare, wanted_bare = key.partition(":")[2], wanted.partition(":")[2]
    if not wanted_bare:
        return max(_ratio(wanted, bare), _ratio(wanted, key))
    return max(_ratio(wanted, key), 0.9 * _ratio(wanted_bare, bare))


def _ratio(a: str, b: str) -> float:
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.real_quick_ratio() < _NEAR or matcher.quick_ratio() < _NEAR:
        return 0.0
    return matcher.ratio()
