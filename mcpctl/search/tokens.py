"""Words of names and of prose, split in the same way for tools and for queries."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

MAX_TEXT = 10_000
"""The most characters of a text that are read; real descriptions are shorter, generated ones may not be."""
MAX_RUN = 64
"""The most characters of one run of letters and digits, which may be a base64 image."""

_NOT_STOPPED = {"all", "after", "before", "between", "do", "down", "off", "on", "out", "over", "up"}
"""Stop words that tell sibling tools apart, such as `turn_on` and `turn_off`."""

# Snowball's English list, with contractions in the pieces into which the tokenizer splits them.
_SNOWBALL = """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it
    its itself they them their theirs themselves what which who whom this that these those am is are was were be been
    being have has had having do does did doing would should could ought a an the and but if or because as until while
    of at by for with about against between into through during before after above below to from up down in out on off
    over under again further then once here there when where why how all any both each few more most other some such no
    nor not only own same so than too very ll re ve don isn aren wasn weren hasn haven hadn doesn didn won wouldn shan
    shouldn couldn mustn let cannot
"""
STOP_WORDS = frozenset(_SNOWBALL.split()) - _NOT_STOPPED

_CJK = "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"  # noqa: E501
_RUN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_IS_CJK = re.compile(rf"[{_CJK}]")
# Sorting long runs of combining marks is what makes NFKC quadratic; 30 is the limit of UAX #15's stream-safe format.
_LONG_MARKS = re.compile(r"([^\w\s]{30})[^\w\s]+")

# Matches the shape of a run (A upper case, s or a other letters, 0 digits): short names with a number (S3, mp3), which
# stay whole, then plural acronyms (URLs), acronyms, words, numbers.
_PARTS = re.compile(r"[Aas]{1,2}0+(?![as])|AA+s(?![as])|A+(?![as])|A?[as]+|0+")


def tokens(text: str) -> list[str]:
    """The stems of a text's words, in order and with repetitions."""
    return [stem(word) for forms in words(text) for word in forms]


def words(text: str) -> Iterator[tuple[str, ...]]:
    """Each word in its lower-case forms: parts of an identifier, then all of it (`get`, `weather`, `getweather`)."""
    for run in _RUN.findall(_normal(text)):
        if not _IS_CJK.match(run):
            if forms := _forms(run[:MAX_RUN]):
                yield forms
        else:
            yield from ((run[i : i + 2],) for i in range(max(len(run) - 1, 1)))


def folded(name: str) -> str:
    """A name without case and separators, so that `Create-Issue` and `create_issue` are equal; the name itself if it
    has only separators."""
    return re.sub(r"[\W_]+", "", _normal(name).casefold()) or name


def _normal(text: str) -> str:
    text = text[:MAX_TEXT]
    return text if text.isascii() else unicodedata.normalize("NFKC", _LONG_MARKS.sub(r"\1", text))[:MAX_TEXT]


@lru_cache(maxsize=16_384)
def _forms(run: str) -> tuple[str, ...]:
    parts = [] if run.isalpha() and (run.islower() or run.istitle()) else _PARTS.findall(_shape(run))
    forms = []
    start = 0
    if len(parts) > 1:
        for part in parts:
            forms.append(run[start : start + len(part)].lower())
            start += len(part)
    forms.append(run.lower())
    return tuple(form for form in forms if form not in STOP_WORDS)


def _shape(run: str) -> str:
    return "".join(
        "A" if char.isupper() else "0" if not char.isalpha() else "s" if char == "s" else "a" for char in run
    )


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """A word without its plural, -ing or -ed ending: `queries`, `creating` and `created` are `query`, `creat`."""
    if len(word) < 3 or not word.isascii() or word == "news":
        return word
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us")):
        word = word[:-2] if word.endswith("xes") else word[:-1]
    base = word.removesuffix("ing") if word.endswith("ing") else word.removesuffix("ed")
    if base != word and len(base) > 2 and re.search("[aeiouy]", base) and not word.endswith("eed"):
        word = _restored(base)
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def _restored(base: str) -> str:
    """The word before -ing or -ed was added: `mapp` was map, `cod` was code (Porter 1980, step 1b)."""
    if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz":
        return base[:-1]
    return base + "e" if re.fullmatch("[^aeiou][aeiouy][^aeiouwxy]", base) else base


def sendable(text: str) -> str:
    """The beginning of a text, as much as a search reads, with `?` for halves of characters."""
    return text[:MAX_TEXT].encode("utf-8", "replace").decode()
