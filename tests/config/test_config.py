"""config.toml: every mistake is named by file and key, and one bad entry never stops the others."""

from pathlib import Path

import pytest

from mcpctl.base.errors import NotFound, Refused, Unusable
from mcpctl.config import config, settings
from mcpctl.config.server_settings import Server
from tests.table import for_each

GOOD = '[servers.good]\ncommand = "run"\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def load(file: Path, text: str, project: str | None = None) -> config.Config:
    file.write_text(text, encoding="utf-8")
    return config.load(file, project)


def problem(file: Path, entry: str) -> str:
    """What is wrong with `[servers.bad]`, beside a good one that has to stay usable."""
    loaded = load(file, f"{GOOD}[servers.bad]\n{entry}\n")
    assert list(loaded.enabled) == ["good"]
    return loaded.problems["bad"].removeprefix(f"{file}: servers.bad")


def failure(file: Path, text: str) -> Unusable:
    with pytest.raises(Unusable) as raised:
        load(file, text)
    assert str(file) in raised.value.message
    return raised.value


# ---- the file


def test_the_servers_in_use_are_sought_out_once(file: Path) -> None:
    loaded = load(file, "".join(f'[servers.s{number}]\ncommand = "run"\n' for number in range(300)))
    assert list(loaded.enabled) == sorted(loaded.servers)
    assert loaded.enabled is loaded.enabled  # it is asked for again for each of them


def test_no_file_is_an_empty_configuration(file: Path) -> None:
    loaded = config.load(file)
    assert (loaded.servers, loaded.problems, loaded.search.answer_tokens) == ({}, {}, 2000)
    assert (loaded.records.keep_sessions, loaded.records.max_mb, loaded.records.max_response_kb) == (100, 512, 64)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("servers = ", "end of document"),
        ("x = 1\n[servers.a\n", "line 2, column 11"),
        ('[servers.a]\ncommand = "x\n', "line 2, column 13"),
        ("a = 1\na = 2\n", ": 'a' is written twice, in lines 1 and 2: write it once"),
        (
            '[policy]\nask = [ # one\n "a:*"]\ndeny = []\n ask=["b:*"]\n',
            ": 'ask' is written twice in [policy], in lines 2 and 5: write one list",
        ),
        ("[servers.a]\nx = 1\n[b]\n[servers.'a']\n", ": [servers.'a'] is written twice, in lines 1 and 4: put the"),
        ("a.b = 1\na = 2\n", "line 2, column 6"),
        ("a = nope\n", "line 1, column 5"),
    ],
)
def test_broken_toml_is_named_by_file_line_and_column(file: Path, text: str, where: str) -> None:
    error = failure(file, text)
    assert error.code == "config_syntax"
    assert where in error.message


