"""The configuration as its file has it, for a process that runs while people edit it."""

from mcpctl import config, files
from mcpctl.catalog import loosening
from mcpctl.config import Config
from mcpctl.errors import McpctlError, NotFound, warn
from mcpctl.paths import Paths


class ConfigFile:
    """Reads the file, and tells by a look at its times when it has changed since."""

    def __init__(self, paths: Paths, project: str | None) -> None:
        self._paths = paths
        self._path = paths.config
        self._project = project
        self._stamp = files.stamp(self._path)

    def has_changed(self) -> bool:
        """Whether it was written since this was last asked."""
        stamp = files.stamp(self._path)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        return True

    def read(self) -> Config:
        """What it says; raises `McpctlError` where that cannot be used."""
        return config.load(self._path, self._project)

    def read_again(self) -> Config:
        """What it says now; a file that is gone was not emptied on purpose, so that raises `NotFound`."""
        if files.stamp(self._path) is None:
            raise NotFound(f"there is no {self._path} any more", "put it back, or restart mcpctl", "config_missing")
        return self.read()

    def note_loosened(self, before: Config, after: Config) -> None:
        """Put on record what an edit of the file lets be called without a yes, in any thread."""
        try:
            loosening.follow(self._paths, before, after)
        except McpctlError as error:
            warn(f"{self._path}: whether it lets more be called cannot be told: {error.message} ({error.hint})")
