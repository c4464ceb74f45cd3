"""Options of the commands that write a server's entry, and the keys that they are written under."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from mcpctl.base.errors import WrongUsage
from mcpctl.commands import complete
from mcpctl.commands import options as opt
from mcpctl.config.server_settings import Server

_NAMES = {
    "env": re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z"),
    "header": re.compile(r"[^\s:]+\Z"),
    "oauth": re.compile(r"[a-z_]+\Z"),
    "auth": re.compile(r"[^\s=](?:[^=]*[^\s=])?\Z"),
}
_DOCUMENT = re.compile(r"/(?:openapi|swagger)[^/]*\.(?:json|ya?ml)\Z", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")  # how a shell has a variable before a command

Command = Annotated[list[str] | None, opt.argument("[-- COMMAND [ARGS]...]", "The command that starts the server.")]


class _Remote(opt.Options, section="A server with a URL"):
    url: str | None = opt.option("--url", "URL", "The address of a remote server.")
    transport: str | None = opt.option("--transport", "http|sse", "Streamable HTTP, or the older SSE.", ("http", "sse"))
    header: list[str] | None = opt.option(
        "--header", "NAME=VALUE", "A header of requests; 'Bearer ${VAR}' or '${cmd:COMMAND}' keeps secrets out."
    )
    oauth: list[str] | None = opt.option(
        "--oauth",
        "NAME=VALUE",
        "Settings of the login, such as client_id=ID or 'client_secret=${VAR}'; see man 5 mcpctl-config.",
        ("client_id=", "client_secret=", "scopes=", "issuer=", "redirect_port=", "grant="),
    )


class _Started(_Remote, section="A server with a command"):
    env: list[str] | None = opt.option(
        "--env", "NAME=VALUE", "A variable; '${VAR}' or '${cmd:COMMAND}' keeps secrets out."
    )
    env_file: str | None = opt.option("--env-file", "FILE", "A file of NAME=value lines for its environment.")
    inherit_env: list[str] | None = opt.option(
        "--inherit-env",
        "all|minimal|NAME",
        "It gets all variables of mcpctl, the usual few (minimal), or those and NAME. [default: minimal]",
        ("all", "minimal"),
    )
    cwd: str | None = opt.option("--cwd", "DIR", "The folder in which the command runs.")


def _schemes(ctx: typer.Context, incomplete: str) -> list[complete.Pair]:
    """The security schemes of the document that is given, where it is a small file of JSON, or of a server's."""
    from mcpctl.openapi import overview

    paths = complete.paths_of(ctx)
    # An option without its value hides the words before it.
    named = overview.schemes_of(paths, ctx.params.get("openapi"), (ctx.params["name"], *ctx.args))
    return [(f"{name}=", kind) for name, kind in named if name.startswith(incomplete) and name.isprintable()]


class _OfApi(_Started, section="An HTTP API"):
    openapi: str | None = opt.option(
        "--openapi", "FILE|URL", "The OpenAPI document whose operations are tools; --url is then its base."
    )
    include: list[str] | None = opt.option(
        "--include", "PATTERN", "Only these operations: a tool's name with *, tag:TAG, or 'METHOD PATH'."
    )
    exclude: list[str] | None = opt.option("--exclude", "PATTERN", "Not these, of those that are included.")
    auth: list[str] | None = opt.option(
        "--auth", "SCHEME=VALUE", "A credential, by its security scheme; '${VAR}' or '${cmd:COMMAND}' keeps it out.",
        _schemes,
    )  # fmt: skip


class EntryOptions(_OfApi, section="Either"):
    project: list[str] | None = opt.option("--project", "NAME", "A project that sees it; else all.", complete.projects)
    deny: list[str] | None = opt.option("--deny", "TOOL", "A tool that can be neither found nor called.")
    only: list[str] | None = opt.option("--only", "TOOL", "A tool, or some with *: no other tools are offered.")
    start_timeout: float | None = opt.option("--start-timeout", "S", "Seconds that the start may take.")
    call_timeout: float | None = opt.option("--call-timeout", "S", "Seconds that a call may take; 0: no limit.")

    def given(self, words: Sequence[str]) -> dict[str, Any]:
        """The given keys of an entry, with the command in `words`; raises `WrongUsage`."""
        program, *args = words or [""]
        values = {
            "command": program, "args": args, "url": self.url, "transport": self.transport,
            "headers": _assignments("header", self.header or []),
            "oauth": _login(self.oauth or []),
            "env": _assignments("env", self.env or []),
            "env_file": self.env_file, "inherit_env": _inheritance(self.inherit_env or []),
            "cwd": self.cwd, "start_timeout_s": self.start_timeout, "call_timeout_s": self.call_timeout,
            "projects": list(dict.fromkeys(self.project or [])), "tools": dict.fromkeys(self.deny or [], False),
            "only": list(dict.fromkeys(self.only or [])),
            "openapi": self.openapi, "include": list(dict.fromkeys(self.include or [])),
            "exclude": list(dict.fromkeys(self.exclude or [])), "auth": _assignments("auth", self.auth or []),
        }  # fmt: skip
        return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def ad_hoc(options: opt.AdHocServer) -> Server:
    """The server that is in a command line alone; raises `WrongUsage`."""
    from mcpctl.config import editing
    from mcpctl.config.server_settings import check_server

    words = options.program or []
    check_program(words, "…")
    entry = EntryOptions(**{**dict.fromkeys(EntryOptions.defaults()), **vars(options)})
    return check_server("new", editing.entry(entry.given(words)))


