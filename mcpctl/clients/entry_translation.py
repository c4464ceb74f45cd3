"""A client's entry translated into one of config.toml, with a note for each thing that has no equivalent there."""

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
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
_ONLY = "enabled_tools"
"""The key of the only tools that are offered; an empty list is none of them."""
_KINDS = {
    "stdio": "stdio", "local": "stdio", "http": "http", "streamablehttp": "http", "sse": "sse", "remote": "",
}  # fmt: skip
_SAME_HERE = ("source",)
"""Keys that can be left out without a note: Zed's `source: "custom"` means nothing here."""
_RULES = {"codex": ("default_tools_approval_mode", "tools"), "gemini-cli": ("trust",)}
NEEDS_RULES = "its permission rules are left out; take them over with: mcpctl policy import"
_MAX_SECONDS = 1e10
_ITSELF = re.compile(r"mcpctl(?:\.exe)?(?:(?:@|==).*)?\Z")
Table = dict[str, Any]


class CannotTake(ValueError):
    """A client's entry cannot be translated; the message says why."""


class LeftOut(CannotTake):
    """A client's entry is left out, though nothing is wrong with it; the message says why."""


@dataclass
class EntryTexts:
    """Translates one entry's texts and collects `notes` on it for a person."""

    entry: ClientEntry
    notes: list[str] = field(default_factory=list)

    def translate(self, text: str, variable: str = "") -> str:
        """`text` with `${env:X}`, `${userHome}`, `${input:…}` and the like as config.toml writes them.

        `variable` is the environment variable whose value this is. Raises `CannotTake` for a variable that only the
        client can fill in.
        """
        client = self.entry.file.client
        if client and client.name == "gemini-cli":
            text = _BARE.sub(r"${\1}", text)
        text = _OPENCODE.sub(lambda match: f"${{{match[1]}:{match[2]}}}", text)

        def replacement(match: re.Match[str]) -> str:
            return self._replacement(match[1], variable if match[0] == text else "")

        return _IN_BRACES.sub(replacement, text)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _replacement(self, body: str, variable: str) -> str:
        if body in ("/", "pathSeparator"):
            return "/"
        if body == "userHome":
            return "${HOME}"
        if body.startswith("input:"):
            return self._input(body.removeprefix("input:"), variable)
        if body.startswith("env:") and _OURS.match(body.removeprefix("env:")):
            return f"${{{body.removeprefix('env:')}}}"
        if _CLIENT_ONLY.match(body):
            return self._project_folder(body)
        if match := _OURS.match(body):
            self._note_kept(match[1])
        return f"${{{body}}}"

    def _input(self, id: str, variable: str) -> str:
        """A variable in place of a value that VS Code asks for: the one that it sets, or one named after its id."""
        name = variable if _NAME.match(variable) else re.sub(r"\W+", "_", id, flags=re.ASCII).upper()
        name = name if _NAME.match(name) else f"_{name}"
        self.note(f"the client asks for '{id}'; set {name} for mcpctl instead")
        default = self.entry.inputs.get(id)
        return (
            f"${{{name}:-{default}}}" if isinstance(default, str) and default and "}" not in default else f"${{{name}}}"
        )

    def _project_folder(self, body: str) -> str:
        project: Path | None = self.entry.project
        if project and body in ("workspaceFolder", "workspaceRoot", "workspaceFolderBasename"):
            self.note(f"${{{body}}} is replaced by this project's folder, {project}")
            return project.name if body.endswith("Basename") else str(project)
        raise CannotTake(f"only the client knows ${{{body}}}; write its value instead")

    def _note_kept(self, name: str) -> None:
        client = self.entry.file.client
        if client and not client.fills_in:
            self.note(f"{client.title} passes ${{{name}}} on unchanged; mcpctl replaces it with the variable's value")


