"""`tools ls`, `show` and `call` with a server that is in the command line alone."""

import json
import re
import shlex
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.calling import ad_hoc
from mcpctl.config.config import Config, load
from mcpctl.config.server_settings import Server
from tests.commands.test_complete import offered
from tests.commands.tools.test_call import server
from tests.configured import configure, stub
from tests.conftest import Mcpctl
from tests.servers import command
from tests.table import for_each

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
STRING = json.dumps(SCHEMA)
COUNTER = command("counter")


def name_of(*words: str, url: str = "") -> str:
    """Its name on record."""
    alone = Server(url=url) if url else Server(command=words[0], args=list(words[1:]))
    return ad_hoc.beside(Config(Path("config.toml")), alone)[1]


NAME = name_of(*COUNTER)


class Web(BaseHTTPRequestHandler):
    """A server over Streamable HTTP that says which header it got."""

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answers: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "web", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "who", "inputSchema": SCHEMA}]},
            "tools/call": {"content": [{"type": "text", "text": self.headers.get("Authorization", "nobody")}]},
        }  # fmt: skip
        body = b""
        if message["method"] in answers:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": answers[message["method"]]}
            body = json.dumps(answer).encode()
        self.send_response(404 if self.path.endswith("/nowhere") else 200 if body else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Webs(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that have gone."""


@pytest.fixture
def url() -> Iterator[str]:
    with Webs(("127.0.0.1", 0), Web) as web:
        thread = threading.Thread(target=web.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{web.server_port}/mcp"
        web.shutdown()
        thread.join()


@pytest.mark.process
@pytest.mark.slow
def test_a_command_is_a_server_for_one_command(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    listed = mcpctl("tools", "ls", "--fields", "key", "--", *COUNTER)
    assert listed.out.splitlines() == [f"{NAME}:count", f"{NAME}:echo"]
    shown = mcpctl("tools", "show", "echo", "--json", "--", *COUNTER)
    assert shown.json["key"] == f"{NAME}:echo"
    env = ["--env", f"ECHO_SCHEMA={STRING}"]
    words = *COUNTER, str(tmp_path / "pids")
    name = name_of(*words)
    for key in ("echo", f"{name}:echo"):  # the key as a list has it works, too
        ran = mcpctl("tools", "call", *env, key, "text=7", "n=7", "--", *words)
        assert (ran.json, ran.err) == ({"text": "7", "n": 7}, "")  # typed by the schema, which nobody had listed before
    assert not paths.config.exists()
    rows = mcpctl("calls", "ls", "--json").json
    assert [(row["server"], row["tool"], row["status"]) for row in rows] == [(name, "echo", "ok")] * 2
    assert mcpctl("calls", "replay", "last", "--json").json[0]["why"] == f"no server '{name}' is configured"


@pytest.mark.process
def test_a_url_is_a_server_for_one_command_and_gets_its_headers(
    mcpctl: Mcpctl, paths: Paths, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHO", "Bearer swordfish-4711")
    name = name_of(url=url)
    assert mcpctl("tools", "ls", "--url", url, "--fields", "key").out == f"{name}:who\n"
    assert mcpctl("tools", "call", "--url", url, "who").out == "nobody\n"
    ran = mcpctl("tools", "call", "who", "--url", url, "--header", "Authorization=${WHO}")
    assert ran.out == "Bearer swordfish-4711\n"
    records = "".join(file.read_text(encoding="utf-8") for file in paths.data.rglob("*.jsonl"))
    assert name in records
    assert "swordfish" not in records


@pytest.mark.process
@pytest.mark.slow
def test_the_policy_decides_on_it_by_its_name(mcpctl: Mcpctl, paths: Paths, tmp_path: Path) -> None:
    started = tmp_path / "started"
    configure(paths, {}, policy={"deny": ["adhoc-*:echo"]})
    ran = mcpctl("tools", "call", "echo", "a=1", "--", *COUNTER, str(started))
    assert (ran.code, "denied by the policy (deny adhoc-*:echo" in ran.err) == (6, True)
    assert not started.exists()
    ran = mcpctl("tools", "call", "count", "--", *COUNTER)
    assert ran.code == 0
    configure(paths, {}, policy={"default": "deny"})
    assert mcpctl("tools", "call", "count", "--", *COUNTER).code == 0  # which only reads
    configure(paths, {}, policy={"default": "deny", "auto_approve_read_only": False})
    assert mcpctl("tools", "call", "count", "--", *COUNTER).code == 6
    configure(paths, {}, policy={})
    ran = mcpctl("tools", "call", "echo", "a=1", "--", *COUNTER)
    assert (ran.code, "needs your consent" in ran.err) == (6, True)
    assert [row["status"] for row in mcpctl("calls", "ls", "--json").json] == ["denied", "denied", "ok", "ok", "denied"]


@pytest.mark.process
def test_one_that_is_configured_keeps_its_name_and_what_is_set_for_it(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": {**server("counter"), "tools": {"echo": False}}})
    assert mcpctl("tools", "ls", "--fields", "key", "--", *COUNTER).out == "s:count\n"
    assert mcpctl("tools", "call", "count", "--", *COUNTER).code == 0
    ran = mcpctl("tools", "call", "echo", "--", *COUNTER)
    assert (ran.code, ran.err.splitlines()[0]) == (6, "mcpctl: tool 's:echo' is not permitted")
    assert {row["server"] for row in mcpctl("calls", "ls", "--json").json} == {"s"}


BOUND: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"tools": {"drop": False}}, {}),
    ({"only": ["read"]}, {}),
    ({"enabled": False}, {}),
    ({}, {"policy": {"deny": ["gh:*"]}}),
    ({}, {"policy": {}}),
]
SPELLINGS = [
    "npx server-github", "npx -y server-github@latest --more", "/usr/bin/npx -y server-github",
    "env A=b npx server-github", "sh -c 'npx server-github'", "uvx server_github",
    "node node_modules/server-github/dist/index.js",
]  # fmt: skip


@pytest.mark.parametrize(
    "table",
    [
        [*((bound, SPELLINGS[0]) for bound in BOUND), *((BOUND[0], line) for line in SPELLINGS[1:])],
        pytest.param([(bound, line) for bound in BOUND for line in SPELLINGS], marks=pytest.mark.slow),
    ],
    ids=["each once", "each with each"],
)
def test_a_bound_server_cannot_be_called_by_another_command_line(mcpctl: Mcpctl, paths: Paths, table: Any) -> None:
    for (entry, sections), line in table:
        configure(paths, {"gh": {"command": "npx", "args": ["-y", "server-github"], **entry}}, **sections)
        for verb in (["call", "drop"], ["ls"], ["show", "drop"]):
            ran = mcpctl("tools", *verb, "--", *shlex.split(line))
            assert (ran.code, ran.err.splitlines()) == (6, [
                "mcpctl: this is the program of server 'gh', whose rules are by its name",
                "hint: name its tools as gh:TOOL; another entry of it is made with: mcpctl servers add",
            ]), (entry, sections, line, verb)  # fmt: skip
    ran = mcpctl("tools", "ls", "--url", "http://127.0.0.1:1/gh")
    assert ran.code == 4  # another program is another server


def test_an_address_in_another_spelling_is_bound_as_well(mcpctl: Mcpctl, paths: Paths) -> None:
    entry = {"url": "https://mcp.example.com/mcp", "tools": {"drop": False}}
    configure(paths, {"remote": entry, "proxied": {"command": "npx", "args": ["mcp-remote", "https://b.example/mcp"]}})
    for url in (
        "https://MCP.example.com./mcp/",
        "https://mcp.example.com:443//mcp?x=1",
        "https://mcp.example.com/%6dcp",
    ):
        assert mcpctl("tools", "call", "drop", "--url", url).code == 6, url
    assert mcpctl("tools", "call", "drop", "--", "npx", "mcp-remote", "https://mcp.example.com/mcp").code == 6


POLICY = {"policy": {"deny": ["fs:delete"], "default": "allow", "confirm_destructive": False}}
PLAIN = {
    "python3 {P}": (
        "python3.11 {P}", "timeout 60 python3.11 {P}", "nice -n 5 python3.11 {P}", "env -u X python3.11 {P}",
        "stdbuf -o0 python3.11 {P}", "python3.11 -W ignore {P}", "python3.11 -X dev {P}", "python3.11 -Wignore {P}",
        "sh -c 'true; python3.11 {P}'", "bash -c 'export A=1; python3.11 {P}'", "sh -c 'true;python3.11 {P}'",
        "sh -c \"sh -c 'true|python3.11 {P}'\"", "sh -c 'true\npython3.11 {P}'", "sh -c 'cd {D} && python3 server.py'",
        "python3 ${{D}}/server.py", "sh -c 'A={P}; python3 {P}'", "strange {P}", "env -C {D} python3 server.py",
        "python3 {D}/../srv/server.py", "python3 -c 'import runpy; runpy.run_path(\"{P}\")'",
    ),
    "npx -y @scope/pkg": (
        "timeout 60 npx -y @scope/pkg", "npx --loglevel silent -y @scope/pkg", "npx -y alias@npm:@scope/pkg@1.0",
        "op run -- npx -y @scope/pkg", "npx -p@scope/pkg pkg", "npx -y ${{PKG}}",
        "npx -y https://npm.example/@scope/pkg/-/pkg-1.0.0.tgz", 
        "npm exec --package=@scope/pkg -- pkg",
    ),
    "docker run -i --rm mcp/time": (
        "podman run docker://mcp/time", "docker run --strange x docker.io/mcp/time:1", "docker run mcp/time@sha256:ab",
    ),
    "uvx mcp-server-git": (
        "uvx --cache-dir /tmp mcp-server-git", "uvx -p 3.12 mcp-server-git", "python3 -m mcp_server_git.__main__",
        "uvx --from mcp-server-git==1 x", "python3 -mmcp_server_git", "uvx --strange value mcp-server-git",
        "uvx https://files.example/mcp_server_git-1.0-py3-none-any.whl",
        "python3 -c \"__import__('mcp_server_git').main()\"",
    ),
}  # fmt: skip
ANOTHER = {  # the programs beside which another one may be called
    "npx -y @scope/pkg": ("npx -y @scope/other", "npx -y @other/pkg", "docker run -i --rm mcp/pkg2",
        "node /opt/pkg.d/x.js"),
    "uvx mcp-server-git --repository /repo": ("uvx mcp-server-time", "npx -y server-filesystem /repo"),
    "uv --directory /srv/a run server.py": ("uv run --directory /srv/b server.py", "python3 server.py",
        "uv run other.py"),
    "docker run -i --rm -e TOKEN mcp/time": ("docker run -i --rm -e TOKEN mcp/jira", "docker run --rm other/time2"),
    "npx -y pkg --key ${{cmd:pass show key}}": ("npx -y other", "sh -c 'npx other'"),
}  # fmt: skip
ONLY_THERE = (  # what a shell makes of it, or a command prints, is known only when it starts
    "sh -c 'python3 $D/server.py'", "sh -c 'python3 {D}/serv*.py'", "sh -c 'python3 `echo {P}`'",
    "python3 ${{cmd:echo {P}}}", "python3 ${{NOT_SET}}/server.py", "sh -c '$(echo cHk= | base64 -d)'",
)  # fmt: skip


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "srv"
    folder.mkdir()
    monkeypatch.setenv("D", str(folder))
    monkeypatch.setenv("PKG", "@scope/pkg")
    return folder / "server.py"


def words_of(line: str, script: Path) -> list[str]:

    return shlex.split(line.format(P=script, D=script.parent))


def entry_of(line: str, script: Path) -> dict[str, Any]:
    command, *args = words_of(line, script)
    return {"command": command, "args": args}


SAME = "mcpctl: this is the program of server 'fs', whose rules are by its name"
PAIRS = [(plain, line) for plain, lines in PLAIN.items() for line in lines]


@for_each(("plain", "line"), PAIRS)
@pytest.mark.slow
def test_no_spelling_of_a_program_gets_around_the_rules_of_its_entry(
    mcpctl: Mcpctl, paths: Paths, script: Path, plain: str, line: str
) -> None:
    for written, given in ((plain, line), (line, plain)):
        configure(paths, {"fs": entry_of(written, script)}, **POLICY)
        ran = mcpctl("tools", "call", "delete", "--", *words_of(given, script))
        assert (ran.code, ran.err.splitlines()[0]) == (6, SAME), (written, given)


@for_each(("entry", "line"), [(entry, line) for entry, lines in ANOTHER.items() for line in lines])
def test_another_program_may_be_called_beside_rules(paths: Paths, script: Path, entry: str, line: str) -> None:
    configure(paths, {"fs": entry_of(entry, script)}, **POLICY)
    assert ad_hoc.beside(load(paths.config), Server(**entry_of(line, script)))[1].startswith("adhoc-")


def test_variables_make_no_other_program_of_an_entry(mcpctl: Mcpctl, paths: Paths, script: Path) -> None:
    configure(paths, {"fs": {"command": "python3", "args": ["${D}/server.py"]}}, policy={"allow": ["fs:*"]})
    call = "tools", "call", "x", "--env"
    ran = mcpctl(*call, "D=/elsewhere", "--", "python3", "${D}/server.py")
    assert (ran.code, "another program under the name and the rules of 'fs'" in ran.err) == (6, True)
    assert mcpctl(*call, "A=b", "--", "python3", "${D}/server.py").code == 4  # there is no such file


@for_each("line", ONLY_THERE)
def test_words_that_are_known_only_when_it_starts_are_refused_beside_rules(
    mcpctl: Mcpctl, paths: Paths, script: Path, line: str
) -> None:
    configure(paths, {"fs": {"command": "python3", "args": [str(script)]}}, **POLICY)
    ran = mcpctl("tools", "call", "delete", "--", *words_of(line, script))
    assert (ran.code, "the program of server 'fs'" in ran.err) == (6, True)
    configure(paths, {"fs": entry_of(line, script)}, **POLICY)
    ran = mcpctl("tools", "call", "delete", "--", "python3", str(script))
    assert (ran.code, "the program of server 'fs'" in ran.err) == (6, True)


HOSTS = (
    "localhost",
    "127.0.0.1",
    "127.1",
    "0",
    "2130706433",
    "[::ffff:127.0.0.1]",
    "[::1]",
    "LOCALHOST.",
    "${WEBHOST}",
)


@for_each(("one", "other"), [(one, other) for one in HOSTS for other in HOSTS if one != other])
@pytest.mark.slow
def test_no_spelling_of_this_machine_gets_around_the_rules_of_its_entry(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, one: str, other: str
) -> None:
    monkeypatch.setenv("WEBHOST", "localhost")
    configure(paths, {"fs": {"url": f"http://{one}:9/mcp"}}, **POLICY)
    ran = mcpctl("tools", "call", "delete", "--url", f"http://{other}:9/mcp")
    assert (ran.code, ran.err.splitlines()[0]) == (6, SAME)


@for_each(("entry", "sections"), [({}, POLICY), ({"tools": {"delete": False}}, {}), ({}, {}), ({"enabled": False}, {})])
def test_beside_an_entry_that_cannot_be_read_only_what_has_no_rules_is_called(
    mcpctl: Mcpctl, paths: Paths, entry: dict[str, Any], sections: dict[str, Any]
) -> None:
    configure(paths, {"fs": {"url": "http://127.0.0.1:9/mcp", "bogus": 1, **entry}}, **sections)
    ran = mcpctl("tools", "call", "delete", "--url", "http://127.0.0.1:9/mcp")
    assert ran.code == (6 if entry or sections else 4)
    if entry or sections:
        assert "server 'fs' cannot be read, and this may be its program" in ran.err
        assert "hint: fix [servers.fs]: " in ran.err


@pytest.mark.process
@pytest.mark.slow
def test_a_policy_asks_about_what_no_rule_allows_and_does_not_only_read(mcpctl: Mcpctl, paths: Paths) -> None:
    call = "tools", "call", "echo", "a=1", "--", *COUNTER
    base = {"default": "allow", "confirm_destructive": False}
    configure(paths, {}, policy=base)
    ran = mcpctl(*call)
    assert (ran.code, "needs your consent" in ran.err) == (6, True)
    made = mcpctl("policy", "decisions", "--json").json[0]
    assert (made["rule"], made["rule_place"]) == (f"ask {NAME}:*", "built in")
    assert mcpctl("tools", "call", "count", "--", *COUNTER).code == 0  # which only reads
    for loose in ({"allow": ["adhoc-*:*"]}, {"mode": "off"}):
        configure(paths, {}, policy={**base, **loose})
        assert mcpctl(*call).code == 0, loose
    configure(paths, {"s": server("counter")}, policy=base)
    assert mcpctl(*call).code == 0  # an entry of its own, by whose rules it is called


def test_rules_for_a_name_that_is_gone_do_not_reach_it(paths: Paths) -> None:
    """An `allow` for time:* is no yes to whatever calls itself time."""
    names = {
        "uvx mcp-server-time": "adhoc-mcp-server-time",
        "npx -y @modelcontextprotocol/server-everything@1.2": "adhoc-server-everything",
        "./tools/My_Server.py": "adhoc-my-server",
        "docker run -i --rm mcp/time": "adhoc-time",
        "--": "adhoc-server",
    }
    for line, name in names.items():
        assert re.fullmatch(f"{name}-[0-9a-f]{{8}}", name_of(*line.split()))
    for url, name in {
        "https://user:secret@mcp.example.com:8443/a?key=b": "adhoc-mcp-example-com-8443",
        "http://[::1]:80/mcp": "adhoc-1-80",
    }.items():
        assert re.fullmatch(f"{name}-[0-9a-f]{{8}}", name_of(url=url))
    taken = name_of("time")
    full = Config(paths.config, servers={taken: Server(command="x")}, problems={f"{taken}-": "broken"}, text="")
    assert ad_hoc.beside(full, Server(command="time"))[1] == f"{taken}--"


def test_two_of_the_same_file_name_or_host_have_two_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert name_of("python3", "/a/server.py") != name_of("python3", "/b/server.py")
    assert name_of("npx", "-y", "pkg") == name_of("npx", "-y", "pkg")
    assert name_of(url="http://127.0.0.1/a") != name_of(url="http://127.0.0.1/b")
    monkeypatch.setenv("D", "/a")
    name = name_of("python3", "${D}/server.py")
    monkeypatch.setenv("D", "/b")
    assert name_of("python3", "${D}/server.py") != name


@for_each(
    ("words", "code", "message", "hint"),
    [
        (["ls", "--"], 2, "COMMAND is missing after --", "see: mcpctl tools ls -h"),
        (["ls", "--header", "a=b"], 2, "these options are for a server that is not in config.toml",
         "name it: --url URL"),
        (["ls", "--url", "ftp://x"], 2, "this server could not be used: url: must be an http:// or https:// address",
         "see: mcpctl servers add --help"),
        (["call", "t", "--url", "127.0.0.1:9/mcp"], 2,
         "this server could not be used: url: must be an http:// or https:// address",
         "did you mean http://127.0.0.1:9/mcp?"),
        (["ls", "--url", "mcp.example.com/mcp?token=abcdefghijkl"], 2,
         "this server could not be used: url: must be an http:// or https:// address",
         "did you mean https://mcp.example.com/mcp?token=***?"),
        (["ls", "--url", "http://x", "--", "y"], 2,
         "this server could not be used: url: a server has a command or a url, not both",
         "see: mcpctl servers add --help"),
        (["ls", "--server", "s", "--", "y"], 2, "--server is for servers in config.toml",
         "leave it out, or --url and --"),
        (["call", "a", "--", "npx -y bar"], 2,
         "'npx -y bar' is a whole command line, and no program of that name is there",
         "give its words one by one: … -- npx -y bar"),
        (["call", "-", "--", "y"], 2, "with -, calls are on stdin, and all that they answer on stdout",
         "leave the rest out"),
        (["call", "a", "npx", "-y"], 2, "there is no option -y",
         "see: mcpctl tools call -h; options of the server's program go after --: -- COMMAND -y …"),
        (["call", "a", "--", "/no/such/file"], 4,
         "server '{name}' did not start: there is no file '/no/such/file'",
         "run the command by itself to see why"),
        (["ls", "--url", "http://127.0.0.1:9/mcp?token=abcdefghijkl"], 4,
         "server '{name}' cannot be used: nothing listens there (connection refused)", "check the address"),
    ],
)  # fmt: skip
def test_what_cannot_be_one_is_told(mcpctl: Mcpctl, words: Sequence[str], code: int, message: str, hint: str) -> None:
    ran = mcpctl("tools", *words)
    name = name_of(url=words[-1]) if words[-2] == "--url" else name_of(words[-1])
    assert (ran.code, ran.err) == (code, f"mcpctl: {message.format(name=name)}\nhint: {hint}\n")


@pytest.mark.process
def test_a_mistyped_tool_is_told_with_the_near_one(mcpctl: Mcpctl) -> None:
    ran = mcpctl("tools", "call", "ecko", "--", *COUNTER)
    assert (ran.code, ran.err) == (3, f"mcpctl: no tool '{NAME}:ecko'\nhint: did you mean echo?\n")


@pytest.mark.process
def test_one_that_needs_a_login_is_told_with_how_to_get_one(mcpctl: Mcpctl) -> None:
    from tests.oauth import sites

    with sites.running() as site:
        for words in (["ls"], ["call", "x"]):
            ran = mcpctl("tools", *words, "--url", site.url)
            assert ran.code == 4
            hint = f"add it, then log in: mcpctl servers add NAME --url {site.url} && mcpctl servers login NAME"
            assert ran.err.endswith(f" needs a login\nhint: {hint}\n")


@pytest.mark.process
def test_a_list_that_cannot_be_kept_is_told(mcpctl: Mcpctl) -> None:
    ran = mcpctl("tools", "ls", "--data-dir", "/proc/nowhere", "--", *COUNTER)
    assert ran.code == 5
    assert ran.err.splitlines()[-1] == "hint: name another place with --data-dir"
    assert mcpctl("tools", "call", "count", "--data-dir", "/proc/nowhere", "--", *COUNTER).code == 0


def test_a_name_on_record_says_that_it_has_no_entry(mcpctl: Mcpctl) -> None:
    ran = mcpctl("tools", "call", "adhoc-time:now")
    hint = "it was in a command line alone: give its --url or -- COMMAND again"
    assert (ran.code, ran.err) == (3, f"mcpctl: no server 'adhoc-time'\nhint: {hint}\n")


def test_after_the_dashes_files_are_offered(paths: Paths) -> None:
    from tests import command_tree

    configure(paths, {"s": stub()})
    assert command_tree.candidates("tools call x --  ")[0] == "files"
    assert command_tree.candidates("tools ls -- npx ")[0] == "files"
    assert "--url" in offered("tools ls --u")


def test_a_wrong_path_is_told_with_the_option_of_the_other_transport(mcpctl: Mcpctl, url: str) -> None:
    ran = mcpctl("tools", "ls", "--url", f"{url}/nowhere")
    assert ran.code == 4
    assert "404" in ran.err
    assert "say --transport sse" in ran.err
    assert "transport =" not in ran.err
