"""What a server's entry says, as it is shown: with its secrets masked."""

import re

import msgspec

from mcpctl.base.models import Row
from mcpctl.config.server_settings import COMMAND, FROM_COMMAND, OAuth
from mcpctl.secrets.redact import MASK, is_secret_name, mask

_SCHEMES = ("Bearer", "Basic", "Token")
_LONG_RANDOM = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9_~.=-]{20,}")
"""A part of a path that looks like a key: some services have it in the URL."""
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


def masked_oauth(oauth: OAuth | None) -> Row | None:
    """A login's settings that differ from their defaults, with the secret masked."""
    if oauth is None:
        return None
    said = {name: value for name, value in msgspec.structs.asdict(oauth).items() if value != getattr(OAuth(), name)}
    return said | {name: masked(said[name]) for name in ("client_secret",) if name in said}
