"""The HTTP request of a call: written exactly as the document says. `tools call --dry-run` shows it.
https://spec.openapis.org/oas/v3.1.1#parameter-object"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote

import msgspec
from msgspec import Struct

from mcpctl.base import bounds
from mcpctl.base.failure import Failed
from mcpctl.base.near_names import did_you_mean
from mcpctl.base.texts import escaped
from mcpctl.config.api_environment import Api, api
from mcpctl.config.server_environment import HEADER_VALUE
from mcpctl.config.server_settings import HEADER_NAME, Server
from mcpctl.oauth.tokens import may_be_sent_to
from mcpctl.openapi.bases import origin_of
from mcpctl.openapi.media_types import is_json
from mcpctl.openapi.naming import HOLE
from mcpctl.openapi.snapshot import NO_ARGUMENTS, OVERRIDES, CompiledDocument, HttpOperation, Parameter
from mcpctl.secrets.redact import MASK, is_secret_name
from mcpctl.upstreams.http_api import body, credentials
from mcpctl.upstreams.http_api.credentials import SchemesInUse
from mcpctl.upstreams.http_api.styles import Encode, as_it_is, percent, refused, reserved, text, unfit, written
from mcpctl.wire import jsonrpc

_LITERAL = "/:@!$&'()*+,;=~%"  # what stands in a path of a document as it is
_IN_QUERY = f"{_LITERAL}?[]"
_COOKIE_VALUE = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*\Z")  # RFC 6265, 4.1.1
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BASE = re.compile(r"(https?://[^/?#@\s]+)(/[^?#]*)?\Z", re.IGNORECASE)
_ACCEPT = "application/json, */*;q=0.8"
_RELATIVE = (".", "..")
_NEVER_IN_SEGMENTS = frozenset(("", *_RELATIVE))


class HttpRequest(Struct, frozen=True):
    """A request as it is sent, with its credentials."""

    method: str
    url: str
    headers: dict[str, str]
    content: list[bytes]  # its pieces; none where there is no body
    remarks: list[str] = []  # on credentials that it lacks
    query: dict[str, list[str]] = {}  # what each parameter of the query is written as: by its argument


def made(document: CompiledDocument, operation: HttpOperation, arguments: bytes, entry: Api, token: str) -> HttpRequest:
    """The request of a call; `token` is the one for a client of `credentials.chosen`. Raises `Failed`, before anything
    is sent. A body that is large or has files takes time: call it in a thread."""
    try:
        return _RequestDraft(document, operation, arguments, entry).made(token)
    except UnicodeEncodeError:
        raise refused("a name in its arguments has half a character") from None


def shown(
    document: CompiledDocument, operation: HttpOperation, arguments: bytes, server: Server, config_path: Path
) -> HttpRequest:
    """The same request with every credential masked; raises `Failed` and `CannotLaunch`."""
    request = made(document, operation, arguments, api(server, config_path, masked=True), MASK)
    url = request.url.replace(percent(MASK), MASK)
    headers = {name: value.replace(percent(MASK), MASK) for name, value in request.headers.items()}
    return msgspec.structs.replace(request, url=url, headers=headers)


class _RequestDraft:
    def __init__(self, document: CompiledDocument, operation: HttpOperation, arguments: bytes, entry: Api) -> None:
        self._document = document
        self._operation = operation
        self._entry = entry
        self._set = {name.lower() for name in entry.headers}
        self._arguments = _members(arguments)
        self._values = dict(self._given())
        self._parameters = {place: [p for p in operation.parameters if p.place == place]
                            for place in ("path", "query", "header", "cookie")}  # fmt: skip

    def made(self, token: str) -> HttpRequest:
        chosen = credentials.chosen(self._document, self._operation, self._entry)
        base = self._base(chosen)
        path, before = self._path()
        query = dict(self._query())
        headers = {"Accept": _ACCEPT, **dict(self._headers())}
        cookies = list(self._cookies())
        keys: list[str] = []
        for place, name, value in credentials.placed(chosen, token):
            if place == "query":
                keys.append(f"{percent(name)}={percent(value)}")
            elif place == "cookie":
                cookies.append(f"{name}={_cookie_value(value)}")
            elif HEADER_VALUE.match(value):
                headers[name] = value
            else:
                raise unfit("a credential in its entry has characters that a header cannot have", "bad_header")
        if cookies:
            headers["Cookie"] = "; ".join(cookies)
        content: list[bytes] = []
        if made_body := self._body():
            headers["Content-Type"], content = made_body
        if bad := next((name for name in headers if not HEADER_NAME.match(name)), None):
            raise unfit(f"'{escaped(bad)}' in its document is no name of a header", "bad_header")
        # Those of the entry are in place of all others, whatever the case of their names.
        headers = {name: each for name, each in headers.items() if name.lower() not in self._set} | self._entry.headers
        if sum(map(len, headers.values())) > bounds.API_HEADERS:
            raise refused(f"its headers would have more than {bounds.API_HEADERS >> 10} KB", "too_large")
        parts = [*filter(None, [before]), *(part for each in query.values() for part in each), *keys]
        url = f"{base}{path}{'?' if parts else ''}{'&'.join(parts)}"
        if len(url) > bounds.API_ADDRESS:
            raise refused(f"its address would have more than {bounds.API_ADDRESS:,} characters", "too_large")
        _check(url, base)
        remarks = credentials.without_variable(chosen.needs, self._entry)
        return HttpRequest(self._operation.method, url, headers, content, remarks, query)

    # ---- arguments

    def _given(self) -> Iterator[tuple[Parameter, bytes]]:
        """The parameters that have a value; raises `Failed` for an argument that is none of them."""
        body_, names = self._operation.body, set()
        for parameter in self._operation.parameters:
            if parameter.place == "header" and parameter.name.lower() in NO_ARGUMENTS | self._set:
                continue
            if (value := self._entry.parameters.get(parameter.name)) is None:
                names |= {parameter.argument} - {""}
                value = self._arguments.get(parameter.argument, b"null").strip()
            if value != b"null":
                yield parameter, value
        names |= {body_.argument, body_.chosen_by} - {""} if body_ else set()
        if unknown := next((name for name in self._arguments if name not in names), None):
            otherwise = f"it has {', '.join(map(repr, sorted(names)[:20])) or 'none'}"
            near = did_you_mean(unknown[:200], names, otherwise)
            error = refused(f"it has no argument '{escaped(unknown[:200])}': {near}", "unknown_argument")
            raise Failed(error.failure.about(argument=unknown))

    def _body(self) -> body.Made | None:
        of = self._operation.body
        if of is None or of.argument not in self._arguments:
            return None
        content, value = body.content_of(of, self._arguments), self._arguments[of.argument].strip()
        if value == b"null" and not (of.is_required and content.kind == "json"):
            return None
        return body.made(of, content, self._arguments[of.argument], self._entry.upload_root)

    # ---- the address

    def _base(self, chosen: SchemesInUse) -> str:
        """The place that it is sent to; raises `Failed` where it, or its credentials, may not go there."""
        entry, base = self._entry, self._operation.base
        base = entry.url if entry.url and base == entry.written_url else base
        if not (parts := _BASE.match(base)) or not (origin := origin_of(base)):
            raise unfit("its base is no address: write url in its entry", "bad_path")
        ours = [entry.url or self._document.base, *entry.origins]
        if origin not in map(origin_of, ours):
            raise unfit(f"it would go to {escaped(parts[1])}, which origins in its entry does not name", "other_origin")
        if any(unquote(unquote(part)) in _RELATIVE for part in (parts[2] or "").split("/")):
            raise unfit("its base has parts that lead elsewhere: write url in its entry without . and ..", "bad_path")
        has_secrets = chosen.values or any(map(is_secret_name, (*entry.headers, *entry.parameters)))
        if has_secrets and not may_be_sent_to(base):
            raise unfit("its credentials go over https, or to this machine alone", "credentials_kept_back")
        return f"{parts[1]}{quote((parts[2] or '').rstrip('/'), safe=_LITERAL)}"

    def _path(self) -> tuple[str, str]:
        """The path with its holes filled, each once, and the query that the document has in it."""
        template, _, query = self._operation.path.partition("#")[0].partition("?")
        values = {p.name: p for p in self._parameters["path"]}
        segments = "/".join(self._segment(each, values) for each in template.split("/"))
        return segments if segments.startswith("/") else f"/{segments}", self._filled(query, values, _IN_QUERY)

    def _segment(self, template: str, values: Mapping[str, Parameter]) -> str:
        filled = self._filled(template, values, _LITERAL)
        if not HOLE.search(template):
            if unquote(unquote(filled)) in _RELATIVE:
                raise unfit("the path in its document leads out of its base", "bad_path")
            return filled
        for part in filled.split("/"):
            # Decoded twice: once as its server does it, and once as one before it may.
            once = unquote(part)
            if not _NEVER_IN_SEGMENTS.isdisjoint((part, once, unquote(once))):
                names = ", ".join(values[name].argument or name for name in HOLE.findall(template) if name in values)
                would = "is empty" if not filled else f"would make {part!r} a part of its path"
                raise refused(f"{names} {would}", "bad_path")
        return filled

    def _filled(self, template: str, values: Mapping[str, Parameter], safe: str) -> str:
        # The holes are every second piece.
        pieces = HOLE.split(template)
        return "".join(
            self._hole(piece, values) if index % 2 else quote(piece, safe=safe) for index, piece in enumerate(pieces)
        )

    def _hole(self, name: str, values: Mapping[str, Parameter]) -> str:
        parameter = values.get(name)
        value = self._values.get(parameter) if parameter else None
        if parameter is None or value is None:
            raise refused(f"its argument {parameter.argument if parameter else name!r} is missing", "missing_argument")
        has_slash = parameter.allow_reserved or name in self._entry.slash_in
        encode = _with_slash if has_slash else percent
        is_matrix = parameter.style == "matrix"
        return self._named(parameter, value, encode, ";") if is_matrix else _written(parameter, value, encode)

    def _named(self, parameter: Parameter, value: bytes, encode: Encode, between: str) -> str:
        """Pairs of name and value; raises `Failed` where a key of an object would be something else in their place."""
        pairs = _written(parameter, value, encode, is_named=True)
        if value[:1] == b"{" and parameter.name not in self._entry.parameters:
            names = {unquote(pair.partition("=")[0]).lower(): None for pair in pairs.split(between)}
            others = {each.name for each in self._parameters[parameter.place] if each is not parameter}
            others |= {each.name for each in self._document.schemes.values() if each.place == parameter.place}
            if parameter.place == "query":  # which a path of the document may have, too
                fixed = self._operation.path.partition("#")[0].partition("?")[2]
                others |= {name for name, _ in parse_qsl(fixed, keep_blank_values=True)}
            if taken := next(
                (each for each in (*self._entry.parameters, *others, *OVERRIDES) if each.lower() in names), None
            ):
                where = f"has a meaning of its own in the {parameter.place}"
                raise refused(
                    f"{parameter.argument!r} cannot have the key '{escaped(taken)}', which {where}", "key_taken"
                )
        return pairs

    def _query(self) -> Iterator[tuple[str, list[str]]]:
        for parameter in self._parameters["query"]:
            if (value := self._values.get(parameter)) is not None:
                encode = reserved if parameter.allow_reserved else percent
                pairs = self._named(parameter, value, encode, "&")
                yield parameter.argument, [pairs] if pairs else []

    # ---- headers

    def _headers(self) -> Iterator[tuple[str, str]]:
        for parameter in self._parameters["header"]:
            if (value := self._values.get(parameter)) is not None:
                header = _written(parameter, value, as_it_is)
                if not HEADER_VALUE.match(header):
                    raise refused(f"{parameter.argument!r} has characters that a header cannot have", "bad_header")
                yield parameter.name, header

    def _cookies(self) -> Iterator[str]:
        for parameter in self._parameters["cookie"]:
            if (value := self._values.get(parameter)) is not None:
                encode = _cookie_value if parameter.style == "cookie" else percent
                cookie = self._named(parameter, value, encode, "; ")
                if _CONTROL.search(unquote(cookie)):
                    raise _no_cookie()
                yield cookie


def _members(arguments: bytes) -> dict[str, bytes]:
    try:
        return jsonrpc.members(arguments) if arguments else {}
    except jsonrpc.Malformed as error:
        raise refused(f"its arguments cannot be read: {error}") from None


def _written(parameter: Parameter, value: bytes, encode: Encode, *, is_named: bool = False) -> str:
    if not parameter.media_type:
        # Between two cookies is never an `&`: https://spec.openapis.org/oas/v3.1.1#appendix-d
        style = "cookie" if parameter.place == "cookie" else parameter.style
        return written(style, parameter.explode, parameter.name, value, encode)
    plain = value.decode("utf-8", "replace") if is_json(parameter.media_type) else text(value) or ""
    return f"{percent(parameter.name)}={encode(plain)}" if is_named else encode(plain)


def _cookie_value(text: str) -> str:
    if not _COOKIE_VALUE.match(text):
        raise _no_cookie()
    return text


def _no_cookie() -> Failed:
    return refused("a cookie would have characters that a cookie cannot have", "bad_header")


def _with_slash(text: str) -> str:
    return quote(text, safe="/")


def _check(url: str, base: str) -> None:
    """That nothing changes an address on its way into the request, nor leads it out of its base."""
    import httpx2  # which takes 0.1 s; it is loaded where a request is sent

    try:
        built, of = httpx2.URL(url), httpx2.URL(base)
        place = (built.scheme, built.raw_host, built.port, built.userinfo)
        meant = f"/{url.split('/', 3)[3]}"
        is_same = place == (of.scheme, of.raw_host, of.port, b"") and built.raw_path.decode() == meant
    except (httpx2.InvalidURL, ValueError):
        is_same = False
    if not is_same or not url.startswith(f"{base}/"):
        raise unfit("its address would be another than its document says", "bad_path")
