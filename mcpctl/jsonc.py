"""JSON as editors write it: with comments and trailing commas."""

import json
import re
from typing import Any

# A string comes first, so that nothing in one is a comment. One that its line does not end is left to
# the JSON reader, as is a comment without an end, which goes to the end of the text lest each /* in it be tried.
_TOKEN = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
# Nor is a comma a trailing one when there is nothing before it.
_COMMA = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|[\[{,]\s*,(?=\s*[}\]])|,(?=\s*[}\]])', re.DOTALL)
_NOT_NEWLINE = re.compile(r"[^\r\n]")


def decoded(data: bytes) -> Any:
    """The value of JSON text with comments and trailing commas, in any Unicode encoding, with or without a mark.

    Raises ValueError with line and column, which are those of the text as it is.
    """
    text = data.decode(json.detect_encoding(data))
    try:
        return json.loads(text)  # most files are, and some are large
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError:
        pass
    try:
        return json.loads(_COMMA.sub(_blank, _TOKEN.sub(_blank, text)))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _blank(found: re.Match[str]) -> str:
    text = found[0]
    is_comment = text.startswith("//") or (text.startswith("/*") and text.endswith("*/") and len(text) > 3)
    return _NOT_NEWLINE.sub(" ", text) if text == "," or is_comment else text
