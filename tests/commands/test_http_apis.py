"""HTTP APIs on the command line: added, read again, shown, called, and left alone by what is for other servers."""

import json
import os
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.errors import WrongUsage
from mcpctl.base.paths import Paths
from mcpctl.commands import http_apis
from mcpctl.commands.confirmation import Gate
from mcpctl.config import config
from mcpctl.config.server_settings import check_server
from mcpctl.openapi import snapshot
from mcpctl.store.records import LocalRecords
from tests import command_tree, shop_api
from tests.configured import configure
from tests.conftest import Mcpctl
from tests.doctor.conftest import Found
from tests.doctor.conftest import found as found
from tests.doctor.conftest import user as user
from tests.table import for_each

TOKEN = shop_api.TOKEN
AUTH = ("--auth", "bearerAuth=${SHOP_TOKEN}")


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder that commands are run in, which is not that of config.toml; documents are compiled in this process."""
    shop_api.compile_here(monkeypatch)
    monkeypatch.setenv("SHOP_TOKEN", TOKEN)
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    shop_api.write(folder / "shop.json", shop_api.shop())
    return folder


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The shop itself; its address."""
    with shop_api.running(monkeypatch) as url:
        yield url


def entry(paths: Paths, name: str = "shop") -> dict[str, Any]:
    loaded: dict[str, Any] = tomllib.loads(paths.config.read_text(encoding="utf-8"))["servers"][name]
    return loaded


def add(mcpctl: Mcpctl, *more: str) -> str:
    ran = mcpctl("servers", "add", "shop", "--openapi", "shop.json", *AUTH, *more)
    assert ran.code == 0, ran
    return ran.err


# ---- servers add


def test_an_api_that_is_added_has_its_tools_at_once_and_says_what_there_is(
    mcpctl: Mcpctl, paths: Paths, here: Path
) -> None:
    document = shop_api.shop()
    document["paths"]["/orders"]["get"]["deprecated"] = True
    document["components"]["securitySchemes"]["key"] = {"type": "apiKey", "in": "query", "name": "key"}
    shop_api.write(here / "shop.json", document)
    said = add(mcpctl)
    assert "3 tools of Shop 1.0, at http://127.0.0.1:8765/v1" in said
    assert "1 operation left out: deprecated" in said
    assert "no value yet for key; for those that it needs: mcpctl servers set shop --auth 'key=${TOKEN}'" in said
    assert entry(paths)["auth"] == {"bearerAuth": "${SHOP_TOKEN}"}
    tools = mcpctl("tools", "ls", "--fields", "key").out.split()
    assert tools == ["shop:orders/create", "shop:orders/get", "shop:orders/cancel"]


@for_each("folder, written", [("work", str(Path("..") / "work")), ("home/docs", "docs"), ("home", "")])
def test_a_file_is_written_so_that_it_is_found_from_the_folder_of_config_toml(
    mcpctl: Mcpctl, paths: Paths, here: Path, folder: str, written: str
) -> None:
    place = shop_api.write(here.parent / folder / "shop.json", shop_api.shop())
    name = folder.replace("/", "-")
    assert mcpctl("servers", "add", name, "--openapi", os.path.relpath(place)).code == 0
    expected = str(place) if written.startswith("..") else str(Path(written) / "shop.json")
    assert entry(paths, name)["openapi"] == expected
    assert mcpctl("tools", "refresh", name).code == 0


@for_each(
    "document, words, code",
    [
        ([1], "is not an OpenAPI document", 2),
        ({"swagger": "2.0"}, "npx swagger2openapi", 2),
        ({"openapi": "3.1.0", "info": {}, "paths": {}}, "no operation is usable", 2),
        (None, "there is no file", 3),
    ],
)
def test_a_document_that_cannot_be_used_leaves_nothing_behind(
    mcpctl: Mcpctl, paths: Paths, here: Path, document: Any, words: str, code: int
) -> None:
    place = here / "bad.json"
    shop_api.write(place, document) if document else place.unlink(missing_ok=True)
    ran = mcpctl("servers", "add", "bad", "--openapi", "bad.json", "--url", "https://a.example")
    assert ran.code == code
    assert words in ran.err
    assert not paths.config.exists()
    assert not list(paths.data.glob("openapi/*"))


def test_of_two_that_add_the_same_api_at_once_the_loser_leaves_the_winners_document(paths: Paths, here: Path) -> None:
    table = {"openapi": str(here / "shop.json")}
    adding = http_apis.Edit(paths, "shop", None, check_server("shop", table))
    place = snapshot.path_of(paths, "shop", adding.server)
    with pytest.raises(WrongUsage), adding.read_first(Gate(paths, False)):
        raise WrongUsage("refused", "there is no other")
    assert not place.exists()
    with pytest.raises(WrongUsage), adding.read_first(Gate(paths, False)):
        configure(paths, {"shop": table})
        raise WrongUsage("there is a server 'shop' already", "the other has added it")
    assert place.exists()
    place.unlink()
    with adding.read_first(Gate(paths, False)):
        place.unlink()  # as a loser does before the entry is there
    assert place.exists()


def test_a_base_that_the_document_lacks_is_asked_for_by_its_option(mcpctl: Mcpctl, here: Path) -> None:
    shop_api.write(here / "shop.json", shop_api.shop(servers=[{"url": "/v1"}]))
    ran = mcpctl("servers", "add", "shop", "--openapi", "shop.json")
    assert ran.code == 2
    assert "--url" in ran.err
    assert mcpctl("servers", "add", "shop", "--openapi", "shop.json", "--url", "https://a.example").code == 0


