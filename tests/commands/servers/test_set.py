"""`mcpctl servers set`"""

import tomllib
from typing import Any

import pytest

from mcpctl.base.errors import Unusable
from mcpctl.base.paths import Paths
from mcpctl.config import editing
from tests.commands.servers.test_add import by_hand, written
from tests.configured import configure, stub
from tests.conftest import Mcpctl

HAND_WRITTEN = """\
# mine
[servers.a]
command = "a" # why a
args = [
  "one", # first
]

# what a may not do
[servers.a.tools]
t = false # never

# about b
[servers.b]
command = "b"
"""


@pytest.mark.usefixtures("person")
def test_only_what_is_given_changes_and_comments_and_order_stay(mcpctl: Mcpctl, paths: Paths) -> None:
    by_hand(paths, HAND_WRITTEN)
    ran = mcpctl("servers", "set", "a", "--command", "new", "--cwd", "/x", "--env", "A=1", "--only", "get_*")
    assert (ran.code, ran.out) == (0, "a\n")
    before = tomllib.loads(HAND_WRITTEN)
    before["servers"]["a"] |= {"command": "new", "cwd": "/x", "env": {"A": "1"}, "only": ["get_*"]}
    assert written(paths) == before
    text = paths.config.read_text(encoding="utf-8")
    kept = [line for line in HAND_WRITTEN.splitlines() if line and line != 'command = "a" # why a']
    assert [line for line in text.splitlines() if line in kept] == kept
    assert 'command = "new" # why a\n' in text


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    ("options", "changed"),
    [
        (["--", "new", "-v"], {"command": "new", "args": ["-v"]}),
        (["--", "new"], {"command": "new", "args": None}),
        (["--arg", "x", "--arg=-y"], {"args": ["x", "-y"]}),
        (["--env", "B=2"], {"env": {"A": "1", "B": "2"}}),
        (["--unset", "env", "--env", "B=2"], {"env": {"B": "2"}}),
        (["--unset", "env.A", "--unset", "tools.none"], {"env": None}),
        (["--deny", "u"], {"tools": {"t": "ask", "u": False}}),
        (["--unset", "tools.t"], {"tools": None}),
        (["--project", "p", "--project", "p"], {"projects": ["p"]}),
        (["--inherit-env", "A"], {"inherit_env": ["A"]}),
        (["--start-timeout", "5", "--call-timeout", "7"], {"start_timeout_s": 5, "call_timeout_s": 7}),
        (["--only", "a*", "--only", "b"], {"only": ["a*", "b"]}),
        (["--unset", "cwd", "--unset", "only"], {"cwd": None}),
    ],
)
def test_lists_are_replaced_and_tables_added_to(
    mcpctl: Mcpctl, paths: Paths, options: list[str], changed: dict[str, Any]
) -> None:
    entry = {"command": "run", "args": ["one"], "env": {"A": "1"}, "cwd": "/", "tools": {"t": "ask"}}
    configure(paths, {"s": entry}, policy={})
    assert mcpctl("servers", "set", "s", *options).code == 0
    expected = {name: value for name, value in {**entry, **changed}.items() if value is not None}
    assert written(paths)["servers"]["s"] == expected


def test_a_server_may_become_one_of_the_other_kind(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": {"command": "run", "args": ["x"], "inherit_env": "minimal"}})
    before = paths.config.read_bytes()
    ran = mcpctl("servers", "set", "s", "--url", "https://a.example/sse")
    assert (ran.code, paths.config.read_bytes()) == (2, before)
    unset = ["--unset", "command", "--unset", "args", "--unset", "inherit_env"]
    assert f"take out the fields that are not for it with: {' '.join(unset)}\n" in ran.err
    assert mcpctl("servers", "set", "s", "--url", "https://a.example/sse", *unset).code == 0
    assert written(paths)["servers"]["s"] == {"url": "https://a.example/sse", "transport": "sse"}


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ([], 2, "nothing to change was given"),
        (["--unset", "cmd"], 2, "did you mean 'cwd' or 'command'?"),
        (["--unset", "args.x"], 2, "take all of it out with: --unset args"),
        (["--unset", "command"], 2, "command: is missing, and so is a url"),
        (["--only", "s:x"], 2, "must be a tool's name alone: 'x'"),
        (["--command", "x", "--", "y"], 2, "contradict each other"),
        (["--local-timezone", "X"], 2, "go after --: -- COMMAND --local-timezone"),
    ],
)
def test_what_could_not_be_used_is_not_written(
    mcpctl: Mcpctl, paths: Paths, options: list[str], code: int, words: str
) -> None:
    configure(paths, {"s": stub()})
    before = paths.config.read_bytes()
    ran = mcpctl("servers", "set", "s", *options)
    assert (ran.code, paths.config.read_bytes()) == (code, before)
    assert words in ran.err


def test_an_unknown_server_is_not_found(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"github": stub()})
    ran = mcpctl("servers", "set", "gihub", "--cwd", "/")
    assert (ran.code, "did you mean 'github'?" in ran.err) == (3, True)


def test_a_dry_run_shows_the_change_without_its_secrets_and_writes_nothing(mcpctl: Mcpctl, paths: Paths) -> None:
    by_hand(paths, HAND_WRITTEN)
    ran = mcpctl("servers", "set", "a", "--env", "A=hunter2", "--cwd", "/x", "--dry-run")
    assert ran.code == 0
    assert '+cwd = "/x"\n' in ran.out
    assert "hunter2" not in ran.out
    assert paths.config.read_text(encoding="utf-8") == HAND_WRITTEN
    mcpctl("servers", "set", "a", "--env", "A=hunter2")
    row = mcpctl("servers", "set", "a", "--cwd", "/x", "--dry-run", "--json").json
    assert (row["name"], row["changed"], '+cwd = "/x"' in row["diff"]) == ("a", True, True)
    ran = mcpctl("servers", "set", "a", "--env", "A=hunter3", "--dry-run")
    assert (ran.out, "only what is not shown here" in ran.err) == ("", True)


@pytest.mark.parametrize(
    "text",
    [
        'servers.a.command = "x"\nservers.b.command = "y"\n',
        'servers = {a = {command = "x"}, b = {command = "y"}}\n',
        '[servers]\na = {command = "x"}\n# b\nb = {command = "y"}\n',
        '[servers.a]\ncommand = "x"\n[search]\nanswer_tokens = 9\n# b\n[servers.b]\ncommand = "y"\n',
        '[servers.a]\ncommand = "x"\n[servers.b]\ncommand = "y"\n[servers.a.tools]\nt = false\n',
    ],
)
def test_any_way_to_write_the_tables_can_be_edited(mcpctl: Mcpctl, paths: Paths, text: str) -> None:
    for name in ("a", "b"):
        by_hand(paths, text)
        expected = tomllib.loads(text)
        expected["servers"][name] |= {"env": {"A": "1"}, "only": ["x"]}
        expected["servers"][name].setdefault("tools", {})["q"] = False
        assert mcpctl("servers", "set", name, "--env", "A=1", "--only", "x", "--deny", "q").code == 0
        assert written(paths) == expected


def test_a_change_that_would_say_something_else_in_the_file_is_not_written(paths: Paths) -> None:
    text = 'servers.a.command = "x"\nservers.b.command = "y"\n'
    by_hand(paths, text)
    with pytest.raises(Unusable, match="cannot be edited: it mixes forms of tables"):
        editing.edit(
            paths.config, lambda document: document["servers"]["a"].update(tools={"t": False}), lambda *_: None
        )
    assert paths.config.read_text(encoding="utf-8") == text
