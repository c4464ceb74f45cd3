"""`mcpctl annotate check`: every rule finds what it is for, nothing else, and where it is."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from mcpctl.base.models import FINDING_FIELDS
from mcpctl.base.paths import Paths
from mcpctl.demo import notes
from mcpctl.toolsets.lint import RULES
from mcpctl.toolsets.toolset import ref_id
from tests.configured import configure, demo_tools, noted, overridden, reference, stub, toolset
from tests.conftest import Mcpctl, without_privileges
from tests.effort import calls
from tests.sarif import SARIF

KEY = "notes:add_note"
REF = reference(KEY)
OTHER = reference("notes:list_notes")
GOOD: dict[str, Any] = {"name": "triage", "tools": [REF, OTHER]}
DEFINITIONS = [definition for definition, _ in notes.server.tools.values()]


def note(name: Any, text: Any) -> dict[str, Any]:
    return {"toolNotes": [{"toolRef": REF, "notes": [{"name": name, "note": text}]}]}


def override(said: Any, key: str = KEY) -> dict[str, Any]:
    return {"toolRef": reference(key), "annotations": said}


# For each rule: what it finds, and what is like it and right.
CASES: dict[str, tuple[Any, Any]] = {
    "E101": ('{"name": "triage",}', GOOD),
    "E102": (GOOD | {"description": 3}, GOOD | {"description": "Three."}),
    "E103": (GOOD | {"toolNotes": [{"toolRef": REF}]}, GOOD | {"toolNotes": [{"toolRef": REF, "notes": []}]}),
    "E104": ({"servers": {}}, {"toolsets": {}}),
    "E105": (
        GOOD | {"tools": [REF, {"namespacedName": "add_note"}]},
        GOOD | {"tools": [{"namespacedName": "notes.add_note"}]},
    ),
    "E106": (GOOD | {"name": "Tri age"}, GOOD | {"name": "tri-age-2"}),
    "E107": (GOOD | note("Team", "Ask."), GOOD | note("team", "Ask.")),
    "E108": (
        GOOD | {"toolNotes": [noted(KEY, tip="One."), noted(KEY, tip="Two.")]},
        GOOD | {"toolNotes": [noted(KEY, tip="One."), noted("notes:list_notes", tip="Two.")]},
    ),
    "E109": (GOOD | note("long", "é" * 501), GOOD | note("long", "é" * 500)),
    "E110": (GOOD | note("tip", " \n"), GOOD | note("tip", ".")),
    "E111": (
        GOOD | {"toolOverrides": [overridden(KEY, readOnlyHint=True, destructiveHint=True)]},
        GOOD | {"toolOverrides": [overridden(KEY, readOnlyHint=True, destructiveHint=False)]},
    ),
    "E112": (
        GOOD | {"toolOverrides": [overridden(KEY, openWorldHint=True), overridden(KEY, openWorldHint=False)]},
        GOOD | {"toolOverrides": [overridden(KEY, openWorldHint=True), overridden(KEY, openWorldHint=True)]},
    ),
    "E113": (GOOD | {"tools": [REF, reference("notes:add_not")]}, GOOD),
    "E114": (
        '{"name": "triage", "tools": [{"namespacedName": "notes.add_note"}], "x": [{"y": 1, "y": 2}]}',
        GOOD | {"x": [{"y": 1}, {"y": 2}]},
    ),
    "E115": (GOOD | note("tip", "Ask\u202e first."), GOOD | note("tip", "Ask\n\tfirst: \U0001f469\u200d\U0001f4bb")),
    "E116": (
        GOOD | {"toolNotes": [noted(KEY, **{f"n{i}": "x" for i in range(21)})]},
        GOOD | {"toolNotes": [noted(KEY, **{f"n{i}": "x" for i in range(20)})]},
    ),
    "E117": (
        GOOD | {"policy": {"deny": ["issues"], "allow": ["*"]}},
        GOOD | {"policy": {"deny": ["notes:*"], "ask": ["@destructive"]}},
    ),
    "W201": (
        GOOD | {"toolNotes": [noted(KEY, **{f"n{i}": "x" * 500 for i in range(5)})]},
        GOOD | {"toolNotes": [noted(KEY, **{f"n{i}": "x" * 500 for i in range(4)})]},
    ),
    "W202": (GOOD | {"tools": []}, GOOD),
    "W203": (GOOD | {"tools": [REF, OTHER, REF]}, GOOD),
    "W204": (GOOD | {"tools": [REF, reference("elsewhere:do")]}, GOOD),
    "W205": (
        GOOD | {"tools": [REF, {"refId": "0" * 64}]},
        GOOD | {"tools": [{"refId": "{refId}"}]},
    ),
    "W206": (GOOD | {"toolOverrides": [override({})]}, GOOD | {"toolOverrides": [overridden(KEY, title="Add")]}),
    "W207": (
        GOOD | {"toolOverrides": [override({"readOnly": False, "openWorldHint": True})]},
        GOOD | {"toolOverrides": [override({"openWorldHint": True})]},
    ),
    "W208": (
        GOOD | {"toolOverrides": [override({"readOnlyHint": False}, "notes:list_notes")]},
        GOOD | {"toolOverrides": [override({"readOnlyHint": True}, "notes:list_notes")]},
    ),
    "W209": ({"name": "triage", "tools": [OTHER], **note("tip", "Ask.")}, GOOD | note("tip", "Ask.")),
    "W210": (GOOD | {"toolnotes": []}, GOOD | {"comment": [], "toolRef": 1}),
    "W211": (
        GOOD | {"policy": {"deny": ["notes:add_nte"]}},
        GOOD | {"policy": {"deny": ["*:drop_*", "*", "Notes:Add_Note"], "ask": ["notes:add_*", "@open-world"]}},
    ),
    "I301": (
        GOOD | {"tools": [REF | {"refId": "0" * 64}]},
        GOOD | {"tools": [REF | {"refId": "{refId}"}]},
    ),
    "I302": (
        GOOD | {"toolOverrides": [overridden("plain:tool", readOnlyHint=True)]},
        GOOD | {"toolOverrides": [overridden("plain:tool", readOnlyHint=False)]},
    ),
    "I303": (
        GOOD | {"toolOverrides": [override({"readOnlyHint": True}, "notes:list_notes")]},
        GOOD | {"toolOverrides": [override({"openWorldHint": True}, "plain:tool")]},
    ),
    "I304": (GOOD | {"policy": {"deny": ["github:*"]}}, GOOD | {"policy": {"deny": ["notes:*"]}}),
}  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository to be in, with a snapshot of what servers list."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    tools = [("notes", definition) for definition in DEFINITIONS] + [("plain", {"name": "tool", "inputSchema": {}})]
    lines = [json.dumps({"server": server, "tool": definition}) + "\n" for server, definition in tools]
    Path("catalog.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def write(content: Any, name: str = "triage.json") -> str:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=2)
    Path(name).write_text(text.replace("{refId}", _hash()), encoding="utf-8")
    return name


def _hash() -> str:
    from mcpctl.base.models import Tool

    definition = next(definition for definition in DEFINITIONS if definition["name"] == "add_note")
    return ref_id(Tool("notes", "add_note", definition, ""))


def check(mcpctl: Mcpctl, content: Any, *words: str) -> list[dict[str, Any]]:
    ran = mcpctl("annotate", "check", write(content), "--catalog", "catalog.jsonl", "--jsonl", *words)
    assert ran.code in (0, 7)
    return ran.jsonl


def test_every_rule_has_its_examples() -> None:
    assert list(CASES) == list(RULES)


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_finds_what_it_is_for(mcpctl: Mcpctl, rule: str) -> None:
    found = check(mcpctl, CASES[rule][0])
    assert rule in {row["rule"] for row in found}
    row = next(row for row in found if row["rule"] == rule)
    assert row["severity"] == {"E": "error", "W": "warning", "I": "info"}[rule[0]]
    assert row["message"]
    assert row["fix"] == RULES[rule].fix
    assert tuple(row) == FINDING_FIELDS
    # Where an error is the point of the example, nothing else counts.
    others = {row["rule"] for row in found if row["counts"]} - {rule}
    assert not others


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_finds_nothing_in_what_is_right(mcpctl: Mcpctl, rule: str) -> None:
    found = check(mcpctl, CASES[rule][1])
    assert rule not in {row["rule"] for row in found}
    assert not [row for row in found if row["severity"] == "error"]


def test_rules_that_take_long_to_read_are_found(mcpctl: Mcpctl) -> None:
    found = check(mcpctl, GOOD | {"policy": {"deny": [f"*:{'?*' * 500}{number}" for number in range(40)]}})
    assert [(row["rule"], row["message"]) for row in found] == [
        ("E117", "policy.deny: must have at most 32,768 characters in all")
    ]
    assert not check(mcpctl, GOOD | {"policy": {"deny": [f"*:*delete_{number}*" for number in range(1000)]}})


TEXT = """{
  "name": "triage",
  "tools": [
    {"namespacedName": "notes.add_note"}, {"namespacedName": "notes.add_not"}
  ],
  "toolNotes": [
    {"toolRef": {"namespacedName": "notes.add_note"}, "notes": [
\t{"note": "ü\\u0041 \\" ]", "name": "é"}
    ]}
  ]
}
"""


@pytest.mark.parametrize("lead", ["", "\ufeff"])
def test_a_finding_is_at_its_line_and_column(mcpctl: Mcpctl, lead: str) -> None:
    ran = mcpctl("annotate", "check", write(lead + TEXT), "--catalog", "catalog.jsonl")
    assert ran.code == 7
    assert ran.out.splitlines() == [
        "triage.json:4:62: E113 server 'notes' has no tool 'add_not'; did you mean 'add_note'?",
        "triage.json:8:35: E107 'é' cannot name a note",
    ]
    lines = TEXT.splitlines()
    assert lines[3][61:].startswith('"notes.add_not"')
    assert lines[7][34:].startswith('"é"')


@pytest.mark.parametrize(
    ("text", "place"),
    [('{"tools": [],\n "x": NaN}', "2:7"), ('{"tools": [}', "1:12"), ("", "1:1"), ('{"é": "\\ud800"}', "1:")],
)
def test_a_fault_in_the_json_is_at_its_line_and_column(mcpctl: Mcpctl, text: str, place: str) -> None:
    ran = mcpctl("annotate", "check", write(text))
    assert ran.code == 7
    assert ran.out.startswith(f"triage.json:{place}")
    assert " E101 " in ran.out


@pytest.mark.parametrize("written", ["caf\\u00e9", "café", 'a\\"b', "a\\\\b"])
def test_members_are_found_however_their_names_are_written(mcpctl: Mcpctl, written: str) -> None:
    ran = mcpctl("annotate", "check", write('{"toolsets": {\n "' + written + '": {"tools": 3}}}'), "--select", "E102")
    assert ran.out.startswith(f"triage.json:2:{len(written) + 16}: E102 ")


def test_what_rules_out_what_the_server_declares_contradicts_it(mcpctl: Mcpctl) -> None:
    content = GOOD | {"toolOverrides": [override({"destructiveHint": True}, "notes:list_notes")]}
    (row,) = check(mcpctl, content)
    assert row["rule"] == "W208"
    assert "readOnlyHint" in row["message"]


def test_what_is_very_deep_is_no_reason_to_crash(mcpctl: Mcpctl) -> None:
    assert " E101 " in mcpctl("annotate", "check", write('{"tools": ' + "[" * 100_000)).out
    assert " E102 " in mcpctl("annotate", "check", write('{"tools": [' + "[" * 600 + "]" * 600 + "]}")).out


def test_each_toolset_of_a_configuration_is_checked(mcpctl: Mcpctl) -> None:
    bad = GOOD | {"tools": [REF, REF]}
    for several in ({"one": GOOD, "two": bad}, [GOOD, bad | {"name": "two"}]):
        (row,) = check(mcpctl, {"lastEquippedToolset": "one", "toolsets": several})
        assert (row["rule"], row["toolset"]) == ("W203", "two" if isinstance(several, list) else "triage")


def test_only_what_counts_fails_the_check(mcpctl: Mcpctl) -> None:
    path = write(GOOD | {"tools": [REF, REF]})
    words = ("annotate", "check", path, "--catalog", "catalog.jsonl")
    ran = mcpctl(*words)
    assert (ran.code, ran.err) == (0, "1 warning in 1 file\n")
    assert " W203 " in ran.out
    failed = mcpctl(*words, "--fail-on", "warning", "--json")
    assert failed.code == 7
    assert failed.error["code"] == "problems"
    assert failed.error["message"] == "1 warning in 1 file"
    assert mcpctl(*words, "--fail-on", "warning", "--ignore", "W203").code == 0
    info = write(CASES["I301"][0])
    assert mcpctl("annotate", "check", info, "--catalog", "catalog.jsonl", "--fail-on", "warning").code == 0


def test_rules_are_selected_and_ignored_by_their_beginning(mcpctl: Mcpctl) -> None:
    content = GOOD | {"tools": [REF, REF], "name": "A"} | note("B", "")

    def rules(*words: str) -> list[str]:
        return [row["rule"] for row in check(mcpctl, content, *words)]

    assert rules() == ["E106", "W203", "E107", "E110"]
    assert rules("--select", "W,E106") == ["E106", "W203"]
    assert rules("--select", "E1", "--ignore", "e106", "--ignore", "E107") == ["E110"]
    for option in ("--select", "--ignore"):
        assert mcpctl("annotate", "check", "triage.json", option, "X9").code == 2


def test_the_budget_for_notes_is_an_option(mcpctl: Mcpctl) -> None:
    content = GOOD | {"toolNotes": [noted(KEY, one="12345"), noted(KEY, two="67890")]}
    assert [row["rule"] for row in check(mcpctl, content, "--max-note-chars", "9")] == ["W201"]
    assert check(mcpctl, content, "--max-note-chars", "10") == []


def test_without_a_snapshot_the_cached_catalog_counts(mcpctl: Mcpctl, paths: Paths) -> None:
    path = write(GOOD | {"tools": [REF, reference("notes:gone"), reference("weather:get_forecast")]})
    nothing = mcpctl("annotate", "check", path)
    assert (nothing.code, nothing.out) == (0, "")
    assert "compared with none" in nothing.err
    demo_tools(paths)
    assert [row["rule"] for row in mcpctl("annotate", "check", path, "--json").json] == ["E113"]


def test_a_toolset_of_ones_own_may_loosen_and_is_found_by_name(mcpctl: Mcpctl, paths: Paths) -> None:
    own = toolset(paths, "mine", KEY, toolOverrides=[overridden(KEY, openWorldHint=False)])
    theirs = toolset(paths, "mine", KEY, path=Path("x.json"), toolOverrides=[overridden(KEY, openWorldHint=False)])
    words = ("--catalog", "catalog.jsonl", "--select", "I302")
    assert mcpctl("annotate", "check", "mine", *words).out == ""
    assert mcpctl("annotate", "check", str(own), *words).out == ""
    assert mcpctl("annotate", "check", "nobody", *words).code == 3
    assert theirs.read_bytes() == own.read_bytes()


@pytest.mark.process
def test_live_servers_are_asked(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths)
    path = write(GOOD | {"tools": [REF, reference("weather:gone")]})
    assert [row["rule"] for row in mcpctl("annotate", "check", path, "--live", "--json").json] == ["E113"]
    configure(paths, {"broken": stub()})
    assert mcpctl("annotate", "check", path, "--live").code == 4


def test_a_folder_is_searched_for_toolsets(mcpctl: Mcpctl) -> None:
    for folder in ("tools/deep", "tools/.git", "tools/node_modules"):
        Path(folder).mkdir(parents=True)
        write(GOOD | {"name": "B"}, f"{folder}/a.json")
    write({"name": "package", "dependencies": {}}, "tools/package.json")
    write({"tools": [{"type": "function"}]}, "tools/request.json")
    write('{"compilerOptions": {}, // comment\n}', "tools/tsconfig.json")
    write('{"tools": [{"namespacedName": }]}', "tools/broken.json")
    ran = mcpctl("annotate", "check", "tools")
    assert [line.partition(":")[0] for line in ran.out.splitlines()] == ["tools/broken.json", "tools/deep/a.json"]
    assert "2 errors in 2 files; 3 skipped as no toolset: tools/package.json, tools/request.json, " in ran.err


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('<<<<<<< ours\n{"name": "conflict", "tools": []}\n=======\n', "E101"), ("", "E101"), ("garbage", "E101"),
        ('{"name": "trunc", "tools": [', "E101"), ("{}", "E104"), ("null", "E104"), ("[]", "E104"),
        ('{"name": "type", "tools": {"a.b": {}}}', "E102"), ('{"name": "typo", "tool": []}', "E103"),
        ('{"name": "typo", "tools": [{"namespaceName": "a.b"}]}', "E103"), ('{"name": "only-a-name"}', "E103"),
        ('{"Tools": [], "name": "cased"}', "E103"), ("\x00\x01", "E101"),
    ],
)  # fmt: skip
def test_a_broken_file_in_a_folder_fails_the_check(mcpctl: Mcpctl, text: str, rule: str) -> None:
    Path("tools").mkdir()
    write(GOOD, "tools/good.json")
    write(text, "tools/broken.json")
    ran = mcpctl("annotate", "check", "tools", "--catalog", "catalog.jsonl")
    assert ran.code == 7
    assert f"tools/broken.json:1:1: {rule} " in ran.out or f" {rule} " in ran.out
    assert "2 files" in ran.err


def test_a_file_in_a_folder_that_is_no_text_is_found(mcpctl: Mcpctl) -> None:
    Path("tools").mkdir()
    Path("tools/utf16.json").write_bytes('{"name": "x", "tools": []}'.encode("utf-16"))
    assert mcpctl("annotate", "check", "tools").out == "tools/utf16.json:1:1: E101 it is not UTF-8\n"


@pytest.mark.parametrize(
    "other",
    [
        {"name": "package", "version": "1.0.0", "scripts": {}}, {"version": 1, "isRoot": True, "tools": {"x": {}}},
        {"tools": [{"name": "a", "inputSchema": {}}]}, [{"name": "a"}], {"$schema": "x"}, {"tool": "x", "input": {}},
    ],
)  # fmt: skip
def test_what_is_clearly_something_else_is_skipped_and_counted(mcpctl: Mcpctl, other: Any) -> None:
    Path("tools").mkdir()
    write(GOOD, "tools/good.json")
    write(other, "tools/other.json")
    ran = mcpctl("annotate", "check", "tools", "--catalog", "catalog.jsonl")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "nothing found in 1 file; 1 skipped as no toolset: tools/other.json\n"


def test_a_folder_without_toolsets_fails_the_check(mcpctl: Mcpctl) -> None:
    Path("empty").mkdir()
    Path("tools").mkdir()
    write(GOOD, "tools/good.json")
    for words in (("empty",), ("tools", "empty")):
        ran = mcpctl("annotate", "check", *words)
        assert (ran.code, ran.out) == (2, "")
        assert "no toolset in the folder empty\nhint: no file ends in .json; " in ran.err
    write({"scripts": {}}, "empty/package.json")
    ran = mcpctl("annotate", "check", "empty")
    assert (ran.code, "hint: 1 other file ends in .json; " in ran.err) == (2, True)


BROKEN: dict[str, tuple[str | bytes, str]] = {
    "tools/conflict.json": (
        '{\n  "name": "c",\n<<<<<<< HEAD\n  "tools": []\n=======\n  "tools": [1]\n>>>>>>> x\n}\n',
        "3:1: E101 a merge conflict is not resolved here",
    ),
    "tools/empty.json": (" \n", "1:1: E101 it is empty"),
    "tools/garbage.json": (b"\x00\x01", "1:1: E101 a value is missing here"),
    "tools/deep/truncated.json": ('{"name": "trunc", "tools": [', "1:29: E101 a value is missing here"),
    "tools/type.json": ('{"name": "type", "tools": {}}', "1:27: E102 tools is not an array"),
    "tools/typo.json": ('{"name": "typo", "tool": []}', "1:1: E103 the file has no tools; is 'tool' meant as tools?"),
    "tools/twice.json": (json.dumps(GOOD)[:-1] + ', "name": "x2"}', "1:117: E114 name appears more than once"),
    "tools/bom.json": (b'\xef\xbb\xbf{\r\n  "name": "bom",\r\n  "tools": [,]}', "3:13: E101 a value is missing here"),
    "tools/byte\udcff.json": ("{", "1:2: E101 a name in double quotes is missing here"),
}
OTHER_FILES = {
    "package.json": '{"name": "x", "dependencies": {}}', "tsconfig.json": '{"compilerOptions": {}, // comment\n}',
    "catalog.json": '[{"server": "notes", "tool": {}}]', "node_modules/x/broken.json": "{", ".git/broken.json": "{",
}  # fmt: skip


@pytest.fixture
def team() -> list[str]:
    """A repository of toolset files, half of them broken, with other files and links; what is to be found."""
    wholes = {f"tools/{name}.json": json.dumps(GOOD) for name in ("one", "deep/two", "deep/deeper/three")}
    marked = {"tools/marked.json": b"\xef\xbb\xbf" + json.dumps(GOOD, indent=1).replace("\n", "\r\n").encode()}
    broken = {path: text for path, (text, _) in BROKEN.items()}
    for path, text in {**wholes, **marked, **broken, **OTHER_FILES}.items():
        Path("team", path).parent.mkdir(parents=True, exist_ok=True)
        Path("team", path).write_bytes(text if isinstance(text, bytes) else text.encode())
    Path("secrets").mkdir()
    write({"name": "Secret!"}, "secrets/secret.json")
    for link, place in (("out", "../../secrets/secret"), ("nowhere", "gone"), ("circle", "circle"), ("in", "one")):
        Path(f"team/tools/{link}.json").symlink_to(f"{place}.json")
    Path("team/tools/folder").symlink_to("../../secrets")
    os.mkfifo("team/tools/pipe.json")
    root = Path("team").resolve()
    links = {
        "tools/circle.json": "cannot read tools/circle.json: Too many levels of symbolic links",
        "tools/nowhere.json": f"tools/nowhere.json is a link to {root}/tools/gone.json, which does not exist",
        "tools/out.json": f"tools/out.json leads to {root.parent}/secrets/secret.json, which is outside of {root}",
        "tools/pipe.json": "cannot read tools/pipe.json: it is a pipe, not a regular file",
    }
    found = {path: told for path, (_, told) in BROKEN.items()} | {
        path: f"1:1: E101 {told}" for path, told in links.items()
    }
    return [f"{path}:{told}".replace("\udcff", "\\xff") for path, told in found.items()]


def test_of_a_repository_every_broken_file_is_found_and_no_other(
    mcpctl: Mcpctl, team: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("team")
    ran = mcpctl("annotate", "check", ".", "--catalog", "../catalog.jsonl", "--ignore", "W")
    assert (ran.code, sorted(ran.out.splitlines())) == (7, sorted(team))
    count = "13 errors in 18 files; 3 skipped as no toolset: catalog.json, package.json, tsconfig.json"
    assert f"{count}; links to folders are not followed: tools/folder" in ran.err
    for kind in ("json", "jsonl", "sarif", "junit", "github"):
        ran = mcpctl("annotate", "check", ".", "--catalog", "../catalog.jsonl", "--ignore", "W", "--format", kind)
        assert ran.code == 7
        assert count in ran.err
        assert all(line.partition(":")[0].rpartition("/")[2] in ran.out for line in team if "byte" not in line)
        assert "Secret!" not in ran.out


def test_a_schema_beside_the_files_is_something_else(mcpctl: Mcpctl) -> None:
    Path("tools").mkdir()
    write(GOOD, "tools/good.json")
    write(mcpctl("annotate", "schema").out, "tools/toolset.schema.json")
    ran = mcpctl("annotate", "check", "tools", "--catalog", "catalog.jsonl")
    assert (ran.code, ran.err) == (0, "nothing found in 1 file; 1 skipped as no toolset: tools/toolset.schema.json\n")


def test_a_file_larger_than_any_toolset_is_named_and_not_read(mcpctl: Mcpctl) -> None:
    Path("tools").mkdir()
    write(GOOD, "tools/good.json")
    Path("tools/large.json").touch()
    os.truncate("tools/large.json", 64 << 20)
    ran = mcpctl("annotate", "check", "tools", "--catalog", "catalog.jsonl")
    assert (ran.code, ran.err) == (0, "nothing found in 1 file; 1 skipped as no toolset: tools/large.json\n")


def test_without_a_path_ones_own_toolsets_are_checked(mcpctl: Mcpctl, paths: Paths) -> None:
    assert mcpctl("annotate", "check").code == 2
    path = toolset(paths, "mine", KEY, toolNotes=[noted(KEY, Bad="Ask.")])
    ran = mcpctl("annotate", "check", "--catalog", "catalog.jsonl")
    assert ran.code == 7
    assert ran.out.startswith(f"{path}:")
    assert "E107 'Bad' cannot name a note" in ran.out


def test_places_in_what_is_deep_and_has_a_member_twice_are_found(mcpctl: Mcpctl) -> None:
    """A finding below what is looked into is where that is which it is in."""
    deep = '{"name": "deep", "tools": [{"namespacedName": "notes.add_note"}],\n "x": ' + '{"a": ' * 400
    ran = mcpctl("annotate", "check", write(deep + '{"b": 1, "b": 2}' + "}" * 401), "--catalog", "catalog.jsonl")
    (line,) = ran.out.splitlines()
    assert line.startswith("triage.json:2:")
    assert " E114 " in line


def test_what_cannot_be_checked_has_its_own_exit_status(mcpctl: Mcpctl) -> None:
    path = write(GOOD)
    Path("odd.jsonl").write_text('{"server": 3}\n', encoding="utf-8")
    assert mcpctl("annotate", "check", path, "gone.json").code == 3
    assert mcpctl("annotate", "check", path, "--catalog", "gone.jsonl").code == 3
    odd = mcpctl("annotate", "check", path, "--catalog", "odd.jsonl")
    assert (odd.code, odd.out) == (5, "")
    assert "odd.jsonl:1" in odd.err


@pytest.mark.process
def test_what_may_not_be_read_is_a_finding_beside_the_others() -> None:
    Path("tools/closed").mkdir(parents=True)
    Path(write(GOOD, "tools/secret.json")).chmod(0)
    Path(write("{", "tools/broken.json"))
    Path("tools/closed").chmod(0)
    words = [sys.executable, "-m", "mcpctl", "annotate", "check", "tools"]
    ran = subprocess.run(words, preexec_fn=without_privileges, capture_output=True, check=False, text=True)
    assert ran.returncode == 7
    assert ran.stdout.splitlines() == [
        "tools/closed:1:1: E101 the folder cannot be listed: Permission denied",
        "tools/broken.json:1:2: E101 a name in double quotes is missing here",
        "tools/secret.json:1:1: E101 cannot read tools/secret.json: Permission denied",
    ]


@pytest.mark.parametrize(
    "words",
    [(), ("x.json", "--fail-on", "note"), ("x.json", "--format", "xml"), ("x.json", "--json", "--format", "sarif"),
     ("catalog.jsonl", "--live", "--catalog", "catalog.jsonl")],
)  # fmt: skip
def test_what_contradicts_itself_is_refused(mcpctl: Mcpctl, words: tuple[str, ...]) -> None:
    assert mcpctl("annotate", "check", *words).code == 2


HOSTILE = {"name": "x\n::error::\x1b[31m,%:\u202e", "tools": [REF]}


def test_github_reads_each_finding_as_one_annotation(mcpctl: Mcpctl) -> None:
    Path("a,b%").mkdir()
    path = write(HOSTILE, "a,b%/c.json")
    ran = mcpctl("annotate", "check", path, "--catalog", "catalog.jsonl", "--format", "github")
    (line,) = ran.out.splitlines()
    assert line.startswith("::error file=a%2Cb%25/c.json,line=2,col=11,title=E106::'x%0A::error::")
    assert ",%25:" in line


def test_a_question_has_no_full_stop(mcpctl: Mcpctl) -> None:
    ran = mcpctl("annotate", "check", write({"name": "triage", "tool": []}), "--format", "github")
    assert ran.out.endswith("is 'tool' meant as tools? Add the member.\n")


def test_a_message_does_not_repeat_a_name_of_any_length(mcpctl: Mcpctl) -> None:
    (row,) = check(mcpctl, GOOD | {"tools": [REF, reference("notes:" + "a" * 100_000)]})
    assert row["rule"] == "E113"
    assert len(row["message"]) == 501


def test_no_line_is_a_command_of_a_ci_system(mcpctl: Mcpctl) -> None:
    """GitHub takes :: at the beginning of a line and ##[ anywhere in it for commands, Azure ##vso[."""
    folder = Path("::set-output name=pwned::yes")
    folder.mkdir()
    content = GOOD | note("##[set-output name=approved]true", "x") | {"name": "##VSO[task.complete]"}
    write(content, f"{folder}/a.json")
    ran = mcpctl("annotate", "check", ".", "--catalog", "catalog.jsonl")
    assert [line[:10] for line in ran.out.splitlines()] == ["./::set-ou"] * 2
    ran = mcpctl("annotate", "check", f"{folder}/a.json", f" {folder}/##[b.json", "--catalog", "catalog.jsonl")
    assert ran.code == 3
    for text in (ran.out, ran.err, mcpctl("annotate", "check", ".", "--fail-on", "warning").out):
        assert "##[" not in text
        assert "##vso[" not in text.lower()
        assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]


