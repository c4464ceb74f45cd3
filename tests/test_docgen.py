"""The manual is what the command tree makes it."""

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec
import pytest
from pytest_snapshot.plugin import Snapshot

from mcpctl import docgen
from mcpctl.base import fields
from mcpctl.base.errors import ExitCode
from mcpctl.base.fields import CALL_FIELDS, DISCOVERY_FIELDS, SESSION_FIELDS
from mcpctl.base.paths import Paths
from mcpctl.docgen import config_page, guides, records_page, roff, tree
from mcpctl.docgen.texts import TEXTS
from mcpctl.store import index
from tests import recorded
from tests.conftest import ROOT
from tests.table import for_each
from tests.test_layout import EVERY


@cache
def pages() -> dict[str, str]:
    """The manual pages by their names, made once, and not where these tests are only collected."""
    return docgen.man_pages()


def test_the_man_pages_are_made_from_the_tree(snapshot: Snapshot) -> None:
    snapshot.snapshot_dir = ROOT
    folders = {f"man{part}": {name: text for name, text in pages().items() if name.endswith(part)} for part in "157"}
    snapshot.assert_match_dir(folders, "man")


def test_the_help_that_is_printed_is_that_of_the_tree(snapshot: Snapshot) -> None:
    snapshot.snapshot_dir = ROOT / "mcpctl"
    snapshot.assert_match(docgen.help_pages(), "help.txt")


def test_every_command_has_a_page() -> None:
    for path, _ in EVERY:
        assert f"{'-'.join(('mcpctl', *path))}.1" in pages()


def test_making_the_pages_twice_makes_the_same_pages() -> None:
    assert docgen.man_pages() == pages()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["groff -ww -man -Tutf8", "mandoc -T lint -W style"], ids=lambda command: command.split()[0]
)
def test_the_formatters_have_nothing_to_say_against_any_page(command: str) -> None:
    program, *options = command.split()
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    for page in sorted((ROOT / "man").rglob("mcpctl*")):
        ran = subprocess.run([program, *options, page], capture_output=True, encoding="utf-8", timeout=30, check=False)
        said = ran.stderr if program == "groff" else ran.stdout + ran.stderr
        assert (said, ran.returncode) == ("", 0), page


def printed(lines: Iterable[str]) -> str:
    """What groff makes of lines, one line for each."""
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    page = roff.joined([".TH X 1 2026-01-01", ".nf", ".ll 500n", *lines])
    ran = subprocess.run(["groff", "-ww", "-man", "-Tutf8", "-P-c"], input=page, capture_output=True, encoding="utf-8",
                         timeout=30, check=True)  # fmt: skip
    assert ran.stderr == ""
    return re.sub(".\b", "", ran.stdout).replace("\N{MINUS SIGN}", "-")  # the same to man, which is told so


@for_each(
    "text",
    [".TH is no request here", "'quoted' at the start", r"a \fBbackslash\fR and \(aq", 'say "this" and `that`',
     "--no-read-only", "~/.config ^caret", "Grüße, … 日本語 🎉", "\\", "..", ".\\\" no comment"],
)  # fmt: skip
def test_text_is_printed_as_it_stands(text: str) -> None:
    assert text in printed([roff.line(text)])
    assert text in printed([f"x{roff.bold(text)}"])


def test_every_exit_code_has_its_meaning_in_the_manual_and_in_the_readme() -> None:
    assert all(code.meaning.endswith(".") for code in ExitCode)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for code in ExitCode:
        assert f"\n\\fB{int(code)}\\fR\n" in pages()["mcpctl.1"]
        assert re.search(rf"^\|[\d, ]*\b{int(code)}\b[\d, ]*\|", readme, re.MULTILINE), code


def test_the_manual_names_every_variable_that_is_read() -> None:
    sources = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "mcpctl").rglob("*.py"))
    assert set(re.findall(r"\bMCPCTL_[A-Z_]+\b", sources)) <= set(TEXTS["ENVIRONMENT"])


def test_every_key_of_the_configuration_is_in_the_manual() -> None:
    lists = ["allow", "ask", "deny", "limit"]
    for title, struct in config_page.STRUCTS.items():
        described = [*(lists if title == "[projects.NAME.policy]" else []), *TEXTS[title]]
        assert described == [field.name for field in msgspec.structs.fields(struct)]


def test_every_section_of_the_configuration_is_in_the_manual() -> None:
    example = tomllib.loads(TEXTS["config_example"])
    assert {title.strip("[]").partition(".")[0] for title in config_page.STRUCTS} == set(example)


def test_every_member_of_a_line_and_every_column_is_in_the_manual() -> None:
    page = pages()["mcpctl-records.5"]
    shown = [records_page.members(line) for line in fields.LINES]
    shown += [{name: meaning for name, (_, meaning) in table.items()} for kind in ("table", "view")
              for table in records_page.tables(kind).values()]  # fmt: skip
    for name, meaning in ((name, meaning) for members in shown for name, meaning in members.items()):
        assert meaning.endswith("."), name
        assert roff.bold(name) in page
    columns = {name for members in shown for name in members}
    assert {*SESSION_FIELDS, *CALL_FIELDS, *DISCOVERY_FIELDS} <= columns


def test_the_tables_in_the_manual_are_those_of_an_index(paths: Paths) -> None:
    recorded.two_sessions(paths)
    with index.opened(paths) as db:
        for table, columns in {**records_page.tables(), **records_page.tables("view")}.items():
            found = db.execute(f"PRAGMA table_info({table})")
            assert [(row[1], row[2]) for row in found] == [(name, type_) for name, (type_, _) in columns.items()]


def test_examples_in_help_are_examples_in_the_manual() -> None:
    for node in tree.whole().walk():
        if not node.children:
            assert node.examples, node.path
            assert ".SH EXAMPLES\n.nf\n" in pages()[f"{node.page}.1"]


def test_what_is_shipped_is_what_there_is() -> None:
    shared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    mapping = shared["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    expected = {f"man/man{name[-1]}/{name}": f"share/man/man{name[-1]}/{name}" for name in pages()}
    expected["completions/mcpctl.bash"] = "share/bash-completion/completions/mcpctl"
    expected["completions/_mcpctl"] = "share/zsh/site-functions/_mcpctl"
    expected["completions/mcpctl.fish"] = "share/fish/vendor_completions.d/mcpctl.fish"
    shipped = {}
    for source, target in mapping.items():
        for file in [path for path in ((ROOT / source), *(ROOT / source).rglob("*")) if path.is_file()]:
            shipped[str(file.relative_to(ROOT))] = str(Path(target) / file.relative_to(ROOT / source))
    assert shipped == expected


def test_a_guide_is_printed_as_its_markdown_reads() -> None:
    code = "```sh\n.x  'y'\n```"
    markdown = (
        f"# A title\n\n## First\n\nSee `a -b` and **that.** More [here](url).\n\n{code}\n\n- one\n  more\n- two\n"
    )
    lines = [line.strip() for line in printed(guides.page("x", markdown).splitlines()[1:]).splitlines()]
    assert list(filter(None, lines))[1:-1] == [
        "NAME", "mcpctl-x - a title", "FIRST", "See a -b and that.  More here.", ".x  'y'",
        "\u2022 one more", "\u2022 two", "SEE ALSO", "mcpctl(1), mcpctl-config(5), mcpctl-records(5)",
    ]  # fmt: skip
