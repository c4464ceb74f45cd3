"""Every example works as it is."""

import json
import shutil
from pathlib import Path

import pytest

from mcpctl import config
from tests.conftest import Mcpctl
from tests.test_readme import ROOT, shell

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize("file", sorted((EXAMPLES / "clients").iterdir()), ids=lambda file: file.name)
def test_a_client_configuration_starts_mcpctl_serve(file: Path) -> None:
    document = json.loads(file.read_text(encoding="utf-8"))
    (servers,) = document.values()
    assert (servers["mcpctl"]["command"], servers["mcpctl"]["args"]) == ("mcpctl", ["serve"])


def test_the_example_configuration_is_usable() -> None:
    loaded = config.load(EXAMPLES / "config.toml")
    assert not loaded.problems
    assert list(loaded.enabled) == ["notes", "weather"]


@pytest.mark.process
@pytest.mark.skipif(not shutil.which("jq"), reason="the recipe needs jq")
def test_the_recipe_for_failed_calls_counts_them_by_tool(mcpctl: Mcpctl, home: Path) -> None:
    add = ("servers", "add", "weather", "--", "python3", "-c", "raise SystemExit('no weather today')")
    assert mcpctl(*add).code == 0
    assert mcpctl("tools", "call", "weather:get_forecast").code == 4
    ran = shell("examples/failed_calls.sh", home)
    assert ran.stdout.startswith("1\tweather:get_forecast\t")
    assert "no weather today" in ran.stdout
