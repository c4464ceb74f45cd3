"""The variables in a client's texts, translated to `${VAR}` as config.toml has it."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from mcpctl.clients.client_files import ClientEntry

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_IN_BRACES = re.compile(r"\$\{([^{}]*)\}")
_OURS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-.*)?\Z", re.DOTALL)
_OPENCODE = re.compile(r"(?<!\$)\{(env|file):([^{}]*)\}")
_BARE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_CLIENT_ONLY = re.compile(
    r"(?:env|file|command|config|secret|workspaceFolder):|(?:workspaceFolder\w*|workspaceRoot|execPath|cwd)\Z"
)


class CannotTake(ValueError):
    """A client's entry cannot be translated; the message says why."""


class LeftOut(CannotTake):
    """A client's entry is left out, though nothing is wrong with it; the message says why."""


@dataclass
class Texts:
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
        """Add a note, unless it is there already."""
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
        name = variable if NAME.match(variable) else re.sub(r"\W+", "_", id, flags=re.ASCII).upper()
        name = name if NAME.match(name) else f"_{name}"
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