def test_nothing_is_read_for_an_entry_that_cannot_be_added(mcpctl: Mcpctl, paths: Paths, here: Path) -> None:
    configure(paths, {"shop": {"command": "true"}})
    shop_api.write(here / "shop.json", {})
    assert "there is a server 'shop' already" in mcpctl("servers", "add", "shop", "--openapi", "shop.json").err
    ran = mcpctl("servers", "add", "a b", "--openapi", "shop.json")
    assert (ran.code, "cannot name a server" in ran.err) == (2, True)


def test_a_dry_run_says_what_add_would_say_and_fails_as_it_fails(mcpctl: Mcpctl, paths: Paths, here: Path) -> None:
    given = ("servers", "add", "shop", "--openapi", "shop.json", "--auth", "other=${SHOP_TOKEN}", "--exclude", "*/list")
    ran = mcpctl(*given, "--dry-run")
    assert (ran.code, "+[servers.shop]" in ran.out) == (0, True)
    assert not paths.config.exists()
    assert not list(paths.data.glob("openapi/*"))
    said = mcpctl(*given).err
    for words in ("3 tools of Shop 1.0, at http://127.0.0.1:8765/v1", "1 operation left out by include",
                  "no value yet for",
                  "no security scheme 'other'"):  # fmt: skip
        assert (words in ran.err, words in said) == (True, True), words
    for document in (None, shop_api.shop(servers=[{"url": "/v1"}])):
        shop_api.write(here / "bad.json", document) if document else None
        failing = ("servers", "add", "bad", "--openapi", "bad.json")
        dry, real = mcpctl(*failing, "--dry-run"), mcpctl(*failing)
        assert (dry.code, dry.err) == (real.code, real.err)
        assert (dry.code != 0, dry.out) == (True, "")


def test_a_dry_run_shows_the_entry_masked(mcpctl: Mcpctl, paths: Paths, here: Path) -> None:
    ran = mcpctl("servers", "add", "shop", "--openapi", "shop.json", "--auth", "bearerAuth=in-the-open-1", "--dry-run")
    assert (ran.code, "bearerAuth" in ran.out, "in-the-open-1" in ran.out + ran.err) == (0, True, False)
    assert not paths.config.exists()


def test_an_api_that_nobody_has_said_yes_to_is_not_added(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {}, policy={"confirm_destructive": False})
    ran = mcpctl("servers", "add", "shop", "--openapi", "shop.json", *AUTH)
    assert ran.code not in (0, 1, 2)
    assert not config.load(paths.config).servers
    assert not list(paths.data.glob("openapi/*"))
    add(mcpctl, "--from-script")


def test_the_base_of_a_document_is_shown_whole_and_that_of_an_entry_without_secrets(mcpctl: Mcpctl, here: Path) -> None:
    shop_api.write(here / "shop.json", shop_api.shop(servers=[{"url": "https://events.1password.example/v1"}]))
    assert "at https://events.1password.example/v1" in add(mcpctl)
    mcpctl("servers", "rm", "shop")
    said = add(mcpctl, "--url", "https://api.example.com/k-5e884898da28047151d0e56f8d")
    assert ("at https://api.example.com/***" in said, "5e884898" in said) == (True, False)


@for_each("options", [["--env", "A=b"], ["--cwd", "/"], ["--transport", "sse"], ["--oauth", "client_id=x"]])
def test_options_of_other_servers_do_not_go_with_a_document(mcpctl: Mcpctl, options: list[str]) -> None:
    ran = mcpctl("servers", "add", "shop", "--openapi", "shop.json", *options)
    assert (ran.code, "is not for servers with openapi" in ran.err) == (2, True)


@for_each("address, is_document", [
    ("https://a.example.com/v1/openapi.json", True), ("https://a.example.com/openapi-3.yaml?x=y", True),
    ("https://a.example.com/swagger.json", True), ("https://a.example.com/openapi", False),
    ("https://a.example.com/mcp.json/", False),
])  # fmt: skip
def test_an_address_that_is_named_as_a_document_is_hinted_at(mcpctl: Mcpctl, address: str, is_document: bool) -> None:
    ran = mcpctl("servers", "add", "x", "--url", address, "--dry-run")
    assert (ran.code, "which is for: mcpctl servers add x --openapi" in ran.err) == (0, is_document)


def test_include_and_exclude_choose_operations(mcpctl: Mcpctl, paths: Paths) -> None:
    add(mcpctl, "--include", "tag:orders", "--exclude", "DELETE /orders/*", "--exclude", "orders/create")
    assert mcpctl("tools", "ls", "--fields", "tool").out.split() == ["orders/list", "orders/get"]
    assert entry(paths)["exclude"] == ["DELETE /orders/*", "orders/create"]


