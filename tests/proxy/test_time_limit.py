"""`call_timeout_s` is a server's time alone: it stands still while the user is asked, and goes on after the answer."""

import json
from typing import Any

import pytest

from tests.proxy.client import LATEST, MODERN, Client
from tests.proxy.conftest import BOTH, Serve
from tests.proxy.test_eras import ALL, ANSWERS, ELICIT, asked_directly, begin
from tests.servers import command

pytestmark = [pytest.mark.process, BOTH]

TOO_LATE = "no answer within 0.5 s"


def limited(serve: Serve, revision: str, server_revision: str) -> Client:
    """A client that can be asked, in front of a server that asks and has little time."""
    words = command("asks", server_revision)
    server = {"command": words[0], "args": words[1:], "call_timeout_s": 0.5}
    client = serve({"asks": server}, revision=revision, opened=False)
    client.open(capabilities=ALL)
    client.discover("ask")  # it has started then
    return client


def answered(client: Client, arguments: dict[str, Any]) -> Any:
    """The id of a call whose question is answered after the time of one that began later is over."""
    id_ = begin(client, arguments)
    if client.revision == MODERN:
        asked = client.answer(id_).json["result"]
        assert TOO_LATE in client.call("asks:hang").text
        responses = dict.fromkeys(asked["inputRequests"], ANSWERS[ELICIT])
        return begin(client, arguments, inputResponses=responses, requestState=asked["requestState"])
    question = asked_directly(client)
    assert TOO_LATE in client.call("asks:hang").text
    client.send(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": ANSWERS[ELICIT]}).encode())
    return id_


@pytest.mark.parametrize(("revision", "server_revision"), [(LATEST, LATEST), (LATEST, MODERN)])
def test_it_stands_still_while_the_user_is_asked(serve: Serve, revision: str, server_revision: str) -> None:
    client = limited(serve, revision, server_revision)
    result = client.answer(answered(client, {"methods": [ELICIT]})).json["result"]
    assert result.get("structuredContent", {}).get("answers") == [ANSWERS[ELICIT]]


def test_it_goes_on_once_the_user_has_answered(serve: Serve) -> None:
    client = limited(serve, MODERN, LATEST)
    assert TOO_LATE in client.answer(answered(client, {"methods": [ELICIT], "hangs": True})).text
