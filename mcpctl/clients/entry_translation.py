"""A client's entry translated into one of config.toml, with a note for each thing that has no equivalent there."""

import json
import os
import re
import shlex
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from mcpctl.clients import client_config
from mcpctl.clients.client_files import ClientEntry
from mcpctl.config import editing, server_settings

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_IN_BRACES = re.compile(r"\$\{([^{}]*)\}")
_OURS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-.*)?\Z", re.DOTALL)
_OPENCODE = re.compile(r"(?<!\$)\{(env|file):([^{}]*)\}")
_BARE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_CLIENT_ONLY = re.compile(
    r"(?:env|file|command|config|secret|workspaceFolder):|(?:workspaceFolder\w*|workspaceRoot|execPath|cwd)\Z"
)
_ALIASES = {
    "serverUrl": "url", "httpUrl": "url", "transport": "type", "transportType": "type", "environment": "env",
    "envFile": "env_file", "http_headers": "headers", "disabledTools": "disabled_tools",
    "excludeTools": "disabled_tools", "includeTools": "enabled_tools",
}  # fmt: skip
_ONLY = "enabled_tools"  # the key of the only tools that are offered; an empty list is none of them
_KINDS = {
    "stdio": "stdio", "local": "stdio", "http": "http", "streamablehttp": "http", "sse": "sse", "remote": "",
}  # fmt: skip
_SAME_HERE = ("source",)  # keys that can be left out without a note: Zed's `source: "custom"` means nothing here
_RULES = {"codex": ("default_tools_approval_mode", "tools"), "gemini-cli": ("trust",)}
NEEDS_RULES = "its permission rules are left out; take them over with: mcpctl policy import"
_TIMEOUTS = {
    "startup_timeout_ms": ("start_timeout_s", 0.001),
    "startup_timeout_sec": ("start_timeout_s", 1.0),
    "tool_timeout_sec": ("call_timeout_s", 1.0),
}
_MAX_SECONDS = 1e10
_ITSELF = re.compile(r"mcpctl(?:\.exe)?(?:(?:@|==).*)?\Z")
Table = dict[str, Any]


class CannotTake(ValueError):
    """A client's entry cannot be translated; the message says why."""


class LeftOut(CannotTake):
    """A client's entry is left out, though nothing is wrong with it; the message says why."""


def table_of(entry: ClientEntry) -> tuple[Table, list[str]]:
    """The entry for config.toml, and notes on it for a person; raises `CannotTake`."""
    translation = _Translation(entry)
    table = translation.table()
    if server_settings.FROM_COMMAND in json.dumps(table, ensure_ascii=False):
        raise CannotTake("it would have mcpctl run a command, ${cmd:…}; if you want that, write it into config.toml")
    try:
        server_settings.check_server("new", table)
    except ValueError as error:
        raise CannotTake(str(error).lstrip(".: ")) from error
    return table, translation.notes


def is_mcpctl(value: Any) -> bool:
    """Whether an entry starts `mcpctl serve` in any way: mcpctl behind itself would start itself for ever."""
    # Joined and split again, since all words may be in one argument: that of a shell's -c.
    words = " ".join(client_config.start_words(value)).split()
    names = [word.strip("'\"").rpartition("/")[2] for word in words]
    return any(_ITSELF.match(name) and "serve" in names[place + 1 :] for place, name in enumerate(names))


def _plain(value: Any) -> Table:
    if not isinstance(value, dict):
        raise CannotTake("it is not an object")
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        raise CannotTake("it has text that is not Unicode") from None
    plain: Table = {}
    for key, item in value.items():
        name = _ALIASES.get(key) or str(key)
        if item in (None, "", [], {}) and (item, name) != ([], _ONLY):
            continue
        if plain.setdefault(name, item) != item:
            raise CannotTake(f"it has two values for {name}")
    if isinstance(command := plain.get("command"), dict):  # an older Zed's
        del plain["command"]
        words = {"command": command.get("path"), "args": command.get("args"), "env": command.get("env")}
        return _plain({**plain, **words})
    return plain


