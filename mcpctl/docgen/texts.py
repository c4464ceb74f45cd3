"""The texts of sections 1 and 5 of the manual: `manual.toml`, where a blank line separates paragraphs."""

import tomllib
from pathlib import Path
from typing import Any

from mcpctl.base.fields import INDEX_VERSION

TEXTS: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("manual.toml").read_text(encoding="utf-8").replace("{INDEX_VERSION}", str(INDEX_VERSION))
)
