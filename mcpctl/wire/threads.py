"""The threads beside the event loop: three for work, and one for each piece of it that may wait for others."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")
_Piece = tuple["Future[Any]", Callable[[], Any]]
_pool = ThreadPoolExecutor(3, "aside")


def beside(work: Callable[..., T], *given: Any) -> asyncio.Future[T]:
    """The result of `work`, which takes too long for the event loop and waits for nobody."""
    return asyncio.get_running_loop().run_in_executor(_pool, work, *given)


def apart(work: Callable[..., T], *given: Any, is_daemon: bool = True) -> asyncio.Future[T]:
    """The result of `work`, which may wait for others for as long as they like: in a thread that ends with it."""
    piece: _Piece = Future(), partial(work, *given)
    threading.Thread(target=_do, args=piece, name="apart", daemon=is_daemon).start()
    return asyncio.wrap_future(piece[0])


class WorkQueue:
    """Work that may take seconds, one piece after the other: it never has more than one of the threads."""

    def __init__(self) -> None:
        self._pieces: deque[_Piece] = deque()
        self._is_moving = False
        self._changing = threading.Lock()

    def do(self, work: Callable[..., T], *given: Any) -> asyncio.Future[T]:
        """The result of `work`, done after all that came before it."""
        return asyncio.wrap_future(self.add(partial(work, *given)))

    def add(self, work: Callable[[], T]) -> "Future[T]":
        """Have `work` done, though the event loop may have ended by then."""
        piece: _Piece = Future(), work
        with self._changing:
            self._pieces.append(piece)
            if not self._is_moving:
                self._is_moving = True
                _pool.submit(self._move)
        return piece[0]

    def _move(self) -> None:
        _do(*self._pieces.popleft())
        with self._changing:
            self._is_moving = bool(self._pieces)
            if self._is_moving:
                _pool.submit(self._move)  # behind what others have


def _do(outcome: "Future[Any]", work: Callable[[], Any]) -> None:
    if outcome.set_running_or_notify_cancel():
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)
