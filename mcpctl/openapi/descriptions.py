"""Texts of a document for models: without HTML, and cut at a paragraph."""

import html
import re

from mcpctl.base import bounds

_MOST_READ = 5 * bounds.OPENAPI_DESCRIPTION
_TITLE = 300
_TAGS = (
    "a abbr address article aside b big blockquote body br caption center cite code col colgroup dd del details div dl "
    "dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 head header hr html i iframe img ins kbd li link main mark "
    "meta nav ol p picture pre q s samp script section small span strike strong style sub summary sup table tbody td "
    "tfoot th thead title tr tt u ul var video wbr"
)
_BREAKS = r"br|p|div|li|tr|h[1-6]|ul|ol|table|pre|blockquote|dl|dt|dd|hr|section|details"
_BREAK = re.compile(rf"<(?:{_BREAKS})(?:\s[^<>]*)?/?>", re.IGNORECASE)
_TAG = re.compile(rf"</?(?:{_TAGS.replace(' ', '|')})(?:\s[^<>]*)?/?>|<!--[^<>]*-->", re.IGNORECASE)
_LINES = re.compile(r"\n{3,}")
_CUT = "\n\n[The description is longer.]"


def plain(text: object) -> str:
    """A text without tags, its entities decoded."""
    if not isinstance(text, str):
        return ""
    text = text[:_MOST_READ].replace("\r\n", "\n")
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub("\n", text))
    if "&" in text:
        text = html.unescape(text)
    return _LINES.sub("\n\n", "\n".join(map(str.rstrip, text.split("\n")))).strip()


def title(summary: object) -> str:
    text = " ".join(plain(summary).split())
    return text if len(text) <= _TITLE else f"{text[: _TITLE - 1]}…"


def description(summary: object, text: object, otherwise: str, *, is_deprecated: bool = False) -> str:
    """The description of a tool: its summary, and then the longer one."""
    short, long = plain(summary), plain(text)
    whole = short if short == long else "\n\n".join(each for each in (short, long) if each)
    return cut(f"{'[deprecated] ' if is_deprecated else ''}{whole or otherwise}")


def cut(text: str, most: int = bounds.OPENAPI_DESCRIPTION) -> str:
    """A text of at most so many characters, cut behind a paragraph, else behind a line or a word."""
    if len(text) <= most:
        return text
    room = most - len(_CUT)
    ends = (text.rfind(end, room // 2, room) for end in ("\n\n", "\n", " "))
    return text[: next((end for end in ends if end > 0), room)].rstrip() + _CUT
