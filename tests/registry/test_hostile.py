"""Strangers write what a registry says: none of it becomes a program, an expansion or a place that nobody chose."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import JSONResponse, RedirectResponse, Response

from mcpctl.base.paths import Paths
from mcpctl.commands import confirmation
from mcpctl.registry import ways
from mcpctl.registry.needs import Unfit, expansions
from mcpctl.registry.server_json import InputJson, PackageJson, ServerJson, TransportJson
from tests.conftest import Mcpctl
from tests.registry.own_registry import OwnRegistry, described, package, remote
from tests.table import for_each

NAME = "io.github.ada/weather"
MINE = b"# mine\n[servers.time]\ncommand = 'sh' # kept\n"
RUNS = "${cmd:touch pwned}"
READS = "${GITHUB_TOKEN}"


@pytest.fixture(autouse=True)
def mine(paths: Paths) -> Path:
    """A config.toml that is to stay as it is, byte for byte."""
    paths.config.parent.mkdir(parents=True)
    paths.config.write_bytes(MINE)
    return paths.config


@pytest.fixture(params=["from a script", "at a terminal"])
def tried(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The options with which a server is added: none where a person says yes to everything."""
    if request.param == "from a script":
        yield ["--yes"]
    else:
        monkeypatch.setattr(confirmation, "is_terminal", lambda: True)
        monkeypatch.setattr(confirmation, "may_be_a_person", lambda: True)
        yield []


def argument(**more: Any) -> dict[str, Any]:
    """A package with this argument."""
    return package(packageArguments=[{"type": "positional", **more}])


def option(name: str, **more: Any) -> dict[str, Any]:
    """A package with this option."""
    return package(packageArguments=[{"type": "named", "name": name, **more}])


def variable(name: str = "LOG", **more: Any) -> dict[str, Any]:
    """A package with this variable."""
    return package(environmentVariables=[{"name": name, **more}])


def launcher(*arguments: Any, kind: str = "npm") -> dict[str, Any]:
    """A package with these options of its launcher."""
    return package(kind, runtimeArguments=list(arguments))


