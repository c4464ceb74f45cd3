"""Text of strangers without the characters that nobody sees and a model reads."""

import unicodedata

_HIDDEN = ("Cc", "Cf", "Cn", "Co", "Cs")
"""Controls, marks of format and direction, tags, and what has no meaning that people share."""
_KEPT = "\n\t"


def visible(text: str) -> str:
    """`text` without hidden characters; line breaks and tabs stay."""
    if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():  # nearly every text
        return text
    hidden = {ord(c) for c in set(text) if c not in _KEPT and unicodedata.category(c) in _HIDDEN}
    return text.translate(dict.fromkeys(hidden)) if hidden else text
