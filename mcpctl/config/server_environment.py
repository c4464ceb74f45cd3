"""The command or the address of a server: its entry in the configuration with every variable and command expanded."""

import contextlib
import io
import ipaddress
import os
import re
import select
import shlex
import signal
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from mcpctl.base import files
from mcpctl.base.errors import McpctlError
from mcpctl.config.server_settings import ALL, COMMAND, FROM_COMMAND, URL, VARIABLE, OAuth, Server, texts_of_api
from mcpctl.config.settings import CLOUD_TOKEN, SEMANTIC_TOKEN, TOKEN

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_MAX_ENV_FILE = 256 << 10
_BLANKS = re.compile(r"[^\S\r\n]{256}")  # an env_file with more in a row is refused: its parser takes quadratic time
HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?\Z")  # RFC 9110, 5.5
OWN_SECRETS = (SEMANTIC_TOKEN, CLOUD_TOKEN, TOKEN)
_MINIMAL = re.compile(
    # who, where, in which language; what others write there is for everybody to read
    r"HOME|LOGNAME|USER|PATH|SHELL|TERM|TMPDIR|TZ|LANG|LANGUAGE|LC_[A-Z]+|XDG_[A-Z_]+"
    # without these nothing reaches the network from behind a proxy, nor trusts its certificates
    r"|(?i:(?:https?|ftp|all|no)_proxy)"
    r"|(?:NIX_)?SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS|(?:REQUESTS|CURL|AWS)_CA_BUNDLE|GIT_SSL_CAINFO|PIP_CERT"
    r"|GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"
)
_NAMED = 8
PATIENCE_S = 10.0
LONGEST = 64 << 10
_LOOK = "run it in a shell to see why; its output is the value"


class CannotLaunch(McpctlError):
    """A server's entry needs something that this environment does not have."""

    code = "cannot_launch"


class Launch(Struct, frozen=True):
    """The command that starts a server, with every variable expanded. It holds secrets: never shown, never stored."""

    argv: list[str]
    env: dict[str, str]
    cwd: str | None


class Endpoint(Struct, frozen=True):
    """The address of a remote server, with every variable expanded. It holds secrets: never shown, never stored."""

    url: str
    transport: str
    headers: dict[str, str]
    empty: frozenset[str] = frozenset()
    oauth: OAuth | None = None


VALUE = re.compile(f"{COMMAND.pattern}|{VARIABLE.pattern}|{re.escape(FROM_COMMAND)}", re.DOTALL)
UNKNOWN = "\ufffd"  # in place of a value that is not known before its server starts


def compared(server: Server, config_path: Path, env: Mapping[str, str] = os.environ) -> Server:
    """The entry as it is started, to compare it with others. No command is run for a value, which is then `UNKNOWN`."""
    if not any("${" in text for text in (server.command, *server.args, server.cwd or "", server.url)):
        return server
    values = dict(_ours(env))

    def known(text: str) -> str:
        try:
            return expand(text, values, lambda *_: UNKNOWN)
        except CannotLaunch:
            return UNKNOWN

    try:
        values |= {} if FROM_COMMAND in (server.env_file or "") else _of_file(server, config_path, env)
    except CannotLaunch:  # which is told where it is started
        values.clear()
    values |= {name: known(value) for name, value in server.env.items()}
    return msgspec.structs.replace(
        server, command=known(server.command), args=[known(arg) for arg in server.args], url=known(server.url),
        cwd=known(server.cwd) if server.cwd else None,
    )  # fmt: skip


def expand(text: str, env: Mapping[str, str], printed: Callable[[str, Mapping[str, str]], str] | None = None) -> str:
    """`text` with `${VAR}`, `${VAR:-default}` and `${cmd:COMMAND}` replaced once; raises `CannotLaunch`. The output of
    a command is what it prints when it is run, unless `printed` says it."""

    def value(match: re.Match[str]) -> str:
        command, name, default = match.groups()
        if command is not None:
            return (printed or _output_of)(command, env)
        if name is None:
            raise CannotLaunch(f"{FROM_COMMAND} has no end", "quote braces and quotes in the command, and close it")
        text = env.get(name)
        if not text and default is not None:
            text = default
        if text is None:
            raise CannotLaunch(f"variable {name} is not set", f"set {name}, or write ${{{name}:-default}}")
        return text

    return VALUE.sub(value, text) if "${" in text else text


def launch(server: Server, config_path: Path, env: Mapping[str, str] = os.environ) -> Launch:
    """The command and its environment: the inherited part of mcpctl's (`env`), `env_file`, then the entry's `env`."""
    given = _given(server, config_path, env)
    merged = {**_ours(env), **given}
    cwd = str(Path(expand(server.cwd, merged)).expanduser()) if server.cwd else None
    if cwd and not Path(cwd).is_dir():
        raise CannotLaunch(f"its cwd does not exist: {cwd}", 'create it, or change "cwd"')
    command = expand(server.command, merged)
    argv = [str(Path(command).expanduser()) if command.startswith("~") else command]
    args = [expand(arg, merged) for arg in server.args]
    return Launch([*argv, *args], {**inherited(server, env), **given}, cwd)


