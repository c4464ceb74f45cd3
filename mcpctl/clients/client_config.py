"""The entry for mcpctl in a client's configuration, the variables that it has there, and the PATH of a window.

No shell starts a client with a window, so that its PATH lacks the folders of nvm, uv or pyenv.
"""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from mcpctl.base import paths
from mcpctl.base.errors import WrongUsage
from mcpctl.clients import client_kinds
from mcpctl.clients.client_kinds import CLIENTS
from mcpctl.config.server_environment import CannotLaunch, expand, inherited
from mcpctl.config.server_settings import ALL, FROM_COMMAND, MINIMAL, Server
from mcpctl.config.settings import TOKEN
from mcpctl.secrets.redact import mask

NAME = "mcpctl"
VARIABLES = ("MCPCTL_HOME", "MCPCTL_CONFIG", "MCPCTL_DATA_DIR")
_PLACES = ("--config", "--data-dir")
SHOWN = (*VARIABLES, "PATH")
_STANDARD = ("/usr/bin", "/bin", "/usr/sbin", "/sbin", *(("/usr/local/bin",) if sys.platform == "darwin" else ()))
_RUNNERS = ("npx", "node", "uvx", "uv")  # servers that are added later need these, too
_INTERPRETER = re.compile(rb"#!\s*\S*/env\s+(?:-S\s+)?([\w.+-]+)")
_MAX_CHAIN = 3
ServeOptions = Mapping[str, Path | str | bool | Sequence[str] | None]  # the options of `serve` for the entry, by name


def text(client: str, options: ServeOptions, servers: Iterable[Server] = ()) -> str:
    """The block for `client`, as JSON or TOML; with a PATH where the client's own would not find these `servers`."""
    return block(client, entry(client, options, servers))


def block(client: str, entry: Mapping[str, Any]) -> str:
    """An entry as it stands in the client's file."""
    block = {CLIENTS[client].section: {NAME: entry}}
    if client != "codex":
        return json.dumps(block, indent=2, ensure_ascii=False)
    import tomli_w

    return tomli_w.dumps(block).rstrip("\n")


def entry(
    client: str, options: ServeOptions, servers: Iterable[Server] = (), old: Any = None, *, is_shared: bool = False
) -> dict[str, Any]:
    """The entry in that block, with the options of an old entry that are not given now. One that is shared has nothing
    of this machine: it starts the mcpctl that each has on the PATH."""
    start, env = ([NAME], {}) if is_shared else (command(), environment())
    words = [*start, "serve", *_kept(old, {*_PLACES, *(name for name, value in options.items() if value)})]
    words += option_words(options)
    if not is_shared and not CLIENTS[client].from_shell and (path := window_path(servers)):
        env["PATH"] = path
    if client == "opencode":
        return {"type": "local", "command": words, **({"environment": env} if env else {}), "enabled": True}
    kind = {"vscode": {"type": "stdio"}, "claude-code": {"type": "stdio"}, "zed": {"source": "custom"}}.get(client, {})
    return {**kind, "command": words[0], "args": words[1:], **({"env": env} if env else {})}


_REMOTE: Mapping[str, tuple[str, Mapping[str, Any]]] = {  # the member that has the address, and others
    "claude-code": ("url", {"type": "http"}), "cursor": ("url", {}), "vscode": ("url", {"type": "http"}),
    "windsurf": ("serverUrl", {}), "codex": ("url", {"bearer_token_env_var": TOKEN}), "gemini-cli": ("httpUrl", {}),
    "zed": ("url", {}), "cline": ("url", {"type": "streamableHttp"}),
    "opencode": ("url", {"type": "remote", "enabled": True}),
}  # fmt: skip
_FROM_ENVIRONMENT = {
    "claude-code": "${%s}",
    "cursor": "${env:%s}",
    "vscode": "${env:%s}",
    "windsurf": "${env:%s}",
    "gemini-cli": "${%s}",
    "opencode": "{env:%s}",
}


def remote_entry(client: str, url: str) -> dict[str, Any]:
    """The entry for an mcpctl that serves at this address, with the token of its variable where the client has one;
    raises `WrongUsage` for a client whose file takes no address."""
    if client not in _REMOTE:
        others = ", ".join(_REMOTE)
        hint = f"it can start mcpctl itself: mcpctl install {client}; clients that take one: {others}"
        raise WrongUsage(f"the file of {CLIENTS[client].title} takes no address of a server", hint, "no_address")
    member, others_ = _REMOTE[client]
    if client == "codex":
        return {member: url, **others_}
    token = _FROM_ENVIRONMENT.get(client, "%s") % TOKEN
    return {**others_, member: url, "headers": {"Authorization": f"Bearer {token}"}}