def test_json_in_place_of_toml_is_told_as_json(file: Path) -> None:
    error = failure(file, '\n {"mcpServers": {}}')
    assert error.message == f"{file}: this is JSON, and config.toml is TOML"
    assert error.hint.endswith("mcpctl servers import --from servers.json")
    error = failure(file.with_name("mcp.json"), '{"mcpServers": {}}')
    assert f"mcpctl servers import --from {file.with_name('mcp.json')}," in error.hint


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\x00\xff", "é".encode("latin-1")])
def test_what_is_no_utf_8_cannot_be_read(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(Unusable) as raised:
        config.load(file)
    assert raised.value.code == "config_unreadable"
    assert str(file) in raised.value.message


def test_a_folder_cannot_be_read(file: Path) -> None:
    file.mkdir()
    with pytest.raises(Unusable):
        config.load(file)


def test_a_byte_order_mark_is_no_hindrance(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert list(config.load(file).servers) == ["good"]


@pytest.mark.parametrize(("key", "near"), [("server", "servers"), ("serach", "search"), ("record", "records")])
def test_an_unknown_section_is_refused_and_the_near_one_named(file: Path, key: str, near: str) -> None:
    error = failure(file, f"[{key}]\n")
    assert f"unknown key '{key}'" in error.message
    assert f"'{near}'" in error.hint


def test_a_section_that_is_not_enforced_yet_is_refused(file: Path) -> None:
    assert "policy" in failure(file, "[policy.a]\n").message


@pytest.mark.parametrize("section", ["servers", "projects"])
@pytest.mark.parametrize("text", ["{} = 5", "{} = []", "[[{}]]"])
def test_servers_and_projects_must_be_tables(file: Path, section: str, text: str) -> None:
    assert f"{section} must be tables" in failure(file, text.format(section)).message


@for_each(
    ("text", "where"),
    [
        ('[search]\nanswer_tokens = "many"', "search.answer_tokens: must be a whole number"),
        ("[search]\nanswer_tokens = 1.5", "search.answer_tokens: must be a whole number"),
        ("[search]\nanswer_tokens = 0", "search.answer_tokens: must be 1 or more"),
        ("[search]\nanswer_token = 5", "search.answer_token: unknown key; did you mean 'answer_tokens'?"),
        ("search = 5", "search: must be a table"),
        ("policy.notify = 'notify-send'", "policy.notify: must be a list"),
        (
            "policy.notify = ['', 'x']",
            'policy.notify: must be a command and its arguments, such as ["notify-send", "mcpctl"]',
        ),
        (
            'policy.notify = ["a", "b\\u0000"]',
            'policy.notify: must be a command and its arguments, such as ["notify-send", "mcpctl"]',
        ),
        ('search.optimization = "fast"', "search.optimization: must be bm25, semantic, cloud or off"),
        ('search.cloud_url = "search.example"', "search.cloud_url: must be an http:// or https:// address"),
        ('search.semantic_url = "ftp://ai.example/v1"', "search.semantic_url: must be an http:// or https:// address"),
        (
            'search.semantic_url = "https://ai.example/v1"',
            "search.semantic_model: is missing: the model's name at semantic_url",
        ),
        ("search.cloud_timeout_s = 0", "search.cloud_timeout_s: must be a number of seconds, more than 0"),
        ("search.semantic_timeout_s = nan", "search.semantic_timeout_s: must be a number of seconds, more than 0"),
        ('search.cloud_timeout_s = "5"', "search.cloud_timeout_s: must be a number"),
        ("[records]\nkeep_sessions = -1", "records.keep_sessions: must be 0 or more"),
        ("[records]\nkeep_days = -1", "records.keep_days: must be 0 or more"),
        ("[responses]\nlimit_tokens = -1", "responses.limit_tokens: must be 0 or more"),
        ("[responses]\nkeep_mb = -1", "responses.keep_mb: must be 0 or more"),
        ('[clients."a b"]\nlimit_tokens = -1', "clients.a b.limit_tokens: must be 0 or more"),
        ("[serve]\nmax_result_chars = -1", "serve.max_result_chars: must be 0 or more"),
        ("[records]\nmax_response_kb = 0", "records.max_response_kb: must be 1 or more"),
        ("[records]\nkeep_days = 1.5", "records.keep_days: must be a whole number"),
        ("[records]\nmax_mb = true", "records.max_mb: must be a whole number"),
        ('[records]\nredact_keys = "x"', "records.redact_keys: must be a list"),
        ("[records]\nredact_keys = [1]", "records.redact_keys[0]: must be text"),
        ('[records]\nredact_keys = ["pin", ""]', "records.redact_keys[1]: must not be empty"),
        ('[records]\nredact_keys = [" "]', "records.redact_keys[0]: must not be empty"),
        ("[records]\nfsync = 1", "records.fsync: must be true or false"),
        ("[projects.a]\noptimisation = 'off'", "projects.a.optimisation: unknown key; did you mean 'optimization'?"),
        ("[projects.a]\nx = 1", "projects.a.x: unknown key; known are optimization, toolset, policy"),
        ("[projects.a]\noptimization = 'fast'", "projects.a.optimization: must be bm25, semantic, cloud or off"),
        ("[projects.a]\noptimization = false", "projects.a.optimization: must be text"),
        ("[projects.a]\ntoolset = ['x']", "projects.a.toolset: must be text"),
        ("[projects.a]\ntoolset = ''", "projects.a.toolset: must be a name, a path or none"),
        ("[projects]\na = 'triage'", "projects.a: must be a table"),
        ("[projects.'a b']", "projects.a b: cannot name a project: names have only letters, digits, '_' and '-'"),
    ],
)
def test_a_setting_that_is_wrong_is_named_with_what_it_must_be(file: Path, text: str, where: str) -> None:
    error = failure(file, text)
    assert (error.message, error.code) == (f"{file}: {where}", "config_key")
    assert error.hint.startswith(f"fix [{where.partition('.')[0].partition(':')[0]}")


def test_settings_are_taken(file: Path) -> None:
    loaded = load(file, '[search]\nanswer_tokens = 5\n[records]\nredact_keys = ["pin"]\nfsync = true\n')
    assert (loaded.search.answer_tokens, loaded.records.redact_keys, loaded.records.fsync) == (5, ["pin"], True)


def test_where_logins_are_kept_is_taken(file: Path) -> None:
    url = "https://a.example/mcpctl.json"
    assert load(file, f'[oauth]\nclient_metadata_url = "{url}"\n').oauth == settings.OAuthSettings("file", url)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('store = "vault"', "oauth.store: must be file or keyring"),
        (
            'client_metadata_url = "http://a.example/x"',
            "client_metadata_url: must be the https:// address of a document",
        ),
        (
            'client_metadata_url = "https://a.example/"',
            "client_metadata_url: must be the https:// address of a document",
        ),
    ],
)
def test_where_logins_cannot_be_kept_is_named(file: Path, line: str, what: str) -> None:
    assert what in failure(file, f"[oauth]\n{line}\n").message


