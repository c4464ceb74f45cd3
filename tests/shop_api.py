"""The API of examples/openapi on this machine, and its document as an entry of config.toml."""

import copy
import importlib.util
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mcpctl.openapi import compiling, document, snapshot
from mcpctl.openapi.document import Text
from mcpctl.openapi.operations import ChosenEntry, Operations
from mcpctl.openapi.references import References
from mcpctl.openapi.sources import Sources
from tests.conftest import ROOT

FOLDER = ROOT / "examples" / "openapi"
_DOCUMENT: dict[str, Any] = json.loads((FOLDER / "shop.json").read_text(encoding="utf-8"))
TOKEN = "shop-token-5e884898da28"


def shop(**changes: Any) -> dict[str, Any]:
    """The document, with other members at its top."""
    return {**copy.deepcopy(_DOCUMENT), **changes}


def write(path: Path, content: Any) -> Path:
    """Put a document into a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def compile_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have documents compiled in this process: one of its own for each takes a fifth of a second."""

    def compiled(entry: ChosenEntry, content: bytes, sources: Sources) -> bytes:
        whole = document.checked(document.value_of(Text(content, entry.name)), entry.name)
        references = References(whole, entry.place, entry.name, lambda place: Text(sources.file(place), place))
        return snapshot.encoded(Operations(whole, references, entry).compiled("0" * 64, 1e9))

    monkeypatch.setattr(compiling, "_compiled", compiled)


@contextmanager
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The API itself; the address in front of its paths."""
    spec = importlib.util.spec_from_file_location("shop", FOLDER / "shop.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setenv("SHOP_TOKEN", TOKEN)
    server = ThreadingHTTPServer(("127.0.0.1", 0), module.Shop)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