@for_each("schemes, scheme", [({}, "bearer"), ({"tok": {"type": "http", "scheme": "bearer"}}, "tok")])
def test_a_variable_that_is_not_set_is_named_wherever_its_scheme_is(
    mcpctl: Mcpctl, paths: Paths, user: Path, found: Found, api: str, schemes: Any, scheme: str
) -> None:
    place = Path(f"{scheme}.json")
    shop_api.write(
        place, shop_api.shop(components={"securitySchemes": schemes}, security=[{each: []} for each in schemes])
    )
    document = json.loads(place.read_text(encoding="utf-8"))
    del document["paths"]["/orders"]["post"]
    shop_api.write(place, document)
    os.utime(place, (0, 0))
    words = f"{scheme}: the variable NOPE_TOK is not set"
    given = ("--openapi", str(place), "--url", api, "--auth", f"{scheme}=${{NOPE_TOK}}")
    assert words in mcpctl("servers", "add", f"of-{scheme}", *given).err
    key = f"of-{scheme}:orders/list"
    assert words in mcpctl("servers", "check", f"of-{scheme}", "--json").json[0]["problems"]
    row = mcpctl("servers", "show", f"of-{scheme}", "--json").json
    assert (row["schemes"], row["unset"]) == ({scheme: False}, {scheme: "the variable NOPE_TOK is not set"})
    assert f"{scheme} (no value: the variable NOPE_TOK is not set)" in mcpctl("tools", "show", key).out
    assert words in mcpctl("tools", "call", key, "--dry-run").err
    ran = mcpctl("tools", "call", key)
    assert (ran.code, words in ran.out + ran.err) == (4, True)
    assert words in [each.message for each in found("configuration") if each.code == "D117"]


def test_a_pattern_that_no_operation_matches_is_told(mcpctl: Mcpctl) -> None:
    said = add(mcpctl, "--include", "orders/*", "--include", "tag:none", "--exclude", "orders/list")
    told, count = "no operation matches include 'tag:none'", "1 operation left out by include or exclude"
    assert (told in said, count in said, said.count("no operation")) == (True, True, 1)
    assert told in mcpctl("tools", "refresh", "shop").err
    ran = mcpctl("servers", "set", "shop", "--exclude", "GET /nope")
    assert "no operation matches exclude 'GET /nope'" in ran.err
    assert told in ran.err


@for_each("options, place", [
    (["--auth", "bearerAuth=abc"], "auth.bearerAuth"),
    (["--header", "Authorization=Bearer x1"], "headers.Authorization"),
    (["--header", "X-Of-Mine=a1b2c3d4e5f6g7h8"], "headers.X-Of-Mine"), (["--header", "X-Version=2022-11-28"], ""),
    (["--auth", "bearerAuth=${SHOP_TOKEN}"], ""), (["--header", "Authorization=Bearer ${cmd:pass x}"], ""),
])  # fmt: skip
@pytest.mark.slow
def test_a_credential_in_the_open_is_warned_of(mcpctl: Mcpctl, paths: Paths, options: list[str], place: str) -> None:
    words = f"{place}: it is in config.toml as given; ${{VAR}} or ${{cmd:COMMAND}} keeps it out"
    name = "shop" if not paths.config.exists() else f"shop{len(config.load(paths.config).servers)}"
    ran = mcpctl("servers", "add", name, "--openapi", "shop.json", *options)
    assert (ran.code, words in ran.err, "in config.toml as given" in ran.err) == (0, bool(place), bool(place)), ran
    assert "auth.x: it is in config.toml" in mcpctl("servers", "set", name, "--auth", f"{name}=b").err.replace(
        name, "x"
    )


# ---- servers show, ls, set, rm, check, login, logs


def test_an_entry_is_shown_with_its_document_and_its_schemes(mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch) -> None:
    add(mcpctl, "--exclude", "orders/cancel", "--auth", "other=abc")
    row = mcpctl("servers", "show", "shop", "--json").json
    assert {name: row["document"][name] for name in ("title", "version", "openapi", "sha256")} == {
        "title": "Shop", "version": "1.0", "openapi": "3.1.0", "sha256": "0" * 64,
    }  # fmt: skip
    assert (row["base"], row["transport"], row["tools"]) == ("http://127.0.0.1:8765/v1", "openapi", 3)
    assert row["skipped"] == {"left out by include or exclude": 1}
    assert row["schemes"] == {"bearerAuth": True}
    assert row["auth"] == {"bearerAuth": "${SHOP_TOKEN}", "other": "***"}
    text = mcpctl("servers", "show", "shop").out
    assert "base:             http://127.0.0.1:8765/v1" in text
    assert "inherit_env" not in text
    monkeypatch.delenv("SHOP_TOKEN")
    assert mcpctl("servers", "show", "shop", "--json").json["schemes"] == {"bearerAuth": False}


def test_the_fields_of_apis_are_not_printed_of_other_servers(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"a": {"command": "true"}})
    text = mcpctl("servers", "show", "a").out
    assert "openapi" not in text
    assert "skipped" not in text


def test_the_tools_of_a_changed_entry_are_made_anew_and_what_changed_is_told(mcpctl: Mcpctl, paths: Paths) -> None:
    add(mcpctl)
    assert "3 tools" not in mcpctl("servers", "set", "shop", "--auth", "bearerAuth=${OTHER}").err
    for option, told, number in (
        (("--exclude", "orders/cancel"), "I901 shop:orders/cancel: the tool is gone", 3),
        (("--header", "X-Version=1"), "3 tools of Shop 1.0", 3),
        (("--unset", "exclude"), "W803 shop:orders/cancel: the tool is new", 4),
    ):
        ran = mcpctl("servers", "set", "shop", *option)
        assert (ran.code, told in ran.err) == (0, True), ran
        assert len(mcpctl("tools", "ls", "--fields", "key").out.split()) == number
    ran = mcpctl("servers", "set", "shop", "--auth", "other=${SHOP_TOKEN}")
    assert "the document has no security scheme 'other'; it has bearerAuth" in ran.err


