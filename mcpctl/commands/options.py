"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from mcpctl.paths import Paths, find

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Read servers from FILE (also: MCPCTL_CONFIG).", show_default=False),
]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", metavar="DIR", help="Keep data in DIR (also: MCPCTL_DATA_DIR).", show_default=False),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Copy what servers say on stderr to stderr.")]


def paths(config: Path | None, data_dir: Path | None) -> Paths:
    """Where things are, with what was given on the command line."""
    return find(config, data_dir)