def test_a_text_never_reaches_a_terminal_raw(mcpctl: Mcpctl) -> None:
    for kind in ("text", "github", "sarif", "junit", "json"):
        ran = mcpctl("annotate", "check", write(HOSTILE), "--format", kind, tty=True)
        assert not {"\x1b", "\u202e"} & set(ran.out)


def everything() -> list[str]:
    return [write(bad, f"{rule}.json") for rule, (bad, _) in CASES.items()]


def test_sarif_is_valid_and_says_where(mcpctl: Mcpctl) -> None:
    Path("ä b").mkdir()
    outside = write(HOSTILE, "../out.json")
    words = [*everything(), write(HOSTILE, "ä b/c.json"), outside, "--catalog", "catalog.jsonl", "--format", "sarif"]
    log = mcpctl("annotate", "check", *words).json
    jsonschema.Draft7Validator(SARIF).validate(log)
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(RULES)
    assert {result["ruleId"] for result in run["results"]} == set(RULES)
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]]
    assert {"E106.json", "%C3%A4%20b/c.json", Path(outside).resolve().as_uri()} <= set(uris)
    clean = mcpctl("annotate", "check", write(GOOD), "--format", "sarif").json
    jsonschema.Draft7Validator(SARIF).validate(clean)
    assert clean["runs"][0]["results"] == []


