"""How a server is started, or where it is: its entry in the configuration, everything expanded."""

import io
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mcpctl import files
from mcpctl.config import CLOUD_TOKEN, SEMANTIC_TOKEN, URL, VARIABLE, Server
from mcpctl.errors import McpctlError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_MAX_ENV_FILE = 256 << 10
_BLANKS = re.compile(r"[^\S\r\n]{256}")
"""More than a line of an env_file has in a row; its reader would take the square of their number in time."""
# RFC 9110, 5.5
_HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?\Z")
OWN_SECRETS = (SEMANTIC_TOKEN, CLOUD_TOKEN)
"""What no server is given of the environment."""


@dataclass(frozen=True)
class Launch:
    """How a server is started, everything expanded. Holds secrets: never shown, never stored."""

    argv: list[str]
    env: dict[str, str]
    cwd: str | None


@dataclass(frozen=True)
class Endpoint:
    """Where a remote server is, everything expanded. Holds secrets: never shown, never stored."""

    url: str
    transport: str
    headers: dict[str, str]
    empty: frozenset[str] = frozenset()
    """The variables in the headers that have an empty value."""


class CannotLaunch(McpctlError):
    """A server's entry asks for something this environment does not have."""

    code = "cannot_launch"


def expand(text: str, env: Mapping[str, str]) -> str:
    """`text` with each `${VAR}` and `${VAR:-default}` replaced; raises `CannotLaunch` naming a variable not set."""

    def value(match: re.Match[str]) -> str:
        name, default = match.groups()
        found = env.get(name)
        if not found and default is not None:
            found = default
        if found is None:
            raise CannotLaunch(f"variable {name} is not set", f"set {name}, or write ${{{name}:-default}}")
        return found

    return VARIABLE.sub(value, text)


def launch(server: Server, config_path: Path, env: Mapping[str, str] = os.environ) -> Launch:
    """How to start `server` in the environment `env`: that of mcpctl, then `env_file`, then `env`."""
    merged = _environment(server, config_path, env)
    cwd = str(Path(expand(server.cwd, merged)).expanduser()) if server.cwd else None
    if cwd and not Path(cwd).is_dir():
        raise CannotLaunch(f"its cwd does not exist: {cwd}", 'create it, or change "cwd"')
    command = expand(server.command, merged)
    argv = [str(Path(command).expanduser()) if command.startswith("~") else command]
    return Launch([*argv, *(expand(arg, merged) for arg in server.args)], merged, cwd)


def endpoint(server: Server, config_path: Path, env: Mapping[str, str] = os.environ) -> Endpoint:
    """Where a remote `server` is; the variables of its URL and headers are those that a local one would be given."""
    merged = _environment(server, config_path, env)
    url = expand(server.url, merged)
    if not URL.match(url):
        raise CannotLaunch("its url, once expanded, is no address", 'write "url" as https://host/path')
    # White space around a value is not part of it (RFC 9110, 5.5): an empty token leaves some.
    headers = {name: expand(value, merged).strip(" \t") for name, value in server.headers.items()}
    for name, value in headers.items():
        if not _HEADER_VALUE.match(value):
            raise CannotLaunch(f"its header {name} has characters that no header may have", "mend its value")
    named = {match for value in server.headers.values() for match in VARIABLE.finditer(value)}
    return Endpoint(url, server.transport, headers, frozenset(m[1] for m in named if not expand(m[0], merged)))


def credentials(server: Server, where: Endpoint) -> str:
    """What is known of the headers that should have let us in, to end a message about a refusal."""
    if not server.headers:
        return '; no header is sent with it: add headers = { Authorization = "Bearer ${VARIABLE}" }'
    told = []
    for name, value in server.headers.items():
        variables = [match[1] for match in VARIABLE.finditer(value)]
        empty = [variable for variable in variables if variable in where.empty]
        source = f"from {', '.join(variables)}" if variables else "as written in the configuration"
        told.append(f"{name} ({source}{', which is empty' if empty else ''})")
    return f"; not accepted: header {', '.join(told)}"


def _environment(server: Server, config_path: Path, env: Mapping[str, str]) -> dict[str, str]:
    merged = {name: value for name, value in env.items() if name not in OWN_SECRETS}
    if server.env_file:
        merged.update(_env_file(config_path.parent / Path(expand(server.env_file, env)).expanduser()))
    merged.update({name: expand(value, merged) for name, value in server.env.items()})
    return merged


def _env_file(path: Path) -> dict[str, str]:
    """The variables of a dotenv file: `NAME=value`, with `export`, quotes over several lines, and `#` comments."""
    try:
        text = files.read_text(path, _MAX_ENV_FILE)
    except McpctlError as error:
        raise CannotLaunch(f"its env_file is of no use: {error.message}", 'fix "env_file"') from error
    from dotenv.parser import parse_stream  # 60 ms, for the servers that have such a file

    if blanks := _BLANKS.search(text):
        line = text.count("\n", 0, blanks.start()) + 1
        raise CannotLaunch(f"its env_file has 256 blanks in a row in line {line}: {path}", "fix that line")
    found: dict[str, str] = {}
    for binding in parse_stream(io.StringIO(text)):
        if binding.key is None and not binding.error:
            continue  # a comment, or blank lines
        if binding.error or binding.value is None or not _NAME.match(binding.key or "") or "\0" in binding.value:
            said = binding.original.string
            line = binding.original.line + said[: len(said) - len(said.lstrip())].count("\n")
            raise CannotLaunch(f"its env_file has no NAME=value in line {line}: {path}", "fix that line")
        found[binding.key or ""] = binding.value
    return found
