"""`mcpctl prompts ls`"""

import pytest

from mcpctl.base.paths import Paths
from tests.command_tree import candidates
from tests.configured import configure, stub
from tests.conftest import Mcpctl

pytestmark = pytest.mark.process


@pytest.mark.usefixtures("library")
def test_prompts_are_listed_as_clients_see_them_and_nothing_is_started(mcpctl: Mcpctl, paths: Paths) -> None:
    logs = sorted(paths.data.rglob("*.log"))
    assert mcpctl("prompts", "ls").out.splitlines() == [
        "library_review\ttitle*, words\tReview a book",
        "library_quote\t\tQuotes somebody.",
    ]
    row = mcpctl("prompts", "ls", "--json", "--limit", "1").json[0]
    assert (row["server"], row["prompt"], row["title"]) == ("library", "review", "Review a book")
    assert row["arguments"] == [{"name": "title", "required": True}, {"name": "words"}]
    assert row["listed_at"]
    assert mcpctl("prompts", "ls", "--count").out == "2\n"
    assert mcpctl("prompts", "ls", "--server", "library", "--count").out == "2\n"
    assert mcpctl("prompts", "ls", "--server", "other").code == 3
    assert sorted(paths.data.rglob("*.log")) == logs


@pytest.mark.usefixtures("library")
def test_prompts_of_a_server_that_exposes_none_are_not_there(mcpctl: Mcpctl, paths: Paths) -> None:
    paths.config.write_text(f'{paths.config.read_text()}expose = ["resources"]\n')
    assert mcpctl("prompts", "ls", "--count").out == "0\n"
    assert mcpctl("resources", "ls", "--count").out == "2\n"


@pytest.mark.usefixtures("library")
def test_tab_offers_their_names_and_arguments(paths: Paths) -> None:
    assert candidates("prompts get lib")[1] == [
        ("library_review", "Review a book"), ("library_quote", "Quotes somebody."),
    ]  # fmt: skip
    assert [name for name, _ in candidates("prompts get library_review title=x ")[1]] == ["words="]


def test_where_nothing_is_listed_a_person_is_told_how(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": stub()})
    assert "mcpctl tools refresh" in mcpctl("prompts", "ls", tty=True).err
