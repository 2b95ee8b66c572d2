"""Write a distilled re-ranker as an int8 ONNX graph with its card.

    python training/reranker/export.py RUN FOLDER     (RUN.npz.xz.0 ... and RUN.json, as train.py left them)

FOLDER gets reranker.onnx and reranker.json. The graph holds the very int8 weights, scaled by output channel, that
train.py saved; activations are quantised as they come. It takes one pair at a time, unpadded. Needs `onnx`; no torch.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from onnx import helper, save

from training import bert_onnx, packed

VERSION = "3"
POSITIONS = 128  # more than a pair has tokens


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


def main(run: Path, folder: Path) -> None:
    record = json.loads(run.with_suffix(".json").read_text())
    folder.mkdir(parents=True, exist_ok=True)
    save(build(packed.read(run.with_suffix(".npz.xz")), record["shape"]["reach"]), folder / "reranker.onnx")
    digest = hashlib.sha256((folder / "reranker.onnx").read_bytes()).hexdigest()
    card = {"version": VERSION, "sha256": digest} | record
    (folder / "reranker.json").write_text(json.dumps(card, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
