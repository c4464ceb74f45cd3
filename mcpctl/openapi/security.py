"""Security schemes that can be met, and which of them an operation needs."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from mcpctl.config.server_settings import HEADER_NAME
from mcpctl.openapi.faults import OperationFault, WrongDocument
from mcpctl.openapi.references import References
from mcpctl.openapi.snapshot import Scheme

_HTTP = ("basic", "bearer")
_OAUTH = ("oauth2", "openIdConnect")
_PLACES = ("header", "query", "cookie")
_LONGEST = 60
_OF_CONNECTION = ("connection", "content-length", "host", "te", "trailer", "transfer-encoding", "upgrade")

Alternatives = list[dict[str, list[str]]]


class Security:
    """The schemes of a document, and what is required where an operation says nothing."""

    def __init__(self, document: Mapping[str, Any], references: References, name: str) -> None:
        self.schemes: dict[str, Scheme] = {}
        self._unmet: dict[str, str] = {}  # why others cannot be met
        self._default = document.get("security")
        written = (document.get("components") or {}).get("securitySchemes") or {}
        if not isinstance(written, dict):
            raise WrongDocument(f"{name}#/components/securitySchemes is not an object", "correct it there")
        for key, value in written.items():
            try:
                scheme = _scheme(references.followed(value, references.place).value, references.place)
            except OperationFault as fault:
                pointer = f"#/components/securitySchemes/{key[:_LONGEST]}"
                raise WrongDocument(f"{name}{pointer}: {fault}", "correct it there") from None
            if isinstance(scheme, Scheme):
                self.schemes[key] = scheme
            else:
                self._unmet[key] = scheme

    @property
    def api_keys(self) -> frozenset[tuple[str, str]]:
        """The places and names of all API keys, those of headers in small letters."""
        keys = (each for each in self.schemes.values() if each.kind == "apiKey")
        return frozenset((each.place, each.name.lower() if each.place == "header" else each.name) for each in keys)

    def of(self, operation: Mapping[str, Any]) -> Alternatives:
        """The alternatives of an operation that can be met; raises `OperationFault` where it has others alone. A scheme
        that the document does not describe says nothing, so that the API is left to judge."""
        written = operation.get("security", self._default)
        if written is None:
            return []
        if not isinstance(written, list) or not all(isinstance(each, dict) for each in written):
            raise OperationFault("its security is no list of objects")
        unmet = [self._unmet[name] for each in written for name in each if name in self._unmet]
        met = [
            {
                name: [scope for scope in scopes if isinstance(scope, str)] if isinstance(scopes, list) else []
                for name, scopes in each.items()
            }
            for each in written
            if all(name in self.schemes for name in each)
        ]
        if not met and unmet:
            raise OperationFault(f"it needs {unmet[0]}, which cannot be made")
        return sorted(met, key=lambda each: not each)


def _scheme(value: Any, place: str) -> Scheme | str:
    """A scheme, or what it needs that cannot be made."""
    if not isinstance(value, dict):
        raise OperationFault("a security scheme is no object")
    kind = value.get("type")
    if kind == "http":
        scheme = str(value.get("scheme", ""))
        return Scheme(scheme.lower()) if scheme.lower() in _HTTP else f"the HTTP scheme {scheme[:_LONGEST]!r}"
    if kind == "apiKey":
        where, name = value.get("in"), value.get("name")
        if where not in _PLACES or not isinstance(name, str) or not name:
            return "an API key without a place"
        is_name = name.isprintable() if where == "query" else HEADER_NAME.match(name)
        if not is_name or (where == "header" and name.lower() in _OF_CONNECTION):
            return f"an API key with a name that no {where} has: {name[:_LONGEST]!r}"
        return Scheme("apiKey", where, name)
    if kind in _OAUTH:
        return Scheme(kind, token_url=_token_url(value, place))
    return f"a scheme of the type {str(kind)[:_LONGEST]!r}"


def _token_url(value: Mapping[str, Any], place: str) -> str:
    flows = value.get("flows")
    flow = flows.get("clientCredentials") if isinstance(flows, dict) else None
    url = flow.get("tokenUrl") if isinstance(flow, dict) else None
    if not isinstance(url, str):
        return ""
    try:
        whole = urljoin(place, url) if "://" in place else url
        return whole if urlsplit(whole).scheme in ("https", "http") and urlsplit(whole).hostname else ""
    except ValueError:
        return ""
