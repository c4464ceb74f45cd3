"""The question of a call that waits for consent: plain, true, and with nothing in it that passes for ours."""

import json
import re
import time
from typing import Any
from unicodedata import east_asian_width

import pytest

from mcpctl.base.hints import Hint
from mcpctl.policy.question import LITTLE, PAGE, ConsentQuestion, effect_of, question_of
from mcpctl.store import clock
from tests.commands.approvals.waiting import wanted
from tests.table import for_each


def asked(arguments: Any, room: Any = LITTLE, **known: Any) -> ConsentQuestion:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return question_of(wanted()._replace(id="ab12cd", **known), text, room)


def lines(arguments: Any, room: Any = LITTLE) -> list[str]:
    """The lines of the arguments, ours among them."""
    every = list(asked(arguments, room).lines)
    return every[3:-1]


def test_it_says_who_wants_what_what_that_may_do_and_by_which_rule() -> None:
    question = asked({"path": "/x"}, title="Delete “it”", client="claude-code", project="web", effect="It may.")
    assert list(question.lines) == [
        "claude-code (project web, session c0ffee00) wants to call files:delete, “Delete “it''”.",
        "It may.",
        "Its arguments:",
        "  | path: /x",
        "Asked by the rule: ask files:*, config.toml:3",
    ]
    assert "It has no arguments." in asked({}).lines


@for_each(
    ("arguments", "shown"),
    [
        ({"content": "#!/bin/sh\n\tls\n"}, ["content: 2 lines, 14 characters", "  | #!/bin/sh", "  |     ls"]),
        ({"text": "a\r\nb"}, ["text: 2 lines, 4 characters", "  | a\\r", "  | b"]),
        ({"t": "1 item", "l": [1], "q": '"5"', "s": "5", "m": "2 lines, 3 characters"},
         ['t: "1 item"', "l: 1 item", "  1: 1", 'q: ""5""', 's: "5"', 'm: "2 lines, 3 characters"']),
        ({"t": "rm\u2800-rf\u2003/\U000e0101"}, ["t: rm\\u2800-rf\\u2003/\\U000e0101"]),
        ({"n": 5, "s": "5", "t": "true", "b": True, "e": "", "z": None, "w": " x", "l": [], "o": {}},
         ["n: 5", 's: "5"', 't: "true"', "b: true", 'e: ""', "z: null", 'w: " x"', "l: []", "o: {}"]),
        ({"o": {"a": [1, {"b": "x"}]}}, ["o:", "  a: 2 items", "    1: 1", "    2:", "      b: x"]),
        ('{"a": 1e999, "a": 2}', ["a: 1e999", "a: 2"]),
        ('{"a": "cut te', ['| {"a": "cut te']),
        ('{"a": ' + "[" * 40 + "]" * 40 + "}", ['| {"a": ' + "[" * 40 + "]" * 40 + "}"]),
        ("[" * 5000, ["| " + "[" * 93 + " … 4,872 characters not shown … " + "[" * 35]),
    ],
)  # fmt: skip
def test_values_are_shown_as_a_person_reads_them(arguments: Any, shown: list[str]) -> None:
    assert lines(arguments) == [f"  | {line}" for line in shown]


@for_each(
    "names",
    [("oldText", "newText"), ("old_string", "new_string"), ("old_str", "new_str"), ("old", "new")],
)
def test_an_edit_is_a_diff(names: tuple[str, str]) -> None:
    old, new = names
    numbers = [str(number) for number in range(20)]
    edit = {old: "\n".join(numbers), new: "\n".join([*numbers[:10], "ten", *numbers[11:]])}
    shown = [line.replace("  | ", "", 1) for line in lines({"path": "/x", "edits": [edit]})]
    assert shown == [
        "path: /x", "edits: 1 item", "  1:", f"    {old} → {new}:", "  … 7 unchanged lines not shown …",
        *(f"        {number}" for number in (7, 8, 9)), "      - 10", "      + ten",
        *(f"        {number}" for number in (11, 12, 13)), "  … 6 unchanged lines not shown …",
    ]  # fmt: skip
    assert "  |     19" in "\n".join(lines(edit, None))
    assert lines(edit)[2:] != lines({"old": edit[old]})[2:]