class _Translation:
    def __init__(self, entry: ClientEntry) -> None:
        self._entry = entry
        self._client = entry.file.client
        self._remaining = _plain(entry.value)
        self.notes: list[str] = []

    def table(self) -> Table:
        entry, remaining = self._entry, self._remaining
        enabled = self._flag("enabled", True) and not self._flag("disabled", False)
        kind = self._kind()
        table = self._local() if kind == "stdio" else self._remote(kind)
        table |= self._timeouts()
        off = [name for name, is_on in entry.switches.items() if is_on is False]
        denied = self._words(remaining.pop("disabled_tools", None) or [], "disabled_tools") + self._switched_off(off)
        if denied:
            table["tools"] = dict.fromkeys(denied, False)
        if _ONLY in remaining:
            table["only"] = self._words(remaining.pop(_ONLY), _ONLY)
        if entry.approval == "refused":
            self._note(
                "Claude Code has it switched off for its project, so it is disabled here; "
                "enable it with: mcpctl servers enable"
            )
        elif entry.approval == "none":
            self._note("nobody has approved it in Claude Code; here it is enabled, and the next serve may start it")
        is_switched_off = any(fnmatchcase(f"{entry.name}_", pattern) for pattern in off)
        if is_switched_off:
            self._note(
                "opencode has all its tools switched off, so it is disabled here; enable it with: mcpctl servers enable"
            )
        if not enabled or entry.approval == "refused" or is_switched_off:
            table["enabled"] = False
        rules = _RULES.get(self._client.name, ()) if self._client else ()
        if any(remaining.pop(key, None) for key in rules):
            self._note(NEEDS_RULES)
        if lost := sorted(key for key, value in remaining.items() if value and key not in _SAME_HERE):
            self._note(f"left out, since mcpctl has no equivalent: {', '.join(lost)}")
        return table

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _switched_off(self, off: list[str]) -> list[str]:
        prefix = f"{self._entry.name}_"
        names = [name.removeprefix(prefix) for name in off if name.startswith(prefix)]
        if patterns := [name for name in names if "*" in name and name.strip("*")]:
            some = ", ".join(patterns)
            self._note(f"its tools {some} are switched off in opencode, not here: deny them with tools deny")
        return [name for name in names if "*" not in name]

    def _flag(self, key: str, default: bool) -> bool:
        value = self._remaining.pop(key, default)
        if not isinstance(value, bool):
            raise CannotTake(f"{key} must be true or false")
        return value

    def _kind(self) -> str:
        remaining = self._remaining
        type_ = remaining.pop("type", None)
        kind: str | None = ""
        if type_ is not None:
            kind = _KINDS.get(re.sub(r"[^a-z]", "", type_.lower())) if isinstance(type_, str) else None
        if kind is None:
            raise CannotTake(f"its type {type_!r} is not supported; mcpctl supports stdio, http and sse")
        if "command" in remaining and "url" in remaining:
            raise CannotTake("it has a command and a url; keep one of them")
        if "command" not in remaining and "url" not in remaining:
            if "settings" in remaining or remaining.get("source") == "extension":
                raise LeftOut("an extension of Zed starts it, and its command is not in the file")
            raise CannotTake("it has neither a command nor a url")
        given = "url" if "url" in remaining else "command"
        if kind and (kind == "stdio") != (given == "command"):
            raise CannotTake(f"its type is {type_}, but it has a {given}")
        if given == "command":
            return "stdio"
        if not kind and editing.is_sse(str(remaining["url"])):
            self._note('its url looks like an SSE server\'s, so it gets transport = "sse"')
            return "sse"
        return kind or "http"

    def _local(self) -> Table:
        remaining, project = self._remaining, self._entry.project
        command, args = remaining.pop("command"), remaining.pop("args", [])
        if isinstance(command, list):
            command, args = command[0], [*command[1:], *(args if isinstance(args, list) else [args])]
        words = [self._text(command, "command"), *self._words(args, "args")]
        if len(words) == 1 and " " in words[0].strip() and not os.path.exists(words[0]):  # noqa: PTH110 - Path.exists raises for a word too long for a path
            words = self._split(words[0])
        table: Table = {"command": words[0]}
        if words[1:]:
            table["args"] = words[1:]
        table["inherit_env"] = self._words(remaining.pop("env_vars", []), "env_vars") or server_settings.MINIMAL
        if env := self._pairs("env"):
            table["env"] = env
        for key in ("env_file", "cwd"):
            if key in remaining:
                path = self._text(remaining.pop(key), key)
                if project and not path.startswith(("/", "~", "$")):  # mcpctl starts servers elsewhere
                    path = str(project / path)
                table[key] = path
        if project and "cwd" not in table and any(word.startswith(("./", "../")) or word == "." for word in words):
            table["cwd"] = str(project)
            self._note(f"its paths are relative to the project, so it is started in {project}")
        return table

    def _split(self, line: str) -> list[str]:
        try:
            words = shlex.split(line)
        except ValueError:
            return [line]
        self._note("its command was a whole command line; it is split into words")
        return words or [line]

    def _remote(self, kind: str) -> Table:
        table: Table = {"url": self._text(self._remaining.pop("url"), "url")}
        if kind == "sse":
            table["transport"] = kind
        headers = self._pairs("headers")
        for header, variable in self._pairs("env_http_headers").items():
            headers[header] = _variable(variable, "env_http_headers")
        if "bearer_token_env_var" in self._remaining:
            token = _variable(self._remaining.pop("bearer_token_env_var"), "bearer_token_env_var")
            headers["Authorization"] = f"Bearer {token}"
        if headers:
            table["headers"] = headers
        if env := self._pairs("env"):
            table["env"] = env
        return table

    def _timeouts(self) -> Table:
        units = dict(_TIMEOUTS)
        if self._client and self._client.timeout_unit_s:
            units["timeout"] = ("call_timeout_s", self._client.timeout_unit_s)
        table: Table = {}
        for key, (ours, unit) in units.items():
            if key not in self._remaining:
                continue
            value = self._remaining.pop(key)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MAX_SECONDS:
                raise CannotTake(f"{key} must be a number, 0 or more")
            seconds = round(float(value * unit), 3)
            table[ours] = int(seconds) if seconds.is_integer() else seconds
        return table

    def _words(self, value: Any, where: str) -> list[str]:
        if not isinstance(value, list):
            raise CannotTake(f"{where} must be a list")
        return [self._text(word, where) for word in value]

    def _pairs(self, key: str) -> dict[str, str]:
        value = self._remaining.pop(key, {})
        if not isinstance(value, Mapping):
            raise CannotTake(f"{key} must be an object")
        for name in [name for name, item in value.items() if item is None]:
            self._note(f"{key}.{name} is null; mcpctl does not remove variables from the environment")
        return {
            str(name): self._text(item, f"{key}.{name}", str(name) if key == "env" else "")
            for name, item in value.items()
            if item is not None
        }

    # ---- the variables in its texts

    def _text(self, value: Any, where: str, variable: str = "") -> str:
        """A text with a client's variables as config.toml has them; raises `CannotTake` where only it has them."""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, int | float):
            return str(value)
        if not isinstance(value, str):
            raise CannotTake(f"{where} must be text")
        text = value
        if self._client and self._client.name == "gemini-cli":
            text = _BARE.sub(r"${\1}", text)
        text = _OPENCODE.sub(lambda match: f"${{{match[1]}:{match[2]}}}", text)
        return _IN_BRACES.sub(lambda match: self._replacement(match[1], variable if match[0] == text else ""), text)

    def _replacement(self, body: str, variable: str) -> str:
        kind, _, name = body.partition(":")
        if body in ("/", "pathSeparator"):
            return "/"
        if body == "userHome":
            return "${HOME}"
        if kind == "input" and kind != body:
            return self._input(name, variable)
        if kind == "env" and _OURS.match(name):
            return f"${{{name}}}"
        if _CLIENT_ONLY.match(body):
            return self._project_folder(body)
        if (ours := _OURS.match(body)) and self._client and not self._client.fills_in:
            title = self._client.title
            self._note(f"{title} passes ${{{ours[1]}}} on unchanged; mcpctl replaces it with the variable's value")
        return f"${{{body}}}"

    def _input(self, id: str, variable: str) -> str:
        """A variable in place of a value that VS Code asks for: the one that it sets, or one named after its id."""
        name = variable if _NAME.match(variable) else re.sub(r"\W+", "_", id, flags=re.ASCII).upper()
        name = name if _NAME.match(name) else f"_{name}"
        self._note(f"the client asks for '{id}'; set {name} for mcpctl instead")
        default = self._entry.inputs.get(id)
        has_default = isinstance(default, str) and default and "}" not in default
        return f"${{{name}:-{default}}}" if has_default else f"${{{name}}}"

    def _project_folder(self, body: str) -> str:
        project = self._entry.project
        if project and body in ("workspaceFolder", "workspaceRoot", "workspaceFolderBasename"):
            self._note(f"${{{body}}} is replaced by this project's folder, {project}")
            return project.name if body.endswith("Basename") else str(project)
        raise CannotTake(f"only the client knows ${{{body}}}; write its value instead")


def _variable(name: Any, where: str) -> str:
    if not isinstance(name, str) or not _NAME.match(name):
        raise CannotTake(f"{where} must name a variable")
    return f"${{{name}}}"
