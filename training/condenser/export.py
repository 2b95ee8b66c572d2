"""Write a trained condenser as an int8 ONNX graph with its card.

    python training/condenser/export.py FOLDER RUN [RUN ...]     (RUN.npz and RUN.json, as train.py left them)

FOLDER gets condenser.onnx and condenser.json. The graph holds int8 weights, scaled by output channel: of one run the
very ones that train.py saved, of several that began as the same network their mean; activations are quantised as they
come. It takes one conversation at a time, unpadded. Needs `onnx`; no torch.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

from turnwise.models.condenser import EDITS, FACTS

VERSION = "5"
WIDTH, HEADS = 384, 12
POSITIONS = 192


class Graph:
    """An ONNX graph that grows node by node."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        self._weights = weights
        self.nodes: list[object] = []
        self.values: dict[str, object] = {}

    def constant(self, name: str, value: np.ndarray) -> str:
        self.values[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def weight(self, name: str) -> str:
        return self.constant(name, self._weights[name].astype(np.float32))

    def __call__(self, kind: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: object) -> str:
        names = [f"{kind}_{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, domain=domain, **attributes))
        return names[0] if outputs == 1 else " ".join(names)

    def fused(self, kind: str, *inputs: str, **attributes: object) -> str:
        return self(kind, *inputs, domain="com.microsoft", **attributes)

    def linear(self, x: str, name: str) -> str:
        weight, scale = self._weights[f"{name}.weight|int8"], self._weights[f"{name}.weight|scale"]
        matrix = self.constant(f"{name}.weight", weight.T)
        scales = self.constant(f"{name}.scale", scale[:, 0].astype(np.float32))
        zeros = self.constant(f"{name}.zero", np.zeros(len(weight), np.int8))
        return self.fused("DynamicQuantizeMatMul", x, matrix, scales, zeros, self.weight(f"{name}.bias"))

    def head(self, x: str, name: str) -> str:
        """What follows the first matrix of a head."""
        x = self.fused("BiasGelu", x, self.weight(f"{name}.0.bias"))
        x = self("MatMul", x, self.constant(f"{name}.2", plain(self._weights, f"{name}.2.weight").T))
        return self("Add", x, self.weight(f"{name}.2.bias"))


def build(weights: dict[str, np.ndarray], wide: int) -> object:
    graph = Graph(weights)
    number = graph.constant
    words = graph("Cast", graph("Gather", number("words", weights["words.weight|int8"]), "ids"), to=TensorProto.FLOAT)
    words = graph("Mul", words, graph("Gather", number("words.scale", weights["words.weight|scale"]), "ids"))
    zero, one, most = number("zero", np.array([0])), number("one", np.array([1])), number("most", np.array([2**31]))
    position = number("positions", plain(weights, "positions.weight")[:POSITIONS])
    position = graph("Slice", position, zero, graph("Shape", "ids", start=1, end=2), zero)
    x = graph("Add", graph("Add", words, position), graph("Gather", graph.weight("types.weight"), "types"))
    x = graph("LayerNormalization", x, graph.weight("norm.weight"), graph.weight("norm.bias"), epsilon=1e-12)
    for layer in range(1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))):
        if layer == wide:
            x = graph("Gather", x, "kept", axis=1)
        at = f"layers.{layer}"
        query, key, value = graph("Split", graph.linear(x, f"{at}.qkv"), outputs=3, axis=2, num_outputs=3).split()
        y = graph.linear(graph.fused("MultiHeadAttention", query, key, value, num_heads=HEADS), f"{at}.out")
        for norm in ("norm1", "norm2"):
            if norm == "norm2":
                y = graph.linear(graph.fused("FastGelu", graph.linear(x, f"{at}.inner")), f"{at}.outer")
            gains = (graph.weight(f"{at}.{norm}.weight"), graph.weight(f"{at}.{norm}.bias"))
            x = graph.fused("SkipLayerNormalization", y, x, *gains, epsilon=1e-12)
    after = graph("Add", graph("Shape", "places", start=1, end=2), one)  # where the message begins
    start, mentions = graph("Slice", x, zero, one, one), graph("Slice", x, one, after, one)
    asked = graph("Slice", x, after, most, one)
    message = graph("ReduceMean", asked, one, keepdims=1)
    first = weights["missing.0.weight"].astype(np.float32).T  # rows: mention, message, place, facts
    rows = np.split(first, [WIDTH, 2 * WIDTH, len(first) - FACTS])
    known = graph("MatMul", mentions, number("missing.mention", rows[0]))
    known = graph("Add", known, graph("MatMul", message, number("missing.message", rows[1])))
    place = number("missing.place", weights["places.weight"].astype(np.float32) @ rows[2])
    known = graph("Add", known, graph("Gather", place, "places"))
    known = graph("Add", known, graph("MatMul", "facts", number("missing.facts", rows[3])))
    missing = graph("Squeeze", graph.head(known, "missing"), number("last", np.array([2])))
    both = graph("MatMul", graph("Concat", start, message, axis=2), number("context.0", first_of(weights, "context")))
    context = graph("Squeeze", graph.head(both, "context"), one)
    rows = np.split(first_of(weights, "edit"), 2)
    edit = graph("MatMul", asked, number("edit.asked", rows[0]))
    edit = graph.head(graph("Add", edit, graph("MatMul", start, number("edit.start", rows[1]))), "edit")
    for name, value in (("context", context), ("missing", missing), ("edit", edit)):
        graph.nodes.append(helper.make_node("Identity", [value], [name]))
    shapes = {"ids": [1, "tokens"], "types": [1, "tokens"], "kept": ["kept"], "places": [1, "mentions"]}
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name, shape in shapes.items()]
    inputs.append(helper.make_tensor_value_info("facts", TensorProto.FLOAT, [1, "mentions", FACTS]))
    results = {"context": [1, 2], "missing": [1, "mentions"], "edit": [1, "asked", EDITS]}
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in results.items()]
    whole = helper.make_graph(graph.nodes, "condenser", inputs, outputs, list(graph.values.values()))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(whole, opset_imports=opsets, ir_version=9, producer_name="turnwise")
    checker.check_model(model)
    return model


