"""JSON as editors write it: with comments and trailing commas."""

import json
import re
from typing import Any

# A string comes first, so that nothing in one is a comment. One that its line does not end is left to the JSON reader.
_TOKEN = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|//[^\n]*|/\*.*?\*/', re.DOTALL)
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
    return _NOT_NEWLINE.sub(" ", found[0]) if found[0] == "," or found[0].startswith("/") else found[0]