# ---- one server


@for_each(
    ("entry", "what"),
    [
        ("", ".command: is missing, and so is a url"),
        ('url = ""', ".url: must be an http:// or https:// address"),
        ('url = "ftp://a"', ".url: must be an http:// or https:// address"),
        ('url = "http://a b"', ".url: must be an http:// or https:// address"),
        ('url = "http://a"\ncommand = "x"', ".url: a server has a command or a url, not both"),
        ('url = "http://a"\nargs = ["x"]', ".args: is for servers with a command"),
        ('url = "http://a"\ncwd = "x"', ".cwd: is for servers with a command"),
        ('url = "http://a"\ntransport = "ws"', ".transport: must be http or sse"),
        ('url = "http://a"\nheaders = {"a b" = "x"}', ".headers: 'a b' is not a name of a header"),
        ('url = "http://a"\nheaders = {A = 1}', ".headers: must be text"),
        ('command = "x"\noauth = {}', ".oauth: is for servers with a url"),
        (
            'url = "http://a"\noauth = {client = "x"}',
            ".oauth.client: unknown key; did you mean 'client_id' or 'client_secret'?",
        ),
        ('url = "http://a"\noauth = {grant = "device"}', ".oauth.grant: must be code or client_credentials"),
        ('url = "http://a"\noauth = {issuer = "a.example"}', ".oauth.issuer: must be an http:// or https:// address"),
        (
            'url = "http://a"\noauth = {redirect_port = 70000}',
            ".oauth.redirect_port: must be a port, 1 to 65535, or 0 for any that is free",
        ),
        ('url = "http://a"\noauth = {redirect_port = "1"}', ".oauth.redirect_port: must be a whole number"),
        (
            'url = "http://a"\noauth = {scopes = ["a b"]}',
            ".oauth.scopes: 'a b' is not a scope; write each as an item of the list",
        ),
        (
            'url = "http://a"\noauth = {client_secret = "${S}"}',
            ".oauth.client_id: is missing; a client_secret needs one",
        ),
        (
            'url = "http://a"\noauth = {grant = "client_credentials", client_id = "x"}',
            ".oauth: client_credentials needs client_id and client_secret",
        ),
        (
            'url = "http://a"\nheaders = {authorization = "x"}\noauth = {}',
            ".oauth: headers has Authorization already; write one of the two",
        ),
        ('command = "x"\ntransport = "http"', ".transport: is for servers with a url"),
        ('command = "x"\nheaders = {A = "b"}', ".headers: is for servers with a url"),
        ("command = 5", ".command: must be text"),
        ('command = " "', ".command: must not be empty"),
        ('command = "x"\nargs = "y"', ".args: must be a list"),
        ('command = "x"\nargs = ["y", 1]', ".args[1]: must be text"),
        ('command = "x"\nenv = {A = 1}', ".env: must be text"),
        ('command = "x"\nenv = []', ".env: must be a table"),
        ('command = "x"\nenabled = "yes"', ".enabled: must be true or false"),
        ('command = "x"\nstart_timeout_s = "1"', ".start_timeout_s: must be a number"),
        ('command = "x"\nstart_timeout_s = -1', ".start_timeout_s: must be a number of seconds, 0 or more"),
        ('command = "x"\ncall_timeout_s = nan', ".call_timeout_s: must be a number of seconds, 0 or more"),
        ('command = "x"\ncall_timeout_s = inf', ".call_timeout_s: must be a number of seconds, 0 or more"),
        ('command = "x"\ntools = {rm = "no"}', '.tools.rm: must be true, false, "ask" or "allow"'),
        ('command = "x"\ntrust_hints = "maybe"', ".trust_hints: must be yes, pinned or no"),
        ('command = "x"\ntools = ["rm"]', ".tools: must be a table"),
        ('command = "x"\nprojects = "a"', ".projects: must be a list"),
        ('command = "x"\nprojects = ["a", 1]', ".projects[1]: must be text"),
        (
            'command = "x"\nprojects = ["a b"]',
            ".projects: 'a b' cannot name a project: names have only letters, digits, '_' and '-'",
        ),
        ('command = "x"\nproject = "a"', ".project: unknown key; did you mean 'projects'?"),
        ('command = "x"\ncomand = "y"', ".comand: unknown key; did you mean 'command'?"),
        ('command = "x"\ntool = {rm = false}', ".tool: unknown key; did you mean 'tools'?"),
    ],
)
def test_a_key_that_is_wrong_is_named_with_what_it_must_be(file: Path, entry: str, what: str) -> None:
    assert problem(file, entry) == what