def test_junit_counts_what_counts(mcpctl: Mcpctl) -> None:
    words = [write(HOSTILE, "bad.json"), write(GOOD, "good.json"), write(CASES["W203"][0], "odd.json")]
    ran = mcpctl("annotate", "check", *words, "--catalog", "catalog.jsonl", "--format", "junit")
    assert ran.code == 7
    suites = ElementTree.fromstring(ran.out)
    said = {suite.get("name"): (suite.get("tests"), suite.get("failures")) for suite in suites}
    assert said == {"bad.json": ("1", "1"), "good.json": ("1", "0"), "odd.json": ("1", "0")}
    assert [failure.get("type") for failure in suites.iter("failure")] == ["E106"]


def test_the_rules_are_listed_with_reason_and_fix(mcpctl: Mcpctl) -> None:
    rows = mcpctl("annotate", "check", "--rules", "--json").json
    assert [row["id"] for row in rows] == list(RULES)
    assert all(row["what"] and row["why"] and row["fix"] for row in rows)
    assert len(mcpctl("annotate", "check", "--rules").out.splitlines()) == len(RULES)


@pytest.mark.parametrize("known", ["tool", "other"])
def test_a_file_of_four_times_the_entries_is_four_times_the_work(known: str, mcpctl: Mcpctl) -> None:
    def checked(entries: int) -> None:
        keys = [f"big:tool_{number}" for number in range(entries)]
        content = {"name": "big", "tools": [reference(key) | {"refId": "0" * 64} for key in keys],
                   "toolNotes": [noted(key, tip="x" * 100) for key in keys]}  # fmt: skip
        tools = [{"server": "big", "tool": {"name": f"{known}_{n}", "inputSchema": {}}} for n in range(entries)]
        Path("catalog.jsonl").write_text("".join(json.dumps(tool) + "\n" for tool in tools), encoding="utf-8")
        assert len(check(mcpctl, content)) >= entries

    checked(1)  # what is imported and looked up but once
    assert calls(lambda: checked(400)) < 5 * calls(lambda: checked(100))