def test_of_many_changes_the_first_are_told(mcpctl: Mcpctl, here: Path) -> None:
    paths = {f"/x{number}": {"get": {"operationId": f"x{number}"}} for number in range(50)}
    shop_api.write(here / "shop.json", shop_api.shop(paths=paths))
    add(mcpctl)
    told = mcpctl("servers", "set", "shop", "--include", "x0").err
    assert (told.count("the tool is gone"), "9 more lines of changes are left out" in told) == (40, True)


def test_an_entry_whose_document_cannot_be_read_is_not_changed(mcpctl: Mcpctl, paths: Paths, here: Path) -> None:
    add(mcpctl)
    before = paths.config.read_text(encoding="utf-8")
    (here / "shop.json").unlink()
    for more in ([], ["--dry-run"]):
        ran = mcpctl("servers", "set", "shop", "--exclude", "orders/cancel", *more)
        assert (ran.code, "there is no file" in ran.err) == (3, True)
    assert paths.config.read_text(encoding="utf-8") == before
    assert len(mcpctl("tools", "ls", "--fields", "key").out.split()) == 4
    assert mcpctl("servers", "set", "shop", "--call-timeout", "5").code == 0, "for that it is not read"


def test_a_changed_entry_sends_no_credentials_elsewhere_by_a_new_document(
    mcpctl: Mcpctl, paths: Paths, here: Path
) -> None:
    configure(paths, {}, policy={})
    add(mcpctl, "--from-script")
    moved(here)
    before = paths.config.read_text(encoding="utf-8")
    ran = mcpctl("servers", "set", "shop", "--exclude", "orders/cancel")
    assert (ran.code != 0, "requests now go to https://other.example.com, before to" in ran.err) == (True, True)
    assert paths.config.read_text(encoding="utf-8") == before
    assert mcpctl("servers", "set", "shop", "--exclude", "orders/cancel", "--from-script").code == 0


def test_the_compiled_document_goes_with_its_entry(mcpctl: Mcpctl, paths: Paths) -> None:
    add(mcpctl)
    (file,) = paths.data.glob("openapi/*")
    assert file.stat().st_mode & 0o777 == 0o600
    assert mcpctl("servers", "rm", "shop").code == 0
    assert not file.exists()


def test_a_check_sends_nothing_and_says_where_no_credential_is(mcpctl: Mcpctl) -> None:
    add(mcpctl)  # nothing listens at its base
    row = mcpctl("servers", "check", "--json").json[0]
    assert (row["status"], row["tools"], row["problems"]) == ("ok", 4, [])
    mcpctl("servers", "set", "shop", "--unset", "auth")
    row = mcpctl("servers", "check", "--json").json[0]
    assert (row["status"], row["problems"]) == ("odd", ["none of its security schemes has a value: bearerAuth"])


def test_a_server_without_a_compiled_document_is_down_with_the_command_that_makes_it(
    mcpctl: Mcpctl, paths: Paths
) -> None:
    add(mcpctl)
    shutil.rmtree(paths.data / "openapi")
    ran = mcpctl("tools", "call", "shop:orders/get", "id=1")
    assert (ran.code, "run: mcpctl tools refresh shop" in ran.err) == (4, True)


@for_each(
    "command, words",
    [
        (["login", "shop"], "is an HTTP API, which nobody logs in to"),
        (["logout", "shop"], "is an HTTP API, which nobody logs in to"),
        (["logs", "shop"], "is an HTTP API: it has no stderr"),
    ],
)
def test_commands_for_other_servers_say_why_they_are_not_for_an_api(
    mcpctl: Mcpctl, paths: Paths, command: list[str], words: str
) -> None:
    configure(paths, {"shop": {"openapi": "shop.json"}})
    ran = mcpctl("servers", *command)
    assert (ran.code != 0, words in ran.err) == (True, True)


# ---- tools refresh


def changed(here: Path) -> None:
    document = shop_api.shop()
    document["paths"]["/orders"]["get"]["summary"] = "List all orders"
    document["paths"]["/stock"] = {"get": {"operationId": "stock", "summary": "See what is there"}}
    del document["paths"]["/orders/{id}"]["delete"]
    shop_api.write(here / "shop.json", document)


def test_refresh_prints_the_tools_that_were_added_removed_and_changed(mcpctl: Mcpctl, here: Path) -> None:
    add(mcpctl)
    changed(here)
    ran = mcpctl("tools", "refresh", "shop")
    assert ran.out.startswith("shop\t4\t")
    for line in (
        "W803 shop:stock: the tool is new", "I901 shop:orders/cancel: the tool is gone",
        "W801 shop:orders/list: the description changed", "    + List all orders",
    ):  # fmt: skip
        assert line in ran.out
    assert mcpctl("tools", "refresh").out.count("\n") == 1


def test_refresh_has_the_names_of_changed_tools_under_json(mcpctl: Mcpctl, here: Path, paths: Paths) -> None:
    add(mcpctl)
    changed(here)
    (row,) = mcpctl("tools", "refresh", "--json").json
    assert {name: row[name] for name in ("added", "removed", "changed")} == {
        "added": ["stock"], "removed": ["orders/cancel"], "changed": ["orders/list"],
    }  # fmt: skip