@pytest.mark.parametrize("key", ['url = "https://x"', 'transport = "http"', "headers = {}"])
def test_a_key_of_the_other_kind_is_refused(file: Path, key: str) -> None:
    assert problem(file, f'command = "x"\n{key}').startswith(f".{key.split()[0]}: ")


@pytest.mark.parametrize("name", ["a.b", "a b", "a:b", "", "é"])
def test_a_name_that_cannot_be_part_of_a_key_is_a_problem(file: Path, name: str) -> None:
    loaded = load(file, f'{GOOD}[servers."{name}"]\ncommand = "x"\n')
    assert list(loaded.servers) == ["good"]
    assert "letters, digits" in loaded.problems[name]


def test_an_entry_that_is_no_table_is_a_problem(file: Path) -> None:
    loaded = load(file, f"[servers]\nbad = 5\n{GOOD}")
    assert list(loaded.servers) == ["good"]
    assert loaded.problems["bad"] == f"{file}: servers.bad: must be a table"


def test_servers_in_use_are_sorted_and_enabled(file: Path) -> None:
    entries = {"b": "true", "c": "false", "a": "true"}
    loaded = load(file, "".join(f'[servers.{n}]\ncommand = "x"\nenabled = {on}\n' for n, on in entries.items()))
    assert list(loaded.enabled) == ["a", "b"]
    assert set(loaded.servers) == {"a", "b", "c"}


def test_asking_for_a_server_says_why_it_cannot_be_had(file: Path) -> None:
    loaded = load(file, f"{GOOD}[servers.bad]\n")
    assert loaded.server("good").command == "run"
    with pytest.raises(NotFound, match="no server 'goof'") as missing:
        loaded.server("goof")
    assert missing.value.hint == "did you mean 'good'?"
    with pytest.raises(Unusable, match=r"servers\.bad\.command: is missing"):
        loaded.server("bad")


