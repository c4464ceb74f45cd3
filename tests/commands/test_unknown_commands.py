"""A word that is no command of mcpctl, and what it may have meant."""

from mcpctl.cli import command_run
from tests.conftest import Mcpctl
from tests.table import for_each


@for_each(
    ("line", "meant"),
    [
        ("call time:now", ["tools call", "calls"]),
        ("search clock", ["tools search", "servers search"]),
        ("list", ["tools ls", "servers ls", "calls ls"]),
        ("ls", ["tools ls", "servers ls", "calls ls"]),
        ("logs", ["servers logs"]),
        ("add x", ["servers add", "toolsets add", "annotate add"]),
        ("update", ["tools refresh"]),
        ("status", ["doctor"]),
        ("test", ["servers check"]),
        ("servers test", ["servers check"]),
        ("session ls", ["sessions"]),
        ("settings", ["config edit"]),
        ("validate", ["config check"]),
        ("serch", ["tools search", "servers search", "serve"]),
        ("tool ls", ["tools", "toolsets"]),
        ("tools list", ["tools ls"]),
        ("tools run", ["tools call"]),
        ("tools refesh", ["tools refresh"]),
        ("servers call", ["tools call", "calls"]),
        ("help calls list", ["calls ls"]),
    ],
)
def test_a_word_that_is_no_command_is_told_with_what_it_may_mean(mcpctl: Mcpctl, line: str, meant: list[str]) -> None:
    ran = mcpctl(*line.split())
    told = f"hint: did you mean: {' or '.join(f'mcpctl {each}' for each in meant)}?\n"
    assert (ran.code, ran.err.splitlines(keepends=True)[-1]) == (2, told)


@for_each("word", ["completion", "completions", "upgrade", "self-update"])
def test_what_is_done_in_another_way_is_told(mcpctl: Mcpctl, word: str) -> None:
    ran = mcpctl(word, "x")
    assert ran.code == 2
    assert command_run._INSTEAD[command_run._SAME.get(word, word)] in ran.err


def test_what_is_like_nothing_is_told_where_all_commands_are(mcpctl: Mcpctl) -> None:
    assert mcpctl("xyzzy").err == "mcpctl: there is no command 'xyzzy'\nhint: list commands with: mcpctl -h\n"
    assert mcpctl("db", "zzz").err == "mcpctl: there is no command 'db zzz'\nhint: list commands with: mcpctl db -h\n"


def test_every_command_that_is_told_is_one(mcpctl: Mcpctl) -> None:
    meant = [words for words in command_run._MEANT.values() if " " in words or words in ("doctor", "install")]
    assert len(meant) > 5
    for words in (*meant, "serve", "dashboard"):
        assert mcpctl(*words.split(), "-h").code == 0, words
