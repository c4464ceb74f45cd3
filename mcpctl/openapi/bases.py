"""The address that an operation's path is added to: https://spec.openapis.org/oas/v3.1.1#server-object."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from mcpctl.config.server_environment import is_here
from mcpctl.openapi.faults import OperationFault, WrongDocument

_VARIABLE = re.compile(r"\{([^{}]*)\}")
_PLAIN = re.compile(r"[\x21-\x7e]{1,2000}\Z")
_LONGEST = 200
_FIX = 'name it with --url, or as "url" in the entry'
_PORTS = {"http": 80, "https": 443}


class _Unfit(ValueError):
    """Why an entry of `servers` is no base."""

    def __init__(self, why: str, fix: str = _FIX) -> None:
        super().__init__(why)
        self.fix = fix


class Bases:
    """The bases of one document's operations, for an entry with this `url` and these `origins`."""

    def __init__(self, document: Mapping[str, Any], place: str, name: str, url: str, origins: Sequence[str]) -> None:
        self._place, self._name = place, name
        self._url = url.rstrip("/")
        self._others = {origin_of(each) for each in origins}
        self._own: str | None = None
        self._problem, self._fix = ": no base is known", _FIX
        if _leads_out(url):
            raise WrongDocument("url in the entry has a part such as .. that leads elsewhere", "write it without")
        if servers := document.get("servers"):
            try:
                self._own = self._read(servers)
            except _Unfit as error:
                self._problem, self._fix = f"/0/url: {error}", error.fix
        elif "://" in place:
            self._own = urljoin(place, "/").rstrip("/")
        self.of_most = self._url or self._own or ""  # the base of the document, or the first of an operation
        self._is_unknown = self._own is None
        self._origins = {origin_of(each) for each in (self._own, self._url) if each}

    @property
    def main(self) -> str:
        """Where operations are sent that have no server of their own; raises `WrongDocument` where it is unknown."""
        if self._url:
            return self._url
        if self._own is None:
            raise WrongDocument(f"{self._name}#/servers{self._problem}", self._fix)
        return self._own

    def of(self, *lists: Any) -> str:
        """The base of an operation whose own `servers`, and those of its path, are these; raises `OperationFault` for
        another origin, and `WrongDocument`."""
        own = next((each for each in lists if each), None)
        if own is None:
            return self.main
        try:
            base = self._read(own)
        except _Unfit as error:
            if self._url:
                return self._url
            raise OperationFault(f"its own server: {error}") from None
        origin = origin_of(base)
        if origin in self._others:
            return base
        if self._is_unknown:  # then the first that is named anywhere is that of the document
            self._origins.add(origin)
            self._is_unknown = False
            self.of_most = self.of_most or base
        if origin not in self._origins:
            raise OperationFault(
                f'its own server is of another origin, which origins = ["{origin}"] in its entry would allow'
            )
        return self._url or base

    def _read(self, servers: Any) -> str:
        """The address of the first of these; raises `_Unfit`."""
        first = servers[0] if isinstance(servers, list) else None
        url = first.get("url") if isinstance(first, dict) else None
        if not isinstance(url, str):
            raise _Unfit("it has no address")
        url = _filled(url, first.get("variables") if isinstance(first, dict) else None)
        return _checked(url, self._place if "://" in self._place else "")


def _filled(url: str, variables: Any) -> str:
    def default(match: re.Match[str]) -> str:
        variable = variables.get(match[1]) if isinstance(variables, dict) else None
        value = variable.get("default") if isinstance(variable, dict) else None
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise _Unfit(f"its variable {match[1][:_LONGEST]!r} has no default")
        return str(value)

    return _VARIABLE.sub(default, url)


def _checked(url: str, place: str) -> str:
    """An address, which may be relative to one."""
    shown = repr(url[:_LONGEST])
    try:
        url = urljoin(place, url)
        shown = repr(url[:_LONGEST])
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _Unfit(f"{shown} is no address") from None
    if not _PLAIN.match(url):
        raise _Unfit(f"{shown} has characters that no address has")
    if not parts.scheme or not host:
        raise _Unfit(f"{shown} is relative")
    if parts.scheme not in _PORTS or port == 0:
        raise _Unfit(f"{shown} is no https:// address")
    if parts.scheme == "http" and not is_here(host):
        safe = shlex.quote(f"https{url[4:]}"[:_LONGEST])
        fix = f"name its https form, if it has one: --url {safe}; http:// has to be written there on purpose"
        raise _Unfit(f"{shown} is not encrypted", fix)
    if _leads_out(url):
        raise _Unfit(f"{shown} has a part such as .. that leads elsewhere")
    if parts.username is not None or parts.query or parts.fragment:
        raise _Unfit(f"{shown} has more than a host and a path")
    return url.rstrip("/?#")


def _leads_out(url: str) -> bool:
    """Whether a part of it, also after decoding once or twice, is one of those that a server may follow upwards."""
    plain = unquote(unquote(url))
    return "\\" in plain or not {".", ".."}.isdisjoint(plain.split("/"))


def origin_of(url: str) -> str:
    """The scheme, host and port of an address, the port where it is not that of the scheme; empty for one that is
    none."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return ""
    host = (parts.hostname or "").lower()
    where = f":{port}" if port != _PORTS.get(parts.scheme) else ""
    return f"{parts.scheme.lower()}://{f'[{host}]' if ':' in host else host}{where}"