def test_a_document_that_became_unusable_leaves_the_tools_as_they_were(mcpctl: Mcpctl, here: Path) -> None:
    add(mcpctl)
    assert mcpctl("servers", "add", "other", "--openapi", "shop.json").code == 0
    shop_api.write(here / "bad.json", {"openapi": "4"})
    shutil.copy(here / "bad.json", here / "shop.json")
    assert mcpctl("tools", "refresh", "shop").code == 2
    ran = mcpctl("tools", "refresh")
    assert (ran.code, ran.out.splitlines()[0].split("\t")[:2]) == (2, ["other", "4"])
    assert len(mcpctl("tools", "ls", "--fields", "key").out.split()) == 8


def test_refresh_of_all_says_why_a_document_cannot_be_read(mcpctl: Mcpctl, paths: Paths) -> None:
    add(mcpctl)
    written = paths.config.read_text(encoding="utf-8")
    paths.config.write_text(f'{written}\n[servers.req]\nopenapi = "no.json"\n', encoding="utf-8")
    ran = mcpctl("tools", "refresh")
    assert (ran.code, "there is no file" in ran.err, "was not made yet" in ran.err) == (3, True, False)
    assert ran.out.startswith("shop\t4\t")


def test_pins_tell_what_a_new_document_changed(mcpctl: Mcpctl, here: Path, paths: Paths) -> None:
    configure(paths, {}, policy={})
    add(mcpctl, "--from-script")
    assert mcpctl("tools", "diff").out == ""
    changed(here)
    mcpctl("tools", "refresh", "shop")
    told = mcpctl("tools", "diff", "--fail-on", "never").out
    assert "W801 shop:orders/list" in told
    assert "W803 shop:stock: the tool is new" in told
    assert "W805" not in told, "a new document is a new list of the same server"


MOVED = "https://other.example.com"


def moved(here: Path, base: str = MOVED, tokens: str = "https://login.example.com/t") -> None:
    """A document whose requests go elsewhere, or whose clients do."""
    document = shop_api.shop(servers=[{"url": f"{base}/v1"}], security=[{"bearerAuth": []}, {"client": []}])
    flow = {"tokenUrl": tokens, "scopes": {}}
    document["components"]["securitySchemes"]["client"] = {"type": "oauth2", "flows": {"clientCredentials": flow}}
    shop_api.write(here / "shop.json", document)


def test_refresh_says_where_requests_went_before_and_go_now(mcpctl: Mcpctl, here: Path) -> None:
    add(mcpctl)
    moved(here)
    ran = mcpctl("tools", "refresh", "shop")
    assert ran.code == 0
    assert "shop: requests now go to https://other.example.com, before to http://127.0.0.1:8765" in ran.err
    assert "W807 shop:orders/list: its request goes elsewhere" in ran.out
    assert "before to" not in mcpctl("tools", "refresh", "shop").err


@for_each("base, tokens, words", [
    (MOVED, "https://login.example.com/t", "requests now go to https://other.example.com, before to https://a.example.com"),
    ("https://a.example.com", f"{MOVED}/t",
     "the client of client is changed for tokens at https://other.example.com, before at https://login.example.com"),
])  # fmt: skip
@pytest.mark.slow
def test_only_a_person_reads_a_document_that_sends_credentials_elsewhere(
    mcpctl: Mcpctl, here: Path, paths: Paths, base: str, tokens: str, words: str
) -> None:
    auth = {"bearerAuth": "${SHOP_TOKEN}", "client": {"client_id": "x", "client_secret": "s3cret-of-client"}}
    configure(paths, {"shop": {"openapi": str(here / "shop.json"), "auth": auth}}, policy={})
    moved(here, "https://a.example.com")
    assert mcpctl("tools", "refresh", "shop").code == 0, "there is none before"
    (file,) = paths.data.glob("openapi/*")
    before = file.read_bytes()
    moved(here, base, tokens)
    refused = mcpctl("tools", "refresh", "shop")
    assert refused.code == mcpctl("servers", "set", "shop", "--url", MOVED).code != 0
    assert words in refused.err
    assert "only a person can" in refused.err
    assert file.read_bytes() == before, "the one before stays in force"
    ran = mcpctl("tools", "refresh", "shop", "--from-script")
    assert (ran.code, words in ran.err) == (0, True)
    assert "W807 shop:orders/list" in mcpctl("tools", "diff", "--fail-on", "never").out
    assert {tool["held"] for tool in mcpctl("tools", "ls", "--json").json} >= {"changed"}
    with LocalRecords(paths) as records:
        (made,) = records.loosened(None)
    assert (made["channel"], made["rule_place"]) == ("script", "the document of shop")
    shutil.rmtree(paths.data)


def test_a_document_is_read_by_a_person_too_where_the_one_before_is_lost(
    mcpctl: Mcpctl, here: Path, paths: Paths
) -> None:
    entry = {"openapi": str(here / "shop.json"), "auth": {"bearerAuth": "s3cret-of-shop"}}
    configure(paths, {"shop": entry}, policy={})
    moved(here, "https://a.example.com")
    assert mcpctl("tools", "refresh", "shop").code == 0
    (file,) = paths.data.glob("openapi/*")
    moved(here)
    configure(paths, {"shop": {**entry, "include": ["orders/*"]}}, policy={})  # by hand: another file, none for it
    refused = mcpctl("tools", "refresh", "shop")
    assert (refused.code, "before to https://a.example.com" in refused.err) == (6, True)
    configure(paths, {"shop": entry}, policy={})
    for content in (b"{", None):
        file.write_bytes(content) if content else file.unlink()
        refused = mcpctl("tools", "refresh", "shop")
        assert (refused.code, "where they went before is not known any more" in refused.err) == (6, True)
    assert mcpctl("tools", "refresh", "shop", "--from-script").code == 0


