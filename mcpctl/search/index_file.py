"""The index on disk, for commands: at 500 tools it is read in a tenth of the time that building takes."""

import contextlib
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from mcpctl import __version__
from mcpctl.errors import McpctlError
from mcpctl.models import Tool
from mcpctl.paths import private_dir
from mcpctl.search.latent import Latent
from mcpctl.search.posting_lists import Corpus, Okapi

Index = tuple[Okapi, Latent | None]


def mark(tools: Sequence[Tool], notes: Mapping[str, str]) -> str:
    """What tells the index of these tools from that of any others, and from that of another version."""
    found = sha256(__version__.encode())
    for tool in tools:
        for text in (tool.key, tool.text, notes.get(tool.key, "")):
            data = text.encode("utf-8", "surrogatepass")
            found.update(b"%d:%b" % (len(data), data))
    return found.hexdigest()


def load(path: Path, marked: str) -> Index | None:
    """The index kept there; None if there is none, or one of other tools."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            if str(file["mark"]) != marked:
                return None
            words, stems = (_texts(file[name]) for name in ("words", "stems"))
            corpus = Corpus(words, stems, file["norms"], file["term"], file["document"], file["frequency"])
            latent = Latent(file["latent_tools"], file["latent_stems"]) if "latent_tools" in file else None
            return Okapi(corpus), latent
    except (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile):
        return None


def save(path: Path, marked: str, index: Index) -> None:
    """Keep an index there, in place of what was kept; where that cannot be, nothing is."""
    engine, latent = index
    corpus = engine.corpus
    arrays: dict[str, Any] = {
        "words": _bytes(corpus.surface),
        "stems": _bytes(corpus.terms[len(corpus.surface) :]),
        "norms": corpus.norms,
        "term": corpus.term,
        "document": corpus.document,
        "frequency": corpus.frequency,
        **({"latent_tools": latent.tools, "latent_stems": latent.stems} if latent else {}),
    }
    with contextlib.suppress(OSError, McpctlError):
        private_dir(path.parent)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
            try:
                np.savez(file, mark=np.array(marked), **arrays)
                file.close()
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise


def _bytes(texts: Sequence[str]) -> np.typing.NDArray[np.uint8]:
    # No term has white space in it.
    return np.frombuffer("\n".join(texts).encode("utf-8", "surrogatepass"), np.uint8)


def _texts(data: np.typing.NDArray[np.uint8]) -> list[str]:
    return data.tobytes().decode("utf-8", "surrogatepass").split("\n") if data.size else []
