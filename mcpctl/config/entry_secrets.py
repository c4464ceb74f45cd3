"""The secrets that entries have: masked where an entry is shown, and taken out of all else that is kept or shown.

No server is to give away another's.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from mcpctl.base.models import Row
from mcpctl.config.server_environment import known_output
from mcpctl.config.server_settings import COMMAND, FROM_COMMAND, VARIABLE, ClientCredentials, OAuth, Server
from mcpctl.secrets.redact import MASK, OF_ONE, is_secret_name, learn, mask

NOTHING: Mapping[str, str] = MappingProxyType({})
_LEAST_OF_API = 6  # of values that are credentials, or as good as that
_LEAST = 8  # shorter values may be ordinary words
_LOOKS_SECRET = re.compile(
    r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])(?![a-z]+(?:-[a-z0-9]+)+\Z)[A-Za-z0-9_~+=!#$%&*-]{12,}"
)
"""Such a value may be a key under any name: letters and digits; no path, no address and no name such as eu-west-1."""


def learn_all(servers: Mapping[str, Server], env: Mapping[str, str] = os.environ) -> None:
    """Know the secrets that entries have, as far as they can be known before any is used: no command is run for it."""

    def known(text: str) -> str:
        text = COMMAND.sub(lambda match: known_output(match[1]), text)
        return VARIABLE.sub(lambda match: env.get(match[1]) or match[2] or "", text)

    for server in servers.values():
        texts = (*server.env.values(), *server.args, *server.headers.values(), server.url)
        variables = {match[1]: known(match[0]) for text in texts for match in VARIABLE.finditer(text)}
        learn_of(
            server,
            env={**{name: known(text) for name, text in server.env.items()}, **variables},
            args=[known(text) for text in server.args],
            headers={name: known(text) for name, text in server.headers.items()},
            url=known(server.url),
            client_secret=known(server.oauth.client_secret) if server.oauth else "",
        )
        if server.openapi:
            given = [of if isinstance(of, str) else of.client_secret for of in server.auth.values()]
            given += re.findall(r"\$\{[^}]*\}", msgspec.json.encode(server.parameters).decode())
            learn_of_api(server, [known(text) for text in given])


def learn_of_api(server: Server, values: Sequence[str]) -> list[str]:
    """Know the secret values of an API's entry in each form in which they are sent; returns all of these."""
    from urllib.parse import quote

    forms: dict[str, None] = {}
    for value in values:
        forms |= dict.fromkeys((value, *value.split(":", 1)[1:], quote(value, safe=""), pair_of(value)))
    secrets = [form for form in forms if len(form) >= _LEAST_OF_API]
    for index in range(0, len(secrets), OF_ONE):
        learn(f"entry {server.openapi} {server.url} {index}", *secrets[index : index + OF_ONE], least=_LEAST_OF_API)
    return sorted(secrets, key=len, reverse=True)


def pair_of(text: str) -> str:
    """A user and password in base64; of a user alone, whose password is empty."""
    from base64 import b64encode

    return b64encode((text if ":" in text else f"{text}:").encode()).decode()


def learn_of(
    server: Server, *, env: Mapping[str, str] = NOTHING, args: Sequence[str] = (), headers: Mapping[str, str] = NOTHING,
    url: str = "", client_secret: str = "",
) -> None:  # fmt: skip
    secrets = [value for name, value in (*_named_args(args), *_of_url(url)) if is_secret_name(name)]
    secrets += [value for name, value in env.items() if is_secret_name(name) or _LOOKS_SECRET.fullmatch(value)]
    for name, text in headers.items():
        scheme, _, rest = text.strip().partition(" ")
        if rest or is_secret_name(name) or _LOOKS_SECRET.fullmatch(scheme):
            secrets.append(rest.strip() or scheme)
    learn(f"entry {server.command} {server.args} {server.url}", *secrets, client_secret, least=_LEAST)


def credentials(server: Server) -> Iterator[tuple[str, str]]:
    """The texts of an HTTP API's entry that are secrets, or name them, each with the place of its value."""
    for name, value in server.auth.items():
        yield f"auth.{name}", value.client_secret if isinstance(value, ClientCredentials) else value
    for name, value in server.parameters.items():
        if isinstance(value, str) and is_secret_name(name):
            yield f"parameters.{name}", value


