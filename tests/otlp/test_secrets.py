"""No token, password or header of a client is in what is sent, nor in what is kept for it."""

import gzip
from pathlib import Path

from mcpctl.base.paths import Paths
from tests.conftest import Mcpctl
from tests.otlp.receiver import own_receiver
from tests.over_http.asgi import Web, play_web, token_of
from tests.over_http.test_front import files

SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
PASSWORD = "correct-horse-battery"
KEY = "key-of-the-receiver"


def test_spans_have_no_secrets_even_with_content(home: Path, paths: Paths, mcpctl: Mcpctl) -> None:
    _, token = token_of(paths, name="ann")
    session_ids: list[str] = []
    headers = {
        "cookie": "sid=cookie-of-a-client",
        "forwarded": "for=forwarded-of-a-client",
        "x_forwarded_for": "1.2.3.4",
    }

    async def scene(at: Web) -> None:
        older = await at.open(token=token)
        session_ids.append(older.id)
        arguments = {"path": SECRET, "password": PASSWORD, "plain": "shown"}
        assert (await older.call("files:read", arguments).whole()).status == 200
        assert (await at.call("files:read", arguments, token=token, **headers).whole()).status == 200
        meta = {"token": "mcp_of-meta", "traceparent": "00-secret"}
        assert (await older.call("files:read", arguments, id=2, _meta=meta).whole()).status == 200

    play_web(home, paths, scene, servers={"files": files}, http={"require_token": True})
    with own_receiver() as receiver:
        line = ["records", "export", "--otlp", receiver.url, "--content", "--header", f"api-key={KEY}"]
        assert mcpctl(*line).code == 0
        sent = [gzip.decompress(each.body) for each in receiver.asked]
    assert len(receiver.spans) == 6
    text = b"".join(sent)
    assert b"shown" in text
    assert b"[redacted:" in text
    for secret in (token, SECRET, PASSWORD, KEY, "mcp_of-meta", "of-a-client", "1.2.3.4", "Bearer", *session_ids):
        assert secret.encode() not in text, secret


def test_the_key_of_a_receiver_is_kept_nowhere(paths: Paths, mcpctl: Mcpctl) -> None:
    with own_receiver() as receiver:
        ran = mcpctl("records", "export", "--otlp", f"{receiver.url}/{KEY}?key={KEY}", "--header", f"api-key={KEY}")
        assert ran.code == 0
    kept = [file for file in paths.data.rglob("*") if file.is_file()]
    assert kept
    assert not any(KEY.encode() in file.read_bytes() or KEY in file.name for file in kept)