def of_call(options: opt.AdHocServer, key: str) -> Server | None:
    """The server of a call, if the command line has one; raises `WrongUsage`, also for an address in place of a key."""
    if options.is_given:
        return ad_hoc(options)
    if key.startswith(("http://", "https://")):
        from mcpctl.config.entry_secrets import masked_url

        address = masked_url(key)
        raise WrongUsage(f"'{address}' is an address, not a tool", f"give it with its tool: --url {address} TOOL")
    return None


def warn_of_document(name: str, url: str) -> None:
    """Warn of an address that is that of an OpenAPI document by its name."""
    import shlex

    from mcpctl.base.errors import warn
    from mcpctl.config.entry_secrets import masked_url

    if _DOCUMENT.search(url.partition("?")[0]):
        how = f"mcpctl servers add {name} --openapi {shlex.quote(masked_url(url))}"
        warn(f"--url is for MCP servers, and this is named as an OpenAPI document, which is for: {how}")


def warn_of_secrets(given: Mapping[str, Any]) -> None:
    """Warn of credentials in the open, once."""
    from mcpctl.base.errors import warn
    from mcpctl.config.entry_secrets import in_the_open

    if places := list(in_the_open(given)):
        one = "it is" if len(places) == 1 else "they are"
        warn(f"{', '.join(places)}: {one} in config.toml as given; ${{VAR}} or ${{cmd:COMMAND}} keeps it out")


def check_no_file(words: Sequence[str]) -> None:
    """Raise `WrongUsage` for a client's file in place of a server."""
    import shlex

    if words[-1].endswith(".json") and len(words) <= len(("NAME", "COMMAND")):
        hint = f"take over the servers in it with: mcpctl servers import --from {shlex.quote(words[-1])}"
        hint += f"; if it is the OpenAPI document of an HTTP API: --openapi {shlex.quote(words[-1])}"
        raise WrongUsage(f"'{words[-1]}' is a JSON file, not a server", hint, "file_as_server")


def check_program(words: Sequence[str], command: str, to_url: str = "--url") -> None:
    """Raise `WrongUsage` for a URL, variable or command line as program; `command` and `to_url` are for the hint."""
    import itertools
    import os
    import shlex
    import shutil

    from mcpctl.config.entry_secrets import masked_url
    from mcpctl.config.server_settings import URL
    from mcpctl.secrets.redact import mask

    line = words[0] if words else ""
    if URL.match(line):
        hint = f"give it as one: {command} {to_url} {shlex.quote(masked_url(line))}"
        raise WrongUsage("the command is a URL, which no program has as its name", hint, "url_as_command")
    is_variable = _VARIABLE.match(line) is not None
    is_line = any(map(str.isspace, line.strip())) and (is_variable or "${" not in line)
    if not (is_line or is_variable) or shutil.which(line) or os.path.exists(line):  # noqa: PTH110 - Path.exists raises for a word too long for a path
        return
    try:
        split = [*(shlex.split(line) if is_line else [line]), *words[1:]]
    except ValueError:  # a quote is open
        split = [*line.split(), *words[1:]]
    variables = list(itertools.takewhile(_VARIABLE.match, split))
    rest = shlex.join(split[len(variables) :]) or "COMMAND"
    hint = mask(" ".join([command, *(f"--env {shlex.quote(each)}" for each in variables), "--", rest]))
    if not is_line:
        name = line.partition("=")[0]
        raise WrongUsage(f"the command begins with the variable {name}", f"give it as one: {hint}", "variable_first")
    hint = f"give its words one by one: {hint}"
    raise WrongUsage(
        f"'{mask(line)}' is a whole command line, and no program of that name is there", hint, "whole_line"
    )


def _inheritance(given: Sequence[str]) -> str | list[str]:
    from mcpctl.config import server_settings

    is_word = len(given) == 1 and given[0] in (server_settings.ALL, server_settings.MINIMAL)
    return given[0] if is_word else list(dict.fromkeys(given))


def _login(given: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = _assignments("oauth", given)
    if "scopes" in values:
        values["scopes"] = values["scopes"].replace(",", " ").split()
    if (port := values.get("redirect_port", "")).isdecimal() and len(port) <= len("65535"):
        values["redirect_port"] = int(port)
    return values


def _assignments(option: str, texts: list[str]) -> dict[str, str]:

    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not _NAMES[option].match(name):
            example = {
                "oauth": "client_id=ID", "env": "'TOKEN=${TOKEN}'", "header": "'Authorization=Bearer ${TOKEN}'",
                "auth": "'bearerAuth=${TOKEN}'",
            }[option]  # fmt: skip
            raise WrongUsage(f"--{option} needs NAME=VALUE", f"for example: --{option} {example}")
        if name in values:
            raise WrongUsage(f"--{option} {name} is given twice, and only one value can count", f"give {name} once")
        values[name] = value
    return values
