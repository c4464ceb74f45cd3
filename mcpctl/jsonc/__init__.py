"""JSON as editors write it: with comments and trailing commas."""

import json
import re
from typing import Any

from mcpctl.jsonc import faults

# A string comes first, so that nothing in it is a comment. The JSON parser refuses a string without an end; a comment
# without an end goes to the end of the text, so that the time stays linear.
_TOKEN = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
# A comma is not a trailing comma if there is nothing before it.
_COMMA = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|[\[{,]\s*,(?=\s*[}\]])|,(?=\s*[}\]])', re.DOTALL)
_NOT_NEWLINE = re.compile(r"[^\r\n]")


def decoded(data: bytes) -> Any:
    """The value of JSON text with comments and trailing commas, in any Unicode encoding, with or without a mark. Raises
    ValueError with the line and column in the original text."""
    text = data.decode(json.detect_encoding(data))
    try:
        return json.loads(text)  # most files are plain JSON, and some are large
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError:
        pass
    plain = without_commas(without_comments(text))
    try:
        return json.loads(plain)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        raise ValueError(faults.told(plain, error)) from None


def without_comments(text: str) -> str:
    """The text with spaces in place of its comments, so that every position stays what it is."""
    return _TOKEN.sub(_blank, text)


def without_commas(text: str) -> str:
    """The text, which has no comments, with a space in place of every trailing comma."""
    return _COMMA.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    text = match[0]
    is_comment = text.startswith("//") or (text.startswith("/*") and text.endswith("*/") and len(text) > 3)
    return _NOT_NEWLINE.sub(" ", text) if text == "," or is_comment else text
