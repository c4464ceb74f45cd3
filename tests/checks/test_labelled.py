"""The rules on labelled definitions of another project: what is to be found of them, and what is not to be held."""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from mcpctl.base.models import Tool
from mcpctl.checks.checker import Checker, is_held

FILE = Path(__file__).parent / "mcpproxy" / "definitions.jsonl"
ROWS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def tool(server: str | None, definition: dict[str, Any]) -> Tool:
    return Tool(server or "one", definition["name"], definition, "")


def held(row: dict[str, Any]) -> bool:
    checked = tool(row["server"], row["tool"])
    peers = [tool(peer["server"], peer["tool"]) for peer in row.get("peers") or ()]
    return is_held(Checker([checked, *peers]).check(checked))


@cache
def counted() -> Counter[tuple[str, str]]:
    """How many are held, by label and category."""
    return Counter((row["label"], row["category"]) for row in ROWS if held(row))


ALL = Counter((row["label"], row["category"]) for row in ROWS)


def test_nothing_benign_is_held() -> None:
    assert {label: number for (label, _), number in ALL.items() if label == "benign"}
    assert ALL["benign", "benign"] == 20
    assert ALL["benign", "hard_negative"] == 29
    assert not [row["id"] for row in ROWS if row["label"] == "benign" and held(row)]


def test_all_that_words_can_tell_is_held() -> None:
    families = {category for label, category in ALL if label == "malicious"} - {"rug_pull"}
    assert families == {
        "tool_poisoning", "prompt_injection", "shadowing", "unicode_smuggling", "decoded_payload",
        "capability_mismatch", "phrase_injection",
    }  # fmt: skip
    assert {family: counted()["malicious", family] for family in families} == {
        family: ALL["malicious", family] for family in families
    }


def test_a_definition_that_is_harmless_until_it_is_changed_is_for_pins() -> None:
    missed = [row["id"] for row in ROWS if row["category"] == "rug_pull" and not held(row)]
    assert missed == ["rp_01", "rp_03"]