def endpoint(server: Server, config_path: Path, env: Mapping[str, str] = os.environ) -> Endpoint:
    """The address of a remote `server`, its variables expanded from the environment that a local one would get."""
    merged = known_to(server, config_path, env)
    url = expand(server.url, merged)
    if not URL.match(url):
        raise CannotLaunch("its url, once expanded, is not an address", 'write "url" as https://host/path')
    # White space around a value is not part of it (RFC 9110, 5.5): an empty token leaves some.
    headers = {name: expand(value, merged).strip(" \t") for name, value in server.headers.items()}
    for name, value in headers.items():
        if not HEADER_VALUE.match(value):
            raise CannotLaunch(f"its header {name} has characters that a header cannot have", "fix the header's value")
    variables = {match for value in server.headers.values() for match in VARIABLE.finditer(value)}
    empty = frozenset(m[1] for m in variables if not expand(m[0], merged))
    return Endpoint(url, server.transport, headers, empty, _client(server.oauth, merged))


def known_to(server: Server, config_path: Path, env: Mapping[str, str]) -> dict[str, str]:
    """The variables that the address of a server, and what is sent there, may name."""
    return {**_ours(env), **_given(server, config_path, env)}


def _client(oauth: OAuth | None, env: Mapping[str, str]) -> OAuth | None:
    if oauth is None:
        return None
    issuer = expand(oauth.issuer, env)
    if issuer and not URL.match(issuer):
        raise CannotLaunch("its oauth.issuer, once expanded, is not an address", 'write "issuer" as https://host/path')
    client_id, secret = expand(oauth.client_id, env).strip(), expand(oauth.client_secret, env).strip()
    return msgspec.structs.replace(oauth, issuer=issuer, client_id=client_id, client_secret=secret)


def is_here(host: str) -> bool:
    """Whether a host is this machine, or unspecified, which is the same: requests to it must not go through a proxy."""
    name = host.lower().removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host)
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        return (mapped or address).is_loopback or (mapped or address).is_unspecified
    import socket  # which takes 10 ms

    with contextlib.suppress(OSError, UnicodeEncodeError):
        packed = socket.inet_aton(host)  # such as 127.1, which is connected to as 127.0.0.1
        return packed[0] == 127 or not any(packed)
    return False


def credentials(server: Server, where: Endpoint) -> str:
    """The end of a message about a refusal: the headers that were sent, and where their values come from."""
    if not server.headers:
        return '; no header is sent with it: add headers = { Authorization = "Bearer ${VARIABLE}" }'
    descriptions = []
    for name, value in server.headers.items():
        variables = [match[1] for match in VARIABLE.finditer(value)]
        empty = [variable for variable in variables if variable in where.empty]
        sources = [*variables, *("a command" for _ in COMMAND.finditer(value))]
        source = f"from {', '.join(sources)}" if sources else "as written in the configuration"
        descriptions.append(f"{name} ({source}{', which is empty' if empty else ''})")
    return f"; not accepted: header {', '.join(descriptions)}"


