"""`mcpctl servers show`"""

import pytest

from mcpctl.base.paths import Paths
from tests.configured import configure, stub
from tests.conftest import Mcpctl


def test_one_entry_is_the_row_of_the_list(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"a": stub("x"), "b": {**stub("y"), "tools": {"rm": False}, "env": {"A": "1"}}})
    assert mcpctl("servers", "show", "b", "--json").json == mcpctl("servers", "ls", "--json").json[1]


def test_a_person_reads_names_and_values(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"b": {**stub("y"), "tools": {"rm": False}}})
    out = mcpctl("servers", "show", "b").out
    assert "name:             b\nenabled:          true\n" in out
    assert 'permissions:\n  {\n    "rm": false\n  }\n' in out


def test_an_entry_that_cannot_be_used_is_shown_with_its_problem(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"bad": {"command": "x", "colour": 1}})
    assert "unknown key" in mcpctl("servers", "show", "bad", "--json").json["problem"]


def test_an_unknown_server_is_not_found_and_the_near_name_is_named(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"github": stub(), "gitlab": stub()})
    ran = mcpctl("servers", "show", "gihub", "--json")
    assert (ran.code, ran.error["code"]) == (3, "server_not_found")
    assert "did you mean 'github'" in ran.error["hint"]


def test_with_nothing_near_the_hint_is_the_command_that_lists_them(mcpctl: Mcpctl) -> None:
    assert "mcpctl servers ls" in mcpctl("servers", "show", "x").err


@pytest.mark.slow
def test_an_address_with_a_long_query_costs_no_more_than_its_length(mcpctl: Mcpctl, paths: Paths) -> None:
    """Hours, were each character looked at as the beginning of a name."""
    configure(paths, {"s": {"url": "https://a.example/?" + "x" * 1_000_000 + "&token=abc&page=2#key=def"}})
    url = mcpctl("servers", "show", "s", "--json").json["url"]
    assert url == "https://a.example/?***&token=***&page=2#key=***"
