"""YAML as JSON: no types but those of JSON, and no aliases that make much of little."""

import math
import re
from typing import Any

from mcpctl.base import bounds, extras
from mcpctl.openapi.faults import WrongDocument

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?\Z")
_WORDS = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None, "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_FIX = "correct it there, or convert the document to JSON"
_MOST = 5_000_000  # values, those of aliases counted each time
_LONGEST_NUMBER = 30  # digits of an integer
_STRING, *_TAGS = (f"tag:yaml.org,2002:{kind}" for kind in ("str", "map", "seq"))


class _Wrong(ValueError):
    """A document of YAML that is none of JSON."""


def decoded(content: bytes, name: str) -> Any:
    """The value of a document in YAML; raises `WrongDocument`."""
    try:
        import yaml
    except ImportError:
        hint = f"install it with: {extras.install('openapi')}; or convert the document to JSON"
        raise WrongDocument(f"{name} is not JSON, and YAML needs PyYAML", hint, "yaml_missing") from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Values(yaml, loader(content)).document()
    except RecursionError:
        raise WrongDocument(f"{name} is nested too deep", _FIX) from None
    except _Wrong as error:
        raise WrongDocument(f"{name} cannot be used: {error}", _FIX) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        why = getattr(error, "problem", None) or "its characters cannot be read"
        raise WrongDocument(f"{name}{where} is not YAML: {why}", _FIX) from None


class _Values:
    """Makes values of the events of a parser: a loader would make nodes of them first, in three times the time."""

    def __init__(self, yaml: Any, loader: Any) -> None:
        self._yaml, self._next = yaml, loader.get_event
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._count = 0

    def document(self) -> Any:
        self._next()
        if isinstance(self._next(), self._yaml.StreamEndEvent):
            return None
        value = self._value(self._next(), 0)
        self._next()
        if not isinstance(self._next(), self._yaml.StreamEndEvent):
            raise _Wrong("it has more than one document")
        return value

    def _value(self, event: Any, deep: int) -> Any:
        before = self._count
        self._add(1)
        if isinstance(event, self._yaml.ScalarEvent):
            value = self._scalar(event)
        elif isinstance(event, self._yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise _Wrong(f"the alias *{event.anchor[:100]} is none, or of what it is in")
            value, size = self._anchors[event.anchor]
            self._add(size)
            return value
        elif deep > bounds.OPENAPI_NESTING:
            raise _Wrong(f"it is nested deeper than {bounds.OPENAPI_NESTING} levels")
        else:
            self._check_tag(event)
            is_list = isinstance(event, self._yaml.SequenceStartEvent)
            value = self._list(deep + 1) if is_list else self._object(deep + 1)
        if event.anchor:
            self._anchors[event.anchor] = value, self._count - before
        return value

    def _add(self, number: int) -> None:
        self._count += number
        if self._count > _MOST:
            raise _Wrong("with all that its aliases stand for it is too large")

    def _list(self, deep: int) -> list[Any]:
        values = []
        while not isinstance(event := self._next(), self._yaml.SequenceEndEvent):
            values.append(self._value(event, deep))
        return values

    def _object(self, deep: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        merged: list[Any] = []
        while not isinstance(event := self._next(), self._yaml.MappingEndEvent):
            if not isinstance(event, self._yaml.ScalarEvent):
                raise _Wrong(f"a key is no text in line {event.start_mark.line + 1}")
            value = self._value(self._next(), deep)
            if event.value == "<<" and event.implicit[0]:
                merged += value if isinstance(value, list) else [value]
            else:
                members[event.value] = value
        for each in merged:
            if not isinstance(each, dict):
                raise _Wrong("a merge key << has something else than an object")
            self._add(len(each))
            members = {**each, **members}
        return members

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        if not event.implicit[0]:
            if event.tag != _STRING:
                self._check_tag(event)
            return text
        if text in _WORDS:
            return _WORDS[text]
        if not (number := _NUMBER.match(text)):
            return text
        value = float(text) if number[1] or number[2] else int(text) if len(text) <= _LONGEST_NUMBER else math.inf
        if not math.isfinite(value):
            raise _Wrong("a number in it is too large")
        return value

    def _check_tag(self, event: Any) -> None:
        if event.tag not in (None, "!", *_TAGS):
            raise _Wrong(f"the tag {event.tag[:100]} in line {event.start_mark.line + 1} is none of JSON")
