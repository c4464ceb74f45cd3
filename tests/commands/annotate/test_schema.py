"""`mcpctl annotate schema`: editors and programs agree with mcpctl on what a toolset file is."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mcpctl.base.paths import Paths
from tests.commands.annotate.test_check import CASES, GOOD
from tests.configured import demo_tools
from tests.conftest import Mcpctl
from tests.table import for_each


@pytest.fixture
def validator(mcpctl: Mcpctl) -> Any:
    schema = mcpctl("annotate", "schema").json
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    return jsonschema.Draft202012Validator(schema)


@for_each("rule", CASES)
def test_what_is_right_is_valid(validator: Any, rule: str) -> None:
    validator.validate(CASES[rule][1])
    validator.validate({"toolsets": [GOOD]})
    validator.validate({"toolsets": {"one": GOOD}, "anything": 1})


@pytest.mark.parametrize("rule", ["E102", "E103", "E104", "E105", "E106", "E107", "E109", "E110"])
def test_what_is_broken_is_not(validator: Any, rule: str) -> None:
    bad = CASES[rule][0]
    assert not validator.is_valid(bad)
    assert rule == "E104" or not validator.is_valid({"toolsets": {"one": bad}})


def test_what_mcpctl_writes_is_valid(mcpctl: Mcpctl, validator: Any, paths: Paths, tmp_path: Path) -> None:
    import json

    demo_tools(paths)
    path = tmp_path / "team.json"
    named = ("--toolset", str(path))
    assert mcpctl("toolsets", "build", str(path), "notes:add_note", "weather:get_forecast").code == 0
    assert mcpctl("annotate", "add", "notes:add_note", "tip", "Ask first.", *named).code == 0
    assert mcpctl("annotate", "set", "notes:add_note", "--no-destructive", "--title", "Add", *named).code == 0
    validator.validate(json.loads(path.read_text(encoding="utf-8")))
    assert mcpctl("annotate", "check", str(path)).code == 0