def test_the_fingerprint_goes_by_what_chooses_the_program_and_holds_no_secret() -> None:
    base = Server(command="x", args=["y"], env={"A": "1"})
    same = Server(command="x", args=["y"], env={"A": "2", "B": "1"}, enabled=False, tools={"t": False})
    assert base.fingerprint == same.fingerprint == Server(command="x", args=["y"]).fingerprint
    for other in (
        Server(command="z", args=["y"], env={"A": "1"}),
        Server(command="x", args=["z"], env={"A": "1"}),
    ):
        assert other.fingerprint != base.fingerprint


def test_what_it_inherits_makes_it_start_anew_and_no_other_server() -> None:
    servers = [Server(command="x", inherit_env=inherits) for inherits in ("all", "minimal", ["A"])]
    assert len({server.fingerprint for server in servers}) == 1
    assert servers[0] == Server(command="x")
    launches = [server.launch for server in servers]
    assert all(launches.count(launch) == 1 for launch in launches)


@pytest.mark.parametrize("value", ['"some"', '["A-B"]', '["LC_*"]', '[""]', '["A", "all="]'])
def test_what_nobody_can_inherit_is_refused(file: Path, value: str) -> None:
    loaded = load(file, f'[servers.s]\ncommand = "x"\ninherit_env = {value}\n')
    assert loaded.problems["s"].endswith('.inherit_env: must be "all", "minimal" or a list of names of variables')


@pytest.mark.parametrize(
    ("only", "wrong"),
    [
        ('"list_*"', ".only: must be a list"),
        ("[7]", ".only[0]: must be text"),
        ('["a", " "]', ".only[1]: must be the name of a tool, of 1024 characters at most"),
        (f'["{"a" * 1025}"]', ".only[0]: must be the name of a tool, of 1024 characters at most"),
        ('["bad:list_*"]', ".only[0]: must be a tool's name alone: 'list_*'"),
        (str(["a"] * 501), ".only: may have 500 names at most; * in a name stands for any text"),
    ],
)
def test_only_has_names_of_tools(file: Path, only: str, wrong: str) -> None:
    assert problem(file, f'command = "x"\nonly = {only}') == wrong


def test_only_may_be_empty(file: Path) -> None:
    servers = load(file, "[servers.s]\ncommand = 'x'\nonly = []\n[servers.t]\ncommand = 'x'\n").servers
    assert (servers["s"].only, servers["t"].only) == ([], None)
    assert servers["s"].launch == servers["t"].launch


def test_what_no_server_can_ask_is_refused(file: Path) -> None:
    loaded = load(file, '[servers.s]\ncommand = "x"\nmay_ask = ["roots", "prompts"]\n')
    assert loaded.problems["s"].endswith("servers.s.may_ask: may have elicitation, sampling and roots")
    assert Server(command="x").launch != Server(command="x", may_ask=[]).launch
    assert Server(command="x").fingerprint == Server(command="x", may_ask=[]).fingerprint


def test_what_clients_see_beside_tools_is_of_the_server_and_else_of_serve(file: Path) -> None:
    said = '[serve]\nexpose = ["prompts"]\n[servers.a]\ncommand = "x"\n[servers.b]\ncommand = "x"\nexpose = []\n'
    loaded = load(file, said)
    assert [list(loaded.exposes(name)) for name in ("a", "b")] == [["prompts"], []]
    assert Server(command="x").launch == Server(command="x", expose=[]).launch
    wrong = load(file, '[servers.s]\ncommand = "x"\nexpose = ["templates"]\n')
    assert wrong.problems["s"].endswith("servers.s.expose: may have prompts and resources")
    with pytest.raises(Unusable, match=r"serve\.expose: may have prompts and resources"):
        load(file, '[serve]\nexpose = ["tools"]\n')


# ---- projects

PROJECTS = """\
[servers.both]
command = "x"
projects = ["acme", "zoo"]
[servers.every]
command = "x"
projects = []
[servers.off]
command = "x"
projects = ["acme"]
enabled = false
[servers.one]
command = "x"
projects = ["acme"]
[servers.other]
command = "x"
projects = ["zoo"]
[projects.acme]
optimization = "off"
toolset = "triage"
[projects.idle]
"""