def table_of(entry: ClientEntry) -> tuple[Table, list[str]]:
    """The entry for config.toml, and notes on it for a person; raises `CannotTake`."""
    texts = EntryTexts(entry)
    remaining = _plain(entry.value)
    enabled = _flag(remaining, "enabled", True) and not _flag(remaining, "disabled", False)
    kind = _kind(remaining, texts)
    table = _local(remaining, texts) if kind == "stdio" else _remote(remaining, texts, kind)
    table |= _timeouts(remaining, texts)
    denied = _words(remaining.pop("disabled_tools", None) or [], "disabled_tools", texts)
    denied += _switched_off(entry, texts)
    if denied:
        table["tools"] = dict.fromkeys(denied, False)
    if _ONLY in remaining:
        table["only"] = _words(remaining.pop(_ONLY), _ONLY, texts)
    if entry.approval == "refused":
        texts.note(
            "Claude Code has it switched off for its project, so it is disabled here; "
            "enable it with: mcpctl servers enable"
        )
    elif entry.approval == "none":
        texts.note("nobody has approved it in Claude Code; here it is enabled, and the next serve may start it")
    is_switched_off = any(fnmatchcase(f"{entry.name}_", pattern) for pattern in _off(entry))
    if is_switched_off:
        texts.note(
            "opencode has all its tools switched off, so it is disabled here; enable it with: mcpctl servers enable"
        )
    if not enabled or entry.approval == "refused" or is_switched_off:
        table["enabled"] = False
    client = entry.file.client.name if entry.file.client else ""
    if any(remaining.pop(key, None) for key in _RULES.get(client, ())):
        texts.note(NEEDS_RULES)
    if lost := sorted(key for key, value in remaining.items() if value and key not in _SAME_HERE):
        texts.note(f"left out, since mcpctl has no equivalent: {', '.join(lost)}")
    _check(table)
    return table, texts.notes


def _check(table: Table) -> None:
    if server_settings.FROM_COMMAND in json.dumps(table, ensure_ascii=False):
        raise CannotTake("it would have mcpctl run a command, ${cmd:…}; if you want that, write it into config.toml")
    try:
        server_settings.check_server("new", table)
    except ValueError as error:
        raise CannotTake(str(error).lstrip(".: ")) from error


def _off(entry: ClientEntry) -> list[str]:
    return [name for name, is_on in entry.switches.items() if is_on is False]


def _switched_off(entry: ClientEntry, texts: EntryTexts) -> list[str]:
    names = [name.removeprefix(f"{entry.name}_") for name in _off(entry) if name.startswith(f"{entry.name}_")]
    if patterns := [name for name in names if "*" in name and name.strip("*")]:
        texts.note(f"its tools {', '.join(patterns)} are switched off in opencode, not here: deny them with tools deny")
    return [name for name in names if "*" not in name]


def is_mcpctl(value: Any) -> bool:
    """Whether an entry starts `mcpctl serve` in any way: mcpctl behind itself would start itself for ever."""
    # Joined and split again, since all words may be in one argument: that of a shell's -c.
    words = " ".join(client_config.start_words(value)).split()
    names = [word.strip("'\"").rpartition("/")[2] for word in words]
    return any(_ITSELF.match(name) and "serve" in names[place + 1 :] for place, name in enumerate(names))


def _plain(value: Any) -> Table:
    """An entry under the keys that most clients use, without empty values."""
    if not isinstance(value, dict):
        raise CannotTake("it is not an object")
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        raise CannotTake("it has text that is not Unicode") from None
    remaining: Table = {}
    for key, item in value.items():
        name = _ALIASES.get(key) or str(key)
        if item in (None, "", [], {}) and (item, name) != ([], _ONLY):
            continue
        if remaining.setdefault(name, item) != item:
            raise CannotTake(f"it has two values for {name}")
    if isinstance(command := remaining.get("command"), dict):  # an older Zed's
        del remaining["command"]
        return _plain(
            {**remaining, "command": command.get("path"), "args": command.get("args"), "env": command.get("env")}
        )
    return remaining


def _flag(remaining: Table, key: str, default: bool) -> bool:
    value = remaining.pop(key, default)
    if not isinstance(value, bool):
        raise CannotTake(f"{key} must be true or false")
    return value


def _kind(remaining: Table, texts: EntryTexts) -> str:
    type_ = remaining.pop("type", None)
    kind = _KINDS.get(re.sub(r"[^a-z]", "", type_.lower())) if isinstance(type_, str) else "" if type_ is None else None
    if kind is None:
        raise CannotTake(f"its type {type_!r} is not supported; mcpctl supports stdio, http and sse")
    if "command" in remaining and "url" in remaining:
        raise CannotTake("it has a command and a url; keep one of them")
    if "command" not in remaining and "url" not in remaining:
        if "settings" in remaining or remaining.get("source") == "extension":
            raise LeftOut("an extension of Zed starts it, and its command is not in the file")
        raise CannotTake("it has neither a command nor a url")
    if (kind == "stdio" and "url" in remaining) or (kind in ("http", "sse") and "command" in remaining):
        raise CannotTake(f"its type is {type_}, but it has a {'url' if 'url' in remaining else 'command'}")
    if "command" in remaining:
        return "stdio"
    if not kind and editing.is_sse(str(remaining["url"])):
        texts.note('its url looks like an SSE server\'s, so it gets transport = "sse"')
        return "sse"
    return kind or "http"


