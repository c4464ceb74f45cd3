"""`mcpctl prompts get`"""

import json
from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from tests.commands.test_complete import offered
from tests.conftest import Mcpctl
from tests.proxy.client import journal_lines

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("library")]


@pytest.mark.slow
def test_the_texts_of_a_prompt_are_printed_and_that_it_was_got_is_on_record(mcpctl: Mcpctl, paths: Paths) -> None:
    ran = mcpctl("prompts", "get", "library_review", "title=5", "words=a b")
    assert (ran.code, ran.out) == (0, "review title='5' words='a b'\n")
    (line,) = (line for line in journal_lines(paths.data.parent) if line["type"] == "reads.finished")
    assert (line["server"], line["kind"], line["status"]) == ("library", "prompt", "ok")
    assert "title" not in json.dumps({**line, "name": ""})


def test_several_messages_have_their_roles(mcpctl: Mcpctl) -> None:
    assert mcpctl("prompts", "get", "library_quote").out == "user:\nquote\n\nassistant:\nAnd then?\n"


def test_json_is_the_result_as_it_came(mcpctl: Mcpctl) -> None:
    ran = mcpctl("prompts", "get", "library_review", '{"title": "x"}', "--json")
    assert [message["content"]["text"] for message in ran.json["messages"]] == ["review title='x'"]


def test_an_argument_may_be_in_a_file_or_on_stdin(mcpctl: Mcpctl, tmp_path: Path) -> None:
    (tmp_path / "title").write_text("5\n", encoding="utf-8")
    ran = mcpctl("prompts", "get", "library_review", f"title=@{tmp_path / 'title'}", "words=@-", stdin="@x")
    assert ran.out == "review title='5\\n' words='@x'\n"
    assert offered(f"prompts get library_review title=@{tmp_path}/ti") == [f"title=@{tmp_path}/title"]


def test_a_prompt_that_is_not_there_is_not_found(mcpctl: Mcpctl) -> None:
    ran = mcpctl("prompts", "get", "zz")
    assert ran.code == 3
    assert "mcpctl prompts ls" in ran.err
    assert "hint: did you mean 'library_review'?" in mcpctl("prompts", "get", "library:reviews").err
    assert mcpctl("prompts", "get", "library_review", "title").code == 2
