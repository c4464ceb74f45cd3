"""The secrets that entries have, taken out of whatever is kept or said: no server is to give away another's."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from mcpctl.config import command_values
from mcpctl.config.server_settings import COMMAND, VARIABLE, Server
from mcpctl.secrets.redact import is_secret_name, learn

NOTHING: Mapping[str, str] = MappingProxyType({})
_LEAST = 8
"""Shorter values may be ordinary words."""
_LOOKS_SECRET = re.compile(
    r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])(?![a-z]+(?:-[a-z0-9]+)+\Z)[A-Za-z0-9_~+=!#$%&*-]{12,}"
)
"""Whatever its name, such a value may be a key: letters and digits; not a path, an address or a name such as eu-
west-1."""


def learn_all(servers: Mapping[str, Server], env: Mapping[str, str] = os.environ) -> None:
    """Know the secrets that entries have, as far as they can be known before any is used: no command is run for it."""

    def known(text: str) -> str:
        text = COMMAND.sub(lambda found: command_values.known(found[1]), text)
        return VARIABLE.sub(lambda found: env.get(found[1]) or found[2] or "", text)

    for server in servers.values():
        texts = (*server.env.values(), *server.args, *server.headers.values(), server.url)
        variables = {found[1]: known(found[0]) for text in texts for found in VARIABLE.finditer(text)}
        learn_of(
            server,
            env={**{name: known(text) for name, text in server.env.items()}, **variables},
            args=[known(text) for text in server.args],
            headers={name: known(text) for name, text in server.headers.items()},
            url=known(server.url),
            client_secret=known(server.oauth.client_secret) if server.oauth else "",
        )


def learn_of(
    server: Server, *, env: Mapping[str, str] = NOTHING, args: Sequence[str] = (), headers: Mapping[str, str] = NOTHING,
    url: str = "", client_secret: str = "",
) -> None:  # fmt: skip
    """Know the secrets of an entry, whose texts are given expanded."""
    secrets = [value for name, value in (*_named_args(args), *_of_url(url)) if is_secret_name(name)]
    secrets += [value for name, value in env.items() if is_secret_name(name) or _LOOKS_SECRET.fullmatch(value)]
    for name, text in headers.items():
        scheme, _, rest = text.strip().partition(" ")
        if rest or is_secret_name(name) or _LOOKS_SECRET.fullmatch(scheme):
            secrets.append(rest.strip() or scheme)
    learn(f"entry {server.command} {server.args} {server.url}", *secrets, client_secret, least=_LEAST)


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