def first_of(weights: dict[str, np.ndarray], head: str) -> np.ndarray:
    return plain(weights, f"{head}.0.weight").T


def plain(weights: dict[str, np.ndarray], name: str) -> np.ndarray:
    if name in weights:
        return weights[name].astype(np.float32)
    return weights[f"{name}|int8"].astype(np.float32) * weights[f"{name}|scale"]


def mean(runs: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The mean of the weights of several runs, as int8 where those are."""
    weights = {}
    for name in {name.split("|")[0] for name in runs[0]}:
        value = np.mean([plain(run, name) for run in runs], 0)
        if name in runs[0]:
            weights[name] = value
        else:
            scale = np.abs(value).max(1, keepdims=True) / 127 + 1e-12
            weights |= {f"{name}|int8": np.round(value / scale).astype(np.int8), f"{name}|scale": scale}
    return weights


def main(folder: Path, *files: Path) -> None:
    runs = []
    for file in files:
        with np.load(file.with_suffix(".npz")) as packed:
            runs.append({name: packed[name] for name in packed.files})
    settings = [json.loads(file.with_suffix(".json").read_text())["settings"] for file in files]
    folder.mkdir(parents=True, exist_ok=True)
    weights = mean(runs) if len(runs) > 1 else runs[0]
    save(build(weights, int(settings[0]["wide"])), folder / "condenser.onnx")
    digest = hashlib.sha256((folder / "condenser.onnx").read_bytes()).hexdigest()
    card = {"version": VERSION, "sha256": digest, "runs": settings}
    (folder / "condenser.json").write_text(json.dumps(card, indent=1) + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