@pytest.mark.parametrize(
    ("project", "seen", "optimization", "toolset"),
    [
        (None, ["both", "every", "one", "other"], "bm25", None),
        ("acme", ["both", "every", "one"], "off", "triage"),
        ("zoo", ["both", "every", "other"], "bm25", None),
        ("idle", ["every"], "bm25", None),
    ],
)
def test_a_project_sees_its_servers_and_those_that_name_none(
    file: Path, project: str | None, seen: list[str], optimization: str, toolset: str | None
) -> None:
    loaded = load(file, PROJECTS, project)
    assert (loaded.project, list(loaded.enabled)) == (project, seen)
    assert (loaded.optimization, loaded.toolset) == (optimization, toolset)
    assert len(loaded.servers) == 5


@pytest.mark.parametrize("optimization", settings.OPTIMIZATIONS)
def test_every_optimization_is_taken(file: Path, optimization: str) -> None:
    assert load(file, f'[projects.a]\noptimization = "{optimization}"', "a").optimization == optimization


@pytest.mark.parametrize(
    ("project", "hint"),
    [
        ("acne", "did you mean 'acme'?"),
        ("Zoo", "did you mean 'zoo'?"),
        ("", "{file} has acme, idle, zoo"),
        ("nothing", "{file} has acme, idle, zoo"),
    ],
)
def test_a_project_that_nothing_names_is_not_found(file: Path, project: str, hint: str) -> None:
    with pytest.raises(NotFound, match=f"no project '{project}'") as raised:
        load(file, PROJECTS, project)
    assert (raised.value.hint, raised.value.code) == (hint.format(file=file), "project_not_found")
    file.unlink()
    with pytest.raises(NotFound) as none:
        config.load(file, "acme")
    assert none.value.hint == f"{file} has none; put a server into one: mcpctl servers set SERVER --project acme"


def test_a_server_of_another_project_is_refused_by_name(file: Path) -> None:
    loaded = load(file, PROJECTS, "acme")
    assert loaded.server("both").command == "x"
    with pytest.raises(Refused, match="server 'other' is not in the project in force, 'acme'") as raised:
        loaded.server("other")
    assert raised.value.hint.endswith(f"add 'acme' to projects of [servers.other] in {file}")
    with pytest.raises(NotFound) as missing:
        loaded.server("othe")
    assert "other" not in missing.value.hint


def test_an_entry_that_cannot_be_used_is_told_of_in_its_own_projects(file: Path) -> None:
    text = f"{PROJECTS}[servers.bad]\ncomand = 1\nprojects = ['farm']\n[servers.odd]\nprojects = 'farm'\n"
    assert list(load(file, text, "farm").problems) == ["bad", "odd"]
    assert list(load(file, text).problems) == ["bad", "odd"]
    loaded = load(file, text, "acme")
    assert list(loaded.problems) == []
    with pytest.raises(Refused):
        loaded.server("bad")


def test_a_project_makes_no_other_server_of_one() -> None:
    assert Server(command="x", projects=["a"]).fingerprint == Server(command="x").fingerprint


def test_a_server_may_have_a_limit_of_its_own_or_none(file: Path) -> None:
    assert problem(file, 'command = "x"\nlimit_tokens = -1') == ".limit_tokens: must be 0 or more"
    loaded = load(file, f"{GOOD}limit_tokens = 0\n[clients.a]\nlimit_tokens = 5\n[responses]\nlimit_tokens = 7\n")
    limits = [loaded.answer_limit(*each) for each in (("good", "a"), ("other", "a"), ("other", "b"), ("other", None))]
    assert limits == [0, 20, 28, 28]
    assert (loaded.least_limit, loaded.shortens) == (20, True)
    assert not load(file, GOOD).shortens


def test_an_http_api_exposes_nothing_beside_its_tools() -> None:
    text = '[servers.a]\nopenapi = "a.json"\nurl = "https://api.example.com"\n[servers.b]\ncommand = "x"\n'
    loaded = config.parsed(Path("config.toml"), text)
    assert [bool(loaded.exposes(name)) for name in ("a", "b")] == [False, True]
