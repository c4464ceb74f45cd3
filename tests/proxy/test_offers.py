"""Which clients get an answer as text, as structured content, or as both."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.callers import LEGACY_REVISIONS, MODERN_REVISION
from mcpctl.base.paths import Paths
from mcpctl.metatools.offers import AnswerForm, client_form
from tests.proxy import in_memory
from tests.proxy.client import ENVELOPE, META
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryClient, MemoryServer, World, play, tool
from tests.table import for_each

pytestmark = BOTH

LATEST = LEGACY_REVISIONS[-1]
READ_TEXT = (
    "claude-code", "claude-ai", "Cline", "cursor-vscode", "gemini-cli-mcp-client", "github-copilot-developer", "goose",
    "JetBrains-IU-copilot-intellij", "opencode", "Visual Studio Code", "Visual-Studio-Code", "windsurf-client", "Zed",
)  # fmt: skip


@for_each("name", READ_TEXT)
@for_each("revision", [*LEGACY_REVISIONS, MODERN_REVISION])
def test_a_client_that_is_known_to_read_text_gets_it_alone(name: str, revision: str) -> None:
    assert client_form(name, revision) is AnswerForm.TEXT


@for_each("name", [None, "", "mcp", "tester", "claude-code-like", "not claude-code"])
def test_a_client_that_is_not_known_gets_both_where_its_revision_has_both(name: str | None) -> None:
    forms = [client_form(name, revision) for revision in (*LEGACY_REVISIONS, MODERN_REVISION)]
    assert forms == [AnswerForm.TEXT, AnswerForm.TEXT, AnswerForm.BOTH, AnswerForm.BOTH, AnswerForm.BOTH]


@pytest.mark.parametrize(
    ("name", "revision", "members"),
    [
        ("tester", LATEST, ["content", "structuredContent"]),
        ("tester", MODERN_REVISION, ["_meta", "content", "resultType", "structuredContent"]),
        ("tester", "2025-03-26", ["content"]),
        ("claude-code", LATEST, ["content"]),
        ("claude-code", MODERN_REVISION, ["_meta", "content", "resultType"]),
        ("codex-mcp-client", LATEST, ["content", "structuredContent"]),
    ],
)
def test_what_is_declared_is_sent(
    name: str, revision: str, members: list[str], home: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answered(client: MemoryClient, **arguments: Any) -> dict[str, Any]:
        called = await client.request("tools/call", {"name": "tool_discovery", "arguments": arguments})
        result: dict[str, Any] = called["result"]
        return result

    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client(revision)
        (discovery, *_) = (await client.request("tools/list", {}))["result"]["tools"]
        found, refused = await answered(client, query=["send"]), await answered(client)
        assert sorted(found) == members
        assert ("outputSchema" in discovery) == ("structuredContent" in found) == ("structuredContent" in refused)
        texts = [block["text"] for block in found["content"]]
        if "codex" in name:
            assert (texts, found["structuredContent"]["results"][0]["toolKey"]) == ([], "odd:send")
        else:
            assert [each["toolKey"] for each in json.loads(texts[0])["results"]] == ["odd:send"]
        assert "query must be a list" in refused["content"][0]["text"]

    info = {"name": name, "version": "1"}
    monkeypatch.setattr(in_memory, "INFO", info)
    monkeypatch.setitem(ENVELOPE, f"{META}clientInfo", info)
    play(home, paths, played, odd=lambda: MemoryServer(tool("send")))