def test_a_document_that_stays_at_its_place_or_has_no_credentials_needs_nobody(
    mcpctl: Mcpctl, here: Path, paths: Paths
) -> None:
    configure(paths, {}, policy={})
    assert mcpctl("servers", "add", "shop", "--openapi", "shop.json", "--from-script").code == 0
    moved(here)
    assert mcpctl("tools", "refresh", "shop").code == 0
    assert mcpctl("servers", "set", "shop", "--auth", AUTH[1], "--from-script").code == 0
    moved(here, f"{MOVED}/more")
    assert mcpctl("tools", "refresh", "shop").code == 0


def test_it_is_said_where_requests_and_clients_go(mcpctl: Mcpctl, here: Path) -> None:
    moved(here, f"{MOVED}:443")
    said = add(mcpctl)
    assert "at https://other.example.com:443/v1" in said
    assert "clients are changed for tokens at https://login.example.com" in said
    shown = mcpctl("servers", "show", "shop", "--json").json["destinations"]
    assert shown == {"requests": [MOVED], "tokens": ["https://login.example.com"]}
    assert MOVED in mcpctl("servers", "show", "shop").out


# ---- tools show, tools call


def test_a_tool_is_shown_with_its_request_and_its_credentials(mcpctl: Mcpctl, here: Path) -> None:
    document = shop_api.shop(security=[{"bearerAuth": []}, {"key": [], "other": []}])
    schemes = {name: {"type": "apiKey", "in": "query", "name": name} for name in ("key", "other")}
    document["components"]["securitySchemes"] |= schemes
    shop_api.write(here / "shop.json", document)
    add(mcpctl)
    shown = mcpctl("tools", "show", "shop:orders/get").out
    assert "request:     GET http://127.0.0.1:8765/v1/orders/{id}" in shown
    assert "credentials: bearerAuth (has a value); or key (no value) with other (no value)" in shown
    row = mcpctl("tools", "show", "shop:orders/get", "--json").json
    assert row["http"] == {"method": "GET", "path": "/orders/{id}", "base": "http://127.0.0.1:8765/v1"}
    assert row["security"] == [{"bearerAuth": True}, {"key": False, "other": False}]


def test_the_whole_schema_is_printed_on_request(mcpctl: Mcpctl, here: Path) -> None:
    document = shop_api.shop()
    order = document["components"]["schemas"]["Order"]
    order["properties"] |= {f"field_{n}": {"type": "string", "description": "long " * 200} for n in range(100)}
    shop_api.write(here / "shop.json", document)
    add(mcpctl)
    shown = mcpctl("tools", "show", "shop:orders/create", "--json").json["definition"]["inputSchema"]
    assert len(json.dumps(shown)) < 64 << 10
    whole = mcpctl("tools", "show", "shop:orders/create", "--schema").json
    assert len(json.dumps(whole)) > 100_000
    assert json.dumps(whole).count("long long") >= 100


def test_a_dry_run_prints_the_request_and_sends_nothing(mcpctl: Mcpctl, paths: Paths) -> None:
    add(mcpctl)  # nothing listens at its base
    ran = mcpctl("tools", "call", "shop:orders/create", 'body={"item": "tea"}', "--dry-run")
    assert ran.out.splitlines() == [
        "POST http://127.0.0.1:8765/v1/orders", "Accept: application/json, */*;q=0.8", "Authorization: Bearer ***",
        "Content-Type: application/json", "", '{"item": "tea"}',
    ]  # fmt: skip
    row = mcpctl("tools", "call", "shop:orders/get", "id=a/1", "--dry-run", "--json").json
    assert row == {
        "method": "GET", "url": "http://127.0.0.1:8765/v1/orders/a%2F1",
        "headers": {"Accept": "application/json, */*;q=0.8", "Authorization": "Bearer ***"}, "body": None,
        "mismatches": [],
    }  # fmt: skip
    assert not paths.sessions.exists(), "nothing is recorded"


def test_a_dry_run_says_where_arguments_do_not_match_the_schema(mcpctl: Mcpctl) -> None:
    add(mcpctl)
    call = ("tools", "call", "shop:orders/create", 'body={"amount": "x"}', "--dry-run")
    ran = mcpctl(*call)
    assert (ran.code, ran.out.splitlines()[0]) == (0, "POST http://127.0.0.1:8765/v1/orders")
    assert ran.err.splitlines() == [
        "mcpctl: these arguments do not match the schema of shop:orders/create:",
        "  - body.amount: 'x' is not of type 'integer'", "  - body: 'item' is a required property",
    ]  # fmt: skip
    row = mcpctl(*call, "--json").json
    assert row["mismatches"] == ["body.amount: 'x' is not of type 'integer'", "body: 'item' is a required property"]


