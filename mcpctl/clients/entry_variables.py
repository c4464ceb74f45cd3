"""The variables in a client's texts, in the words of config.toml."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from mcpctl.clients.client_files import ClientEntry

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_IN_BRACES = re.compile(r"\$\{([^{}]*)\}")
_OURS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-.*)?\Z", re.DOTALL)
_OF_OPENCODE = re.compile(r"(?<!\$)\{(env|file):([^{}]*)\}")
_BARE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_ITS_OWN = re.compile(
    r"(?:env|file|command|config|secret|workspaceFolder):|(?:workspaceFolder\w*|workspaceRoot|execPath|cwd)\Z"
)


class CannotTake(ValueError):
    """Why a client's entry cannot be one of config.toml."""


class LeftOut(CannotTake):
    """Why a client's entry is nothing for config.toml, though nothing is wrong with it."""


@dataclass
class Texts:
    """Rewrites one entry's texts; what a person should know of it is in `notes`."""

    entry: ClientEntry
    notes: list[str] = field(default_factory=list)

    def of(self, text: str, variable: str = "") -> str:
        """`text` with `${env:X}`, `${userHome}`, `${input:…}` and the like as config.toml writes them.

        `variable` names the environment variable whose value this is. Raises `CannotTake` for what only the client
        itself can fill in.
        """
        client = self.entry.file.client
        if client and client.name == "gemini-cli":
            text = _BARE.sub(r"${\1}", text)
        text = _OF_OPENCODE.sub(lambda found: f"${{{found[1]}:{found[2]}}}", text)

        def rewritten(found: re.Match[str]) -> str:
            return self._rewritten(found[1], variable if found[0] == text else "")

        return _IN_BRACES.sub(rewritten, text)

    def note(self, what: str) -> None:
        """Remember, once, something to say of this entry."""
        if what not in self.notes:
            self.notes.append(what)

    def _rewritten(self, body: str, variable: str) -> str:
        if body in ("/", "pathSeparator"):
            return "/"
        if body == "userHome":
            return "${HOME}"
        if body.startswith("input:"):
            return self._asked(body.removeprefix("input:"), variable)
        if body.startswith("env:") and _OURS.match(body.removeprefix("env:")):
            return f"${{{body.removeprefix('env:')}}}"
        if _ITS_OWN.match(body):
            return self._of_project(body)
        if ours := _OURS.match(body):
            self._kept(ours[1])
        return f"${{{body}}}"

    def _asked(self, id: str, variable: str) -> str:
        """A variable in the place of what VS Code asks for: that whose value it is, or one named after it."""
        name = variable if NAME.match(variable) else re.sub(r"\W+", "_", id, flags=re.ASCII).upper()
        name = name if NAME.match(name) else f"_{name}"
        self.note(f"'{id}' is asked for by the client; set {name} for mcpctl instead")
        default = self.entry.inputs.get(id)
        return (
            f"${{{name}:-{default}}}" if isinstance(default, str) and default and "}" not in default else f"${{{name}}}"
        )

    def _of_project(self, body: str) -> str:
        project: Path | None = self.entry.project
        if project and body in ("workspaceFolder", "workspaceRoot", "workspaceFolderBasename"):
            self.note(f"${{{body}}} is written as this project's, {project}")
            return project.name if body.endswith("Basename") else str(project)
        raise CannotTake(f"${{{body}}} is known to the client alone; write what it stands for")

    def _kept(self, name: str) -> None:
        client = self.entry.file.client
        if client and not client.fills_in:
            self.note(f"${{{name}}} is passed on as it stands by {client.title}; mcpctl fills it in")