def where_its_token_is(client: str) -> str:
    """Where a person puts the token of their own, in words."""
    if client in _FROM_ENVIRONMENT or client == "codex":
        return f"{CLIENTS[client].title} takes your own token from {TOKEN} of the environment that it is started in"
    return f"write your own token where it says {TOKEN}; it is a secret"


def link(client: str, entry: Mapping[str, Any]) -> str:
    """The address that has the client ask whether to add this entry; raises `WrongUsage` for a client without one.

    Cursor's is at https://cursor.com/docs/mcp/install-links, VS Code's at
    https://code.visualstudio.com/api/extension-guides/ai/mcp#create-an-mcp-installation-url.
    """
    if not CLIENTS[client].link:
        others = ", ".join(name for name, kind in CLIENTS.items() if kind.link)
        hint = f"clients that have one: {others}; print the entry itself without --link"
        raise WrongUsage(f"{CLIENTS[client].title} has no link that adds a server", hint, "no_link")
    import base64

    plain, named = (json.dumps(each, separators=(",", ":")) for each in (entry, {"name": NAME, **entry}))
    texts = {"name": NAME, "base64": base64.b64encode(plain.encode()).decode(), "json": named}
    return CLIENTS[client].link.format_map({key: quote(text, safe="") for key, text in texts.items()})


def add_command(client: str, entry: Mapping[str, Any], scope: str = "user") -> str | None:
    """The client's own command that adds this entry for its user, or with the scope `project` to a repository, for a
    shell; None if it has none."""
    if scope != "user" and client not in ("claude-code", "gemini-cli"):
        return None
    if client == "vscode":
        return shlex.join(["code", "--add-mcp", json.dumps({"name": NAME, **entry}, ensure_ascii=False)])
    variables = [f"{name}={value}" for name, value in entry.get("env", {}).items()]
    start = [entry.get("command"), *entry.get("args", ())]
    if client == "claude-code":  # its -e takes all words up to the next option, and the name comes after the options
        words = ["claude", "mcp", "add", *_each("-e", variables), "--scope", scope, NAME, "--", *start]
    elif client == "codex":
        words = ["codex", "mcp", "add", NAME, *_each("--env", variables), "--", *start]
    elif client == "gemini-cli":
        words = ["gemini", "mcp", "add", "-s", scope, *_each("-e", variables), NAME, start[0], "--", *start[1:]]
    else:
        return None
    return shlex.join(map(str, words))


