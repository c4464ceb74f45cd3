"""A sentence-embedding model in a folder, in the layout of sentence-transformers, run by ONNX Runtime."""

import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from mcpctl.base import files
from mcpctl.base.errors import McpctlError
from mcpctl.search.embeddings import Matrix
from mcpctl.search.ranking import Unavailable

if TYPE_CHECKING:
    from tokenizers import Encoding

_MAX_TOKENS = 512
_BATCH = 8
"""Texts that the model reads at once: with more, most of a batch is padding, and it no longer fits the caches."""
_KINDS = {"tensor(int32)": np.int32, "tensor(int64)": np.int64}
_MODULES = {"Transformer", "Pooling", "Normalize"}
_POOLINGS = {"pooling_mode_cls_token", "pooling_mode_mean_tokens"}

_PROCESSOR = Path("/proc/cpuinfo")
_WHOLE = ("model.onnx", "model_O3.onnx", "model_O2.onnx", "model_O1.onnx")
_UNSIGNED = ("model_quint8_avx2.onnx", "model_uint8.onnx")
_SIGNED = ("model_quantized.onnx", "model_int8.onnx")
"""8-bit models with signed weights, whose sums overflow on x86 processors without VNNI instructions; on those that have
them, a model with unsigned ones is slower than one with 32 bits."""
_VNNI = ("model_qint8_avx512_vnni.onnx", "model_qint8_avx512.onnx", *_SIGNED)
_ARM = ("model_qint8_arm64.onnx", *_SIGNED, *_UNSIGNED)


class LocalModel:
    """The model in a folder with `tokenizer.json` and `model.onnx` or another `model*.onnx`, there or in `onnx/`.

    Of several models, it is the one that comes first in this machine's order: 8-bit numbers, then 32-bit, then others.

    Its settings are read as sentence-transformers does (https://sbert.net): the maximum of tokens from
    `sentence_bert_config.json`, the pooling (first token or mean) from `1_Pooling/config.json`, the prompts before
    queries and documents from `config_sentence_transformers.json`.
    """

    portion = 128

    def __init__(self, folder: Path) -> None:
        """Raises `Unavailable` if the folder has no such model, or if the packages to run it are not installed."""
        try:
            import onnxruntime
            import tokenizers
        except ImportError as error:
            raise Unavailable(
                f"{error.name} is not installed; install it with: pip install 'mcpctl[semantic]'"
            ) from None
        vocabulary = folder / "tokenizer.json"
        model = min((*folder.glob("model*.onnx"), *folder.glob("onnx/model*.onnx")), key=_place, default=None)
        if model is None or not vocabulary.is_file():
            raise Unavailable(f"there is no {'tokenizer.json' if model else 'model.onnx'} in {folder}")
        stat = model.stat()
        self.name = f"{model.resolve()}:{stat.st_size}:{stat.st_mtime_ns}"
        options = onnxruntime.SessionOptions()
        # Its threads must not spin while the server waits for queries.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(vocabulary))
            self._session = onnxruntime.InferenceSession(str(model), options)
        except Exception as error:  # their exceptions have no common class
            raise Unavailable(f"the model in {folder} cannot be read: {str(error).splitlines()[0]}") from error
        _check_modules(folder)
        limit = _read(folder / "sentence_bert_config.json").get("max_seq_length")
        self._tokenizer.enable_truncation(min(limit, _MAX_TOKENS) if isinstance(limit, int) else _MAX_TOKENS)
        self._padding = _padding(self._tokenizer.padding)
        self._tokenizer.no_padding()
        self._by_first = _read(folder / "1_Pooling" / "config.json").get("pooling_mode_cls_token") is True
        prompts = _read(folder / "config_sentence_transformers.json").get("prompts")
        self._prompts = prompts if isinstance(prompts, dict) else {}
        self._inputs = {input_.name: _KINDS.get(input_.type, np.int64) for input_ in self._session.get_inputs()}
        self._tokenizing = Lock()

    def embed(self, texts: Sequence[str], *, are_queries: bool, seconds: float) -> Matrix:
        """The vectors of texts, a row of length 1 for each."""
        kinds = ("query",) if are_queries else ("document", "passage")
        prompt = next((str(self._prompts[kind]) for kind in kinds if self._prompts.get(kind)), "")
        with self._tokenizing:
            encodings = self._tokenizer.encode_batch([prompt + text for text in texts])
        # Sorted by length, so that short texts are not padded to the length of long ones.
        order = sorted(range(len(texts)), key=lambda number: len(encodings[number]))
        batches = (order[start : start + _BATCH] for start in range(0, len(order), _BATCH))
        vectors = np.concatenate([self._batch([encodings[number] for number in batch]) for batch in batches])
        return np.ascontiguousarray(vectors[np.argsort(order)])

    def _batch(self, encodings: "Sequence[Encoding]") -> Matrix:
        longest = max(map(len, encodings))
        for encoding in encodings:
            encoding.pad(longest, **self._padding)
        mask = np.array([encoding.attention_mask for encoding in encodings], np.int64)
        ids = np.array([encoding.ids for encoding in encodings], np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        outputs = self._session.run(
            None, {name: inputs[name].astype(kind) for name, kind in self._inputs.items() if name in inputs}
        )
        vectors = next((output for output in outputs if output.ndim == 2), None)
        if vectors is None:
            vectors = outputs[0][:, 0] if self._by_first else _mean(outputs[0], mask)
        rows: Matrix = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-9)).astype(np.float32)
        return rows


def _place(model: Path) -> tuple[int, str]:
    """The place of a model in this machine's order."""
    order = (*_small(), *_WHOLE)
    return (order.index(model.name) if model.name in order else len(order)), str(model)


def _small() -> tuple[str, ...]:
    """The 8-bit models that this processor runs well, the fastest first."""
    if platform.machine().lower() in ("arm64", "aarch64"):
        return _ARM
    try:
        return _VNNI if "_vnni" in files.read_text(_PROCESSOR) else _UNSIGNED
    except McpctlError:
        return _UNSIGNED  # systems other than Linux do not tell


def _check_modules(folder: Path) -> None:
    """Refuse a model with a module or a pooling that is not supported here: its vectors would be wrong."""
    try:
        modules = json.loads(files.read_text(folder / "modules.json"))
    except (McpctlError, ValueError, RecursionError):
        modules = []
    kinds = {str(module.get("type")).rpartition(".")[2] for module in modules if isinstance(module, dict)}
    pooling = _read(folder / "1_Pooling" / "config.json")
    modes = {name for name, is_used in pooling.items() if name.startswith("pooling_mode_") and is_used is True}
    if unsupported := sorted((kinds - _MODULES) | (modes - _POOLINGS)):
        raise Unavailable(f"the model in {folder} needs {', '.join(unsupported)}, which is not supported")


def _mean(tokens: Any, mask: Any) -> Any:
    """The mean of the vectors of a sentence's tokens without the padding."""
    return (tokens * mask[..., None]).sum(1) / mask.sum(1, keepdims=True).clip(1)


def _padding(settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """How a tokenizer fills up the shorter texts of a batch."""
    names = ("direction", "pad_id", "pad_type_id", "pad_token")
    return {name: value for name, value in (settings or {}).items() if name in names}


def _read(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(files.read_text(path))
    except (McpctlError, ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}
