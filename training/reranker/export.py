"""Write a distilled re-ranker as an int8 ONNX graph with its card.

    python training/reranker/export.py FOLDER RUN [RUN ...]     (RUN.npz.xz.0 ... and RUN.json, as train.py left them)

FOLDER gets reranker.onnx and reranker.json. The graph holds int8 weights, scaled by output channel; activations are
quantised as they come. Of several runs the mean of the weights is taken. It takes one pair at a time, unpadded. Needs
`onnx` and scipy; no torch.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from onnx import helper, save
from scipy.optimize import linear_sum_assignment

from training import bert_onnx, packed

VERSION = "7"
POSITIONS = 128  # more than a pair has tokens
ALIKE = 0.7  # mean cosine of what an inner unit reads and writes, from which on two are the same one


def build(weights: packed.Weights, reach: list[str]) -> object:
    graph = bert_onnx.Graph(weights)
    x = bert_onnx.encoder(graph, reach, POSITIONS)
    first = graph("Slice", x, graph.whole("zero", 0), graph.whole("one", 1), graph.whole("one", 1))
    x = graph("Tanh", graph.dense(first, "pooler"))
    score, answers = graph("Split", graph.dense(x, "head"), outputs=2, axis=2, num_outputs=2).split()
    for made, name in ((score, "score"), (answers, "answers")):
        made = graph("Squeeze", made, graph.constant("rest", np.array([1, 2])))
        graph.nodes.append(helper.make_node("Identity", [made], [name]))
    inputs = {"ids": [1, "tokens"], "types": [1, "tokens"]} | ({"front": [1]} if "front" in reach else {})
    return bert_onnx.model(graph, "reranker", inputs, {"score": [1], "answers": [1]})


def matched(run: packed.Weights, first: packed.Weights) -> packed.Weights:
    """The weights of a run, its inner units in the order of those that they are like in the first run, which began as
    layers of the same teacher. One that has no like there is left out for the first run's."""
    plain, aim = (
        {name.split("|")[0]: packed.plain(each, name.split("|")[0]) for name in each} for each in (run, first)
    )
    for layer in sorted({name.split(".")[1] for name in plain if name.startswith("layers.")}):
        inner, bias, outer = (f"layers.{layer}.{part}" for part in ("inner.weight", "inner.bias", "outer.weight"))
        alike = (_likeness(aim[inner], plain[inner]) + _likeness(aim[outer].T, plain[outer].T)) / 2
        order = linear_sum_assignment(-alike)[1]
        known = alike[np.arange(len(order)), order] >= ALIKE
        plain[inner] = np.where(known[:, None], plain[inner][order], aim[inner])
        plain[bias] = np.where(known, plain[bias][order], aim[bias])
        plain[outer] = np.where(known, plain[outer][:, order], aim[outer])
    return plain


def _likeness(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The cosine of every row of one with every row of the other."""
    one, other = (each / (np.linalg.norm(each, axis=1, keepdims=True) + 1e-9) for each in (one, other))
    return one @ other.T


def main(folder: Path, *runs: Path) -> None:
    records = [json.loads(run.with_suffix(".json").read_text()) for run in runs]
    folder.mkdir(parents=True, exist_ok=True)
    first, *others = (packed.read(run.with_suffix(".npz.xz")) for run in runs)
    weights = packed.mean([first, *(matched(run, first) for run in others)])
    save(build(weights, records[0]["shape"]["reach"]), folder / "reranker.onnx")
    digest = hashlib.sha256((folder / "reranker.onnx").read_bytes()).hexdigest()
    card = {"version": VERSION, "sha256": digest, "shape": records[0]["shape"]}
    card["runs"] = [
        {name: record[name] for name in ("settings", "questions", "epochs", "scores")} for record in records
    ]
    (folder / "reranker.json").write_text(json.dumps(card, indent=1) + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
