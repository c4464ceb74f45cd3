"""What Tab offers, and what it leaves alone."""

import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import typer

from mcpctl import output
from mcpctl.base.paths import Paths
from mcpctl.cli import tab_completion
from mcpctl.cli.command_tree import tree
from mcpctl.commands import complete
from mcpctl.policy import tokens
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store import index, journal_lines, state_file
from tests import command_tree, configured, recorded
from tests.conftest import Mcpctl
from tests.recorded import CLAUDE, CURSOR
from tests.table import for_each
from tests.test_layout import EVERY

EVERY_NAME = [" ".join(path) for path, _ in EVERY]
ASKED = ["", "tools show ", "calls show ", "sessions show ", "servers rm ", "calls ls --session ", "calls ls --fields "]


def offered(line: str) -> list[str]:
    """What may follow `mcpctl LINE`."""
    kind, found = command_tree.candidates(line)
    assert kind == "words"
    return [value for value, _ in found]


def told(line: str) -> dict[str, str]:
    return dict(command_tree.candidates(line)[1])


def common_to(values: list[str]) -> str:
    """What all of them begin with."""
    shortest = min(map(len, values))
    return next(values[0][:n] for n in range(shortest, -1, -1) if len({value[:n] for value in values}) == 1)


def everything_in(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every file below a folder, with what would show that it was written."""
    found = {str(path): path.lstat() for path in (folder, *folder.rglob("*"))}
    return {name: (status.st_mtime_ns, status.st_size, status.st_mode) for name, status in found.items()}


@pytest.fixture
def full(paths: Paths) -> Paths:
    """A home with two sessions, six calls and the tools of two servers."""
    recorded.two_sessions(paths)
    index.catch_up_on_disk(paths)
    configured.demo_tools(paths)
    return paths


def test_every_command_is_offered() -> None:
    for name in EVERY_NAME:
        *before, last = name.split(" ")
        assert last in offered(" ".join([*before, last[:1]]))


@for_each("name", EVERY_NAME)
def test_every_option_is_offered(name: str, mcpctl: Mcpctl) -> None:
    options = offered(f"{name} --")
    assert "--help" in options
    for line in mcpctl(*name.split(" "), "--help").out.partition("Options:")[2].splitlines():
        if line.startswith("  --"):
            assert line.split()[0].rstrip(",") in options


def test_help_offers_nouns_and_then_their_verbs() -> None:
    assert "calls" in offered("help ")
    assert offered("help calls ") == ["ls", "show", "export", "replay", "response", "stats", "tail"]
    assert offered("help calls ls ") == []


def test_options_are_offered_where_no_argument_is_left() -> None:
    assert "--limit" in offered("calls ls ")
    assert "--json" in offered("tools show weather:get_forecast ")


def test_only_a_branch_is_built_to_complete_in_it() -> None:
    built = []

    def counted(noun: str | None) -> typer.Typer:
        built.append(noun)
        return tree(noun)

    tab_completion.candidates(counted, "mcpctl --no-color calls show --j")
    assert built == ["calls"]


@pytest.mark.parametrize("verb", ["show", "rm", "enable", "disable"])
def test_servers_are_offered_even_unusable_ones(verb: str, paths: Paths) -> None:
    configured.configure(
        paths, {"up": configured.stub(), "off": {**configured.stub(), "enabled": False}, "bad": {"comand": "x"}}
    )
    assert told(f"servers {verb} ") == {"bad": "its entry cannot be used", "off": "disabled", "up": "true"}
    assert offered(f"servers {verb} u") == ["up"]


def test_a_new_server_is_named_by_nobody_else(full: Paths) -> None:
    assert offered("servers add ") == []


@pytest.mark.parametrize("line", ["tools ls --server ", "calls ls --server ", "tools refresh notes "])
def test_a_filter_by_server_offers_servers(line: str, full: Paths) -> None:
    assert offered(line) == ["notes", "weather"]


@for_each("name", EVERY_NAME)
def test_projects_are_offered_wherever_one_is_named(name: str, paths: Paths) -> None:
    up = configured.stub()
    servers = {"a": {**up, "projects": ["acme", "zoo"]}, "b": {**up, "projects": ["acme"]}, "c": up}
    configured.configure(paths, servers, projects={"idle": {}})
    takes_one = "--project" in offered(f"{name} --p") and name != "uninstall"  # which means a repository's file by it
    assert takes_one is (name in TAKE_A_PROJECT)
    if takes_one:
        assert told(f"{name} --project ") == {"acme": "a, b", "idle": "", "zoo": "a"}
        assert offered(f"{name} --project=z") == ["--project=zoo"]


TAKE_A_PROJECT = {
    "annotate add",
    "annotate edit",
    "annotate ls",
    "annotate rm",
    "annotate set",
    "calls export",
    "policy decisions",
    "calls ls",
    "calls replay",
    "calls stats",
    "calls tail",
    "install",
    "policy check",
    "policy explain",
    "policy hook",
    "prompts get",
    "prompts ls",
    "resources ls",
    "resources read",
    "serve",
    "servers add",
    "servers check",
    "servers ls",
    "servers set",
    "sessions ls",
    "sessions stats",
    "tokens create",
    "tools approve",
    "tools call",
    "tools diff",
    "tools eval",
    "tools export",
    "tools lock",
    "tools ls",
    "tools refresh",
    "tools search",
    "tools show",
    "toolsets show",
}


def test_every_command_that_takes_a_project_exists() -> None:
    assert set(EVERY_NAME) >= TAKE_A_PROJECT


@pytest.mark.parametrize("verb", ["rm", "edit"])
def test_the_notes_of_a_tool_are_offered_with_their_texts(verb: str, full: Paths) -> None:
    notes = [
        configured.noted("notes:add_note", tip="First.", team="Ask."),
        configured.noted("notes:list_notes", x2="2"),
    ]
    configured.toolset(full, "triage", "notes:add_note", "notes:list_notes", toolNotes=notes)
    line = f"annotate {verb} --toolset triage notes:add_note "
    assert told(line) == {"tip": "First.", "team": "Ask."}
    assert offered(f"{line}te") == ["team"]


def test_tokens_that_are_not_revoked_are_offered_with_what_they_are_for(paths: Paths) -> None:
    assert offered("tokens revoke ") == []
    assert not paths.policy.exists()
    with PolicyFile.connect(paths) as file:
        token, _ = tokens.create(file, projects=["acme"], servers=["notes"])
        tokens.revoke(file, [tokens.create(file)[0].id])
        assert told("tokens revoke ") == {token.id: "acme, notes"}
        assert offered(f"tokens revoke {token.id[:3]}") == [token.id]


@pytest.mark.parametrize("line", ["tools show ", "tools call ", "calls ls --tool ", "calls ls --tool="])
def test_tools_are_offered_by_key_with_their_titles(line: str, full: Paths) -> None:
    lead = line[line.index("--tool=") :] if line.endswith("=") else ""
    keys = [f"{lead}weather:convert_temperature", f"{lead}weather:get_forecast", f"{lead}weather:set_alert"]
    assert offered(f"{line}wea") == offered(f"{line}weather:") == keys
    assert told(f"{line}weather:g") == {keys[1]: "Get the forecast"}
    assert offered(f"{line}zz") == []


def test_a_denied_tool_and_those_of_a_disabled_server_are_not_offered(paths: Paths) -> None:
    notes = {**configured.DEMO["notes"], "enabled": False}
    configured.demo_tools(paths)
    configured.configure(
        paths, {"notes": notes, "weather": {**configured.DEMO["weather"], "tools": {"set_alert": False}}}
    )
    assert offered("tools show ") == ["weather:convert_temperature", "weather:get_forecast"]
    assert offered("tools allow ") == ["weather:set_alert"]


def test_of_thousands_of_tools_some_are_offered_that_begin_as_all_of_them_do(paths: Paths) -> None:
    configured.configure(paths, {"a": configured.stub(), "a-b": configured.stub("1")})
    configured.listed(paths, "a", [{"name": f"same_{number:04}"} for number in range(5000)])
    configured.listed(paths, "a-b", [{"name": "other"}])
    found = offered("tools show a:")
    assert len(found) == complete.MOST
    assert common_to(found) == "a:same_"
    assert (found[0], found[-1]) == ("a:same_0000", "a:same_4999")
    assert common_to(offered("tools show ")) == "a"
    assert offered("tools show a:same_499") == [f"a:same_499{digit}" for digit in range(10)]


def test_calls_are_offered_newest_first_after_last(full: Paths) -> None:
    assert offered("calls show ") == ["last", *(recorded.call_id(number) for number in (6, 5, 4, 3, 2, 1))]
    assert told("calls show 3") == {recorded.call_id(3): "weather:get_forecast, tool_error, 2100-01-01 12:04Z"}
    assert offered("calls show l") == ["last"]


@pytest.mark.parametrize("line", ["sessions show ", "calls ls --session "])
def test_sessions_are_offered_last_active_first_after_last(line: str, full: Paths) -> None:
    assert offered(line) == ["last", CURSOR, CLAUDE]
    assert told(f"{line}1c") == {CLAUDE: "claude-code, 3 calls, 2100-01-01 12:04Z"}


def test_of_many_calls_the_newest_fifty_are_offered(paths: Paths) -> None:
    written = [line for number in range(100) for line in recorded.call(number, number)]
    for number, line in enumerate(written):
        assert isinstance(line, journal_lines.CallStarted | journal_lines.CallFinished)
        line.id = f"{100 + number // 2}"
    recorded.session(paths, CLAUDE, 0, written)
    index.catch_up_on_disk(paths)
    assert offered("calls show ") == ["last", *(str(number) for number in range(199, 149, -1))]
    assert offered("calls show 10") == [str(number) for number in range(109, 99, -1)]


def test_what_a_running_serve_has_just_written_is_offered(paths: Paths) -> None:
    live = recorded.opened(paths, recorded.created(), [])
    with index.opened(paths):  # keeps the log beside the database
        live.append(b"".join(map(journal_lines.encode, recorded.call(1, 1))))
        index.catch_up_on_disk(paths)
        before = everything_in(paths.data)
        assert offered("calls show ") == ["last", recorded.call_id(1)]
        assert set(everything_in(paths.data)) == set(before)
    live.close()


@for_each(
    ("line", "values"),
    [
        ("calls ls --format ", ["table", "tsv", "json", "jsonl"]),
        ("tools ls --format=js", ["--format=json", "--format=jsonl"]),
        ("calls ls --status ", ["running", "ok", "tool_error", "denied", "failed", "cancelled", "input_required",
                                "interrupted"]),
        ("sessions ls --status ", ["active", "closed"]),
        ("calls ls --kind ", ["call", "discovery", "read"]),
        ("servers add x --transport ", ["http", "sse"]),
    ],
)  # fmt: skip
def test_what_an_option_takes_is_offered(line: str, values: list[str]) -> None:
    assert offered(line) == values


def test_every_format_is_offered() -> None:
    assert {*offered("calls ls --format "), "auto"} == set(output.FORMATS)


LISTS = [name for name in EVERY_NAME if {"--fields", "--format"} <= {*offered(f"{name} --f")}]


CREATE = {
    "name": "create",
    "inputSchema": {
        "properties": {
            "body": {"type": "string"},
            "state": {"anyOf": [{"enum": ["open", "closed", 3]}, {"type": "null"}]},
            "draft": {"type": "boolean"},
            "title": {"description": "What it is\nabout"},
            "a=b": {},
        },
        "required": ["title", "gone"],
    },
}


@pytest.mark.parametrize(
    ("typed", "offers"),
    [
        ("", ["title=", "body=", "state=", "draft="]),
        ("title=x ", ["body=", "state=", "draft="]),
        ("s", ["state="]),
        ("state=", ["state=open", "state=closed", "state=3"]),
        ("state=o", ["state=open"]),
        ("draft=", ["draft=true", "draft=false"]),
        ("body=", []),
        ("- ", []),
        ("'{\"title\": 1}' ", []),
        ("nothing=", []),
    ],
)
def test_the_arguments_of_a_call_are_offered(paths: Paths, typed: str, offers: list[str]) -> None:
    configured.configure(paths, {"s": configured.stub()})
    configured.listed(paths, "s", [CREATE, {**CREATE, "name": "create_more"}])
    for key in ("s:create", "s.create"):
        found = [value for value in offered(f"tools call {key} {typed}") if not value.startswith("-")]
        assert found == offers
    assert told("tools call s:create t") == {"title=": "required, What it is about"}


@pytest.mark.parametrize("schema", [{}, {"properties": []}, {"properties": {"a": 1}, "required": 5}, 7])
def test_arguments_of_odd_schemas_are_offered_as_far_as_they_are_names(paths: Paths, schema: object) -> None:
    configured.configure(paths, {"s": configured.stub()})
    configured.listed(paths, "s", [{"name": "odd", "inputSchema": schema}])
    assert [value for value in offered("tools call s:odd ") if not value.startswith("-")] in (["a="], [])


@for_each("line", [*LISTS, "calls ls --kind discovery"])
def test_the_fields_of_every_list_are_offered(line: str, full: Paths, mcpctl: Mcpctl) -> None:
    words = [*line.split(" "), *["create"] * line.endswith(" search")]
    configured.configure(full, {})
    words += ["cursor"] * (line == "policy import") + ["s:a"] * (line in ("tools deny", "tools allow"))
    if line == "annotate ls":
        words += ["--toolset", str(configured.toolset(full, "team"))]
    words += ["--saved"] * (line == "sessions stats")
    if line == "tools eval":
        queries, catalog = full.data / "queries.jsonl", full.data / "catalog.jsonl"
        queries.write_text('{"query": "a", "expect": [["s:a"]]}\n', encoding="utf-8")
        catalog.write_text('{"server": "s", "tool": {"name": "a"}}\n', encoding="utf-8")
        words += ["--queries", str(queries), "--catalog", str(catalog)]
    refused = mcpctl(*words, "--fields", "bogus").err
    assert offered(f"{line} --fields ") == refused.partition("fields: ")[2].strip().split(", ")


def test_what_totals_are_grouped_by_are_fields_and_several_groups_are_offered() -> None:
    assert offered("calls stats --by tool,day --fields ")[:4] == ["server", "tool", "day", "calls"]
    assert offered("calls stats --by tool,d") == ["tool,day"]
    assert offered("calls ls --hint destructive,un") == ["destructive,undeclared"]


def test_clients_on_record_are_offered(mcpctl: Mcpctl, paths: Paths) -> None:
    recorded.two_sessions(paths)
    mcpctl("calls", "ls")
    assert offered("calls ls --client ") == ["claude-code", "cursor"]
    assert offered("sessions ls --client cu") == ["cursor"]


def test_fields_are_offered_after_a_comma_but_none_twice() -> None:
    assert offered("sessions ls --fields id,client_") == ["id,client_name", "id,client_version"]
    assert offered("sessions ls --fields client_name,id,client_") == ["client_name,id,client_version"]


@for_each(
    ("line", "kind"),
    [
        ("serve --config ", "files"),
        ("serve --config=x", "files"),
        ("db path --data-dir ", "dirs"),
        ("servers add x -- ", "files"),
        ("servers add x --cwd ", "dirs"),
        ("servers add x --url ", "words"),
    ],
)
def test_a_path_is_left_to_the_shell(line: str, kind: str) -> None:
    assert command_tree.candidates(line) == (kind, [])


def test_a_home_that_is_named_on_the_line_is_the_one_that_is_read(
    full: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCPCTL_HOME", str(tmp_path / "other"))
    monkeypatch.setenv("HOME", str(full.data.parent))
    assert tab_completion.answer(tree, "zsh", ["mcpctl calls show "]) == ""
    assert offered("calls show --data-dir ~/data 6") == [recorded.call_id(6)]
    assert offered(f"tools show --config '{full.config}' --data-dir={full.data} weather:g") == ["weather:get_forecast"]
    monkeypatch.setenv("MCPCTL_DATA_DIR", str(full.data))
    assert offered("calls show 6") == [recorded.call_id(6)]


@for_each("line", ["bogus ", "calls bogus ", "calls bogus --", "--bogus "])
def test_after_a_word_that_is_none_nothing_is_offered(line: str) -> None:
    assert tab_completion.answer(tree, "zsh", [f"mcpctl {line}"]) in ("", "words\n") or line == "--bogus "


def test_the_version_is_not_printed_among_the_candidates() -> None:
    assert tab_completion.answer(tree, "fish", ["mcpctl --version cal"]).startswith("words\ncalls\t")


@for_each("asked", [["mcpctl calls "], [], ["a", "b", "c"]])
@for_each("shell", ["tcsh", "zsh"])
def test_a_question_that_is_none_has_no_answer(shell: str, asked: list[str]) -> None:
    assert tab_completion.answer(tree, shell, asked) == "" or (shell, len(asked)) == ("zsh", 1)


@for_each("line", ASKED)
def test_a_home_that_is_not_there_is_not_made(line: str, home: Path) -> None:
    tab_completion.answer(tree, "zsh", [f"mcpctl {line}"])
    assert not home.exists()


@pytest.mark.parametrize("line", ASKED)
def test_asking_writes_nothing(line: str, full: Paths) -> None:
    before = everything_in(full.data.parent)
    assert tab_completion.answer(tree, "zsh", [f"mcpctl {line}"])
    assert everything_in(full.data.parent) == before


@pytest.fixture
def read_only(full: Paths) -> Iterator[Paths]:
    """The full home, its folders and files not to be written."""
    everything = [full.data.parent, *full.data.parent.rglob("*")]
    for path in everything:
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    yield full
    for path in everything:
        path.chmod(path.stat().st_mode | stat.S_IWUSR)


def test_a_read_only_home_is_read(read_only: Paths) -> None:
    assert offered("calls show 6") == [recorded.call_id(6)]
    assert offered("tools show weather:g") == ["weather:get_forecast"]


@pytest.mark.parametrize("damage", [b"", b"no database", b"SQLite format 3\0" + bytes(4000)])
def test_damaged_databases_offer_nothing_and_stay_as_they_are(damage: bytes, full: Paths) -> None:
    full.index.write_bytes(damage)
    full.state.write_bytes(damage)
    for line in ("calls show ", "sessions show ", "tools show ", "calls ls --session "):
        assert tab_completion.answer(tree, "bash", [f"mcpctl {line}", ""]) in ("", "words\n")
    assert full.index.read_bytes() == full.state.read_bytes() == damage


def test_a_newer_state_is_read_if_it_can_be_and_never_changed(full: Paths) -> None:
    with closing(state_file.connect(full)) as db:
        db.execute("INSERT INTO steps VALUES ('from the future')")
    before = full.state.read_bytes()
    assert offered("tools show weather:g") == ["weather:get_forecast"]
    assert full.state.read_bytes() == before


def test_a_broken_configuration_offers_nothing(full: Paths) -> None:
    full.config.write_text("servers = [", encoding="utf-8")
    assert tab_completion.answer(tree, "zsh", ["mcpctl servers show "]) == ""


def test_an_index_that_is_behind_stays_behind(full: Paths) -> None:
    recorded.session(full, "3later00-0000-4000-8000-000000000003", 30)
    assert offered("sessions show ") == ["last", CURSOR, CLAUDE]


# fmt: off
NASTY = ["a b", "q'uote", 'dq"x', "$(touch pwned)", "`touch pwned`", "ünï", "back\\slash", "semi;x", "star*", "~tilde",
         "!hist", "[b]", "co:lon", "{a,b}", "#c", "=eq", "日本", "$HOME", "%s", "(sub)", "<in", "a&b", "-d"]
# fmt: on
UNSHOWABLE = ["new\nline", "tab\tx", "\x1b[31mred", "bidi\u202eoverride", "\x9bcsi", "zero\u200bwidth"]


@pytest.fixture
def nasty(paths: Paths) -> Paths:
    """A server with every bad name, and a bad description for each."""
    configured.configure(paths, {"up": configured.stub()})
    described = "$(touch pwned) `touch pwned`\nup:second \x1b[31m\u202e\x07" + "x" * 5000
    configured.listed(paths, "up", [{"name": name, "description": described} for name in (*NASTY, *UNSHOWABLE)])
    return paths


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_one_candidate_is_one_printable_line(shell: str, nasty: Paths) -> None:
    kind, *lines = tab_completion.answer(tree, shell, ["mcpctl tools show "]).splitlines()
    assert kind == "words"
    assert len(lines) == len(NASTY)
    for line in lines:
        assert line.replace("\t", "", 1).isprintable()
        assert len(line) < 200


def test_what_cannot_be_shown_is_not_offered(nasty: Paths) -> None:
    assert sorted(offered("tools show ")) == sorted(f"up:{name}" for name in NASTY)


def test_bash_is_given_only_what_follows_the_colon() -> None:
    def answer(line: str, replaced: str) -> list[str]:
        return tab_completion.answer(tree, "bash", [f"mcpctl {line}", replaced]).splitlines()[1:]

    assert answer("calls ls --format=t", "t") == ["table", "tsv"]
    assert answer("calls ls --format=t", "--format=t") == ["--format=table", "--format=tsv"]
    assert answer("calls ls --format '", "") == ["table", "tsv", "json", "jsonl"]


def test_bash_is_given_what_it_would_read_as_one_plain_word(nasty: Paths) -> None:
    found = tab_completion.answer(tree, "bash", ["mcpctl tools show up:", ""]).splitlines()[1:]
    assert "\\$\\(touch\\ pwned\\)" in found
    assert "\\`touch\\ pwned\\`" in found
    quoted = tab_completion.answer(tree, "bash", ['mcpctl tools show "up:', "up:"]).splitlines()[1:]
    assert not [value for value in quoted if set(value) & set("$`\"'\\!;&<()*~#[]{} ")]
