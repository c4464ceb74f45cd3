"""Who may ask, and how much at once: Host and Origin, tokens, and the limits on requests in flight."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import NamedTuple

from mcpctl.base import bounds
from mcpctl.base.callers import Client
from mcpctl.config.settings import HttpSettings
from mcpctl.over_http.http_exchange import HttpExchange, HttpRefusal, busy
from mcpctl.policy.tokens import LONGEST, digest_of, identified
from mcpctl.policy.view import NO_TOKEN, NOT_VALID
from mcpctl.proxy.gateway import Gateway
from mcpctl.store.recorder import Origin, Recorder
from mcpctl.wire.http_server import is_for, is_from

_BEARER = (b"www-authenticate", b"Bearer")
_A_MINUTE = 60


class Guest(NamedTuple):
    token: str | None  # the text of its token; None where it has none
    is_checked: bool  # whether the token came in a header
    key: str  # whose limits count for it, and whose sessions are its own


class Admission:
    def __init__(self, gateway: Gateway, listened: Sequence[str], token: str | None, recorder: Recorder) -> None:
        """`listened` are the hosts that we listen on; `token` is for requests without one."""
        self._gateway = gateway
        self._listened = frozenset(listened)
        self._token = token
        self._recorder = recorder  # of requests that are refused here
        self._refused: dict[str, float] = {}  # when a refusal of an address was last put on record
        self._in_flight: Counter[str] = Counter()
        self._listening: Counter[str] = Counter()

    @property
    def settings(self) -> HttpSettings:
        return self._gateway.config.http

    @property
    def in_flight(self) -> int:
        return self._in_flight.total()

    @property
    def listening(self) -> int:
        return self._listening.total()

    # ---- where it comes from

    def check_place(self, http: HttpExchange) -> None:
        """Raises `HttpRefusal` for a request to another host, or that a page of another origin has caused."""
        named = [host.lower() for host in self.settings.allowed_hosts]
        hosts = [host.lower() for host in http.every(b"host")]
        # A name without a port stands for it at any: most who pass requests on leave the port out, or have their own.
        without_port = [host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host for host in hosts]
        ours = named or {*self._listened, http.reached.lower()}
        if not is_for(hosts, ours) and not is_for(without_port, named):
            raise HttpRefusal(HTTPStatus.FORBIDDEN, "this Host is not served; see [http] allowed_hosts")
        # No page comes from here, so that what says so is a program of this machine.
        own = [f"http://{host}" for host in hosts if host in self._listened]
        if not is_from(http.every(b"origin"), (*self.settings.allowed_origins, *own)):
            raise HttpRefusal(HTTPStatus.FORBIDDEN, "this Origin may not ask; see [http] allowed_origins")

    def guest(self, http: HttpExchange, *, must_have_token: bool = False) -> Guest:
        """Who asks; raises `HttpRefusal` where that is not known as it has to be."""
        headers = http.every(b"authorization")
        if headers:
            kind, _, text = headers[0].partition(" ")
            text = text.strip()
            if len(headers) > 1 or kind.lower() != "bearer" or not self._is_valid(text):
                raise self._unauthorized(http, NOT_VALID)
            return Guest(text, True, digest_of(text))
        if self._token is not None:
            if not self._is_valid(self._token):
                raise self._unauthorized(http, NOT_VALID)
            return Guest(self._token, False, digest_of(self._token))
        if must_have_token or self.settings.require_token:
            raise self._unauthorized(http, NO_TOKEN)
        return Guest(None, False, http.address)

    def _is_valid(self, text: str) -> bool:
        tokens = self._gateway.follower.snapshot.standing.tokens
        return 0 < len(text) <= LONGEST and identified(text, tokens, time.time()) is not None

    def _unauthorized(self, http: HttpExchange, rule: str) -> HttpRefusal:
        now = time.monotonic()
        if now - self._refused.get(http.address, -_A_MINUTE) >= _A_MINUTE:
            if len(self._refused) >= bounds.ADDRESSES:
                self._refused = {each: at for each, at in self._refused.items() if now - at < _A_MINUTE}
            if len(self._refused) < bounds.ADDRESSES:
                self._refused[http.address] = now
                self._recorder.decision_made(http.address or "http", "denied", rule, origin=Origin(Client()))
                self._recorder.flush()
        words = "a token is needed" if rule == NO_TOKEN else "the token is not valid"
        return HttpRefusal(HTTPStatus.UNAUTHORIZED, f"{words}: Authorization: Bearer TOKEN", _BEARER)

    # ---- how much at once

    @contextmanager
    def request(self, guest: Guest) -> Iterator[None]:
        """A request in flight; raises `HttpRefusal` where there are enough."""
        with self._counted(self._in_flight, guest, self.settings.max_in_flight, "requests are in flight"):
            yield

    @contextmanager
    def stream(self, guest: Guest) -> Iterator[None]:
        """A stream that is open for long; raises `HttpRefusal` where there are enough."""
        with self._counted(self._listening, guest, self.settings.max_sessions, "streams are open"):
            yield

    @contextmanager
    def _counted(self, counts: "Counter[str]", guest: Guest, most: int, words: str) -> Iterator[None]:
        if counts.total() >= most:
            raise busy(f"{most} {words} already")
        if counts[guest.key] >= self.settings.max_in_flight_per_token:
            message = f"{self.settings.max_in_flight_per_token} {words} for you already"
            raise busy(message, HTTPStatus.TOO_MANY_REQUESTS)
        counts[guest.key] += 1
        try:
            yield
        finally:
            counts[guest.key] -= 1
            if not counts[guest.key]:
                del counts[guest.key]
