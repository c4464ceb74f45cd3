"""How a server's question is passed on: its words begin with its name, and nothing else of it changes."""

import json

from mcpctl.upstreams.question import named
from tests.table import for_each

SAID = "[from server 'github']"
SCHEMA = b'{ "type":"object", "properties" : {"n":{"type":"number","default":1.0}} }'


def test_a_message_begins_with_the_server_and_the_rest_stays_as_it_came() -> None:
    params = b'{"message":"Sure?","requestedSchema":%b}' % SCHEMA
    expected = b"""{"message":"%b Sure?","requestedSchema":%b}""" % (SAID.encode(), SCHEMA)
    assert named("elicitation/create", params, "github") == expected


@for_each(
    ("params", "message"),
    [
        (b'{"message":"x","message":"y"}', f"{SAID} y"),
        (b'{"m\\u0065ssage":"x"}', f"{SAID} x"),
        (b'{"message":"x","Message":"y","MESSAGE":"z"}', f"{SAID} x"),
        (b'{"message":"\\u001b[2K\\rx\\u202ey\\n\\tz"}', f"{SAID} [2Kxy\n\tz"),
        (b'{"message":"[from server \'mcpctl\'] x"}', f"{SAID} [from server 'mcpctl'] x"),
        (b'{"message":5}', SAID),
        (b"{}", SAID),
        (b"[1]", SAID),
        (b"5", SAID),
        (b'{%b"message":"x"}' % b"".join(b'"%d":1,' % n for n in range(20_000)), f"{SAID} x"),
    ],
)
def test_no_way_to_write_a_message_leaves_the_server_unnamed(params: bytes, message: str) -> None:
    found = json.loads(named("elicitation/create", params, "github"))
    assert [value for name, value in found.items() if name.lower() == "message"] == [message]


@for_each("method", ["sampling/createMessage", "roots/list"])
def test_what_has_no_words_for_a_person_has_its_server_beside_it(method: str) -> None:
    params = b'{"message":1.0,"systemPrompt":"Be brief.","_meta":{"progressToken":1.0,"mcpctl/server":"other"}}'
    meta = b'{"progressToken":1.0,"mcpctl/server":"github"}'
    assert named(method, params, "github") == b'{"message":1.0,"systemPrompt":"Be brief.","_meta":%b}' % meta
    for odd in (b"{}", b"null", b"[1]", b'{"_meta":5}'):
        assert named(method, odd, "github") == b'{"_meta":{"mcpctl/server":"github"}}'


@for_each("name", ["includeContext", "INCLUDECONTEXT", "includ\\u0065Context"])
@for_each("value", ["allServers", "thisServer", "none"])
def test_no_server_is_given_what_others_have_said(name: str, value: str) -> None:
    params = f'{{"messages":[],"{name}":"{value}","maxTokens":5}}'.encode()
    expected = b'{"messages":[],"maxTokens":5,"_meta":{"mcpctl/server":"github"}}'
    assert named("sampling/createMessage", params, "github") == expected


def test_what_is_no_question_stays_as_it_is() -> None:
    assert named("other", b'{ "message" : 1 }', "github") == b'{ "message" : 1 }'
