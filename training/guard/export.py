"""Write the guard's encoder as an int8 ONNX graph with its card.

    python training/guard/export.py LINEAR.npz FOLDER RUN [RUN ...]     (RUN.npz.xz.0 ... as train.py left them)

Of several runs that began as the same network, the mean of their weights is taken.

FOLDER gets guard.onnx, guard.json and guard.npz, the linear model in int8. The graph takes `input_ids` of one text and
gives the log-odds that it is an attack, and by token the log-odds that it was planted in a passage. Needs `onnx`.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from onnx import helper, save

from training import bert_onnx, packed

VERSION = "1"
POSITIONS = 256


def build(weights: packed.Weights, layers: int) -> object:
    graph = bert_onnx.Graph(weights)
    x = bert_onnx.encoder(graph, ["all"] * layers, POSITIONS, "input_ids", "")
    zero, one = graph.whole("zero", 0), graph.whole("one", 1)
    first = graph("Slice", x, zero, one, one)
    graph.nodes.append(helper.make_node("Identity", [graph.dense(first, "message")], ["attack"]))
    graph.nodes.append(helper.make_node("Identity", [graph.dense(x, "planted")], ["planted"]))
    return bert_onnx.model(
        graph, "guard", {"input_ids": [1, "tokens"]}, {"attack": [1, 1, 1], "planted": [1, "tokens", 1]}
    )


def main(linear: Path, folder: Path, *runs: Path) -> None:
    record = {"layers": json.loads(Path(f"{runs[0]}.json").read_text())["layers"], "runs": len(runs)}
    folder.mkdir(parents=True, exist_ok=True)
    weights = packed.mean([packed.read(Path(f"{run}.npz.xz")) for run in runs])
    save(build(weights, record["layers"]), folder / "guard.onnx")
    digest = hashlib.sha256((folder / "guard.onnx").read_bytes()).hexdigest()
    with np.load(linear) as trained:
        weights, bias = trained["weights"], trained["bias"]
    scale = np.float32(np.abs(weights).max() / 127)
    values = np.round(weights / scale).astype(np.int8)
    np.savez_compressed(folder / "guard.npz", weights=values, scale=scale, bias=bias)
    card = {"version": VERSION, "sha256": digest} | record
    (folder / "guard.json").write_text(json.dumps(card, indent=1) + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
