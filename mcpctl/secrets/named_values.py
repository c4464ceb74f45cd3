"""Values under telling names: members of JSON, assignments, headers, lines of YAML, addresses and commands.

A name stands before `:` or `=`, so the text is read backwards from there: one expression finds all names
of a text at once, and what few of them tell anything is looked at one by one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from operator import itemgetter

from mcpctl.secrets import json_text
from mcpctl.secrets.secret_names import LONGEST, Kind, kind_of
from mcpctl.secrets.secret_values import Context, is_secret, looks_secret
from mcpctl.secrets.shapes import Span, has

_NAME = rb"[ \t]{0,8}+[\"'`\\\]]*+([^\s\"'`\\:=,;&?(){}\[\]<>|]{1,%d}+)" % LONGEST
_BEFORE_COLON = re.compile(b":" + _NAME)
_BEFORE_EQUALS = re.compile(b"=[:+?]?" + _NAME)
NAMES = _BEFORE_COLON, _BEFORE_EQUALS  # in a text that is spelled backwards
_SEPARATED = re.compile(rb"[\"'`\\\]]*+[ \t]{0,8}+(?::|\+?=)")
_FEW = 8
_AROUND = b" \t\n\r\f\v\"'`\\:=,;&?(){}[]<>|"
_PIECES = re.compile(b"[" + re.escape(_AROUND) + b"]")
_NAMES_KEPT = 10_000
_DIGITS = tuple(b"%c" % digit for digit in b"-0123456789")
_OPENING_BRACKETS = (b"{", b"[")
_LOOKED_INTO = 512  # a longer object or list is hidden whole: one within another would be read again and again
_MOST_JUDGED, _MOST_WEAK = 500, 3000
"""So many values under telling names are judged in one text; further ones are hidden, whatever they are. Only texts
made for it have so many, and to judge all that fit takes a tenth of a second."""
_BETWEEN = b" \t\r\n\\,:[]{}"
_OF_CONTAINERS = (Kind.ANY, Kind.PASSWORD, Kind.CREDENTIAL, Kind.TOKEN)
_WEAK = (Kind.CODE, Kind.ADDRESS, Kind.HINT)
_BEGIN = itemgetter(0)
_LETTERS_OF_ESCAPES = b"nrt"
_BACKSLASH = ord("\\")
_COLON = ord(":")
_COMMA = rb"(?:\s|\\++[nrt])*+,(?:\s|\\++[nrt])*+"
_PAIR = re.compile(
    rb'"(?:[nN]ame|[kK]ey|header|field|variable)\\*+"\s*+:\s*+\\*+"([^"\\]{1,64}+)\\*+"'
    # Up to two members between them: {"key": "…", "type": "text", "value": "…"}
    rb"(?:" + _COMMA + rb'\\*+"(?![vV]alue\\*+")[A-Za-z_]{1,32}+\\*+"\s*+:\s*+'
    rb'(?:\\*+"[^"\\]{0,64}+\\*+"|[a-z0-9.]{1,16}+)){0,2}' + _COMMA + rb'\\*+"([vV]alue)\\*+"\s*+(:)'
)  # fmt: skip
# A blank stands before these secrets.
# An option of a shell, or two members of a list. A quotation mark that ends a string of JSON opens no value.
_OPTION = re.compile(
    rb"--([A-Za-z][A-Za-z0-9-]{1,30}+)(?:[ \t]{1,4}+|\\*+\"[ \t\n]{0,8}+,[ \t\n]{0,8}+(?=\\*+\"))"
    rb"(?:\\*+[\"'](?![\s,}\]:]))?([^\s\"'`\\;&|<>-][^\s\"'`\\;&|<>]{0,4096}+)(?!\\*+\"\s*+:)"
)
_LOGIN = re.compile(rb"-u(?:ser)?[ \t=]{0,4}+(?:\\*+[\"'])?([A-Za-z0-9_.@+-]{1,32}+:[^\s\"'`\\;&|<>/]{1,256}+)")
_NETRC = re.compile(
    rb"login(?:\s|\\++[nrt])++[^\s\"\\]{1,128}+(?:\s|\\++[nrt])++password(?:\s|\\++[nrt])++([^\s\"\\]{1,256}+)"
)
_BEFORE_LOGIN = 1024
SIGNS = _PAIR, _OPTION, _LOGIN, _NETRC  # each matches a value that is named by another member's value, or by an option
_SPACE = re.compile(rb"\s*+")
_GAP = re.compile(rb"[>=~*]{0,2}+[ \t]{0,16}+")
_ANNOTATION = re.compile(rb"[A-Za-z_][A-Za-z0-9_.\[\]|?]{0,40}+[ \t]{0,4}+=[ \t]{0,4}+(?=[bfru]?\\*+[\"'`])")
_OPENING = re.compile(rb"[bfruBFRU]{0,2}+(\\*+[\"'`])(?![\s,}\]:]|\\++[nrt])")
_IN_SINGLE = re.compile(rb"[^'\"`\\\n]{1,1024}+(?=\\*+['`])")
# Over no more than three more names: what was read in vain is read again from each of them.
_BARE = re.compile(rb"[^\s\"'`&;,\\=:]*+(?:[=:]++[^\s\"'`&;,\\=:]++){0,3}+=*+")
_REST = re.compile(rb"[^\s\"'`&;,\\]*+")
_COOKIES = re.compile(rb"(?:[^\s=;,\"'\\]{1,128}+=[^\s;,\"'\\]*+(?:; ?)?)++")
_SCHEME = re.compile(rb"[A-Za-z][A-Za-z0-9-]{1,31}+ {1,4}+(?=[^\s\"'\\,;]{6})")
_OPENED = {b")": b"(", b"]": b"[", b"}": b"{"}
_SETTING = re.compile(rb"--|[A-Z0-9_]{3,64}\Z")  # a plain word is a secret there, too
_PROSE = re.compile(rb"[A-Za-z'-]{1,32}+[.,]? {1,4}+[A-Za-z(]")


Secret = tuple[int, int, bytes]  # begin, end, and the quotation marks that the replacement needs
_Candidate = tuple[int, int, int, Kind]  # begin and end of a telling name, its separator, its kind; plain for speed


class NamedValues:
    def __init__(self, own: Iterable[str] = (), *, is_strict: bool = False) -> None:
        # Strict: what is shown to people may have a plain word less, but no secret that looks like one.
        self._is_strict = is_strict
        # The last piece of a name that does not stand in one piece is found.
        self._own = [(name, _PIECES.split(name)[-1] or name) for name in (name.encode().lower() for name in own)]
        self.quiet: set[bytes] = set()  # names that tell nothing, spelled backwards

    def find(self, text: bytes) -> list[Secret]:
        secrets: list[Secret] = []
        done = 0
        candidates = self._candidates(text)
        for number, (candidate, following) in enumerate(zip_longest(candidates, candidates[1:])):
            if following and candidate[3] in _WEAK and following[0] <= candidate[2] + 1:
                continue  # its value is a name
            is_judged = number < (_MOST_WEAK if candidate[3] in _WEAK else _MOST_JUDGED)
            if candidate[0] >= done and (secret := self._value(text, *candidate, is_judged=is_judged)):
                secrets.append(secret)
                done = secret[1]
        spans = [(*span, b"") for span in _in_commands(text)]
        return _apart(sorted(secrets + spans)) if spans else secrets

    def _candidates(self, text: bytes) -> list[_Candidate]:
        backwards = text[::-1]
        names = {*_BEFORE_COLON.findall(backwards), *_BEFORE_EQUALS.findall(backwards)} - self.quiet
        telling = self._telling(names) if names else {}
        candidates: list[_Candidate] = []
        if len(telling) > _FEW:
            candidates += _all_named(backwards, telling)
        for name, kind in telling.items() if len(telling) <= _FEW else ():
            candidates += _named(text, name[::-1], kind)
        if text.find(b'alue"') >= 0 or text.find(b"alue\\") >= 0:
            candidates += self._pairs(text)
        candidates.sort(key=_BEGIN)
        return candidates

    def _telling(self, names: set[bytes]) -> dict[bytes, Kind]:
        if len(self.quiet) > _NAMES_KEPT:
            self.quiet.clear()
        telling: dict[bytes, Kind] = {}
        for name in names:
            kind = self._kind(name[::-1])
            if kind is Kind.NOTHING and name[-1] in _LETTERS_OF_ESCAPES:
                kind = self._kind(name[-2::-1])  # perhaps it stands after a line break
            if kind is Kind.NOTHING:
                self.quiet.add(name)
            else:
                telling[name] = kind
        return telling

    def _kind(self, name: bytes) -> Kind:
        if any(name.lower().endswith(piece) for _, piece in self._own):
            return Kind.ANY
        kind = kind_of(name.decode("utf-8", "replace"))
        return Kind.PASSWORD if self._is_strict and kind in (Kind.CREDENTIAL, Kind.TOKEN) else kind

    def _pairs(self, text: bytes) -> Iterator[_Candidate]:
        """`{"name": "Authorization", "value": …}`: the first member names what is under the second."""
        for pair in _PAIR.finditer(text):
            kind = self._kind(pair[1])
            if kind is not Kind.NOTHING:
                yield *pair.span(2), pair.start(3), Kind.PASSWORD if kind is Kind.ANY else kind

    def _value(
        self, text: bytes, begin: int, end: int, separator: int, kind: Kind, *, is_judged: bool
    ) -> Secret | None:
        if text[begin] in _LETTERS_OF_ESCAPES:
            begin += begin > 0 and text[begin - 1] == _BACKSLASH
            kind = self._kind(text[begin:end])
        if kind is Kind.ANY and not any(text[max(end - len(name), 0) : end].lower() == name for name, _ in self._own):
            kind = kind_of(text[begin:end].decode("utf-8", "replace"))
        if kind is Kind.NOTHING:
            return None
        if not is_judged:
            kind = Kind.ANY
        if text[separator] == _COLON and text.find(b'"', end, separator) >= 0:
            return _member(text, begin, end, separator, kind)
        return _in_text(text, begin, end, separator, kind)


def _all_named(backwards: bytes, telling: Mapping[bytes, Kind]) -> Iterator[_Candidate]:
    length = len(backwards)
    for pattern in NAMES:
        for match in pattern.finditer(backwards):
            if kind := telling.get(match[1]):
                yield length - match.end(1), length - match.start(1), length - 1 - match.start(), kind


def _named(text: bytes, name: bytes, kind: Kind) -> Iterator[_Candidate]:
    """The places of one name: for few names faster than a look at all names in the text."""
    begin = text.find(name)
    while begin >= 0:
        end = begin + len(name)
        is_whole = not begin or text[begin - 1] in _AROUND or len(name) == LONGEST
        if is_whole and (followed := _SEPARATED.match(text, end)):
            yield begin, end, followed.end() - 1, kind
        begin = text.find(name, end)


def _apart(secrets: list[Secret]) -> list[Secret]:
    apart: list[Secret] = []
    for secret in secrets:
        if not apart or secret[0] >= apart[-1][1]:
            apart.append(secret)
    return apart


def _member(text: bytes, begin: int, end: int, separator: int, kind: Kind) -> Secret | None:
    """The value of a member of JSON at any depth of strings, which the quotation mark behind its name shows."""
    quote = text[end:separator].rstrip()
    opening = text.rfind(b'"', max(begin - LONGEST, 0), begin) + 1
    if not text.endswith(quote, 0, opening) or text[max(opening - len(quote) - 1, 0) : opening - len(quote)] == b"\\":
        return None
    start = _SPACE.match(text, separator + 1).end()  # type: ignore[union-attr]  # it matches anything
    first = text[start : start + 1]
    if first in _OPENING_BRACKETS:
        return _container(text, start, kind, quote)
    if text.startswith(quote, start):
        start += len(quote)
        stop, is_closed = json_text.string_end(text, start, quote)
        stop -= len(quote) * is_closed
        quote = b""
    elif first in _DIGITS:
        stop = json_text.end_of(text, start, quote)
    else:
        return _in_text(text, begin, end, separator, kind)  # source code
    return (start, stop, quote) if is_secret(text[start:stop], kind, Context.QUOTED) else None


def _container(text: bytes, start: int, kind: Kind, quote: bytes) -> Secret | None:
    """An object or list with a secret in it, whole; none under a weak name, and none that is a schema."""
    if kind not in _OF_CONTAINERS or (kind is not Kind.ANY and json_text.SCHEMA.match(text, start)):
        return None
    head = text[start : start + _LOOKED_INTO]
    end = start + json_text.end_of(head, 0, quote)
    if kind is not Kind.ANY and end < start + _LOOKED_INTO:
        pieces = text[start:end].split(b'"')[1:]
        return (start, end, quote) if any(is_secret(p.strip(_BETWEEN), kind, Context.QUOTED) for p in pieces) else None
    end = json_text.end_of(text, start, quote)
    return (start, end, quote) if kind is Kind.ANY or text.find(b'"', start, end) >= 0 else None


def _in_text(text: bytes, begin: int, end: int, separator: int, kind: Kind) -> Secret | None:
    is_colon = text[separator] == _COLON
    start = _GAP.match(text, separator + 1).end()  # type: ignore[union-attr]  # it matches anything
    is_loose = is_colon or start > separator + 1 or separator > end
    if is_colon and (annotation := _ANNOTATION.match(text, start)):
        start = annotation.end()
    if opening := _OPENING.match(text, start):
        return _quoted(text, opening, kind)
    if is_loose and (header := _header(text, text[begin:end].lower(), start)):
        return header
    bare = _BARE.match(text, start)
    if bare is None or not bare.group() or (is_loose and _PROSE.match(text, start)):
        return None
    if not is_loose and kind in (Kind.CREDENTIAL, Kind.TOKEN) and _SETTING.match(text, begin, end):
        kind = Kind.PASSWORD
    value = _closed(bare.group())
    is_found = is_secret(value, kind, Context.LOOSE if is_loose else Context.BARE) or (
        begin > 0 and text[begin - 1] in b"?&" and looks_secret(value, 8, of_hex=True)
    )
    if not is_found:
        return None
    rest = _REST.match(text, bare.end())
    return start, start + len(value) if rest is None or rest.end() == bare.end() else rest.end(), b""


def _closed(value: bytes) -> bytes:
    while (opened := _OPENED.get(value[-1:])) and value.find(opened) < 0:
        value = value[:-1]
    return value


def _quoted(text: bytes, opening: re.Match[bytes], kind: Kind) -> Secret | None:
    quote, start = opening[1], opening.end()
    if quote.endswith(b'"'):
        end, is_closed = json_text.string_end(text, start, quote)
        end -= len(quote) * is_closed
    else:
        inside = _IN_SINGLE.match(text, start)
        end = inside.end() if inside else start
    return (start, end, b"") if is_secret(text[start:end], kind, Context.QUOTED) else None


def _header(text: bytes, name: bytes, start: int) -> Secret | None:
    """The value of a header that has more than one word: cookies, or a value behind its scheme."""
    if name.endswith(b"cookie"):
        cookies = _COOKIES.match(text, start)
        return (*cookies.span(), b"") if cookies else None
    scheme = _SCHEME.match(text, start) if name.endswith(b"authorization") else None
    value = _BARE.match(text, scheme.end()) if scheme else None
    if scheme is None or value is None:
        return None
    if not any(
        is_secret(said, Kind.CREDENTIAL, Context.BARE) for said in (value.group(), scheme.group() + value.group())
    ):
        return None
    return *value.span(), b""


def _in_commands(text: bytes) -> Iterator[Span]:
    for option in _OPTION.finditer(text) if has(text, b"--") else ():
        kind = kind_of(option[1].decode())
        if kind is not Kind.NOTHING and is_secret(option[2], kind, Context.BARE):
            yield option.span(2)
    if has(text, b"curl"):
        for login in _LOGIN.finditer(text):
            if text.rfind(b"curl", max(login.start() - _BEFORE_LOGIN, 0), login.start()) >= 0:
                yield login.span(1)
    if has(text, b"login"):
        for entry in _NETRC.finditer(text):
            if is_secret(entry[1], Kind.PASSWORD, Context.BARE):
                yield entry.span(1)