@for_each(
    "words, told, hint",
    [
        (["shop:orders/create", "item=tea"], "shop:orders/create has no argument 'item': it has 'body'",
         'give it in the body: body={"item": …}; see: mcpctl tools show shop:orders/create'),
        (["shop:orders/get", "id="], "shop:orders/get: id is empty", "see: mcpctl tools show shop:orders/get"),
        (["shop:orders/get", "id=.."], "shop:orders/get: id would make '..' a part of its path", "see: mcpctl tools"),
        (["shop:orders/get"], "shop:orders/get: its argument 'id' is missing", "see: mcpctl tools show"),
    ],
)  # fmt: skip
def test_a_call_that_is_refused_for_its_arguments_ends_as_wrong_usage(
    mcpctl: Mcpctl, paths: Paths, words: list[str], told: str, hint: str
) -> None:
    if not paths.config.exists():
        add(mcpctl)
    for more in ([], ["--dry-run"]):
        ran = mcpctl("tools", "call", *words, *more)
        assert (ran.code, told in ran.err, hint in ran.err) == (2, True, True), ran


@for_each(
    "words, code, told",
    [
        (["shop:orders/get", "--dry-run"], 2, "'id' is missing"),
        (["shop:orders/get", "id=1", "nope=2", "--dry-run"], 2, "shop:orders/get has no argument 'nope'"),
        (["shop:orders/nope", "--dry-run"], 3, "no tool 'shop:orders/nope'"),
        (["mcp:read", "--dry-run"], 2, "only calls of HTTP APIs have a request to show"),
        (["read", "--dry-run", "--url", "http://127.0.0.1:1"], 2, "leave one of them out"),
        (["-", "--dry-run"], 2, "leave the rest out"),
    ],
)
def test_a_dry_run_that_has_no_request_says_why(
    mcpctl: Mcpctl, paths: Paths, words: list[str], code: int, told: str
) -> None:
    if not paths.config.exists():
        from tests.configured import READ, listed

        add(mcpctl)
        mcpctl("servers", "add", "mcp", "--", "true")
        listed(paths, "mcp", [READ])
    ran = mcpctl("tools", "call", *words)
    assert (ran.code, told in ran.err) == (code, True), ran


def test_a_call_is_on_record_with_its_request_and_its_credentials_are_nowhere(
    mcpctl: Mcpctl, paths: Paths, api: str
) -> None:
    printed = add(mcpctl, "--url", api)
    assert json.loads(mcpctl("tools", "call", "shop:orders/get", "id=a/1").out)["item"] == "tea"
    ran = mcpctl("tools", "call", "shop:orders/get", "id=none")
    assert (ran.code, "HTTP 404 Not Found" in ran.err) == (4, True)
    rows = mcpctl("calls", "ls", "--fields", "http_status,http", "--json").json
    assert [row["http_status"] for row in rows] == [404, 200]
    assert rows[0]["http"] == {"method": "GET", "path": "/orders/{id}"}
    for command in (["calls", "show", "last"], ["servers", "show", "shop"], ["tools", "show", "shop:orders/get"]):
        printed += mcpctl(*command).out
    kept = b"".join(file.read_bytes() for file in paths.data.rglob("*") if file.is_file())
    assert TOKEN not in printed + ran.out + ran.err
    assert TOKEN.encode() not in kept


@for_each("trust, tool, decision, taken_for", [
    ("yes", "orders/get", "allow", "@read-only"), ("no", "orders/get", "ask", "@not-declared"),
    ("pinned", "orders/get", "ask", "@not-declared"), ("yes", "exec", "ask", "@not-declared"),
    ("yes", "orders/create", "ask", "@destructive"), ("yes", "patch", "ask", "@destructive"),
    ("yes", "put", "ask", "@destructive"), ("yes", "orders/cancel", "ask", "@destructive"),
])  # fmt: skip
@pytest.mark.slow
def test_rules_take_each_method_for_what_the_guide_says(
    mcpctl: Mcpctl, paths: Paths, here: Path, trust: str, tool: str, decision: str, taken_for: str
) -> None:
    document = shop_api.shop()
    document["paths"]["/more"] = {method: {"operationId": method} for method in ("put", "patch")}
    document["paths"]["/exec"] = {"get": {"operationId": "exec"}}
    shop_api.write(here / "shop.json", document)
    server = {"openapi": str(here / "shop.json"), "trust_hints": trust}
    configure(paths, {"shop": server}, policy={})
    assert mcpctl("tools", "refresh", "shop").code == 0
    shown = mcpctl("policy", "explain", f"shop:{tool}").out
    assert (f"decision:    {decision}" in shown, taken_for in shown) == (True, True), shown


# ---- what is for other servers leaves them alone


def test_import_and_install_leave_an_api_alone(
    mcpctl: Mcpctl,
    paths: Paths,
    user: Path,
    programs: None,
    person: None,
) -> None:
    configure(paths, {"shop": {"openapi": "shop.json", "url": "https://api.example.com"}})
    before = entry(paths)
    servers = {"shop": {"url": "https://api.example.com"}, "time": {"command": "uvx", "args": ["mcp-server-time"]}}
    file = shop_api.write(user / ".cursor" / "mcp.json", {"mcpServers": servers})
    for more in ([], ["--replace"]):
        ran = mcpctl("servers", "import", "--from", str(file), *more)
        assert (ran.code, "'shop' in config.toml is an HTTP API" in ran.out + ran.err) == (0, True)
        assert entry(paths) == before
    assert entry(paths, "time")["command"] == "uvx"
    assert mcpctl("install", "cursor").code == 0
    assert entry(paths) == before
    assert mcpctl("uninstall", "cursor").code == 0
    assert entry(paths) == before
    assert json.loads(file.read_text(encoding="utf-8"))["mcpServers"] == servers


