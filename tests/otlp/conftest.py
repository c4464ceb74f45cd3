"""Records, a receiver, and what becomes of the one at the other."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mcpctl.otlp import destination
from mcpctl.otlp.receiver import Receiver
from tests.conftest import Mcpctl, Ran
from tests.otlp.receiver import OwnReceiver, own_receiver

Export = Callable[..., Ran]
Paused = Callable[[Callable[[float], object]], None]


@pytest.fixture
def receiver() -> Iterator[OwnReceiver]:
    """A receiver that takes all, until a test says otherwise."""
    with own_receiver() as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of OpenTelemetry's."""
    for name in (
        destination.ENDPOINT, destination.TRACES_ENDPOINT, destination.HEADERS, destination.RESOURCE,
        destination.SERVICE,
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def paused(monkeypatch: pytest.MonkeyPatch) -> Paused:
    """Have something done in place of each wait between two tries, which gets the seconds."""

    def have(done: Callable[[float], object]) -> None:
        kept = Receiver.__init__

        async def pause(seconds: float) -> None:
            done(seconds)

        def made(self: Receiver, *given: Any, **more: Any) -> None:
            kept(self, *given, **more, pause=pause)

        monkeypatch.setattr(Receiver, "__init__", made)

    return have


@pytest.fixture
def export(mcpctl: Mcpctl, receiver: OwnReceiver) -> Export:
    """Export to the receiver; the command has to succeed."""

    def run(*options: str, code: int = 0) -> Ran:
        ran = mcpctl("records", "export", "--otlp", receiver.url, *options)
        assert ran.code == code, ran
        return ran

    return run