PACKAGES = [
    # expansions: of the user's secrets, and of commands
    argument(value=RUNS), argument(value=READS), argument(value="a${X:-b}"), argument(value="$"),
    argument(value="{a}", variables={"a": {"value": RUNS}}), argument(value="${a}", variables={"a": {"value": "b"}}),
    argument(value="${cmd:{a}}", variables={"a": {"isRequired": True, "default": "id"}}),
    argument(value="$" + "{a}", variables={"a": {"default": "{cmd:id}", "isRequired": True}}),
    option("--config", value=READS), option("${X}", value="a"), option("--a=${X}", value="a"),
    variable(value=RUNS), variable(value=READS), variable("A${X}", value="a"),
    package(f"npm{READS}"), package(identifier=READS), package(version=READS), package(identifier="weather-$HOME"),
    # names of packages that are files, addresses, options or several words
    *(package(identifier=each) for each in (
        "", "-y", "--package=evil", "a b", "../weather", "./weather", "/tmp/weather", "~/weather", "weather/..",
        "file:../weather", "git+https://evil.example/x.git", "git+ssh://evil.example/x", "https://a.example/x.tgz",
        "evil/weather", "github:evil/weather", "npm:evil", "weather@npm:evil", "weather.tgz", "@ada", "@ada/-y",
        "@a/b/c", "weather\n--call=id", "weather;id", "`id`", "weather\u202e", "w\u0435ather", "a" * 300,
        "weather@1.0.0", "C:weather",
    )),
    *(package("pypi", each) for each in (
        "", "-r", "--index-url=https://evil.example", "weather @ https://evil.example/x.whl", "git+https://evil.example/x",
        "python", "Python3.12", "pypy", "./weather",
        "weather[evil]", "weather>=1", "weather.whl", "weather.py", "https://a.example/x.py", "a/b", "-",
    )),
    # versions that are not exact
    *(package(version=each) for each in (
        "", "latest", "next", "^1.2.3", "~1.2.3", ">=1.2.3", "1.x", "1.2", "1", "*", "1.2.3 || 2", "1.2.3 - 2.0.0",
        "v1.2.3", "file:../x", "npm:evil@1.0.0", "https://evil.example", "git+https://evil.example", "1.2.3\n",
    )),
    *(package("pypi", version=each) for each in ("", "latest", ">=1", "1.*", "==1.0", "~=1.0", "1.0,2.0", "1.0 -x")),
    {name: value for name, value in package().items() if name != "version"},
    # other registries, launchers and what launchers are told
    package(registryBaseUrl="https://evil.example"), package(registryBaseUrl="https://registry.npmjs.org.evil.example"),
    package("pypi", registryBaseUrl="https://test.pypi.org"), package(registryBaseUrl="https://pypi.org"),
    *(launcher({"type": "positional", "value": each}) for each in (
        "-c", "--call=id", "--registry=https://evil.example", "--node-options=--require=/tmp/x", "--package=evil", "-p",
        "evil", "--yes --call=id", "", "--userconfig=/tmp/x", RUNS,
    )),
    *(launcher({"type": "named", "name": each, "value": "x"}) for each in ("-y", "--call", "--registry", "--package")),
    *(launcher({"type": "positional", "value": each}, kind="pypi") for each in (
        "--index-url=https://evil.example", "--from", "--with=evil", "-y", "--python=/tmp/x", "--directory=/tmp",
    )),
    launcher({"type": "positional", "valueHint": "x"}), launcher({"type": "named", "name": "-y"}), launcher({}),
    # variables that decide what runs
    *(variable(each, value="/tmp/x") for each in (
        "PATH", "Path", "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "NODE_PATH", "HOME",
        "npm_config_registry", "NPM_CONFIG_REGISTRY", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "PIP_INDEX_URL", "PYTHONPATH",
        "PYTHONSTARTUP", "PYTHONHOME", "HTTPS_PROXY", "all_proxy", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS",
        "REQUESTS_CA_BUNDLE", "BASH_ENV", "GIT_SSH_COMMAND", "MCPCTL_HOME", "XDG_CONFIG_HOME", "JAVA_TOOL_OPTIONS",
        "NODE_TLS_REJECT_UNAUTHORIZED", "PERL5OPT", "RUBYOPT", "SSH_ASKPASS", "EDITOR", "BROWSER",
    )),
    *(variable(each, value="x") for each in ("", "A B", "A=B", "A\nB", "1A", "-A", "é")),
    # texts that people do not see as they are
    argument(value="a\u202eb"), argument(value="a\x1b[2Jb"), argument(value="a\nb"), argument(value="a\0b"),
    argument(value="a\u200bb"), argument(value="a" * 3000), variable(value="a\rb"), option("--a b", value="c"),
    # forms that are none
    argument(type="flag", value="x"), argument(type="", value="x"), option("", value="x"), option("--", value="x"),
    package(packageArguments=[{"type": "positional", "value": "x"}] * 101),
    package(environmentVariables=[{"name": f"A{number}"} for number in range(101)]),
    package(packageArguments=[{"type": "positional", "value": "x" * 1000}] * 9),
    package(environmentVariables=[{"name": f"A{number}", "value": "x" * 1000} for number in range(9)]),
    package(transport={"type": "sse", "url": "http://localhost"}), package(transport={"type": "\x1b[2J"}),
    argument(value="{a b}", variables={"a b": {"isRequired": True}}),
]  # fmt: skip
REMOTES = [
    *(remote(each) for each in (
        "", "weather.example", "http://weather.example/mcp", "http://10.0.0.1/mcp", "ftp://a.example", "file:///etc",
        "https://", "https:///mcp", "https://user@weather.example", "https://user:pass@weather.example",
        "https://weather.example\\@evil.example", "https://a.example/${GITHUB_TOKEN}", "https://${cmd:id}.example",
        "https://a.example/$x", "https://a.example/{x}", "https://{x}.example", "https://a.example/ b",
        "https://a.example/\n", "https://a.example/\u202e", "https://\u0430.example", "https://a.example:99999999",
        "https://[::1", "https://a.example/#x", "javascript:alert(1)", "http://localhost.evil.example/",
        "http://127.0.0.1@evil.example/",
    )),
    remote(kind="stdio"), remote(kind="websocket"), remote(kind="\x1b[2J"),
    remote("https://{a}/mcp", variables={"a": {"value": "${GITHUB_TOKEN}.evil.example"}}),
    remote("{a}", variables={"a": {"value": "http://evil.example"}}),
    remote("{a}", variables={"a": {"default": "http://evil.example"}}),
    remote("https://a.example/$" + "{a}", variables={"a": {"value": "{cmd:id}"}}),
    *(remote(headers=[{"name": "X-A", "value": each}]) for each in (RUNS, READS, "a\r\nB: c", "a\0b", "é\u200b")),
    remote(headers=[{"name": "X-A", "value": "{a}", "variables": {"a": {"value": READS}}}]),
    *(remote(headers=[{"name": each, "value": "x"}]) for each in (
        "", "A B", "A:B", "A\nB", "Host", "host", "Content-Length", "Transfer-Encoding", "Connection", "Mcp-Session-Id",
        "Proxy-Authorization", "X-Forwarded-For", "${X}", "Accept",
    )),
    remote(headers=[{"name": "X-A", "value": "x"}] * 101),
]  # fmt: skip


