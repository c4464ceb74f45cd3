"""A model in a folder, run by ONNX Runtime: small ones made here, of the kinds that are published."""

import builtins
import json
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers

from mcpctl.search import embedding_models
from mcpctl.search.embedding_models import LocalModel
from mcpctl.search.ranking import Unavailable
from tests.conftest import ROOT
from tests.search.conftest import Made
from tests.search.test_bm25 import tool
from tests.servers.service import MEANINGS

WORDS = ["[PAD]", "[UNK]", "query", "of", *(word for meaning in MEANINGS for word in meaning)]
SIZE = len(MEANINGS) + 1
Folder = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Makes the folder of a model that looks up each word's meaning; how it tells a sentence's is chosen."""

    def make(
        name: str = "model.onnx", *, pooled: bool = False, types: bool = True, table: Any = None, **files: Any
    ) -> Path:
        path = tmp_path / "model"
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        onnx.save(_model(_table() if table is None else table, pooled, types), path / name)
        tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.enable_padding(length=128)
        tokenizer.save(str(path / "tokenizer.json"))
        for file, content in files.items():
            target = path / f"{file}.json"
            target.parent.mkdir(exist_ok=True)
            target.write_text(json.dumps(content))
        return path

    return make


def _table() -> Any:
    """A row for each word: of which meaning it is."""
    table = np.full((len(WORDS), SIZE), 0.0, np.float32)
    table[:, -1] = 1
    for number, meaning in enumerate(MEANINGS):
        for word in meaning:
            table[WORDS.index(word)] = np.eye(SIZE)[number]
    table[0] = 100  # what fills up must not count
    return table


def _model(table: Any, pooled: bool, types: bool) -> Any:
    inputs = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["tokens"])]
    out = helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["b", "s", SIZE])
    if pooled:
        nodes.append(helper.make_node("ReduceMax", ["tokens"], ["sentence_embedding"], axes=[1], keepdims=0))
        out = helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["b", SIZE])
    given = [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "s"]) for name in inputs]
    graph = helper.make_graph(nodes, "words", given, [out], [numpy_helper.from_array(table, "table")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def embedded(path: Path, *texts: str, are_queries: bool = False) -> Any:
    return LocalModel(path).embed(texts, are_queries=are_queries, seconds=1)


def meaning(number: int, of: int = SIZE) -> Any:
    return pytest.approx(np.eye(of)[number], abs=1e-6)


@pytest.mark.parametrize("name", ["model.onnx", "onnx/model.onnx", "onnx/model_qint8_arm64.onnx", "onnx/model_O4.onnx"])
@pytest.mark.parametrize("types", [True, False])
def test_a_sentence_is_the_mean_of_its_words_of_length_1(folder: Folder, name: str, types: bool) -> None:
    found = embedded(folder(name, types=types), "car", "car issue", "unheard of")
    assert found[0] == meaning(0)
    assert found[1] == pytest.approx((np.eye(SIZE)[0] + np.eye(SIZE)[1]) / np.sqrt(2), abs=1e-6)
    assert found[2] == meaning(SIZE - 1)
    assert found.dtype == np.float32


def test_what_it_is_embedded_with_does_not_count(folder: Folder) -> None:
    path = folder()
    assert embedded(path, "car", "a longer text about an issue " * 20)[0] == pytest.approx(embedded(path, "car")[0])


VNNI, UNSIGNED, ARM = "model_qint8_avx512_vnni", "model_quint8_avx2", "model_qint8_arm64"


@pytest.mark.parametrize(
    ("machine", "processor", "order"),
    [
        ("x86_64", "flags : avx2 avx512_vnni", [VNNI, "model", "model_O3", "model_O4", ARM, UNSIGNED]),
        ("x86_64", "flags : avx2 avx_vnni", [VNNI, "model", "model_O3", "model_O4", ARM, UNSIGNED]),
        ("x86_64", "flags : avx2", [UNSIGNED, "model", "model_O3", "model_O4", ARM, VNNI]),
        ("AMD64", None, [UNSIGNED, "model", "model_O3", "model_O4", ARM, VNNI]),
        ("arm64", None, [ARM, UNSIGNED, "model", "model_O3", "model_O4", VNNI]),
    ],
)
def test_of_several_models_it_is_the_one_that_the_processor_runs_best(
    folder: Folder,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    machine: str,
    processor: str | None,
    order: Sequence[str],
) -> None:
    if processor is not None:
        (tmp_path / "cpuinfo").write_text(processor)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(embedding_models, "_PROCESSOR", tmp_path / "cpuinfo")
    models = [folder(f"onnx/{name}.onnx") / f"onnx/{name}.onnx" for name in order]
    for model in models:
        assert LocalModel(tmp_path / "model").name.startswith(f"{model}:")
        model.unlink()


def test_texts_are_read_in_small_batches_of_about_one_length(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "unheard" * 30
    texts = ["car issue weather " * (number * 7 % 30) + long[number * 11 % 30 * 7 :] for number in range(30)]
    model = LocalModel(folder())
    shapes: list[tuple[int, ...]] = []
    run = model._session.run

    def counted(names: Any, inputs: Any) -> Any:
        shapes.append(inputs["input_ids"].shape)
        return run(names, inputs)

    monkeypatch.setattr(model, "_session", SimpleNamespace(run=counted))
    found = model.embed(texts, are_queries=False, seconds=1)
    assert shapes == [(8, 22), (8, 46), (8, 70), (6, 88)]
    monkeypatch.undo()
    alone = [model.embed([text], are_queries=False, seconds=1)[0] for text in texts]
    assert found == pytest.approx(np.stack(alone), abs=1e-6)


def test_a_sentence_may_be_its_first_word(folder: Folder) -> None:
    path = folder(**{"1_Pooling/config": {"pooling_mode_cls_token": True}})
    assert embedded(path, "issue car car car")[0] == meaning(1)


def test_a_model_that_tells_sentences_itself_is_believed(folder: Folder) -> None:
    assert embedded(folder(pooled=True), "car")[0] == meaning(0)


def test_no_more_is_read_than_the_model_takes(folder: Folder) -> None:
    path = folder(sentence_bert_config={"max_seq_length": 2})
    assert embedded(path, "car car issue issue issue")[0] == meaning(0)


def test_what_a_model_wants_before_queries_and_before_what_is_searched_is_put_there(folder: Folder) -> None:
    prompts = {"query": "query ", "passage": "issue "}
    path = folder(config_sentence_transformers={"prompts": prompts})
    asked, told = embedded(path, "car", are_queries=True)[0], embedded(path, "car")[0]
    assert asked == pytest.approx((np.eye(SIZE)[0] + np.eye(SIZE)[-1]) / np.sqrt(2), abs=1e-6)
    assert told == pytest.approx((np.eye(SIZE)[0] + np.eye(SIZE)[1]) / np.sqrt(2), abs=1e-6)


@pytest.mark.parametrize("files", [{"sentence_bert_config": []}, {"config_sentence_transformers": {"prompts": 3}}])
def test_odd_files_beside_it_are_passed_over(folder: Folder, files: Any) -> None:
    assert embedded(folder(**files), "car")[0] == meaning(0)


@pytest.mark.parametrize(
    ("files", "needs"),
    [
        ({"1_Pooling/config": {"pooling_mode_max_tokens": True}}, "pooling_mode_max_tokens"),
        ({"modules": [{"type": "sentence_transformers.models.Dense"}]}, "Dense"),
    ],
)
def test_a_model_that_makes_sentences_in_another_way_is_refused(folder: Folder, files: Any, needs: str) -> None:
    with pytest.raises(Unavailable, match=f"needs {needs}, which is not supported"):
        LocalModel(folder(**files))


def test_it_ranks_tools(made: Made, folder: Folder) -> None:
    tools = [tool("a:wash", "drive"), tool("b:report", "bug"), tool("c:show", "photo")]
    table = _table()
    table[WORDS.index("[UNK]")] = 0
    found = made(tools, "semantic", semantic_model=str(folder(table=table))).search(["automobile"])
    assert ([hit.key for hit in found.hits], found.provider, found.fallback) == (["a:wash"], "semantic", None)


def test_its_folder_may_be_named_beside_the_configuration(made: Made, folder: Folder, home: Path) -> None:
    home.mkdir()
    folder().rename(home / "mini")
    found = made([tool("a:wash", "drive")], "semantic", semantic_model="mini").search(["automobile"])
    assert found.fallback == "semantic: the model returns nearly the same vector for every text"  # so it was read


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=f"there is no model.onnx in {tmp_path}"):
        LocalModel(tmp_path)


@pytest.mark.parametrize("broken", ["model.onnx", "tokenizer.json"])
def test_a_model_that_cannot_be_read_is_named(folder: Folder, broken: str) -> None:
    path = folder()
    (path / broken).write_bytes(b"rubbish")
    with pytest.raises(Unavailable, match=f"the model in {path} cannot be read: "):
        LocalModel(path)


@pytest.mark.process
@pytest.mark.slow
def test_a_model_tells_nobody_of_itself(folder: Folder, home: Path) -> None:
    home.mkdir()
    code = f"from mcpctl.search import embedding_models as models; models.LocalModel(models.Path({str(folder())!r}))"
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.settimeout(0)
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        # Nothing else of the environment: under some variables, such as CI, ONNX Runtime would be silent anyway.
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(home), "HTTPS_PROXY": address}
        subprocess.run([sys.executable, "-c", code], env=env, check=True)
        with pytest.raises(BlockingIOError):
            proxy.accept()
    assert not list(home.rglob("*"))  # where it would keep what it has to tell


def test_what_is_not_installed_is_named_with_the_command_that_installs_it(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "onnxruntime":
            raise ImportError(name=name)
        return real(name, *rest)

    path = folder()
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(Unavailable, match=r"onnxruntime is not installed; .* pip install 'mcpctl\[semantic\]'"):
        LocalModel(path)


def test_a_model_that_answers_no_numbers_leaves_the_words(made: Made, folder: Folder) -> None:
    path = folder(table=np.full((len(WORDS), SIZE), np.nan, np.float32))
    found = made([tool("a:wash", "drive")], "semantic", semantic_model=str(path)).search(["drive"])
    assert ([hit.key for hit in found.hits], found.provider) == (["a:wash"], "bm25")
    assert found.fallback == "semantic: the model returned zero or non-finite vectors"
