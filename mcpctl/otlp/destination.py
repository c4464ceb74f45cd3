"""Where to send spans and metrics, by the command line and by the variables that OpenTelemetry's SDKs read, too.
https://opentelemetry.io/docs/specs/otel/protocol/exporter/"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

from mcpctl import __version__
from mcpctl.base import bounds
from mcpctl.base.errors import WrongUsage, warn
from mcpctl.config.server_environment import CannotLaunch, expand, is_here

ENDPOINT, TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
HEADERS, RESOURCE, SERVICE = "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME"
_TRACES, _METRICS = "/v1/traces", "/v1/metrics"
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")
_OURS = ("content-type", "content-encoding", "content-length", "transfer-encoding", "host")
_EXAMPLE = "such as --otlp http://127.0.0.1:4318"


class Destination(NamedTuple):
    traces: str
    metrics: str  # empty where only the place of traces is named
    headers: Mapping[str, str]
    resource: Mapping[str, str]


def destination(url: str | None, headers: Sequence[str], env: Mapping[str, str]) -> Destination:
    """The places of spans and metrics, by the option before the variables; raises `WrongUsage`."""
    base, called = (url, "--otlp") if url else (env.get(ENDPOINT, ""), ENDPOINT)
    of_traces = "" if url else env.get(TRACES_ENDPOINT, "")
    if not (base or of_traces):
        raise WrongUsage("no receiver is named", f"name it, {_EXAMPLE}, or set {ENDPOINT}")
    traces = _checked(of_traces, TRACES_ENDPOINT) if of_traces else _within(_checked(base, called), _TRACES)
    metrics = _within(_checked(base, called), _METRICS) if base else ""
    return Destination(traces, metrics, _headers(headers, env), _resource(env))


def _within(url: str, path: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/").removesuffix(_TRACES) + path))


def _checked(url: str, called: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
        is_url = parts.scheme in ("http", "https") and bool(host) and url.isascii() and url.isprintable()
    except ValueError:
        is_url = False
    if not is_url or " " in url or parts.fragment:
        raise WrongUsage(f"{called} is not the address of a receiver", f"give an https URL, or one here, {_EXAMPLE}")
    if parts.username is not None or parts.password is not None:
        raise WrongUsage(f"{called} has a name or password", "give that as a header: --header 'Authorization=Basic …'")
    if parts.scheme == "http" and not is_here(host):
        raise WrongUsage(
            f"{called} would send records to {host} without encryption",
            "give its https address, or send to a collector on this machine",
        )
    return url


def _headers(given: Sequence[str], env: Mapping[str, str]) -> Mapping[str, str]:
    headers = {name.lower(): value for name, value in _listed(HEADERS, env).items()}
    for each in given:
        name, separator, value = each.partition("=")
        if not separator:
            raise WrongUsage("--header is not NAME=VALUE", "give it as --header 'api-key=${API_KEY}'")
        try:
            headers[name.strip().lower()] = expand(value.strip(), env)
        except CannotLaunch as error:
            raise WrongUsage(f"the header {name.strip()!a} cannot be made: {error.message}", error.hint) from None
    for name, value in headers.items():
        if name in _OURS:
            raise WrongUsage(f"the header {name} says how spans are sent", "leave it out")
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value) or len(headers) > bounds.OTLP_ATTRIBUTES:
            raise WrongUsage(f"HTTP does not allow the header {name[:100]!a}, or its value", "correct it")
    return headers


def _resource(env: Mapping[str, str]) -> Mapping[str, str]:
    resource = {"service.name": "mcpctl", "service.version": __version__, **_listed(RESOURCE, env)}
    if service := env.get(SERVICE):
        resource["service.name"] = service
    pairs = list(resource.items())[: bounds.OTLP_ATTRIBUTES]
    return {_sendable(name): _sendable(value) for name, value in pairs}


def _sendable(text: str) -> str:
    """A variable may have bytes that are no text."""
    return text.encode("utf-8", "replace").decode()


def _listed(variable: str, env: Mapping[str, str]) -> Mapping[str, str]:
    """The pairs of `a=b,c=d`, whose values are in percent-encoding; none, with a warning, where one has no value."""
    pairs = [pair.partition("=") for pair in env.get(variable, "").split(",") if pair.strip()]
    if all(name.strip() and separator for name, separator, _ in pairs):
        return {unquote(name.strip()): unquote(value.strip()) for name, _, value in pairs}
    warn(f"{variable} is not a list of NAME=VALUE with commas between them, and is left out")
    return {}
