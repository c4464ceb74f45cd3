"""A reference server for mcpctl's cloud search: `python server.py --port 8765`; see README.md."""

import argparse
import asyncio
import hmac
import ipaddress
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from hashlib import sha256
from urllib.parse import quote

import uvicorn
from ranking import Malformed, Searches
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN = "MCPCTL_CLOUD_TOKEN"
MAX_BODY = 32 * 1024 * 1024
AT_ONCE = 32
"""The most requests that are read and ranked at once; others are asked to come back."""
READ_S = 30
"""Seconds that a body may take to arrive."""

log = logging.getLogger("catalog_search")

CODES = {
    400: "bad_request",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    413: "too_large",
    503: "busy",
}


def application(tokens: Sequence[str]) -> ASGIApp:
    """The server as an ASGI application; without tokens it is open to everyone."""
    digests = [sha256(os.fsencode(token)).digest() for token in tokens]
    searches = Searches()
    places = asyncio.Semaphore(AT_ONCE)

    async def search(request: Request) -> Response:
        authorize(request.headers.get("authorization", ""), digests)
        if places.locked():
            raise HTTPException(503, "too many searches at once; come back in a second", {"Retry-After": "1"})
        async with places:
            body = await body_of(request)
            try:
                answer = await searches.answer(body)
            except Malformed as error:
                raise HTTPException(400, str(error)) from None
        return Response(answer, media_type="application/json")

    async def healthz(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    routes = [Route("/catalog/search", search, methods=["POST"]), Route("/healthz", healthz)]
    app = Starlette(routes=routes, exception_handlers={HTTPException: refused, Exception: failed})
    app.router.redirect_slashes = False
    return logged(app)


def authorize(header: str, digests: Sequence[bytes]) -> None:
    """Raise 401 unless the header has one of the tokens, given as their digests."""
    scheme, _, token = header.partition(" ")
    digest = sha256(token.strip().encode("latin-1")).digest() if scheme.lower() == "bearer" else b""
    # Every digest is compared, in constant time, so that the time reveals nothing about any of them.
    matching = sum(hmac.compare_digest(digest, expected) for expected in digests)
    if digests and not matching:
        wrong = ', error="invalid_token"' if header else ""
        challenge = {"WWW-Authenticate": f'Bearer realm="catalog search"{wrong}'}
        raise HTTPException(401, "send 'Authorization: Bearer TOKEN' with a token that this server knows", challenge)


async def body_of(request: Request) -> bytes:
    """The body, if it is not too large and comes in time."""
    too_large = HTTPException(413, f"the body must not have more than {MAX_BODY} bytes")
    if int(request.headers.get("content-length", "0")) > MAX_BODY:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(READ_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY:
                    raise too_large
    except TimeoutError:
        raise HTTPException(408, f"the body must arrive within {READ_S} seconds", {"Connection": "close"}) from None
    except ClientDisconnect:
        raise HTTPException(400, "the body ended early") from None
    return bytes(body)


async def refused(request: Request, error: Exception) -> Response:
    """The JSON answer to a request with an error."""
    assert isinstance(error, HTTPException)
    details = {"code": CODES.get(error.status_code, "refused"), "message": error.detail}
    return JSONResponse({"error": details}, error.status_code, error.headers)


async def failed(request: Request, error: Exception) -> Response:
    """The JSON answer after a failure of the server; uvicorn logs the failure."""
    return JSONResponse({"error": {"code": "internal", "message": "the server failed; its log says why"}}, 500)


def logged(app: ASGIApp) -> ASGIApp:
    """The application with a line in the log for each request, without query string, headers and body."""

    async def logging_app(scope: Scope, receive: Receive, send: Send) -> None:
        started, status = time.perf_counter(), 0

        async def noting(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await app(scope, receive, noting)
        finally:
            client, ms = (scope["client"] or ["-"])[0], 1_000 * (time.perf_counter() - started)
            log.info("%s %s %s %d %.0f ms", client, scope["method"], quote(scope["path"]), status, ms)

    return logging_app


def main() -> None:
    """Listen until a signal ends it."""
    parser = argparse.ArgumentParser(
        description="Rank tools for mcpctl's cloud search: POST /catalog/search.",
        epilog=f"{TOKEN} has the bearer tokens that clients may send, separated by commas. "
        "Without a token, the server listens only on a loopback address.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8765, help="0 picks a free one (default: %(default)s)")
    options = parser.parse_args()
    tokens = [token.strip() for token in os.environ.get(TOKEN, "").split(",") if token.strip()]
    try:
        family, _, _, _, address = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM)[0]
        if not tokens and not ipaddress.ip_address(address[0]).is_loopback:
            parser.error(f"{options.host} can be reached by others: set {TOKEN}, or listen on 127.0.0.1")
        listening = socket.create_server(address, family=family, backlog=2_048)
        # asyncio sets this only on its own sockets; without it an answer's head and body are 40 ms apart.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except (OSError, OverflowError) as error:
        parser.error(f"cannot listen on {options.host} port {options.port}: {error}")

    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s")
    host, port = listening.getsockname()[:2]
    print(f"listening on http://{f'[{host}]' if ':' in host else host}:{port}/catalog/search", flush=True)
    if not tokens:
        log.warning("%s is not set: every program on this machine may search", TOKEN)

    # On a busy machine numpy's threads wait for each other: one took 0.3 s, two took 0.3 to 2 s.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # uvicorn finishes its answers, then raises the signal again. The process must not wait for an index that is still
    # being built.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    config = uvicorn.Config(
        application(tokens),
        access_log=False,
        lifespan="off",
        log_config=None,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=1,
        ws="none",
    )
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
