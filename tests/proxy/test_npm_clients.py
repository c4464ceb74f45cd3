"""Clients from npm use prompts and resources of servers behind `mcpctl serve`; run on request, they are downloaded.

The TypeScript SDK's client in both eras, the inspector's command line, and mcpc.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.client import ROOT, SERVE, write_config
from tests.proxy.conftest import Run

pytestmark = [
    pytest.mark.network,
    pytest.mark.process,
    pytest.mark.skipif("MCPCTL_LIVE_TESTS" not in os.environ, reason="needs npm: set MCPCTL_LIVE_TESTS=1"),
]
INSTALLED = "clients"
PACKAGES = (
    "@modelcontextprotocol/client@2.3.1",
    "@modelcontextprotocol/inspector@2.12.0",
    "@apify/mcpc@0.2.6",
    "@modelcontextprotocol/server-everything@2026.8.31",
)
MODERN = "2026-07-28"


def everything(modules: Path, node: Path) -> Mapping[str, Sequence[str]]:
    """The reference server from npm, with prompts, templates and resources."""
    return {"everything": [str(node), str(modules / "@modelcontextprotocol/server-everything/dist/index.js")]}


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_typescript_sdk_s_client_has_all_of_it(
    mode: str, era: str, run: Run, npm: tuple[Path, Path], home: Path
) -> None:
    write_config(home, {"suite": [sys.executable, "-m", "tests.conformance.server", era]})
    said = run(Path(__file__).with_name("typescript_client.mjs"), npm[1], mode, *SERVE)
    assert (said["era"] == MODERN) is (mode == "auto")
    assert {"prompts", "resources", "completions"} <= said["capabilities"].keys()
    assert "suite_test_simple_prompt" in said["prompts"]
    assert said["resources"] == ["test://static-text", "test://static-binary", "test://watched-resource"]
    assert said["templates"] == ["test://template/{id}/data"]
    assert said["got"] == "Prompt with arguments: arg1='a b', arg2='é'"
    assert json.loads(said["read"])["id"] == "7"
    assert said["completed"] == [["paris", "parma"]] * 2
    assert (said["updated"], said["changed"]) == ("test://watched-resource", 1)
    if mode == "auto":
        assert said["honoured"] == {"promptsListChanged": True, "resourceSubscriptions": ["test://watched-resource"]}


def test_the_inspector_s_command_line_lists_gets_and_reads(run: Run, npm: tuple[Path, Path], home: Path) -> None:
    node, modules = npm
    write_config(home, everything(modules, node))
    variables = ("-e", f"MCPCTL_HOME={home}", "-e", f"PYTHONPATH={ROOT}")

    def inspect(method: str, *words: str) -> Any:
        arguments = (*SERVE, *variables, "--method", method, "--format", "json", "-q", *words)
        return run("mcp-inspector", "--cli", *arguments)["result"]

    inspect("tools/call", "--tool-name", "tool_discovery", "--tool-args-json", '{"query":["echo"]}')
    prompts = inspect("prompts/list")["prompts"]
    assert {"everything_simple-prompt", "everything_args-prompt"} <= {prompt["name"] for prompt in prompts}
    got = inspect("prompts/get", "--prompt-name", "everything_args-prompt", "--prompt-args", "city=Oslo")
    assert "Oslo" in got["messages"][0]["content"]["text"]
    resources = inspect("resources/list")["resources"]
    templates = inspect("resources/templates/list")["resourceTemplates"]
    assert [template["uriTemplate"] for template in templates] == [
        "demo://resource/dynamic/text/{resourceId}", "demo://resource/dynamic/blob/{resourceId}",
    ]  # fmt: skip
    for uri in (resources[0]["uri"], "demo://resource/dynamic/text/3"):
        assert inspect("resources/read", "--uri", uri)["contents"][0]["uri"] == uri


def test_mcpc_lists_gets_reads_and_subscribes(run: Run, npm: tuple[Path, Path], home: Path, tmp_path: Path) -> None:
    node, modules = npm
    write_config(home, everything(modules, node))
    config = tmp_path / "mcp.json"
    variables = {"MCPCTL_HOME": str(home), "PYTHONPATH": str(ROOT)}
    entry = {"command": SERVE[0], "args": SERVE[1:], "env": variables}
    config.write_text(json.dumps({"mcpServers": {"mcpctl": entry}}), encoding="utf-8")
    run("mcpc", "connect", f"{config}:mcpctl", "@it", "--json")
    try:
        run("mcpc", "@it", "tools-call", "tool_discovery", '{"query":["echo"]}', "--json")
        names = {prompt["name"] for prompt in run("mcpc", "@it", "prompts-list", "--json")}
        assert "everything_args-prompt" in names
        got = run("mcpc", "@it", "prompts-get", "everything_args-prompt", "city:=Oslo", "--json")
        assert "Oslo" in got["messages"][0]["content"]["text"]
        uri = run("mcpc", "@it", "resources-list", "--json")[0]["uri"]
        assert run("mcpc", "@it", "resources-read", uri, "--json")["contents"][0]["uri"] == uri
        assert run("mcpc", "@it", "resources-subscribe", uri, "--json")["subscribed"]
        assert len(run("mcpc", "@it", "resources-templates-list", "--json")) == 2
    finally:
        run("mcpc", "close", "@it", is_json=False)
