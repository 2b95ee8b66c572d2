"""Write a distilled embedder as an int8 ONNX graph with its card.

    python training/embedder/export.py RUN FOLDER     (RUN.npz.xz.0 ... and RUN.json, as train.py left them)

FOLDER gets embedder.onnx and embedder.json. The graph takes `input_ids` of one text, unpadded, and gives the state of
its first token, as `turnwise.models.embedder` reads it of any BERT. It holds the very int8 weights, scaled by output
channel, that train.py saved; activations are quantised as they come. Needs `onnx`; no torch.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from onnx import helper, save

from training import bert_onnx, packed

VERSION = "1"
POSITIONS = 256  # as many tokens as the product reads of a text


def build(weights: packed.Weights, reach: list[str]) -> object:
    graph = bert_onnx.Graph(weights)
    x = bert_onnx.encoder(graph, reach, POSITIONS, "input_ids", "")
    graph.nodes.append(helper.make_node("Identity", [x], ["first_hidden_state"]))
    outputs = {"first_hidden_state": [1, "computed", bert_onnx.WIDTH]}
    return bert_onnx.model(graph, "embedder", {"input_ids": [1, "tokens"]}, outputs)


def main(run: Path, folder: Path) -> None:
    record = json.loads(run.with_suffix(".json").read_text())
    folder.mkdir(parents=True, exist_ok=True)
    save(build(packed.read(run.with_suffix(".npz.xz")), record["shape"]["reach"]), folder / "embedder.onnx")
    digest = hashlib.sha256((folder / "embedder.onnx").read_bytes()).hexdigest()
    card = {"version": VERSION, "sha256": digest} | record
    (folder / "embedder.json").write_text(json.dumps(card, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