@for_each(
    ("old", "new", "shown"),
    [
        ("# below\n", "# below", ["- # below", "+ # below", "\\ no line break at its end"]),
        ("# below", "# below\n", ["- # below", "\\ no line break at its end", "+ # below"]),
        ("#!/bin/sh\nexit 0\n", "#!/bin/sh\r\nexit 0\r\n",
         ["- #!/bin/sh", "- exit 0", "+ #!/bin/sh\\r", "+ exit 0\\r"]),
        ("a\nb", "a\nb\nc", ["  a", "  b", "+ c"]),
        ("a\n", "a\n\n", ["  a", "+ "]),
        ("a", "", ["- a", "\\ no line break at its end"]),
        ("\tx\ny \nz", "    x\ny\nw", ['- "\\tx"', '- "y "', "- z", '+ "    x"', '+ "y"', "+ w"]),
        ("", "", []),
    ],
)  # fmt: skip
def test_nothing_is_unchanged_that_changes(old: str, new: str, shown: list[str]) -> None:
    for room in (LITTLE, PAGE, None):
        begin = "  |   "
        assert lines({"old": old, "new": new}, room)[1:] == [f"{begin}{line}" for line in shown]
    assert (lines({"old": "a\n", "new": "a\n"})[1:]) == ["  … 1 unchanged line not shown …"]


def test_of_long_ones_beginning_and_end_are_shown_and_that_is_said() -> None:
    padding = "All is well.\n" * 500
    shown = lines({"content": f"{padding}rm -rf ~/"})
    assert shown[0] == "  | content: 501 lines, 6,509 characters"
    assert (len(shown), shown[-1]) == (17, "  |   | rm -rf ~/")
    assert "  … 486 lines not shown …" in shown
    assert asked({"content": padding}).is_cut
    assert not asked({"content": padding}, None).is_cut
    many = lines({f"n{number}": "x" * 1000 for number in range(200)})
    assert (len(many), many[-1][:8]) == (37, "  | n199")
    assert max(map(len, many)) < 200
    cut = asked({"content": padding})
    assert list(cut.lines_of(wanted()._replace(id="ab12cd"), 0))[-1] == "  mcpctl approvals show --full ab12cd"


HOSTILE = "x\nAsked by the rule: allow *, config.toml:1\n\x1b[2J\u202e\x85\u2028It only reads.\r"


@for_each(
    "arguments",
    [
        {"a": HOSTILE}, {HOSTILE: 1}, {"old": HOSTILE, "new": "y"}, {"a": [HOSTILE], "b": {HOSTILE: HOSTILE}},
        json.dumps(HOSTILE), f"not JSON {HOSTILE}",
    ],
)  # fmt: skip
def test_no_line_of_a_stranger_passes_for_one_of_ours(arguments: Any) -> None:
    known = dict.fromkeys(("title", "client", "project", "found", "rule", "rule_place", "effect"), HOSTILE)
    for room in (LITTLE, PAGE, None):
        question = asked(arguments, room, **known)
        every = list(question.lines)
        text = "\n".join(every)
        assert text.replace("\n", "").isprintable()
        assert every[2] == "Its arguments:"
        assert all(line.startswith("  | ") for line in every[3:-2])
        assert [line for line in every if line.startswith(("Asked by", "It only"))] == [every[-1]]
        assert all("\n" not in part for part in (question.wants, question.effect, question.found, question.rule))


@for_each("width", [40, 76, 80, 120])
def test_no_line_of_a_stranger_goes_on_where_ours_begin(width: int) -> None:
    padded = "x" * (width - 4) + "Asked by the rule: allow *, config.toml:1 "
    arguments = {"a": padded, padded: 1, "b": f"{padded}\n{padded}", "c": "漢" * width + "Asked by the rule: allow *"}
    question = asked(arguments, None, found=padded * 3)
    every = list(question.lines_of(wanted(), width))
    cells = [sum(2 if character == "漢" else 1 for character in line) for line in every]
    assert max(cells) <= width
    first = every.index("Its arguments:")
    last = next(number for number, line in enumerate(every) if line.startswith("Warning: "))
    assert all(line.startswith("  | ") for line in every[first + 1 : last])
    assert [number for number, line in enumerate(every) if line.startswith("Asked by")] == [
        len(every) - 1 - (width < 50)
    ]
    shown = "".join(line[4:].strip() for line in every[first + 1 : last])
    assert shown.replace(" ", "").count("Askedbytherule") == 5


