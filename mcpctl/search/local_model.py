"""A sentence-embedding model in a folder, as models of sentence-transformers are published, run by ONNX Runtime."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from mcpctl import files
from mcpctl.errors import McpctlError
from mcpctl.search.embeddings import Matrix
from mcpctl.search.ranking import Unavailable

_MOST_TOKENS = 512
_KINDS = {"tensor(int32)": np.int32, "tensor(int64)": np.int64}
_MODULES = {"Transformer", "Pooling", "Normalize"}
_POOLINGS = {"pooling_mode_cls_token", "pooling_mode_mean_tokens"}


class LocalModel:
    """The model in a folder with `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`.

    Read as sentence-transformers does (https://sbert.net): how many tokens it takes is in `sentence_bert_config.json`,
    whether a sentence is its first token or the mean of all in `1_Pooling/config.json`, what is put before a query and
    before what is searched in `config_sentence_transformers.json`.
    """

    def __init__(self, folder: Path) -> None:
        """Raises `Unavailable` where there is no such model, or nothing to run it with."""
        try:
            import onnxruntime
            import tokenizers
        except ImportError as error:
            raise Unavailable(
                f"{error.name} is not installed; install it with: pip install 'mcpctl[semantic]'"
            ) from None
        vocabulary = folder / "tokenizer.json"
        found = [path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if path.is_file()]
        if not found or not vocabulary.is_file():
            raise Unavailable(f"there is no {'tokenizer.json' if found else 'model.onnx'} in {folder}")
        stat = found[0].stat()
        self.name = f"{found[0].resolve()}:{stat.st_size}:{stat.st_mtime_ns}"
        options = onnxruntime.SessionOptions()
        # A server that waits for queries must not spin.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(vocabulary))
            self._session = onnxruntime.InferenceSession(str(found[0]), options)
        except Exception as error:  # what these raise has no common name
            raise Unavailable(f"the model in {folder} cannot be read: {str(error).splitlines()[0]}") from error
        _check_modules(folder)
        most = _read(folder / "sentence_bert_config.json").get("max_seq_length")
        self._tokenizer.enable_truncation(min(most, _MOST_TOKENS) if isinstance(most, int) else _MOST_TOKENS)
        self._tokenizer.enable_padding(**_padding(self._tokenizer.padding))
        self._by_first = _read(folder / "1_Pooling" / "config.json").get("pooling_mode_cls_token") is True
        prompts = _read(folder / "config_sentence_transformers.json").get("prompts")
        self._prompts = prompts if isinstance(prompts, dict) else {}
        self._inputs = {each.name: _KINDS.get(each.type, np.int64) for each in self._session.get_inputs()}
        self._one_at_a_time = Lock()

    def embed(self, texts: Sequence[str], *, are_queries: bool, seconds: float) -> Matrix:
        """The vectors of texts, a row of length 1 for each."""
        kinds = ("query",) if are_queries else ("document", "passage")
        prompt = next((str(self._prompts[kind]) for kind in kinds if self._prompts.get(kind)), "")
        with self._one_at_a_time:
            tokens = self._tokenizer.encode_batch([prompt + text for text in texts])
        mask = np.array([each.attention_mask for each in tokens], np.int64)
        ids = np.array([each.ids for each in tokens], np.int64)
        given = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        found = self._session.run(
            None, {name: given[name].astype(kind) for name, kind in self._inputs.items() if name in given}
        )
        vectors = next((each for each in found if each.ndim == 2), None)
        if vectors is None:
            vectors = found[0][:, 0] if self._by_first else _mean(found[0], mask)
        return np.ascontiguousarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-9), np.float32)


def _check_modules(folder: Path) -> None:
    """Refuse a model that makes sentences in a way that is not done here: its vectors would be wrong."""
    try:
        modules = json.loads(files.read_text(folder / "modules.json"))
    except (McpctlError, ValueError, RecursionError):
        modules = []
    kinds = {str(each.get("type")).rpartition(".")[2] for each in modules if isinstance(each, dict)}
    pooling = _read(folder / "1_Pooling" / "config.json")
    ways = {name for name, chosen in pooling.items() if name.startswith("pooling_mode_") and chosen is True}
    if odd := sorted((kinds - _MODULES) | (ways - _POOLINGS)):
        raise Unavailable(f"the model in {folder} needs {', '.join(odd)}, which is not supported")


def _mean(tokens: Any, mask: Any) -> Any:
    """The mean of the vectors of a sentence's tokens, those that fill it up to the longest left out."""
    return (tokens * mask[..., None]).sum(1) / mask.sum(1, keepdims=True).clip(1)


def _padding(found: Mapping[str, Any] | None) -> dict[str, Any]:
    """How a tokenizer fills up, but up to the longest of a batch instead of a fixed length."""
    return {name: value for name, value in (found or {}).items() if name not in ("length", "strategy")}


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(files.read_text(path))
    except (McpctlError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
