"""Where `tools call --output` puts what is not text."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcpctl import output
from mcpctl.base import files
from mcpctl.base.errors import UpstreamFailed, WrongUsage
from mcpctl.output import tool_files


@dataclass(frozen=True)
class Place:
    """A file, or stdout."""

    path: Path
    replaces: bool

    @classmethod
    def of(cls, option: str | None, force: bool) -> "Place | None":
        """What `--output` names; raises before anything is called where nothing could be written there."""
        if option is None:
            return None
        place = cls(Path(option), force)
        if place.is_stdout and sys.stdout.isatty():
            raise WrongUsage("the bytes of a file are not for a terminal", "name a FILE, or pipe them: --output - | …")
        if not force and not place.is_stdout and os.path.lexists(place.path):
            raise files.there_is(place.path)
        return place

    @property
    def is_stdout(self) -> bool:
        """Whether the bytes are printed."""
        return str(self.path) == "-"

    def save(self, blocks: Sequence[Any]) -> Sequence[Any]:
        """Write the files of a result; the blocks that are left to print, none where stdout has a file.

        Raises `UpstreamFailed` where there is no file, or one too many.
        """
        found = tool_files.decoded(blocks)
        if not found:
            raise UpstreamFailed(
                "the result has no file to save",
                "the call was made; see its result with: mcpctl calls show last",
                "no_file",
            )
        if self.is_stdout and len(found) > 1:
            hint = "the call was made; name a FILE next time: --output FILE"
            raise UpstreamFailed(f"the result has {len(found)} files, and stdout takes one", hint, "several_files")
        if self.is_stdout:
            output.write_bytes(found[0])
            return []
        for number, content in enumerate(found, 1):
            path = self.path
            if len(found) > 1:
                path = path.with_name(f"{path.stem}-{number}{path.suffix}")
            files.create(path, content, replaces=self.replaces)
            output.say(f"saved {path}: {len(content):,} bytes")
        return [block for block in blocks if not tool_files.encoded(block)]