def _local(remaining: Table, texts: EntryTexts) -> Table:
    command, args = remaining.pop("command"), remaining.pop("args", [])
    if isinstance(command, list):
        command, args = command[0], [*command[1:], *(args if isinstance(args, list) else [args])]
    words = [_text(command, "command", texts), *_words(args, "args", texts)]
    if len(words) == 1 and " " in words[0].strip() and not os.path.exists(words[0]):  # noqa: PTH110 - Path.exists raises for a word too long for a path
        words = _split(words[0], texts)
    table: Table = {"command": words[0]}
    if words[1:]:
        table["args"] = words[1:]
    table["inherit_env"] = _words(remaining.pop("env_vars", []), "env_vars", texts) or server_settings.MINIMAL
    if env := _pairs(remaining.pop("env", {}), "env", texts):
        table["env"] = env
    for key in ("env_file", "cwd"):
        if key in remaining:
            table[key] = _path(_text(remaining.pop(key), key, texts), texts)
    project = texts.entry.project
    if project and "cwd" not in table and any(word.startswith(("./", "../")) or word == "." for word in words):
        table["cwd"] = str(project)
        texts.note(f"its paths are relative to the project, so it is started in {project}")
    return table


def _remote(remaining: Table, texts: EntryTexts, kind: str) -> Table:
    table: Table = {"url": _text(remaining.pop("url"), "url", texts)}
    if kind == "sse":
        table["transport"] = kind
    headers = _pairs(remaining.pop("headers", {}), "headers", texts)
    for header, variable in _pairs(remaining.pop("env_http_headers", {}), "env_http_headers", texts).items():
        headers[header] = _variable(variable, "env_http_headers")
    if "bearer_token_env_var" in remaining:
        token = _variable(remaining.pop("bearer_token_env_var"), "bearer_token_env_var")
        headers["Authorization"] = f"Bearer {token}"
    if headers:
        table["headers"] = headers
    if env := _pairs(remaining.pop("env", {}), "env", texts):
        table["env"] = env
    return table


def _timeouts(remaining: Table, texts: EntryTexts) -> Table:
    client = texts.entry.file.client
    units = {
        "startup_timeout_ms": ("start_timeout_s", 0.001),
        "startup_timeout_sec": ("start_timeout_s", 1),
        "tool_timeout_sec": ("call_timeout_s", 1),
    }
    if client and client.timeout_unit_s:
        units["timeout"] = ("call_timeout_s", client.timeout_unit_s)
    table: Table = {}
    for key, (ours, unit) in units.items():
        if key in remaining:
            value = remaining.pop(key)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MAX_SECONDS:
                raise CannotTake(f"{key} must be a number, 0 or more")
            seconds = round(float(value * unit), 3)
            table[ours] = int(seconds) if seconds.is_integer() else seconds
    return table


def _text(value: Any, where: str, texts: EntryTexts, variable: str = "") -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str):
        raise CannotTake(f"{where} must be text")
    return texts.translate(value, variable)


def _words(value: Any, where: str, texts: EntryTexts) -> list[str]:
    if not isinstance(value, list):
        raise CannotTake(f"{where} must be a list")
    return [_text(word, where, texts) for word in value]


def _pairs(value: Any, where: str, texts: EntryTexts) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise CannotTake(f"{where} must be an object")
    for name in [name for name, item in value.items() if item is None]:
        texts.note(f"{where}.{name} is null; mcpctl does not remove variables from the environment")
    return {
        str(name): _text(item, f"{where}.{name}", texts, str(name) if where == "env" else "")
        for name, item in value.items()
        if item is not None
    }


def _variable(name: Any, where: str) -> str:
    if not isinstance(name, str) or not _NAME.match(name):
        raise CannotTake(f"{where} must name a variable")
    return f"${{{name}}}"


def _split(line: str, texts: EntryTexts) -> list[str]:
    try:
        words = shlex.split(line)
    except ValueError:
        return [line]
    texts.note("its command was a whole command line; it is split into words")
    return words or [line]


def _path(path: str, texts: EntryTexts) -> str:
    """The path made absolute if it is relative to the project: mcpctl starts servers elsewhere."""
    base = texts.entry.project
    return path if base is None or path.startswith(("/", "~", "$")) else str(base / path)
