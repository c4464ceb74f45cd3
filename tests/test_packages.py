"""The packages for clients and for the registry have what is required of them.

`tests/clients/test_live.py` has Claude Code itself check and load the plugin.
"""

import json
import re
import shlex
import tomllib
from typing import Any

import jsonschema
import pytest

from mcpctl import __version__
from mcpctl.base.paths import Paths
from mcpctl.clients import client_config
from mcpctl.metatools import offers
from tests.configured import demo_tools
from tests.conftest import ROOT, Mcpctl
from tests.test_readme import blocks, parse

PLUGIN = ROOT / "examples" / "claude-code-plugin"
ENTRY = "plugin:mcpctl:mcpctl"  # by which Claude Code knows a plugin's server: plugin, its name, the entry's name
(SKILL,) = PLUGIN.glob("skills/*/SKILL.md")
_TEXT = {"type": "string", "minLength": 1}
_WORDS = {"type": "array", "items": _TEXT}


def _closed(required: list[str], **members: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": members, "additionalProperties": False}


# What we use of https://www.schemastore.org/claude-code-plugin-manifest.json; anything else is a mistyped member.
MANIFEST = _closed(
    ["name", "version", "description"],
    name={"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
    version={"const": __version__},
    description=_TEXT,
    author=_closed(["name"], name=_TEXT),
    license=_TEXT,
    keywords=_WORDS,
)
# https://code.claude.com/docs/en/plugin-marketplaces: a folder that is the plugin itself is its own source
MARKETPLACE = _closed(
    ["name", "owner", "plugins"],
    name={"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
    description=_TEXT,
    owner=_closed(["name"], name=_TEXT),
    plugins={
        "type": "array",
        "minItems": 1,
        "items": _closed(["name", "source"], name=_TEXT, source={"const": "./"}, description=_TEXT),
    },
)
# What we use of https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json, its bounds included.
_VERSION = {"const": __version__}
SERVER = _closed(
    ["$schema", "name", "description", "version", "packages"],
    **{
        "$schema": {"const": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"},
        "name": {"type": "string", "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "minLength": 3, "maxLength": 200},
        "title": {"type": "string", "minLength": 1, "maxLength": 100},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": _VERSION,
        "packages": {
            "type": "array",
            "minItems": 1,
            "items": _closed(
                ["registryType", "identifier", "version", "transport"],
                registryType={"const": "pypi"},
                identifier=_TEXT,
                version=_VERSION,
                runtimeHint={"const": "uvx"},
                transport=_closed(["type"], type={"const": "stdio"}),
                packageArguments={
                    "type": "array",
                    "items": _closed(["type", "value"], type={"const": "positional"}, value=_TEXT),
                },
                environmentVariables={
                    "type": "array",
                    "items": _closed(["name"], name=_TEXT, description=_TEXT, isSecret={"type": "boolean"}),
                },
            ),
        },
    },
)


def read(*names: str) -> Any:
    return json.loads(ROOT.joinpath(*names).read_text(encoding="utf-8"))


def plugin(*names: str) -> Any:
    return json.loads(PLUGIN.joinpath(*names).read_text(encoding="utf-8"))


def test_the_manifest_and_the_marketplace_have_what_claude_code_reads() -> None:
    manifest, marketplace = plugin(".claude-plugin", "plugin.json"), plugin(".claude-plugin", "marketplace.json")
    jsonschema.validate(manifest, MANIFEST)
    jsonschema.validate(marketplace, MARKETPLACE)
    assert [each["name"] for each in marketplace["plugins"]] == [manifest["name"]]
    assert sorted(file.name for file in (PLUGIN / ".claude-plugin").iterdir()) == ["marketplace.json", "plugin.json"]


def test_the_entry_is_the_one_that_install_writes_into_a_repository() -> None:
    assert plugin(".mcp.json") == {
        "mcpServers": {client_config.NAME: client_config.entry("claude-code", {}, is_shared=True)}
    }


def test_the_hook_is_the_one_that_mcpctl_prints_for_a_plugins_entry(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MCPCTL_HOME")
    monkeypatch.setattr(client_config, "command", lambda: ["mcpctl"])
    printed = mcpctl("policy", "hook", "claude-code", "--entry", ENTRY, "--print-settings").json
    hooks = plugin("hooks", "hooks.json")
    assert {"hooks": hooks["hooks"]} == printed
    assert hooks.keys() == {"description", "hooks"}
    assert f"plugin:{plugin('.claude-plugin', 'plugin.json')['name']}:{client_config.NAME}" == ENTRY


def test_the_hook_decides_on_the_tools_of_the_plugin_and_on_no_others(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths, policy={"deny": ["notes:delete_note"]})
    ((group,),) = plugin("hooks", "hooks.json")["hooks"].values()
    (runs,) = group["hooks"]
    program, *words = shlex.split(runs["command"])
    assert program == "mcpctl"
    called = {"hook_event_name": "PreToolUse", "tool_input": {"toolKey": "notes:delete_note", "arguments": {}}}
    for name, is_ours in (
        ("mcp__plugin_mcpctl_mcpctl__tool_execute", True),
        ("mcp__plugin_mcpctl_mcpctl__tool_execute_destructive", True),
        ("mcp__plugin_mcpctl_mcpctl__tool_discovery", False),
        ("mcp__mcpctl__tool_execute", False),
        ("mcp__plugin_other_mcpctl__tool_execute", False),
    ):
        assert bool(re.fullmatch(group["matcher"], name)) is is_ours
        out = mcpctl(*words, stdin=json.dumps({**called, "tool_name": name})).out
        assert ('"permissionDecision":"deny"' in out) is is_ours


def test_the_skill_is_one_page_and_says_when_to_read_it() -> None:
    """Its bounds are those of https://agentskills.io/specification."""
    head, body = SKILL.read_text(encoding="utf-8").removeprefix("---\n").split("\n---\n", 1)
    about = dict(line.split(": ", 1) for line in head.splitlines())
    assert about.keys() == {"name", "description"}
    assert about["name"] == SKILL.parent.name
    assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", about["name"]) and len(about["name"]) <= 64
    assert 0 < len(about["description"]) <= 1024
    assert len(body.splitlines()) <= 50


def test_the_skill_calls_tools_by_their_names_and_as_their_schemas_want() -> None:
    text = SKILL.read_text(encoding="utf-8")
    definitions = {tool["name"]: tool for tool in offers.tools([])}
    split = {tool["name"] for tool in offers.tools([], offers.Offer(split=True))}
    assert set(re.findall(r"\btool_\w+", text)) == {*definitions, *split}
    search, call = (json.loads(block) for kind, block in blocks(text) if kind == "json")
    jsonschema.validate(search, definitions[offers.DISCOVERY]["inputSchema"])
    jsonschema.validate(call, definitions[offers.EXECUTE]["inputSchema"])
    (inline,) = re.findall(r"`(\{.*?\})`", text)
    jsonschema.validate(json.loads(inline), definitions[offers.DISCOVERY]["inputSchema"])


def test_the_command_lines_of_the_skill_and_of_its_readme_are_ones_that_mcpctl_takes() -> None:
    texts = [file.read_text(encoding="utf-8").replace("\n", " ") for file in (SKILL, PLUGIN / "README.md")]
    lines = {line for text in texts for line in re.findall(r"`(mcpctl [^`]+)`", text)}
    assert len(lines) > 4
    for line in lines:
        parse(line)


def test_the_registrys_file_says_what_the_package_is() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    server = read("server.json")
    jsonschema.validate(server, SERVER)
    (package,) = server["packages"]
    assert package["identifier"] == project["name"]
    assert server["description"] == project["description"]
    assert package["packageArguments"] == [{"type": "positional", "value": "serve"}]
    secret = [each["name"] for each in package["environmentVariables"] if each.get("isSecret")]
    assert secret == ["MCPCTL_TOKEN"]


def test_the_readme_proves_to_the_registry_whose_package_it_is() -> None:
    """The registry looks for this line in the text of the package on PyPI:
    https://modelcontextprotocol.io/registry/package-types#pypi-packages."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / project["readme"]).read_text(encoding="utf-8")
    assert re.findall(r"mcp-name: (\S+)", text) == [read("server.json")["name"]]
