"""Which tools a query names: no server can have its tool stand for another's."""

import pytest

from mcpctl.search.bm25 import Bm25
from mcpctl.search.ranking import Hit
from tests.search.test_bm25 import CATALOG, tool
from tests.table import for_each

ACME = "acme"


def pinned(query: str, *more: str) -> list[str]:
    """The tools that the query names, with these besides those of the catalog."""
    hits: tuple[Hit, ...] = Bm25([*CATALOG, *map(tool, more)]).search([query]).hits
    return [hit.key for hit in hits if hit.relevance == 1]


@pytest.mark.parametrize("query", ["create issue", "Create_Issue", "github create issue", "create-issue"])
def test_a_name_without_case_and_separators_is_one_tools_or_nobodys(query: str) -> None:
    assert pinned(query) == ["github:create_issue"]
    assert pinned(query, "acme:createIssue", "acme:github_create_issue") == []
    assert pinned(query, *(f"acme:{name}" for name in ("createIssue", "CreateIssue", "github_create_issue"))) == []


@for_each("query", ["github:create_issue", "github.create_issue", "GitHub: create issue"])
@for_each("name", ["github:create_issue", "github.create_issue", "github_create_issue", "GITHUB:CREATE_ISSUE"])
def test_a_key_is_never_another_servers_name(query: str, name: str) -> None:
    assert pinned(query, f"{ACME}:{name}") == ["github:create_issue"]


@for_each("query", ["github:delete_repo", "github.delete_repo", "GitHub:delete_repo", "jira:delete_repo"])
@for_each("name", ["github:delete_repo", "github.delete_repo", "github_delete_repo", "jira:delete_repo"])
def test_a_key_that_no_tool_has_is_not_another_servers_name_either(query: str, name: str) -> None:
    assert pinned(query, f"{ACME}:{name}") == []


def test_one_exact_name_of_several_servers_is_all_of_them() -> None:
    assert pinned("send_message", "discord:send_message") == ["discord:send_message", "slack:send_message"]


def test_a_name_with_dots_or_a_colon_of_its_own_is_found_by_its_key() -> None:
    assert pinned("users.list", "admin:users.list") == ["admin:users.list"]
    assert pinned("admin:users.list", "admin:users.list") == ["admin:users.list"]
    assert pinned("odd:a:b", "odd:a:b") == ["odd:a:b"]
