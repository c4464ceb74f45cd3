"""`mcpctl tools deny`, and what both it and `mcpctl tools allow` are"""

from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.commands.servers.test_add import by_hand, written
from tests.configured import READ, WRITE, configure, listed, stub
from tests.conftest import Mcpctl


def entry(paths: Paths, **members: Any) -> None:
    """One server that lists two tools, with an entry that has these too."""
    configure(paths, {"s": {**stub(), **members}})
    listed(paths, "s", [READ, WRITE])


def of_s(paths: Paths) -> Any:
    found = written(paths)["servers"]["s"]
    return found.get("tools", {}), found.get("only")


def test_a_denied_tool_is_not_found_until_it_is_allowed_again(mcpctl: Mcpctl, paths: Paths, person: None) -> None:
    entry(paths)
    before = paths.config.read_bytes()
    (row,) = mcpctl("tools", "deny", "s.write", "--json").json
    assert (row["key"], row["action"], row["decision"], row["decided_by"]) == (
        "s:write", "denied", "refused", "deny s:write",
    )  # fmt: skip
    assert (row["file"], row["line"]) == (str(paths.config), 6)
    assert [tool["tool"] for tool in mcpctl("tools", "ls", "--json").json] == ["read"]
    assert mcpctl("tools", "deny", "s:write").out == "s:write\tunchanged\trefused\tdeny s:write\n"
    assert mcpctl("tools", "allow", "s:write").out == "s:write\tallowed\tallow\t\n"
    assert mcpctl("tools", "allow", "s:write").out == "s:write\tunchanged\tallow\t\n"
    assert paths.config.read_bytes().rstrip() == before.rstrip()


def test_comments_and_the_rest_of_the_file_stay(mcpctl: Mcpctl, paths: Paths, person: None) -> None:
    text = (
        "[servers.s]\ncommand = 'true' # s\nonly = [\n  'a', # first\n]\n\n# about t\n[servers.t]\ncommand = 'true'\n"
    )
    by_hand(paths, text)
    assert mcpctl("tools", "deny", "s:a", "t:b").code == 0
    assert mcpctl("tools", "allow", "s:a", "t:b", "s:c").code == 0
    after = paths.config.read_text(encoding="utf-8")
    assert written(paths) == {"servers": {"s": {"command": "true", "only": ["a", "c"]}, "t": {"command": "true"}}}
    assert [line for line in after.splitlines() if "#" in line] == [
        line for line in text.splitlines() if "#" in line
    ]  # fmt: skip


@pytest.mark.parametrize("only", [["read"], ["*"]])
def test_a_denial_is_written_beside_only(only: list[str], mcpctl: Mcpctl, paths: Paths) -> None:
    entry(paths, only=only)
    assert mcpctl("tools", "deny", "s:write").code == 0
    assert of_s(paths) == ({"write": False}, only)


def test_a_tool_that_is_not_listed_can_be_denied_with_a_remark(mcpctl: Mcpctl, paths: Paths) -> None:
    entry(paths, tools={"write": False})
    ran = mcpctl("tools", "deny", "s:wriet")
    assert ran.code == 0
    assert "has not listed it; it is denied as soon as it does; did you mean s:write?" in ran.err
    assert of_s(paths) == ({"write": False, "wriet": False}, None)


@pytest.mark.parametrize("verb", ["deny", "allow"])
@pytest.mark.parametrize(
    ("key", "code", "words"),
    [
        ("t:x", 3, "no server 't'"),
        ("s", 2, "'s' is not a tool"),
        ("s:w*", 2, "is a pattern"),
    ],
)
def test_all_or_nothing_is_written(
    verb: str, key: str, code: int, words: str, mcpctl: Mcpctl, paths: Paths, person: None
) -> None:
    entry(paths, only=["read"])
    before = paths.config.read_bytes()
    ran = mcpctl("tools", verb, "s:write", key)
    assert (ran.code, words in ran.err, paths.config.read_bytes()) == (code, True, before)
