"""Who may ask, and how much at once: Host and Origin, tokens, and the limits on requests in flight."""

import time
from collections.abc import Sequence
from http import HTTPStatus
from typing import NamedTuple

from mcpctl.base import bounds
from mcpctl.base.callers import Client
from mcpctl.config.settings import HttpSettings
from mcpctl.over_http.http_exchange import HttpExchange, HttpRefusal, busy
from mcpctl.policy.tokens import digest_of, identified
from mcpctl.policy.view import NO_TOKEN, NOT_VALID
from mcpctl.proxy.gateway import Gateway
from mcpctl.store.recorder import Origin, Recorder
from mcpctl.wire.http_server import is_for, is_from

_BEARER = (b"www-authenticate", b"Bearer")
_A_MINUTE = 60
_REFUSED = Origin(Client("refused requests"))  # whose session those are on record


class Guest(NamedTuple):
    token: str | None  # the text of its token; None where it has none
    is_checked: bool  # whether it got in with that token
    key: str  # whose limits count for it, and whose sessions are its own
    is_default: bool = False  # whether the token is that of requests without one


class Admission:
    def __init__(
        self, gateway: Gateway, listened: Sequence[str], token: str | None, recorder: Recorder, *, is_open: bool
    ) -> None:  # fmt: skip
        """`listened` are the hosts that we listen on; `token` is for requests without one. An address that `is_open` to
        other machines needs tokens, whatever the configuration says by now."""
        self._gateway = gateway
        self._listened = frozenset(listened)
        self._token = token
        self._is_open = is_open
        self._recorder = recorder  # of requests that are refused here
        self._refused: dict[str, float] = {}  # when a refusal of an address was last put on record
        self._good: set[tuple[bytes | None, ...]] = set()  # Host and Origin of requests that were let in
        self._good_by: HttpSettings | None = None
        self.requests = Going("requests are in flight")
        self.streams = Going("streams are open")

    @property
    def settings(self) -> HttpSettings:
        return self._gateway.config.http

    @property
    def in_flight(self) -> int:
        return self.requests.total

    @property
    def listening(self) -> int:
        return self.streams.total

    # ---- where it comes from

    def check_place(self, http: HttpExchange) -> None:
        """Raises `HttpRefusal` for a request to another host, or that a page of another origin has caused."""
        settings = self.settings
        if settings is not self._good_by or len(self._good) > bounds.ADDRESSES:
            self._good, self._good_by = set(), settings
        place = http.headers.get(b"host"), http.headers.get(b"origin"), http.reached.encode()
        if http.repeats or place not in self._good:
            self._check_place(http, settings)
            self._good.add(place)

    def _check_place(self, http: HttpExchange, settings: HttpSettings) -> None:
        named = [host.lower() for host in settings.allowed_hosts]
        hosts = [host.lower() for host in http.every(b"host")]
        # A name without a port stands for it at any: most who pass requests on leave the port out, or have their own.
        without_port = [host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host for host in hosts]
        reached = http.reached.lower()
        ours = named or {*self._listened, reached, reached.removesuffix(":80")}
        if not is_for(hosts, ours) and not is_for(without_port, named):
            raise HttpRefusal(HTTPStatus.FORBIDDEN, "this Host is not served; see [http] allowed_hosts")
        # No page comes from here, so that what says so is a program of this machine.
        own = [f"http://{host}" for host in hosts if host in self._listened]
        if not is_from(http.every(b"origin"), (*settings.allowed_origins, *own)):
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
            return Guest(self._token, True, digest_of(self._token), is_default=True)
        guest = Guest(None, False, http.address)
        if must_have_token or not self.is_welcome(guest):
            raise self._unauthorized(http, NO_TOKEN)
        return guest

    def is_welcome(self, guest: Guest) -> bool:
        """Whether a guest may stay: its token may have been revoked meanwhile."""
        if guest.token is not None:
            return self._is_valid(guest.token)
        return not (self._is_open or self._gateway.follower.snapshot.config.http.require_token)

    def _is_valid(self, text: str) -> bool:
        tokens = self._gateway.follower.snapshot.standing.tokens
        return identified(text, tokens, time.time()) is not None

    def knows_tokens(self) -> bool:
        """Whether `policy.db` can be read, if there is one."""
        policy = self._gateway.policy
        policy.standing()
        return policy.mine is not None or not (policy.applies or policy.is_kept)

    def _unauthorized(self, http: HttpExchange, rule: str) -> HttpRefusal:
        if rule == NOT_VALID and not self.knows_tokens():
            return busy("whether the token is valid cannot be told now")
        now = time.monotonic()
        if now - self._refused.get(http.address, -_A_MINUTE) >= _A_MINUTE:
            if len(self._refused) >= bounds.ADDRESSES:
                self._refused = {each: at for each, at in self._refused.items() if now - at < _A_MINUTE}
            if len(self._refused) < bounds.ADDRESSES:
                self._refused[http.address] = now
                self._recorder.decision_made(http.address or "http", "denied", rule, origin=_REFUSED)
                self._recorder.flush()
        words = "a token is needed" if rule == NO_TOKEN else "the token is not valid"
        return HttpRefusal(HTTPStatus.UNAUTHORIZED, f"{words}: Authorization: Bearer TOKEN", _BEARER)

    # ---- how much at once

    def begins(self, guest: Guest, count: int = 1) -> None:
        """Requests are in flight until they have `ended`; raises `HttpRefusal` where there are enough."""
        settings = self._gateway.follower.snapshot.config.http
        self.requests.begin(guest.key, settings.max_in_flight, settings.max_in_flight_per_token, count)

    def ended(self, guest: Guest, count: int = 1) -> None:
        self.requests.end(guest.key, count)

    def listens(self, guest: Guest) -> None:
        """A stream is open until it was `listened` to; raises `HttpRefusal` where there are enough."""
        self.streams.begin(guest.key, self.settings.max_sessions, self.settings.max_in_flight_per_token)

    def listened(self, guest: Guest) -> None:
        self.streams.end(guest.key)


class Going:
    """How much goes on, and how much of it for each guest."""

    def __init__(self, words: str) -> None:
        self.total = 0
        self._words = words
        self._of: dict[str, int] = {}

    def begin(self, key: str, most: int, most_of_one: int, count: int = 1) -> None:
        of_one = self._of.get(key, 0) + count
        if self.total + count > most:
            raise busy(f"{most} {self._words} already")
        if of_one > most_of_one:
            raise busy(f"{most_of_one} {self._words} for you already", HTTPStatus.TOO_MANY_REQUESTS)
        self.total += count
        self._of[key] = of_one

    def end(self, key: str, count: int = 1) -> None:
        self.total -= count
        self._of[key] -= count
        if not self._of[key]:
            del self._of[key]
