"""`mcpctl resources ls`"""

import pytest

from mcpctl.base.paths import Paths
from tests.command_tree import candidates
from tests.conftest import Mcpctl

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("library")]


def test_resources_are_listed_by_their_uris(mcpctl: Mcpctl) -> None:
    assert mcpctl("resources", "ls").out.splitlines() == [
        "book://one\tlibrary\ttext/plain\t12\tThe first",
        "book://cover\tlibrary\timage/png\t\t",
    ]
    row = mcpctl("resources", "ls", "--json").json[1]
    assert (row["name"], row["mime_type"], row["size"], row["is_template"]) == ("cover", "image/png", None, False)
    assert mcpctl("resources", "ls", "--server", "other").code == 3


def test_templates_are_listed_where_they_are_asked_for(mcpctl: Mcpctl) -> None:
    (row,) = mcpctl("resources", "ls", "--templates", "--json").json
    assert (row["uri"], row["name"], row["is_template"]) == ("book://page/{n}", "page", True)


def test_tab_offers_their_uris(paths: Paths) -> None:
    assert candidates("resources read book://o")[1] == [("book://one", "The first")]