SERVERS = [*({"packages": [each]} for each in PACKAGES), *({"remotes": [each]} for each in REMOTES)]


@for_each("server", SERVERS)
def test_there_is_no_way_to_use_a_hostile_server(server: dict[str, Any]) -> None:
    offered, others = ways.of(msgspec.convert(described(**server), ServerJson))
    assert len(offered) + len(others) == 1
    for way in offered:  # whose values are put into its texts only now
        with pytest.raises(Unfit):
            way.entry({})


@pytest.mark.slow
@for_each("server", SERVERS)
def test_a_hostile_server_is_refused_and_nothing_is_written(
    registry: OwnRegistry, mcpctl: Mcpctl, mine: Path, tried: list[str], server: dict[str, Any]
) -> None:
    registry.published.clear()
    registry.publish(described(**server))
    ran = mcpctl("servers", "add", NAME, *tried, stdin="\n" * 3 + "y\n" * 3)
    assert (ran.code, "cannot" in ran.err) == (5, True), ran
    assert mine.read_bytes() == MINE
    assert not {"\x1b", "\u202e", "\u200b", "\0"} & {*ran.err}
    assert not Path("pwned").exists()


@for_each(
    "offered",
    [
        variable(default=READS, isRequired=True), argument(valueHint="a", default=RUNS, isRequired=True),
        variable(default="x", isRequired=True, isSecret=True), variable("API_KEY", default="x", isRequired=True),
        variable("PATH", default="/tmp", isRequired=True), variable("NODE_OPTIONS", default="-r x", isRequired=True),
        variable(default="z", isRequired=True, choices=["a", "b"]), variable(default="a\u202e", isRequired=True),
        argument(value="{a}", isRequired=True, variables={"a": {"default": RUNS}}),
        variable(value="x", isRequired=True, isSecret=True), argument(isRequired=True, valueHint="${X} a\x1b[2J"),
        variable(value="a {a}", isRequired=True, isSecret=True, variables={"a": {"value": "x", "isSecret": True}}),
    ],
)  # fmt: skip
def test_a_default_that_could_do_harm_is_none(
    registry: OwnRegistry, mcpctl: Mcpctl, mine: Path, offered: dict[str, Any]
) -> None:
    registry.published.clear()
    registry.publish(described(packages=[offered]))
    ran = mcpctl("servers", "add", NAME, "--yes", "--json")
    assert (ran.code, ran.error["code"]) == (2, "input_missing")
    assert mine.read_bytes() == MINE


@for_each(
    "offered",
    [
        variable("PATH"), variable(default=READS), argument(valueHint="a", default=RUNS), variable(choices=[RUNS]),
        option("--config", default=READS), argument(value="{a}", variables={"a": {"default": RUNS}}),
        variable("NODE_ENV", value="production"), variable("PYTHONUNBUFFERED", value="1"),
    ],
)  # fmt: skip
def test_what_is_not_asked_for_is_left_out(
    registry: OwnRegistry, mcpctl: Mcpctl, mine: Path, offered: dict[str, Any]
) -> None:
    registry.published.clear()
    mine.write_bytes(MINE)
    registry.publish(described(packages=[offered]))
    assert mcpctl("servers", "add", NAME, "--yes").code == 0
    assert b"$" not in mine.read_bytes()
    assert mine.read_bytes().startswith(MINE)


@for_each(
    "answer, code",
    [
        (JSONResponse({"server": described("io.github.eve/weather", packages=[package()])}), 4),
        (JSONResponse({"server": described("IO.GITHUB.ADA/weather", packages=[package()])}), 4),
        (JSONResponse({"server": described(version="latest", packages=[package()])}), 4),
        (JSONResponse({"server": described(version="", packages=[package()])}), 4),
        (JSONResponse({"server": described(version="^1", packages=[package()])}), 4),
        (JSONResponse({"server": described(version="1.0\x1b[2J", packages=[package()])}), 4),
        (JSONResponse({"server": described() | {"packages": {"a": 1}}}), 4),
        (JSONResponse({"server": described() | {"packages": [package() | {"transport": "stdio"}]}}), 4),
        (JSONResponse({"server": described() | {"packages": [package() | {"identifier": ["x"]}]}}), 4),
        (JSONResponse([]), 4),
        (JSONResponse({"server": None}), 4),
        (Response(b'{"server": ' * 100_000), 4),
        (Response(b'{"server": {"packages": [{"packageArguments": [' + b'{"variables": {"a": ' * 50_000), 4),
        (Response(b" " * (9 << 20)), 4),
        (RedirectResponse("https://evil.example/v0.1/servers/x"), 4),
        (RedirectResponse("http://169.254.169.254/"), 4),
        (Response(b"", 500), 4),
        (Response(b"", 204), 4),
        (Response(b"", 404), 3),
        (JSONResponse({"server": described(packages=[package()]),
                       "_meta": {"io.modelcontextprotocol.registry/official": {"status": "deleted"}}}), 3),
    ],
)  # fmt: skip
def test_an_answer_that_is_not_that_of_the_server_is_refused(
    registry: OwnRegistry, mcpctl: Mcpctl, mine: Path, answer: Response, code: int
) -> None:
    registry.answer(answer)
    ran = mcpctl("servers", "add", NAME, "--yes")
    assert ran.code == code, ran
    assert mine.read_bytes() == MINE
    assert "\x1b" not in ran.err