def in_the_open(given: Mapping[str, Any]) -> Iterator[str]:
    """The places of secrets in `auth` and `headers` of these keys of an entry that are there as they are."""
    yield from (f"auth.{name}" for name, value in given.get("auth", {}).items() if "${" not in value)
    for name, text in given.get("headers", {}).items():
        value = text.partition(" ")[2].strip() or text
        if "${" not in text and (is_secret_name(name) or _LOOKS_SECRET.fullmatch(value)):
            yield f"headers.{name}"


def _named_args(args: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The values of arguments with their names: `--token X`, `--token=X` and `TOKEN=X`."""
    before = ""
    for arg in args:
        name, equals, value = arg.partition("=")
        if equals:
            yield name.lstrip("-"), value
        elif before:
            yield before, arg
        before = arg.lstrip("-") if arg.startswith("-") and not equals else ""


def _of_url(url: str) -> Iterator[tuple[str, str]]:
    if not url:
        return
    from urllib.parse import parse_qsl, urlsplit

    try:
        parts = urlsplit(url)
    except ValueError:
        return  # it is told where it is used
    yield "password", parts.password or ""
    yield from parse_qsl(parts.query)


_SCHEMES = ("Bearer", "Basic", "Token")
_LONG_RANDOM = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9_~.=-]{20,}")  # a key in a URL
_VARIABLE_ONLY = re.compile(r"(\$\{[A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\}\Z")


def masked(value: str) -> str:
    """A value of `env` as it is shown: `${VAR}` unchanged, of `${cmd:…}` the program, anything literal as `***`."""
    if command := COMMAND.fullmatch(value):
        return f"{FROM_COMMAND}{' '.join(command[1].split()[:1])} {MASK}}}"
    variable = _VARIABLE_ONLY.match(value)
    if not variable:
        return MASK
    return value if ":-" not in value else f"{variable[1]}:-{MASK}}}"


def masked_header(value: str) -> str:
    """A header's value as it is shown: a scheme such as `Bearer` and `${VAR}` unchanged, anything literal as `***`."""
    scheme, space, rest = value.partition(" ")
    return f"{scheme} {masked(rest)}" if space and scheme in _SCHEMES else masked(value)


def masked_url(url: str) -> str:
    """An address with its password, the values of its query and anything like a token masked."""
    place, question, query = re.sub(r"(?<=://)[^/?#@]*@", f"{MASK}@", url).partition("?")
    path = "/".join(MASK if _LONG_RANDOM.fullmatch(part) else part for part in mask(place).split("/"))
    # Every value is masked, since the names of keys differ from service to service: sig, code, k.
    return path + question + re.sub(r"[^&#]+", _masked_parameter, query)


def _masked_parameter(match: re.Match[str]) -> str:
    name, equals, value = match[0].partition("=")
    if not equals:
        return masked(name)
    is_plain = re.fullmatch(r"true|false|[0-9]{1,3}", value) and not is_secret_name(name)
    return match[0] if is_plain else f"{name}={masked(value)}"


def masked_args(args: list[str]) -> list[str]:
    """Arguments with the values of secret options (`--token X`, `TOKEN=X`) and anything like a token masked."""
    result: list[str] = []
    hide_next = False
    for arg in args:
        option, equals, value = arg.partition("=")
        if hide_next and not arg.startswith("-"):
            result.append(masked(arg))
        elif equals and is_secret_name(option.lstrip("-")):
            result.append(f"{option}={masked(value)}")
        else:
            result.append(mask(arg))
        hide_next = not equals and arg.startswith("-") and is_secret_name(arg.lstrip("-"))
    return result


def masked_auth(auth: Mapping[str, str | ClientCredentials]) -> Row:
    """The credentials of an HTTP API, by their schemes, each masked as a value of `env` is."""
    return {
        name: masked(given) if isinstance(given, str) else {
            "client_id": given.client_id, "client_secret": masked(given.client_secret), "scopes": given.scopes
        }
        for name, given in auth.items()
    }  # fmt: skip


def masked_parameters(parameters: Mapping[str, Any]) -> Row:
    """The values of an HTTP API's parameters; those under the names of secrets are masked, whatever they are."""
    return {name: masked(str(value)) if is_secret_name(name) else value for name, value in parameters.items()}


def masked_oauth(oauth: OAuth | None) -> Row | None:
    """A login's settings that differ from their defaults, with the secret masked."""
    if oauth is None:
        return None
    settings = {name: value for name, value in msgspec.structs.asdict(oauth).items() if value != getattr(OAuth(), name)}
    return settings | {name: masked(settings[name]) for name in ("client_secret",) if name in settings}
