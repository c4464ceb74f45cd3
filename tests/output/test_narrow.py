"""Every list in terminals of 80 and of 60 columns, with long names, long titles and characters that are wide."""

from pathlib import Path

import pytest
from pytest_snapshot.plugin import Snapshot
from rich.cells import cell_len

from mcpctl.base.paths import Paths
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.policy.tokens import create
from tests.configured import configure, listed, noted, toolset
from tests.conftest import Mcpctl
from tests.recorded import call, hints, searched, session
from tests.table import for_each

NAMES = ("create_pull_request_review_comment_reply", "list_commits", "日本語のツール名")
TITLES = (
    "Reply to a review comment of a pull request in a repository.",
    "List commits",
    "リポジトリを高度なフィルターで検索するツールです。便利ですよ",
)
LISTS = (
    "calls ls", "calls ls --kind discovery", "calls ls --fields id,session_id,tool,response", "sessions ls", "tools ls",
    "tools ls --by risk", "tools ls --sort usage", "tools search reply", "servers ls", "toolsets ls",
    "annotate ls --toolset triage", "tools check --rules", "tokens ls", "approvals ls",
)  # fmt: skip


@pytest.fixture(autouse=True)
def data(paths: Paths) -> None:
    """Servers, tools, toolsets and records as people have them."""
    github = {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"]}
    remote = {"url": "https://mcp.workspace.example.com/v1/streamable/mcp"}
    configure(paths, {"github": github, "google-workspace-enterprise": remote})
    tools = [
        {
            "name": name, "title": title, "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": name.startswith("list")},
        }
        for name, title in zip(NAMES, TITLES, strict=True)
    ]  # fmt: skip
    listed(paths, "github", tools)
    listed(paths, "google-workspace-enterprise", tools[1:])
    keys = [f"github:{name}" for name in NAMES]
    tip = noted(keys[0], tip="Ask the author first, and answer in the language of the question.")
    toolset(paths, "triage", *keys, description="Everything for incoming issues of all of our teams", toolNotes=[tip])
    statuses = ("ok", "tool_error", "input_required")
    ids = [f"{n}f0c9a1e-4b7d-4c0e-9b1a-{n:012}" for n in range(3)]
    calls = [
        line
        for n, id_ in enumerate(ids)
        for line in call(id_, n, server="github", tool=NAMES[n], status=statuses[n], duration_ms=10**n * 7,
                         annotations=hints(True, None, False, True))
    ]  # fmt: skip
    session(paths, rest=[searched(1, 4), *calls])
    with PolicyFile.connect(paths) as file:
        create(file, projects=["a-project-with-a-long-name"], servers=["github", "google-workspace-enterprise"],
               read_only=True, expires=4102444800.0)  # fmt: skip


@for_each("width", ["80", "60", "30"])
@for_each("words", LISTS)
def test_nothing_is_wider_than_the_terminal(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch, width: str, words: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    ran = mcpctl(*words.split(), tty=True)
    assert ran.out or words == "approvals ls"
    assert max(map(cell_len, ran.out.splitlines()), default=0) <= int(width)


@for_each("width", ["80", "60"])
@for_each("words", [words for words in LISTS if words.split()[0] not in ("tokens", "approvals")])
def test_a_list_reads_as_it_did(
    mcpctl: Mcpctl, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, width: str, words: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    snapshot.snapshot_dir = Path(__file__).parent / "snapshots"
    snapshot.assert_match(mcpctl(*words.split(), tty=True).out, f"{words.replace(' ', '_')}.{width}")


@pytest.mark.parametrize("words", ["tools ls", "tools ls --sort usage", "tools ls --by risk", "tools search reply"])
def test_titles_leave_room_of_eighty_columns_for_what_a_tool_destroys(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = mcpctl(*words.split(), tty=True).out.splitlines()
    start = lines[0].index("LABEL")
    assert "DESTR" in lines[0]
    assert 80 - start >= 16
    assert cell_len(TITLES[0][:14]) == 14
    assert any(TITLES[0][:14] in line for line in lines)
