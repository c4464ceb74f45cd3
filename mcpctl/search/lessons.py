"""The use on record, as searches learn from it: read beside them, and kept on disk with a mark of what it is from."""

import time
from collections.abc import Sequence
from concurrent.futures import Future, wait
from hashlib import sha256
from pathlib import Path
from typing import Protocol, Self, runtime_checkable
from weakref import WeakKeyDictionary

import msgspec
import numpy as np

from mcpctl.base import bounds
from mcpctl.base.errors import Unusable, warn
from mcpctl.base.models import Newest
from mcpctl.base.paths import Paths
from mcpctl.search import index_file, learning
from mcpctl.search.bm25 import Bm25, Teach
from mcpctl.search.learning import Learnt, Lessons, Lifts, Success
from mcpctl.search.ranking import Build, Provider
from mcpctl.wire.threads import WorkQueue

_FIRST_S = 1.0  # how long the first search over some tools waits for what was learnt of them
_EVERY_S = 2.0  # how often the records are looked at, at most, …
_REST = 20  # … and so many times as long as looking takes there is a rest
_PUPILS = 64  # projects and tokens for which what was learnt is kept in memory, for each index
_Told = tuple[int, int, tuple[float, float] | None, float, float, list[str]]  # `Learnt` without its vectors


@runtime_checkable
class Teachable(Provider, Protocol):
    """A provider that can learn from use."""

    def taught(self, teach: Teach) -> Self: ...


def successes(paths: Paths, project: str | None, token: str = "") -> Sequence[Success]:
    """The use on record of one project and token; nothing of it is learnt by others. Raises `Unusable`."""
    if not paths.sessions.exists():
        return []  # asking would make an index
    from mcpctl.store.followed_searches import Taught
    from mcpctl.store.records import LocalRecords

    with LocalRecords(paths) as records:
        taught = Taught(project, token, bounds.LEARNT_SEARCHES, bounds.LEARNT_CALLS)
        followed = records.followed_searches(taught=taught)
    return [
        Success(queries, key, row["session_id"], row["client"] or "", row["started_at"])
        for row, called in followed
        if (queries := _queries(row["query"]))
        for key in dict.fromkeys(called)
    ]


def use_of(words: Bm25, used: Sequence[Success], path: Path) -> Lifts | None:
    """The lift of these tools, from the file if that has it; None where none is lifted."""
    lessons = Lessons(words, used)
    mark = _mark(words, lessons.kept)
    known = _load(path, mark)
    if known is None:
        known = lessons.learn()
        _save(path, mark, known)
    return lessons.use(known)


def learnt_from_use(provider: Provider, paths: Paths, project: str | None) -> Learnt | None:
    """The choice that the records of a project make for a provider, whether it learns or not; None if it cannot."""
    choices: list[Learnt] = []

    def teach(words: Bm25) -> None:
        choices.append(Lessons(words, successes(paths, project)).learn())

    _taught(provider, teach)
    return choices[0] if choices else None


def learning_builder(build: Build, paths: Paths, project: str | None) -> Build:
    """The same providers with what the records of a project teach them, for one search of a person."""

    def teach(words: Bm25) -> Lifts | None:
        try:
            return use_of(words, successes(paths, project), paths.learnt)
        except (Unusable, OSError) as error:
            warn(f"nothing is learnt from use: {error}")
            return None

    return lambda tools, notes, index_path: _taught(build(tools, notes, index_path), teach)


def _taught(provider: Provider, teach: Teach) -> Provider:
    return provider.taught(teach) if isinstance(provider, Teachable) else provider


class _Pupil:
    """One project and token that search with a provider, which lives no longer for that."""

    def __init__(self) -> None:
        self.taught: Provider | None = None
        self.used: int | None = None  # a hash of the use that it knows
        self.looking: Future[None] = Future()
        self.due = 0.0


class Learning:
    """The use that is learnt from while clients are served. Searches take what is there: the first alone waits for it,
    and only for a moment."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._line = WorkQueue()
        self._pupils: WeakKeyDictionary[Provider, Newest[tuple[str | None, str], _Pupil]] = WeakKeyDictionary()
        self._problem = ""

    def taught(self, provider: Provider, project: str | None, token: str) -> Provider:
        """The provider with what is known of the use by this project and token; for one thread."""
        if not isinstance(provider, Teachable):
            return provider
        pupils = self._pupils.setdefault(provider, Newest(_PUPILS))
        pupil = pupils.get((project, token))
        if pupil is None:
            pupil = pupils[project, token] = _Pupil()
            pupil.looking = self._line.add(lambda: self._look(provider, pupil, project, token))
            wait([pupil.looking], _FIRST_S)
        elif pupil.looking.done() and time.monotonic() >= pupil.due:
            pupil.looking = self._line.add(lambda: self._look(provider, pupil, project, token))
        return pupil.taught or provider

    def _look(self, provider: Teachable, pupil: _Pupil, project: str | None, token: str) -> None:
        started = time.monotonic()
        try:
            used = successes(self._paths, project, token)
            if (mark := hash(tuple(used))) != pupil.used:
                pupil.taught = provider.taught(lambda words: use_of(words, used, self._paths.learnt))
                pupil.used = mark
        except Exception as error:  # searches go on with what is known
            if self._problem != str(error):
                self._problem = str(error)
                warn(f"nothing new is learnt from use: {error}")
        took = time.monotonic() - started
        pupil.due = started + max(_EVERY_S, _REST * took)


def _queries(text: str | None) -> Sequence[str]:
    try:
        return msgspec.json.decode(text or "[]", type=tuple[str, ...])
    except (msgspec.MsgspecError, RecursionError):
        return ()  # too long to be on record whole


def _mark(words: Bm25, kept: Sequence[Success]) -> str:
    of_tools = index_file.mark(words.tools, {tool.key: tool.notes for tool in words.tools})
    settings = learning.STRENGTHS, learning.HALF_LIFE_DAYS
    return sha256(f"{of_tools} {settings} {kept!r}".encode("utf-8", "backslashreplace")).hexdigest()


def _load(path: Path, mark: str) -> Learnt | None:
    if (arrays := index_file.read(path, mark)) is None:
        return None
    try:
        told: _Told = msgspec.json.decode(arrays["learnt"].tobytes(), type=_Told)
        calls, sessions, strength, gain, error, texts = told
        return Learnt(calls, sessions, strength, gain, error, texts, arrays["vectors"])
    except (msgspec.MsgspecError, KeyError):
        return None


def _save(path: Path, mark: str, learnt: Learnt) -> None:
    *told, vectors = learnt
    index_file.write(path, mark, learnt=np.frombuffer(msgspec.json.encode(told), np.uint8), vectors=vectors)
