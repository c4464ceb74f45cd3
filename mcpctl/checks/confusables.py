"""Characters that look like others: the Latin letters that Cyrillic, Greek and other ones pass for."""

import re
import unicodedata
from functools import lru_cache

_ALIKE = {
    "a": "\u0430\u0251\u03b1", "b": "\u042c\u0185", "c": "\u0441\u03f2\u1d04", "d": "\u0501",
    "e": "\u0435\u0454\u04bd", "g": "\u0261\u0581", "h": "\u04bb\u0570", "i": "\u0456\u0131\u0269\u03b9",
    "j": "\u0458\u03f3", "k": "\u03ba\u043a", "l": "\u04cf\u217c", "m": "\u043c", "n": "\u0578",
    "o": "\u043e\u03bf\u0585\u03c3", "p": "\u0440\u03c1", "q": "\u051b", "r": "\u0433\u1d26", "s": "\u0455\ua731",
    "t": "\u0442\u03c4", "u": "\u03c5\u057d", "v": "\u03bd\u0475", "w": "\u051d\u0461", "x": "\u0445\u03c7",
    "y": "\u0443\u04af\u03b3", "z": "\u1d22", "A": "\u0410\u0391", "B": "\u0412\u0392", "C": "\u0421",
    "E": "\u0415\u0395", "H": "\u041d\u0397", "I": "\u0406\u0399", "J": "\u0408", "K": "\u041a\u039a",
    "M": "\u041c\u039c", "N": "\u039d", "O": "\u041e\u039f", "P": "\u0420\u03a1", "S": "\u0405", "T": "\u0422\u03a4",
    "X": "\u0425\u03a7", "Y": "\u03a5", "Z": "\u0396",
}  # fmt: skip
LATIN = {ord(other): letter for letter, others in _ALIKE.items() for other in others}
"""For `str.translate`."""
_SEPARATORS = re.compile(r"[\W_]+")
_DIGITS = str.maketrans("01", "ol")


@lru_cache(maxsize=16_384)
def compact(name: str) -> str:
    """A name without case and separators: the same for `getUser`, `get_user` and `get-user`."""
    return _SEPARATORS.sub("", unicodedata.normalize("NFKC", name)).casefold()


@lru_cache(maxsize=16_384)
def skeleton(name: str) -> str:
    """A name as it looks: the same for `get_user` and one with a Cyrillic letter, a zero or two letters for one."""
    visible = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    latin = compact(visible.translate(LATIN)).translate(_DIGITS)
    return latin.replace("i", "l").replace("rn", "m").replace("vv", "w")
