"""What a check finds, and what it looks at."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mcpctl.base import paths
from mcpctl.base.errors import McpctlError, Unusable
from mcpctl.base.models import Row
from mcpctl.base.paths import Paths
from mcpctl.config import config
from mcpctl.config.config import Config
from mcpctl.config.server_settings import Server
from mcpctl.doctor.codes import CODES

Repair = Callable[[], str]
"""Does what is safe to do, and says what that was."""


@dataclass(frozen=True)
class Finding:
    """One thing that was found, or without a `code` one that is in order."""

    message: str
    code: str = ""
    subject: str | None = None
    """What it is about: a server, a file, a client."""
    fix: str = ""
    """What to do here, where that is more than the code says."""
    repair: Repair | None = None

    @property
    def status(self) -> str:
        """`ok`, `info`, `warning` or `error`."""
        return CODES[self.code].severity if self.code else "ok"

    def row(self, area: str) -> Row:
        """It under the names that users see."""
        return {
            "area": area,
            "status": self.status,
            "code": self.code or None,
            "subject": self.subject,
            "message": self.message,
            "fix": self.fix or (CODES[self.code].fix if self.code else None),
            "fixable": self.repair is not None,
        }


def found(code: str, message: str, subject: object = None, fix: str = "", repair: Repair | None = None) -> Finding:
    """A finding of that code. A message that begins with its subject is taken without it."""
    about = None if subject is None else str(subject)
    return Finding(message.removeprefix(f"{about}: "), code, about, fix, repair)


@dataclass(frozen=True)
class Case:
    """The installation that is looked at. Where its configuration cannot be used, `config` is an empty one."""

    paths: Paths
    config: Config
    problem: McpctlError | None = None
    """Why the configuration cannot be used."""

    @classmethod
    def of(cls, file: Path | None, data: Path | None) -> "Case":
        """That of these options and the environment; raises `Unusable` where there is no home folder."""
        places = paths.find(file, data)
        try:
            loaded = config.load(places.config)
        except McpctlError as error:
            return cls(places, Config(places.config), error)
        if (file or os.environ.get("MCPCTL_CONFIG")) and not os.path.exists(places.config):  # noqa: PTH110 - Path.exists raises
            hint = "check the name; mcpctl servers add creates a new file"
            return cls(places, loaded, Unusable(f"there is no configuration file {places.config}", hint))
        return cls(places, loaded)

    @cached_property
    def local(self) -> Mapping[str, Server]:
        """The servers in use that are started by a command."""
        return {name: server for name, server in self.config.enabled.items() if server.command}


Check = Callable[[Case], Iterator[Finding]]
