"""Write the judge of messages in conversations as an int8 ONNX graph with its card.

    python training/leaning/export.py FOLDER RUN [RUN ...]     (RUN.npz.xz.0 ... and RUN.json, as train.py left them)

FOLDER gets leaning.onnx and leaning.json. Of several runs the mean of the weights is taken; of the inner units of the
wide layers those with the smallest weights are left out. Words and positions are those of the re-ranker, as they were
never changed: the graph says where they lie in FOLDER/reranker.onnx. It takes one pair at a time, unpadded. Needs
`onnx`; no torch; run from the repository's root with it on the path.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from training import bert_onnx, packed

VERSION = "1"
POSITIONS = 128  # as many as IN_CONTEXT in turnwise/models/reranker.py has tokens
INNER = 1280  # units of a layer that are kept
OTHER = "reranker.onnx"
SHARED = ("words", "words.scale", "positions", "types.weight")


def build(weights: packed.Weights, reach: list[str]) -> onnx.ModelProto:
    weights = weights | {"head.weight": weights["head.weight"][1:], "head.bias": weights["head.bias"][1:]}
    graph = bert_onnx.Graph(weights)
    x = bert_onnx.encoder(graph, reach, POSITIONS)
    first = graph("Slice", x, graph.whole("zero", 0), graph.whole("one", 1), graph.whole("one", 1))
    made = graph.dense(graph("Tanh", graph.linear(first, "pooler")), "head")
    made = graph("Squeeze", made, graph.constant("rest", np.array([1, 2])))
    graph.nodes.append(helper.make_node("Identity", [made], ["answers"]))
    inputs = {"ids": [1, "tokens"], "types": [1, "tokens"], "front": [1]}
    return bert_onnx.model(graph, "leaning", inputs, {"answers": [1]})


def narrowed(weights: packed.Weights) -> packed.Weights:
    """The weights without those inner units that read and write least, where a layer has more than INNER."""
    found = dict(weights)
    for layer in sorted({name.split(".")[1] for name in weights if name.startswith("layers.")}):
        inner, outer = (f"layers.{layer}.{part}.weight" for part in ("inner", "outer"))
        read, written = packed.plain(weights, inner), packed.plain(weights, outer)
        said = np.linalg.norm(read, axis=1) * np.linalg.norm(written, axis=0)
        kept = np.sort(np.argsort(-said)[:INNER])
        for part in ("|values", "|scale", "|zero"):
            found[f"{inner}{part}"] = weights[f"{inner}{part}"][kept]
        found[f"layers.{layer}.inner.bias"] = weights[f"layers.{layer}.inner.bias"][kept]
        found[f"{outer}|values"] = weights[f"{outer}|values"][:, kept]
    return found


def share(model: onnx.ModelProto, folder: Path) -> None:
    """Replace what the re-ranker has too by its place in the re-ranker's file."""
    file = (folder / OTHER).read_bytes()
    other = {each.name: each for each in onnx.load(folder / OTHER).graph.initializer}
    for each in model.graph.initializer:
        if each.name in SHARED:
            theirs = other[each.name].raw_data
            mine, its = (numpy_helper.to_array(one).astype(np.float32) for one in (each, other[each.name]))
            if np.abs(mine - its).max() > (
                1e-3 if each.name == "positions" else 1e-6
            ):  # these were rounded on their way
                raise SystemExit(f"{each.name} is not that of {folder / OTHER}.")
            each.ClearField("raw_data")
            each.data_location = TensorProto.EXTERNAL
            details = {"location": OTHER, "offset": str(file.index(theirs)), "length": str(len(theirs))}
            for key, value in details.items():
                each.external_data.add(key=key, value=value)


def main(folder: Path, *runs: Path) -> None:
    records = [json.loads(run.with_suffix(".json").read_text()) for run in runs]
    weights = packed.mean([packed.read(run.with_suffix(".npz.xz")) for run in runs])
    model = build(narrowed(weights), records[0]["shape"]["reach"])
    share(model, folder)
    (folder / "leaning.onnx").write_bytes(model.SerializeToString())
    digest = hashlib.sha256((folder / "leaning.onnx").read_bytes()).hexdigest()
    shape = records[0]["shape"]
    card = {"version": VERSION, "sha256": digest, "reach": shape["reach"]}
    card["reranker"] = hashlib.sha256((folder / OTHER).read_bytes()).hexdigest()
    card["inner"] = [min(inner, INNER) for inner in shape["inner"]]
    card["runs"] = [{name: record[name] for name in ("settings", "rows", "epochs", "scores")} for record in records]
    (folder / "leaning.json").write_text(json.dumps(card, indent=1) + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