def _each(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def goes_into(client: str, place: Path | None = None) -> str:
    place = place or next(client_kinds.places(CLIENTS[client]))
    return f"{CLIENTS[client].title} reads this from {place}: add it to what the file has"


def command() -> list[str]:
    """The words that start this very mcpctl from anywhere."""
    program = Path(sys.argv[0])
    if program.name == NAME and (executable := shutil.which(sys.argv[0])):
        return [str(Path(executable).absolute())]
    # It was started as `python -m mcpctl`, or by a program that imports it.
    # -P: Python would else look into the folder that the client starts it in, which may be anybody's project, first.
    return [str(Path(sys.executable).absolute()), "-P", "-m", "mcpctl"]


def _kept(old: Any, others: Collection[str]) -> list[str]:
    words = start_words(old)
    words = words[words.index("serve") + 1 :] if "serve" in words else []
    kept: list[str] = []
    is_kept = True
    for word in words:
        if word.startswith("-"):
            is_kept = word.partition("=")[0] not in others
        kept += [word] if is_kept else []
    return kept


def start_words(value: Any) -> list[str]:
    """The command of a client's entry and its arguments; empty where there are none."""
    if not isinstance(value, dict):
        return []
    command = value.get("command")
    parts = [command.get("path"), command.get("args")] if isinstance(command, dict) else [command, value.get("args")]
    words = [word for part in parts for word in (part if isinstance(part, list) else [part])]
    return [str(word) for word in words if word is not None]


def config_file(words: Iterable[str], env: Mapping[str, str]) -> Path:
    parts = [part for word in words for part in word.split("=", 1)]
    named = next((value for word, value in pairwise(parts) if word == "--config"), None)
    return Path(named).expanduser() if named else paths.find(env=env).config


def option_words(options: ServeOptions) -> list[str]:
    words: list[str] = []
    for option, given in options.items():
        for value in given if isinstance(given, list | tuple) else [given] if given else []:
            word = str(_absolute(value)) if isinstance(value, Path) else value
            words += [option] if word is True else [option, str(word)]
    return words


def environment() -> dict[str, str]:
    """The variables of this shell that say where mcpctl keeps things, which a client's own may not have."""
    return {name: str(_absolute(Path(value))) for name in VARIABLES if (value := os.environ.get(name))}


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()


def inherited_from(client: str, server: Server) -> dict[str, str]:
    """The variables that an entry's process inherits of its client; `server` is the entry as config.toml has it."""
    if not CLIENTS[client].from_shell:  # a window has nothing of what a shell's own files set
        usual = inherited(msgspec.structs.replace(server, inherit_env=MINIMAL))
        return {**usual, "PATH": os.pathsep.join(_STANDARD)}
    if client == "codex":  # which passes on only what the entry names
        return inherited(server)
    return inherited(msgspec.structs.replace(server, inherit_env=ALL))


def of_mcpctl(client: str, entry: Any) -> dict[str, str]:
    """The variables of an mcpctl that the client starts; `entry` is the value in its file, None for a new one."""
    raw = entry if isinstance(entry, dict) else {}
    named = raw.get("env_vars")
    server = Server(inherit_env=[str(name) for name in named] if isinstance(named, list) else MINIMAL)
    own = [raw[key] for key in ("env", "environment") if isinstance(raw.get(key), Mapping)]
    return {**inherited_from(client, server), **{name: str(value) for env in own for name, value in env.items()}}


def missing_program(server: Server, variables: Mapping[str, str]) -> str:
    """The program of a server that an mcpctl with these variables, or this shell's PATH, does not find; empty where
    only a start can tell. Nothing is run to find out."""
    texts = [server.command, server.cwd or "", server.env.get("PATH", "")]
    if not server.command or any(FROM_COMMAND in text for text in texts):
        return ""
    try:
        command, cwd, path = (expand(text, variables) for text in texts)
    except CannotLaunch:  # reported elsewhere, as a variable that is not set
        return ""
    file = os.path.expanduser(command)  # noqa: PTH111 - Path.expanduser raises for a user who is not there
    if os.sep in file and not file.startswith(os.sep):
        if not cwd:
            return ""  # in which folder the client starts it, nobody knows here
        file = os.path.join(os.path.expanduser(cwd), file)  # noqa: PTH111, PTH118
    paths = [path] if path else [variables.get("PATH", ""), os.environ.get("PATH", "")]
    return "" if any(shutil.which(file, path=place or os.defpath) for place in paths) else mask(server.command)


def missing_in_windows(servers: Mapping[str, Server], path: str | None = None) -> dict[str, str]:
    """The missing program of each server that starts here but not from a window with this PATH."""
    path = os.pathsep.join(_STANDARD) if path is None else path
    missing = {}
    for name, server in servers.items():
        if server.command and "PATH" not in server.env:
            programs = [program for program in _programs(server.command) if shutil.which(program)]
            lost = [program for program in programs if not shutil.which(program, path=path)]
            missing.update({name: lost[0]} if lost else {})
    return missing


def window_path(servers: Iterable[Server]) -> str | None:
    """A PATH that finds what starts these servers, in this shell's order; None if the standard one finds it."""
    commands = [*_RUNNERS, *(server.command for server in servers if server.command and "PATH" not in server.env)]
    programs = [program for command in commands for program in _programs(command)]
    needed = {str(Path(file).parent) for program in programs if (file := shutil.which(program))}
    if needed.issubset(_STANDARD):
        return None
    usual = [place for place in (*_STANDARD, "/usr/local/bin") if Path(place).is_dir()]
    shell = [str(Path(place)) for place in os.environ.get("PATH", "").split(os.pathsep) if Path(place).is_absolute()]
    return os.pathsep.join(dict.fromkeys([*(place for place in shell if place in {*needed, *usual}), *usual]))


def _programs(command: str) -> Iterator[str]:
    """The names that the start of a command looks up on the PATH: its own, and those in the #! lines of scripts."""
    for _ in range(_MAX_CHAIN):
        if os.sep not in command:
            yield command
        file = Path(shutil.which(command) or os.devnull)
        try:
            if not file.is_file():
                return
            with file.open("rb") as stream:
                interpreter = _INTERPRETER.match(stream.read(200))
        except OSError:
            return
        if interpreter is None:
            return
        command = interpreter[1].decode()
