"""Values of `tools call` and `prompts get` that are in files."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests import configured
from tests.commands.test_complete import offered
from tests.commands.tools.test_call import echoing, server
from tests.commands.tools.test_calls_in_turn import lines, run, text
from tests.conftest import Mcpctl
from tests.table import for_each

KINDS = {
    "text": {"type": "string"},
    "list": {"type": "array"},
    "number": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "either": {"type": ["string", "object"]},
    "any": {},
}
SCHEMA: dict[str, Any] = {"type": "object", "properties": KINDS}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "files"
    (folder / "sub dir").mkdir(parents=True)
    contents = {
        "notes.txt": b"two\nlines \xc3\xa9\n", "seven": b"7\n", "list.json": b'[1,\n"\xe2\x80\xa8"]', "empty": b"",
        "object.json": b'{"text": "x"}', "bom.json": b'\xef\xbb\xbf{"text": "y"}', "at": b"@notes.txt", "at2": b"@@x",
        "bytes": b"\xff\xd8\x00", "sub dir/a": b"deep", "-": b"dash", ".hidden": b"h",
    }  # fmt: skip
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    return folder


PASSED: list[tuple[str, Any]] = [
    ("text=@notes.txt", {"text": "two\nlines é\n"}),
    ("text=@seven", {"text": "7\n"}),
    ("any=@seven number=@seven", {"any": 7, "number": 7}),
    ("list=@list.json", {"list": [1, "\u2028"]}),
    ("either=@object.json any=@notes.txt", {"either": {"text": "x"}, "any": "two\nlines é\n"}),
    ("text=@object.json other=@object.json", {"text": '{"text": "x"}', "other": {"text": "x"}}),
    ("text=@empty any=@empty", {"text": "", "any": ""}),
    ("text=@@notes.txt any=@@", {"text": "@notes.txt", "any": "@"}),
    ("text=@ any=a@b", {"text": "@", "any": "a@b"}),
    ("text=@at any=@at2", {"text": "@notes.txt", "any": "@@x"}),
    ("'text=@sub dir/a' any=@./-", {"text": "deep", "any": "dash"}),
    ("text=@~/notes.txt", {"text": "two\nlines é\n"}),
    ("@object.json", {"text": "x"}),
    ("@bom.json", {"text": "y"}),
]


@pytest.mark.process
@pytest.mark.usefixtures("files")
@pytest.mark.slow
def test_the_value_after_an_at_sign_is_in_a_file(paths: Paths) -> None:
    configured.configure(paths, {"s": {**server("counter"), "env": {"ECHO_SCHEMA": json.dumps(SCHEMA)}}})
    configured.listed(paths, "s", [{"name": "echo", "inputSchema": SCHEMA}])
    ran = run("".join(f"s:echo {words}\n" for words, _ in PASSED))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [(words, text(line)) for (words, _), line in zip(PASSED, lines(ran), strict=True)] == PASSED


@pytest.mark.process
@pytest.mark.usefixtures("files")
def test_one_value_may_be_on_stdin_and_the_record_has_what_was_sent(mcpctl: Mcpctl, paths: Paths) -> None:
    echoing(paths, SCHEMA)
    ran = mcpctl("tools", "call", "s:echo", "text=@-", "list=@list.json", stdin="from\nstdin\n")
    assert ran.json == {"text": "from\nstdin\n", "list": [1, "\u2028"]}
    assert mcpctl("calls", "show", "last", "--json").json["arguments"] == ran.json


@pytest.mark.process
def test_a_pipe_is_read_to_its_end(mcpctl: Mcpctl, paths: Paths) -> None:
    echoing(paths, SCHEMA)
    reading, writing = os.pipe()
    os.write(writing, b"from a command")
    os.close(writing)
    assert mcpctl("tools", "call", "s:echo", f"text=@/dev/fd/{reading}").json == {"text": "from a command"}
    os.close(reading)


@for_each(
    ("words", "code", "message", "hint"),
    [
        (["text=@gone.txt"], 3, "there is no file gone.txt",
         "check the name; a value that begins with @ has it twice: text=@@gone.txt"),
        (["@gone.json"], 3, "there is no file gone.json", "check the name"),
        (["text=@bytes"], 5, "cannot read bytes: it is not UTF-8",
         "where the tool takes base64: base64 -w0 FILE | mcpctl tools call KEY text=@-"),
        (["text=@~nobody-here/x"], 3, "there is no file ~nobody-here/x",
         "check the name; a value that begins with @ has it twice: text=@@~nobody-here/x"),
        (["text=@sub dir"], 5, "cannot read sub dir: Is a directory", "name a file that can be read"),
        (["text=@/dev/zero"], 5, "cannot read /dev/zero: it is larger than 16 MB", "name another file"),
        (["text=@big"], 5, "cannot read big: it is larger than 16 MB", "name another file"),
        (["list=@notes.txt"], 2, "notes.txt is not JSON: line 1, column 1: a value is missing here",
         "the tool takes array as list"),
        (["list=@-"], 2, "stdin is not JSON: line 1, column 1: a value is missing here",
         "the tool takes array as list"),
        (["@list.json"], 2, "list.json is not a JSON object", 'give one, such as {"city": "Oslo"}'),
        (["text=@-", "any=@-"], 2, "stdin is read twice, and is empty then",
         "give one argument from it, the others from files"),
        (["@object.json", "text=x"], 2, "'@object.json' is not KEY=VALUE",
         "give JSON, - for JSON on stdin, or KEY=VALUE pairs"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_value_is_refused_before_anything_starts(
    mcpctl: Mcpctl, paths: Paths, files: Path, words: Sequence[str], code: int, message: str, hint: str
) -> None:
    configured.configure(paths, {"s": configured.stub()})
    configured.listed(paths, "s", [{"name": "echo", "inputSchema": SCHEMA}])
    with (files / "big").open("wb") as big:
        big.truncate((16 << 20) + 1)
    ran = mcpctl("tools", "call", "s:echo", *words, stdin="words")
    assert (ran.code, ran.err) == (code, f"mcpctl: {message}\nhint: {hint}\n")
    assert mcpctl("calls", "ls", "--count").out == "0\n"


@for_each(
    ("typed", "found"),
    [
        ("text=@", ["-", "at", "at2", "bom.json", "bytes", "empty", "list.json", "notes.txt", "object.json", "seven",
                    "sub dir/"]),
        ("text=@se", ["seven"]), ("text=@.", [".hidden"]), ("text=@sub\\ dir/", ["sub dir/a"]),
        ("@ob", ["object.json"]),
        ("text=@~/no", ["~/notes.txt"]), ("text=@@", []),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("files")
def test_files_are_offered_after_an_at_sign(paths: Paths, typed: str, found: list[str]) -> None:
    configured.configure(paths, {"s": configured.stub()})
    configured.listed(paths, "s", [{"name": "echo", "inputSchema": SCHEMA}])
    lead = typed[: typed.index("@") + 1]
    assert offered(f"tools call s:echo {typed}") == [f"{lead}{name}" for name in found]