def test_another_version_than_the_one_that_was_named_is_refused(
    registry: OwnRegistry, mcpctl: Mcpctl, mine: Path
) -> None:
    registry.answer(JSONResponse({"server": described(version="6.6.6", packages=[package()])}), version="1.2.3")
    ran = mcpctl("servers", "add", f"{NAME}@1.2.3", "--yes")
    assert (ran.code, f"answered with '{NAME}@6.6.6', not with '{NAME}@1.2.3'" in ran.err) == (4, True)
    assert mine.read_bytes() == MINE


def test_a_text_of_a_stranger_is_shown_as_one(registry: OwnRegistry, mcpctl: Mcpctl) -> None:
    evil = "safe\nmcpctl: checked by mcpctl \x1b[2J\u202e##[command]"
    official = {"status": f"deprecated {evil}", "statusMessage": evil}
    needed = {"name": "UNITS", "isRequired": True, "description": evil, "choices": [evil, "a"]}
    server = described(packages=[package(environmentVariables=[needed, {"name": "LOG", "description": evil}])])
    registry.publish(server | {"description": evil, "repository": {"url": evil, "source": evil}}, **official)
    ran = mcpctl("servers", "add", NAME, "--yes", "--env", "UNITS=a")
    assert ran.code == 0
    assert not {"\x1b", "\u202e"} & {*ran.err}
    assert "##[" not in ran.err
    assert not any(line.startswith("mcpctl:") for line in ran.err.splitlines() if "checked" in line)


def test_the_answer_of_a_person_is_expanded_alone(registry: OwnRegistry, mcpctl: Mcpctl, mine: Path) -> None:
    """Neither does a value of the user's, put into a text of a stranger's, become another expansion."""
    registry.publish(described(packages=[argument(value="{a}{b}{cmd:id}", variables={"a": {}, "b": {}})]))
    for a, b in (("x", "$"), ("$", "{cmd:id}"), ("${A:-", "}"), ("${", "A}"), ("${cmd:echo ", "}")):
        ran = mcpctl("servers", "add", NAME, "--yes", "--input", f"a={a}", "--input", f"b={b}")
        assert (ran.code, "would be expanded to something else" in ran.err) == (5, True), (a, b, ran)
    assert mine.read_bytes() == MINE
    assert mcpctl("servers", "add", NAME, "--yes", "--input", "a=${A}", "--input", "b=${cmd:echo x}").code == 0
    assert tomllib.loads(mine.read_text(encoding="utf-8"))["servers"]["weather"]["args"][2:] == [
        "${A}${cmd:echo x}{cmd:id}"
    ]


TEXTS = st.lists(
    st.sampled_from(
        ["$", "{", "}", "${", "cmd:", "id", "A", ":-", "{a}", "{b}", "-", " ", "'", "\\", "=", "/", "@", "é"]
    ),
    max_size=8,
).map("".join)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_nothing_that_a_stranger_writes_is_expanded(value: str, default: str, fixed: str, mine_is: str) -> None:
    """Whatever a template, a default, a fixed part and an answer are put together to."""
    variables = {"a": InputJson(default=default, is_required=True), "b": InputJson(value=fixed)}
    inputs = [
        InputJson(type="positional", value=value, variables=variables),
        InputJson(type="positional", value_hint="c"),
    ]
    packages = [PackageJson("npm", "w", TransportJson("stdio"), version="1.0.0", package_arguments=inputs)]
    offered, _ = ways.of(ServerJson("a.b/c", "d", "1.0.0", packages=packages))
    for way in offered:
        for answers in ({}, {("input", "a"): [mine_is], ("input", "c"): [mine_is]}):
            own = [each for values in answers.values() for text in values for each in expansions(text)]
            try:
                args = way.entry(answers)["args"][2:]
            except Unfit:
                continue
            assert {each for arg in args for each in expansions(arg)} <= {*own}
