"""`mcpctl servers search`"""

from typing import Any

import pytest
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from mcpctl.base.paths import Paths
from tests.conftest import Mcpctl
from tests.registry.own_registry import OFFICIAL, OwnRegistry, described, package, remote
from tests.table import for_each

LIST = "/v0.1/servers"


def names(rows: list[Any]) -> list[str]:
    """The names in rows."""
    return [row["name"] for row in rows]


@pytest.fixture
def some(registry: OwnRegistry) -> OwnRegistry:
    """It has servers of each kind."""
    registry.publish(described("io.github.ada/weather", "0.9.0", packages=[package()]))
    registry.publish(described("com.example/weather-remote", remotes=[remote()], title="Storms"))
    packages = [package("pypi"), package("oci"), package("pypi", "other")]
    registry.publish(described("io.github.ada/weather", "1.0.0", packages=packages, websiteUrl="https://a.example"))
    registry.publish(described("org.example/old-weather"), status="deprecated", statusMessage="use another")
    registry.publish(described("org.example/gone-weather"), status="deleted")
    return registry


def test_a_pipe_gets_the_newest_versions_in_the_order_of_the_registry(some: OwnRegistry, mcpctl: Mcpctl) -> None:
    ran = mcpctl("servers", "search", "weather")
    assert (ran.err, ran.out.splitlines()) == ("", [
        "com.example/weather-remote\t1.2.3\tremote\tactive\tForecasts and warnings",
        "io.github.ada/weather\t1.0.0\tpypi,oci\tactive\tForecasts and warnings",
        "org.example/old-weather\t1.2.3\t\tdeprecated\tForecasts and warnings",
    ])  # fmt: skip


def test_json_has_a_row_for_each_with_all_fields(some: OwnRegistry, mcpctl: Mcpctl) -> None:
    rows = mcpctl("servers", "search", "old", "--json").json
    assert rows == [{
        "name": "org.example/old-weather", "version": "1.2.3", "kinds": [], "status": "deprecated", "title": None,
        "description": "Forecasts and warnings", "status_message": "use another", "repository": None, "website": None,
        "published_at": "2026-01-01T00:00:03Z", "updated_at": "2026-01-01T00:00:03Z",
    }]  # fmt: skip
    assert mcpctl("servers", "search", "old", "--jsonl").jsonl == rows


def test_a_terminal_gets_a_table_and_how_one_is_added(some: OwnRegistry, mcpctl: Mcpctl) -> None:
    ran = mcpctl("servers", "search", "weather", tty=True)
    assert ran.out.splitlines()[0].split() == ["NAME", "VERSION", "KINDS", "STATUS", "DESCRIPTION"]
    assert ran.err == "add one with: mcpctl servers add NAME\n"
    assert mcpctl("servers", "search", "nothing-like-it", tty=True).err == "no servers match\n"


def test_the_longest_word_is_looked_for_in_names_and_the_others_anywhere(some: OwnRegistry, mcpctl: Mcpctl) -> None:
    assert names(mcpctl("servers", "search", "STORMS", "weather-remote", "--json").json) == [
        "com.example/weather-remote"
    ]
    assert [parameters["search"] for _, parameters in some.asked] == ["weather-remote"]
    assert mcpctl("servers", "search", "weather", "snow", "--json").json == []


def test_all_pages_are_read_and_no_more_than_are_wanted(registry: OwnRegistry, mcpctl: Mcpctl) -> None:
    for number in range(250):
        registry.publish(described(f"io.github.ada/weather-{number:03}"))
    assert mcpctl("servers", "search", "weather", "--count").out == "250\n"
    assert len(registry.asked) == 3
    registry.asked.clear()
    rows = mcpctl("servers", "search", "weather", "--limit", "2", "--offset", "99", "--json").json
    assert names(rows) == ["io.github.ada/weather-099", "io.github.ada/weather-100"]
    assert len(registry.asked) == 2
    assert "50 of 250 servers; --limit 0 shows all" in mcpctl("servers", "search", "weather", tty=True).err


@for_each("bound, value, read", [("base.bounds.REGISTRY_PAGES", 2, 200), ("registry.api._SECONDS_OF_ALL", -1.0, 100)])
def test_a_registry_without_end_is_read_to_a_bound_and_it_is_said(
    registry: OwnRegistry, mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch, bound: str, value: float, read: int
) -> None:
    registry.published.clear()
    for number in range(250):
        registry.publish(described(f"io.github.ada/weather-{number:03}"))
    with monkeypatch.context() as patch:
        patch.setattr(f"mcpctl.{bound}", value)
        patch.setattr("mcpctl.base.errors._warned", {})
        ran = mcpctl("servers", "search", "weather", "--format", "jsonl")
    assert len(ran.jsonl) == read
    assert "has more than is read at once; give more words" in ran.err


@for_each("cursor", ["same", "x" * 5000])
def test_a_cursor_that_leads_nowhere_ends_the_search(registry: OwnRegistry, mcpctl: Mcpctl, cursor: str) -> None:
    registry.asked.clear()
    page = {"servers": [{"server": described()}], "metadata": {"nextCursor": cursor}}
    registry.answers[LIST] = JSONResponse(page)
    assert len(mcpctl("servers", "search", "weather", "--json").json) <= 2
    assert len(registry.asked) <= 2