# ---- doctor


@for_each(
    "members, code, words",
    [
        ({"include": ["x"]}, "D115", "was not made yet"),
        ({"auth": {}}, "D117", "no value is there for: bearerAuth"),
        ({"auth": {"bearerAuth": "${SHOP_TOKEN:-}"}}, "", ""),
        ({"auth": {"bearerAuth": "a", "other": "b"}}, "D119", "no security scheme other; it has bearerAuth"),
    ],
)
def test_the_doctor_finds_what_an_api_lacks(
    mcpctl: Mcpctl,
    paths: Paths,
    here: Path,
    user: Path,
    found: Found,
    members: Any,
    code: str,
    words: str,
) -> None:
    if not paths.config.exists():
        add(mcpctl)
        os.utime(here / "shop.json", (0, 0))
    configure(paths, {"shop": {"openapi": str(here / "shop.json"), "auth": {"bearerAuth": "x"}, **members}})
    told = [(each.code, each.message) for each in found("configuration")]
    assert [each for each, _ in told] == ([code] if code else [])
    assert words in "".join(message for _, message in told)


def test_the_doctor_finds_a_document_that_is_newer_than_the_tools(
    mcpctl: Mcpctl,
    here: Path,
    user: Path,
    found: Found,
) -> None:
    add(mcpctl)  # the time at which it was made is that of the year 2001 here
    (finding,) = found("configuration")
    assert (finding.code, finding.fix) == ("D116", "see what changed with: mcpctl tools refresh shop")


def test_the_doctor_finds_credentials_that_are_kept_back(
    mcpctl: Mcpctl,
    here: Path,
    user: Path,
    found: Found,
) -> None:
    os.utime(here / "shop.json", (0, 0))
    add(mcpctl, "--url", "http://api.example.com")
    (finding,) = found("configuration")
    assert finding.code == "D118"
    assert finding.message == (
        "auth.bearerAuth is not sent to api.example.com, where anyone on the way could read it; use https://"
    )


# ---- Tab


def test_tab_offers_documents_and_schemes(mcpctl: Mcpctl, here: Path) -> None:
    def offered(line: str) -> list[str]:
        return [value for value, _ in command_tree.candidates(line)[1]]

    assert command_tree.candidates("servers add shop --openapi ")[0] == "files"
    assert offered("servers add shop --openapi shop.json --auth ") == ["bearerAuth="]
    add(mcpctl)
    assert offered("servers set shop --auth b") == ["bearerAuth="]


# ---- what others write


def test_texts_of_a_document_command_no_terminal(mcpctl: Mcpctl, here: Path) -> None:
    bad = "Sh\x1b]0;x\x07op\u202e\r\n\x9b31m[/bold]"
    document = shop_api.shop(info={"title": bad, "version": bad, "description": bad}, security=[{bad: []}])
    document["components"]["securitySchemes"] = {bad: {"type": "http", "scheme": "bearer"}}
    document["paths"]["/orders"]["get"] |= {"summary": bad, "operationId": "orders/list", "tags": [bad]}
    document["paths"][f"/a{bad}"] = {"get": {"operationId": "odd", "deprecated": True}, "trace": {}}
    shop_api.write(here / "shop.json", document)
    said = mcpctl("servers", "add", "shop", "--openapi", "shop.json", tty=True)
    assert said.code == 0, said
    for command in (
        ("servers", "show", "shop"), ("tools", "show", "shop:orders/list"), ("tools", "refresh", "shop"),
        ("tools", "call", "shop:orders/list", "--dry-run"), ("servers", "check"),
    ):  # fmt: skip
        ran = mcpctl(*command, tty=True)
        assert not {"\x1b", "\x07", "\x9b", "\u202e", "\r"} & {*ran.out, *ran.err}, command


def test_credentials_in_the_open_are_masked_wherever_an_entry_is_shown(
    mcpctl: Mcpctl, paths: Paths, here: Path
) -> None:
    secrets = ["open-sesame-1", "open-sesame-2", "open-sesame-3", "open-sesame-4"]
    client = {"client_id": "me", "client_secret": secrets[1], "scopes": ["read"]}
    auth = {"bearerAuth": secrets[0], "client": client, "basic": f"me:{secrets[2]}"}
    parameters = {"api_key": secrets[3], "owner": "octo"}
    configure(paths, {"shop": {"openapi": str(here / "shop.json"), "auth": auth, "parameters": parameters}})
    printed = ""
    for command in (
        ("servers", "show", "shop", "--json"), ("servers", "ls", "--json"), ("tools", "refresh"),
        ("servers", "set", "shop", "--auth", f"other={secrets[0]}x", "--dry-run"), ("servers", "check"),
        ("tools", "call", "shop:orders/list", "--dry-run"),
    ):  # fmt: skip
        ran = mcpctl(*command)
        printed += ran.out + ran.err
    assert [secret for secret in secrets if secret in printed] == []
    row = mcpctl("servers", "show", "shop", "--json").json
    assert row["parameters"] == {"api_key": "***", "owner": "octo"}
    assert row["auth"]["client"] == {"client_id": "me", "client_secret": "***", "scopes": ["read"]}
    assert "others can read the secrets in" in printed