def inherited(server: Server, env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The part of mcpctl's environment that the process of `server` inherits."""
    if server.inherit_env == ALL:
        return _ours(env)
    names = server.inherit_env if isinstance(server.inherit_env, list) else ()
    return {name: value for name, value in _ours(env).items() if name in names or _MINIMAL.fullmatch(name)}


def described(server: Server, config_path: Path, env: Mapping[str, str] = os.environ) -> str:
    variables = inherited(server, env)
    try:
        named = list({**_of_file(server, config_path, env), **server.env})
    except CannotLaunch:  # which is told where it is started
        named = list(server.env)
    if server.inherit_env == ALL:
        text = f"all of this machine's {len(variables)} variables"
    else:
        usual = sum(_MINIMAL.fullmatch(name) is not None for name in variables)
        named = [*(name for name in variables if not _MINIMAL.fullmatch(name)), *named]
        text = f"minimal ({usual})"
    shown = [f"{len(named) - _NAMED} more"] if len(named) > _NAMED else []
    return " + ".join(part for part in (text, ", ".join([*named[:_NAMED], *shown])) if part)


def unset(server: Server, config_path: Path, env: Mapping[str, str] = os.environ) -> list[str]:
    """The variables that the entry of `server` needs and that mcpctl does not have; nothing is run to find out."""
    ours = _ours(env)
    missing = lacking([server.env_file], ours)
    try:
        known = {**ours, **({} if missing else _of_file(server, config_path, env))}
    except CannotLaunch:
        return missing
    missing += lacking(server.env.values(), known)
    login = [server.oauth.issuer, server.oauth.client_id, server.oauth.client_secret] if server.oauth else []
    texts = [server.command, *server.args, server.cwd, server.url, *server.headers.values(), *login]
    texts += texts_of_api(server)
    return list(dict.fromkeys([*missing, *lacking(texts, {**known, **server.env})]))


def lacking(texts: Iterable[str | None], known: Mapping[str, str]) -> list[str]:
    matches = (match for text in texts for match in VALUE.finditer(text or ""))
    return [name for match in matches if (name := match[2]) and match[3] is None and name not in known]


def _ours(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name not in OWN_SECRETS}


def _given(server: Server, config_path: Path, env: Mapping[str, str]) -> dict[str, str]:
    given = _of_file(server, config_path, env)
    known = {**_ours(env), **given}
    return {**given, **{name: expand(value, known) for name, value in server.env.items()}}


def _of_file(server: Server, config_path: Path, env: Mapping[str, str]) -> dict[str, str]:
    if not server.env_file:
        return {}
    path = config_path.parent / Path(expand(server.env_file, _ours(env))).expanduser()
    try:
        text = files.read_text(path, _MAX_ENV_FILE)
    except McpctlError as error:
        raise CannotLaunch(
            f"its env_file cannot be used: {error.message}", "fix env_file in its entry in config.toml"
        ) from error
    from dotenv.parser import parse_stream  # takes 60 ms, only for servers with an env_file

    if blanks := _BLANKS.search(text):
        line = text.count("\n", 0, blanks.start()) + 1
        raise CannotLaunch(f"its env_file has 256 blanks in a row in line {line}: {path}", "fix that line")
    variables: dict[str, str] = {}
    for binding in parse_stream(io.StringIO(text)):
        if binding.key is None and not binding.error:
            continue  # a comment, or blank lines
        if binding.error or binding.value is None or not _NAME.match(binding.key or "") or "\0" in binding.value:
            text = binding.original.string
            line = binding.original.line + text[: len(text) - len(text.lstrip())].count("\n")
            raise CannotLaunch(f"its env_file has no NAME=value in line {line}: {path}", "fix that line")
        variables[binding.key or ""] = binding.value
    return variables


# ---- the output of commands in place of ${cmd:COMMAND}: run once, kept in memory, never stored and never shown

_outputs: dict[str, str] = {}
_running: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


def _output_of(command: str, env: Mapping[str, str]) -> str:
    """The command's output without the last line break, run once for all that ask; raises `CannotLaunch`."""
    with _running[command]:
        if command not in _outputs:
            _outputs[command] = _printed(command, env)
        return _outputs[command]


def known_output(command: str) -> str:
    return _outputs.get(command, "")


def _printed(command: str, env: Mapping[str, str]) -> str:
    try:
        argv = shlex.split(command)
    except ValueError:
        argv = []
    if not argv:
        raise CannotLaunch("${cmd:} names no command", "write a program and its arguments, quoted as in a shell")
    program = repr(Path(argv[0]).name[:100])
    try:
        printed = _output([str(Path(argv[0]).expanduser()), *argv[1:]], env, program)
        text = printed.decode()
        if "\0" in text:
            raise ValueError
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its output is not text"
        raise CannotLaunch(f"the command {program} cannot be used: {why}", _LOOK) from None
    return text.removesuffix("\n")


def _output(argv: list[str], env: Mapping[str, str], program: str) -> bytes:
    """All its output; a process that takes too long or prints too much is ended with all that it has started."""
    until = time.monotonic() + PATIENCE_S
    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(env),
        start_new_session=True,
    )  # fmt: skip
    with process:
        try:
            assert process.stdout
            printed = _read_pipe(process.stdout.fileno(), until)
            if len(printed) > LONGEST:
                raise CannotLaunch(f"the command {program} prints more than {LONGEST >> 10} KB", _LOOK)
            status = process.wait(max(until - time.monotonic(), 0.0))
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, TimeoutError | subprocess.TimeoutExpired):
                late = f"the command {program} did not end within {PATIENCE_S:g} s"
                raise CannotLaunch(late, _LOOK) from None
            raise
    if status:
        raise CannotLaunch(f"the command {program} failed with status {status}", _LOOK)
    return printed


def _read_pipe(fd: int, until: float) -> bytes:
    """All output, or a byte too many; raises TimeoutError. It never blocks: a process that left may hold the pipe."""
    ready = select.poll()
    ready.register(fd, select.POLLIN)
    printed = b""
    while len(printed) <= LONGEST:
        if not ready.poll(max(until - time.monotonic(), 0.0) * 1000):
            raise TimeoutError
        piece = os.read(fd, LONGEST + 1 - len(printed))
        if not piece:
            break
        printed += piece
    return printed
