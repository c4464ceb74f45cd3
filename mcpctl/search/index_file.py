"""The index of words on disk, for commands: at 500 tools, reading it takes a tenth of the time of building it."""

import contextlib
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from mcpctl import __version__
from mcpctl.base import files
from mcpctl.base.errors import McpctlError
from mcpctl.base.models import Tool
from mcpctl.base.paths import private_dir
from mcpctl.search.meaning import FOLDER, MADE, Meaning
from mcpctl.search.posting_lists import Corpus, Okapi
from mcpctl.search.tokens import LAYOUT

Index = tuple[Okapi, Meaning]
_OF_CORPUS = ("norms", "trust", "counts", "document", "frequency")


def mark(tools: Sequence[Tool], notes: Mapping[str, str]) -> str:
    """A hash that tells the index of these tools from that of others, or of another version of mcpctl or its table."""
    digest = sha256(f"{__version__} {LAYOUT} ".encode() + (FOLDER / MADE).read_bytes())
    for tool in tools:
        for text in (tool.key, tool.text, notes.get(tool.key, "")):
            data = text.encode("utf-8", "surrogatepass")
            digest.update(b"%d:%b" % (len(data), data))
    return digest.hexdigest()


def load(path: Path, expected: str) -> Index | None:
    if (arrays := read(path, expected)) is None:
        return None
    try:
        words, stems = (_texts(arrays[name]) for name in ("words", "stems"))
        engine = Okapi(Corpus(words, stems, *(arrays[name] for name in _OF_CORPUS)))
        return engine, Meaning(engine, arrays["tools"], arrays["stem_vectors"])
    except Exception:
        return None


def save(path: Path, mark: str, index: Index) -> None:
    """Write an index to that file; if it cannot be written, the file stays as it is."""
    engine, meaning = index
    corpus = engine.corpus
    write(
        path, mark, words=_bytes(corpus.surface), stems=_bytes(corpus.terms[len(corpus.surface) :]),
        **{name: getattr(corpus, name) for name in _OF_CORPUS},
        tools=meaning.tools.astype(meaning.stems.dtype), stem_vectors=meaning.stems,
    )  # fmt: skip


def read(path: Path, expected: str) -> Mapping[str, Any] | None:
    """The arrays of a file; None if it is not there, not whole, or has another mark."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            return {**file} if str(file["mark"]) == expected else None
    except Exception:  # a torn archive raises what its bytes happen to ask for, such as another compression
        return None


def write(path: Path, mark: str, **arrays: Any) -> None:
    with contextlib.suppress(OSError, McpctlError):
        private_dir(path.parent)
        # Opened once more, since an archive is not only appended to.
        with files.beside(path) as (_, new), new.open("r+b") as file:
            np.savez(file, mark=np.array(mark), **arrays)
            file.close()
            new.replace(path)


def _bytes(texts: Sequence[str]) -> np.typing.NDArray[np.uint8]:
    # No term has white space in it.
    return np.frombuffer("\n".join(texts).encode("utf-8", "surrogatepass"), np.uint8)


def _texts(data: np.typing.NDArray[np.uint8]) -> list[str]:
    return data.tobytes().decode("utf-8", "surrogatepass").split("\n") if data.size else []