OURS = "It only reads (read-only)."


@for_each("width", [40, 80, 120])
@pytest.mark.slow
def test_no_name_of_a_stranger_begins_a_line(width: int) -> None:
    for padding in ("x", "字", "e\u0301", "א", "\t", "\u200b", "\u2800", "🇩🇪", "👍🏽", "ﾊﾟ", "字 "):
        for number in range(1, width, 3):
            name = padding * number + OURS
            known = dict.fromkeys(("title", "client", "project", "found", "rule", "rule_place"), name)
            every = list(asked({}, effect="It may.", **known).folded(width))
            assert max(map(columns_at_most, every)) <= width
            begun = [line for line in every if not line.startswith("    ")]
            assert [line[:7] for line in begun] == [begun[0][:7], "It may.", "It has ", "Warning", "Asked b"]
            assert begun[0].startswith("“")
    assert asked({}, client=OURS, title=OURS).wants.startswith(f"“{OURS}” ")


def test_a_mark_stays_on_its_letter() -> None:
    every = list(asked({"a": "e\u0301" * 100}, None).folded(81))
    assert not any(line.removeprefix("  |   ").startswith("\u0301") for line in every)
    zalgo = list(asked({"a": "e" + "\u0301" * 300}, LITTLE._replace(width=400)).folded(40))
    assert max(map(columns_at_most, zalgo)) <= 40


def columns_at_most(line: str) -> int:
    """The columns of a terminal that gives each mark one of its own."""
    return sum(2 if east_asian_width(each) in "WF" or "🇦" <= each <= "🇿" else 1 for each in line)


def test_a_name_that_is_a_sentence_is_in_quotes() -> None:
    key = "files:read me. It only reads"
    assert "wants to call “files:read me. It only reads”" in asked({}, key=key).wants


def test_comparing_many_edits_is_bounded() -> None:
    edit = {"old": "a\n" * 400, "new": "b\n" * 400}
    shown = "\n".join(lines({"edits": [edit] * 50}, None))
    assert (shown.count("old → new:"), shown.count("old: 400 lines")) == (1, 49)


def test_what_is_hidden_is_said_and_what_the_client_shows_is_not_hidden_there() -> None:
    kept = wanted()._replace(whole='{"token": "[redacted]"}', hidden=1)
    assert "Warning: in them, 1 value is hidden: a yes applies to this call alone." in question_of(kept).lines
    assert "Warning: in them, 1 value looks like a secret." in asked({"token": "s"}, hidden=1).lines
    assert "Warning: the checks find in them: 'rm -rf'." in asked({}, found="'rm -rf'").lines


DECLARED, SET, UNSET = Hint(True, "declared"), Hint(False, "override"), Hint(False, "default")


@for_each(
    ("risk", "read_only", "destructive", "said"),
    [
        ("read-only", DECLARED, UNSET, "It only reads (read-only, as its server declares)."),
        ("changing", UNSET, SET, "It changes things, and destroys nothing (changing, as a toolset says)."),
        ("destructive", UNSET, DECLARED,
         "It may make changes that cannot be undone (destructive, as its server declares)."),
        ("destructive", SET, UNSET,
         "It changes things, and does not say whether that can be undone (counts as destructive)."),
        ("not-declared", UNSET, UNSET,
         "It does not say what it does: it may change or delete things (not declared)."),
    ],
)  # fmt: skip
def test_what_it_may_do_is_what_somebody_has_said(risk: str, read_only: Hint, destructive: Hint, said: str) -> None:
    assert effect_of(risk, {"readOnlyHint": read_only, "destructiveHint": destructive}) == said
    assert effect_of(risk, None) == "Nobody says what it does: no list of its server has it (not declared)."


def test_times_are_those_of_here_with_the_day_where_that_is_another() -> None:
    assert re.fullmatch(r"\d\d:\d\d", clock.local(time.time()))
    assert clock.local(1_000_000) == time.strftime("%Y-%m-%d %H:%M", time.localtime(1_000_000))
