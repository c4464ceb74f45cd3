"""`mcpctl config check`: every problem of the file with its line and its key."""

from pathlib import Path

import pytest

from mcpctl.base.errors import Unusable
from mcpctl.base.paths import Paths
from mcpctl.config import config, problems
from tests.conftest import Mcpctl
from tests.table import for_each

BAD = """\
[servers.a]
command = "x"
args = "y"
evn = {A = "b"}
start_timeout_s = -1

[servers."b c"]
command = "x"

[servers.c]
command = 3
args = 3

[policy]
mode = "x"
deny = ["a:b",
  "@x"]

[serch]

[search]
semantic_url = "http://x"
"""
FOUND = [
    (3, "E003", "servers.a.args: must be a list"),
    (4, "E002", "servers.a.evn: unknown key; did you mean 'env'?"),
    (5, "E003", "servers.a.start_timeout_s: must be a number of seconds, 0 or more"),
    (7, "E003", "servers.b c: cannot name a server: names have only letters, digits, '_' and '-'"),
    (11, "E003", "servers.c.command: must be text"),
    (15, "E003", "policy.mode: must be enforce, record or off"),
    (17, "E003", "policy.deny[1]: '@x' is not a class; classes: @read-only"),
    (19, "E002", "serch: unknown key; did you mean 'search' or 'serve'?"),
    (21, "E003", "search.semantic_model: is missing: the model's name at semantic_url"),
]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_every_problem_is_named_with_its_line_and_key(mcpctl: Mcpctl, paths: Paths) -> None:
    path = write(paths.config, BAD)
    ran = mcpctl("config", "check")
    assert ran.code == 7
    assert "9 errors in " in ran.err
    told = ran.out.splitlines()
    assert len(told) == len(FOUND)
    for line, (number, rule, message) in zip(told, FOUND, strict=True):
        assert line.startswith(f"{path}:{number}:1: {rule} {message}")
    rows = mcpctl("config", "check", "--json").json
    assert [(row["line"], row["rule"]) for row in rows] == [(number, rule) for number, rule, _ in FOUND]
    assert f"::error file={path},line=3,col=1,title=E003::" in mcpctl("config", "check", "--format", "github").out
    assert mcpctl("config", "check", "--fail-on", "never").code == 0


@for_each(
    ("text", "line", "column", "message"),
    [
        ("a = ", 1, 1, "Invalid value"),
        ("[search]\n\nx = = 1\n", 3, 5, "Invalid value"),
        ("[search]\nx = [\n1,\n", 3, 1, ""),
        ("[a]\n[b]\n[a]\n", 3, 1, "[a] is written twice, in lines 1 and 3"),
        ('{"servers": {}}', 1, 1, "this is JSON"),
        ("servers = 3\n", 1, 1, "servers: must be tables"),
        ("[policy]\n[servers]\nx = 3\n", 3, 1, "servers.x: must be a table"),
        ("[servers.x]\ncommand = 'a'\nenv.A = 1\n", 3, 1, "servers.x.env: must be text"),
        ("[projects.x]\npolicy = {deny = ['a:b', 'c']}\n", 2, 1, "projects.x.policy.deny[1]: 'c' must be server:tool"),
        ("[servers.x.oauth]\n", 1, 1, "servers.x.oauth: is for servers with a url"),
        ("[servers.x]\ncommand = 'a'\ntools = {rm = 'ask'}\n", 3, 1, 'servers.x.tools.rm: "ask" applies only with'),
    ],
)
def test_each_kind_of_mistake_has_its_place(
    mcpctl: Mcpctl, tmp_path: Path, text: str, line: int, column: int, message: str
) -> None:
    ran = mcpctl("config", "check", str(write(tmp_path / "other.toml", text)), "--json")
    row = ran.json[0]
    assert (ran.code, row["line"], row["column"]) == (7, line, column)
    assert row["message"].startswith(message)
    with pytest.raises((Unusable, KeyError)):  # the reader finds one, too
        config.parsed(tmp_path / "other.toml", text).servers["x"]


def test_a_file_that_is_right_has_no_findings(mcpctl: Mcpctl, paths: Paths) -> None:
    write(paths.config, '\ufeff[servers.a]\r\ncommand = "x"\r\n')
    assert mcpctl("config", "check").err == f"{paths.config} is in order\n"
    assert mcpctl("config", "check", "--json").json == []


def test_a_file_that_is_not_there_yet_is_right_unless_it_was_named(mcpctl: Mcpctl, paths: Paths) -> None:
    ran = mcpctl("config", "check")
    assert (ran.code, ran.err) == (0, f"all is in order: there is no {paths.config} yet\n")
    assert mcpctl("config", "check", "nowhere.toml").code == 3
    assert mcpctl("config", "check", "--config", "nowhere.toml").code == 5


def test_text_of_strangers_is_shown_harmlessly(mcpctl: Mcpctl, tmp_path: Path) -> None:
    path = write(tmp_path / "x.toml", '["\\u001b[2J##[group]\\u202e"]\n')
    ran = mcpctl("config", "check", str(path))
    assert ran.code == 7
    assert not {"\x1b", "\u202e"} & set(ran.out + ran.err)
    assert "##[" not in ran.out


def test_many_problems_take_no_more_than_a_look_at_each(tmp_path: Path) -> None:
    text = "".join(f"[servers.s{number}]\nargs = 1\nenv = 2\n" for number in range(300))
    found = list(problems.problems(tmp_path / "x.toml", text))
    assert len(found) == 900
    assert max(problem.line for problem in found) == 900


@for_each("key", ["{}", "x = {{ {} = 1 }}", "[{}]", '["\\"".{}]', "[[ 'a' . {} ]]"])
def test_a_key_of_too_many_parts_is_named_with_its_line(mcpctl: Mcpctl, tmp_path: Path, key: str) -> None:
    long = key.format(" . ".join(["a"] * 50 + ['"b.\\""'] * 50_000))
    path = write(tmp_path / "x.toml", f"schema = 1\n{long}{'' if '=' in key or '[' in key else ' = 1'}\n")
    ran = mcpctl("config", "check", str(path), "--json")
    (row,) = ran.json
    assert (ran.code, row["rule"], row["line"]) == (7, "E001", 2)
    assert "a key has more than 100 parts" in row["message"]


def test_dots_in_values_are_no_parts_of_keys(tmp_path: Path) -> None:
    dotted = "a." * 200
    text = f'[servers.s]\ncommand = "{dotted}a"\nargs = ["{dotted}", "{dotted}"] # {dotted}\n'
    assert list(problems.problems(tmp_path / "x.toml", text)) == []
    most = f"[servers.s.{'a.' * 97}a]\n"
    assert {each.rule for each in problems.problems(tmp_path / "x.toml", most)}.isdisjoint({"E001"})


def test_its_rules_are_listed(mcpctl: Mcpctl) -> None:
    assert [row["id"] for row in mcpctl("config", "check", "--rules", "--json").json] == list(problems.RULES)