def test_what_is_not_a_server_is_left_out_and_counted(registry: OwnRegistry, mcpctl: Mcpctl) -> None:
    odd = [
        {}, {"server": None}, {"server": described() | {"name": 7}}, {"server": described() | {"packages": ["x"]}},
        {"server": described(), "_meta": {OFFICIAL: {"status": []}}},
    ]  # fmt: skip
    registry.answers[LIST] = JSONResponse({"servers": [*odd, {"server": described()}]})
    ran = mcpctl("servers", "search", "weather", "--format", "tsv")
    assert len(ran.out.splitlines()) == 1
    assert "5 servers of 127.0.0.1" in ran.err and "are left out" in ran.err


@for_each("name", ["io.github.ada/weather;rm", "--yes/x.y", "io.github.ada/../x", "a b.c/d", "io.github.ada/x\n"])
def test_a_name_that_nobody_could_add_is_not_shown(registry: OwnRegistry, mcpctl: Mcpctl, name: str) -> None:
    registry.answers[LIST] = JSONResponse({"servers": [{"server": described(name)}]})
    assert mcpctl("servers", "search", "weather", "--json").json == []


def test_no_text_of_a_registry_commands_a_terminal(registry: OwnRegistry, mcpctl: Mcpctl) -> None:
    evil = "\x1b]0;x\x07\x1b[2J\u202e##[command]\r\nmcpctl: all is well"
    server = described(title=evil, packages=[package(evil)], websiteUrl=evil) | {"description": evil}
    registry.answers[LIST] = JSONResponse({"servers": [{"server": server, "_meta": {OFFICIAL: {"status": evil}}}]})
    for options in (["--format", "table"], ["--format", "tsv"], ["--json"], ["--jsonl"], ["--fields", "title,website"]):
        ran = mcpctl("servers", "search", "weather", *options, tty=True)
        assert ran.code == 0
        assert not {"\x1b", "\x07", "\u202e", "\r"} & {*ran.out, *ran.err}
        assert len(ran.out.splitlines()) <= 2


@for_each(
    "answer, said",
    [
        (PlainTextResponse("<html>", 200), "is not that of a registry"),
        (JSONResponse([]), "is not that of a registry"),
        (JSONResponse({"servers": 1}), "is not that of a registry"),
        (JSONResponse({}), "is not that of a registry"),
        (Response(b"[" * 200_000), "is not that of a registry"),
        (Response(b'{"servers": [], "metadata": {"nextCursor": "\xff"}}'), "is not that of a registry"),
        (Response(b" " * (9 << 20)), "its answer has more than 8 MB"),
        (JSONResponse({"error": "\x1b[2J busy"}, 503), "answers: HTTP 503 Service Unavailable"),
        (RedirectResponse("https://elsewhere.example/"), "it redirects to another place"),
        (Response(b"not gzip", headers={"content-encoding": "gzip"}), "cannot be decompressed"),
        (Response(status_code=404), "is not that of a registry"),
    ],
)
def test_a_bad_answer_is_a_failure_in_words(registry: OwnRegistry, mcpctl: Mcpctl, answer: Response, said: str) -> None:
    registry.answers[LIST] = answer
    ran = mcpctl("servers", "search", "weather", "--json")
    assert (ran.code, ran.error["code"]) == (4, "registry_failed")
    assert said in ran.error["message"]
    assert "elsewhere.example" not in str(registry.asked)


def test_one_that_is_silent_is_waited_for_in_a_bound(
    registry: OwnRegistry, mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent(Response):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            await receive()  # the body, which is empty
            await receive()  # that the other side has gone

    monkeypatch.setattr("mcpctl.registry.api._SECONDS", 0.05)
    registry.answers[LIST] = Silent()
    ran = mcpctl("servers", "search", "weather")
    assert (ran.code, "does not answer within 0.05 s" in ran.err) == (4, True)


def test_one_that_is_not_there_is_said(mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCPCTL_REGISTRY", "http://127.0.0.1:9")
    ran = mcpctl("servers", "search", "weather")
    assert (ran.code, "the registry at 127.0.0.1:9: nothing listens there" in ran.err) == (4, True)


def test_the_registry_of_the_configuration_is_asked(
    registry: OwnRegistry, mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch, paths: Paths
) -> None:
    monkeypatch.delenv("MCPCTL_REGISTRY")
    paths.config.parent.mkdir(parents=True)
    paths.config.write_text(f'[registry]\nurl = "{registry.url}/"\n', encoding="utf-8")
    registry.publish(described())
    assert names(mcpctl("servers", "search", "weather", "--json").json) == ["io.github.ada/weather"]


@for_each(
    "url",
    [
        "http://registry.example", "ftp://registry.example", "https://user:pass@registry.example", "registry.example",
        "https://registry.example/?a=b", "https://registry.example/${TOKEN}", "https://${TOKEN}.example", "https://a b",
        "http://127.0.0.1.evil.example", "http://localhost@evil.example",
    ],
)  # fmt: skip
def test_an_address_that_others_could_change_on_the_way_is_refused(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch, paths: Paths, url: str
) -> None:
    paths.config.parent.mkdir(parents=True, exist_ok=True)
    paths.config.write_text("", encoding="utf-8")
    monkeypatch.setenv("MCPCTL_REGISTRY", url)
    ran = mcpctl("servers", "search", "weather")
    assert (ran.code, "MCPCTL_REGISTRY is not the address of a registry" in ran.err) == (2, True)
    monkeypatch.delenv("MCPCTL_REGISTRY")
    paths.config.write_text(f'[registry]\nurl = "{url}"\n', encoding="utf-8")
    ran = mcpctl("servers", "search", "weather")
    assert (ran.code, "registry.url: must be an https:// address" in ran.err) == (5, True)
