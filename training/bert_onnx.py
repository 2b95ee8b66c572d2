"""BERT encoders in and out of int8 ONNX, with numpy alone: weights read from a dynamically quantised export, and graphs
written from trained weights. Needs `onnx`; no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, checker, helper, numpy_helper

from training.packed import Weights, plain

WIDTH, HEADS = 384, 12

# What the matrices are called in bert.py (by layer), and in the exports of others.
PARTS = {"out": "attention.output.dense", "inner": "intermediate.dense", "outer": "output.dense"}
NORMS = {"norm1": "attention.output.LayerNorm", "norm2": "output.LayerNorm"}
TABLES = {"words": "word", "positions": "position", "types": "token_type"}


# --- in ----------------------------------------------------------------------------------------------------------


def read(file: Path) -> Weights:
    """The weights of a dynamically quantised BERT under the names of bert.py; matrices (one row an output) as integers
    with scale and zero, exactly as they are in the file; the rest as float32."""
    graph = onnx.load(file).graph
    found = {each.name.removeprefix("bert."): numpy_helper.to_array(each) for each in graph.initializer}
    matrices = _matrices(graph, found)
    weights: Weights = {}
    for mine, theirs in TABLES.items():
        weights |= _packed(f"{mine}.weight", *_quantised(found, f"embeddings.{theirs}_embeddings.weight"))
    for kind in ("weight", "bias"):
        weights[f"norm.{kind}"] = found[f"embeddings.LayerNorm.{kind}"]
    for layer in range(1 + max(int(name.split(".")[2]) for name in found if name.startswith("encoder.layer."))):
        old, new = f"encoder.layer.{layer}", f"layers.{layer}"
        for mine, theirs in PARTS.items():
            weights |= _packed(f"{new}.{mine}.weight", *matrices[f"{old}.{theirs}.bias"])
            weights[f"{new}.{mine}.bias"] = found[f"{old}.{theirs}.bias"]
        for mine, theirs in NORMS.items():
            for kind in ("weight", "bias"):
                weights[f"{new}.{mine}.{kind}"] = found[f"{old}.{theirs}.{kind}"]
        parts = [f"{old}.attention.self.{name}.bias" for name in ("query", "key", "value")]
        weights |= _packed(f"{new}.qkv.weight", *map(np.concatenate, zip(*(matrices[p] for p in parts), strict=True)))
        weights[f"{new}.qkv.bias"] = np.concatenate([found[part] for part in parts])
    for mine, theirs in (("pooler", "pooler.dense"), ("head", "classifier")):
        if f"{theirs}.bias" in found:
            weights |= _packed(f"{mine}.weight", *matrices[f"{theirs}.bias"])
            weights[f"{mine}.bias"] = found[f"{theirs}.bias"]
    return weights


def read_own(file: Path) -> Weights:
    """The weights of a graph that was written here, under the names of bert.py; tokens of one type have it in their
    positions."""
    found = {each.name: numpy_helper.to_array(each) for each in onnx.load(file).graph.initializer}
    weights = _packed(
        "words.weight", found["words"], found["words.scale"], np.zeros_like(found["words.scale"], np.int8)
    )
    types = found.pop("types.weight", np.zeros((2, WIDTH), np.float32))
    weights |= {"positions.weight": found["positions"], "types.weight": types}
    weights |= {name: value for name, value in found.items() if "norm" in name}
    for name in [name.removesuffix(".query.scale").removesuffix(".scale") for name in found if name.endswith(".scale")]:
        parts = (".query", ".read") if f"{name}.query.scale" in found else ("",)
        if name == "words" or name.endswith(".read"):
            continue
        values = np.concatenate([found[f"{name}{part}.weight"].T for part in parts])
        scale = np.concatenate([found[f"{name}{part}.scale"] for part in parts]).reshape(-1, 1)
        weights |= _packed(f"{name}.weight", values, scale, np.zeros_like(scale, np.int8))
        weights[f"{name}.bias"] = np.concatenate([found[f"{name}{part}.bias"] for part in parts])
    for head in [name.removesuffix(".weight") for name in found if name.endswith(".weight") and "norm" not in name]:
        if f"{head}.scale" not in found:  # in float32, as `dense` writes it
            weights |= {f"{head}.weight": found[f"{head}.weight"].T, f"{head}.bias": found[f"{head}.bias"]}
    return weights


def _matrices(graph: onnx.GraphProto, found: Weights) -> dict[str, tuple[np.ndarray, ...]]:
    """The quantised matrices by the name of the bias that is added to their product."""
    made = {output: node for node in graph.node for output in node.output}
    matrices = {}
    for node in graph.node:
        bias = next((name for name in node.input if name.removeprefix("bert.") in found and name.endswith(".bias")), "")
        product = next((made[name] for name in node.input if name in made), None)
        if node.op_type == "Add" and bias and product is not None and product.op_type == "Mul":
            cast = next((made[name] for name in product.input if name in made and made[name].op_type == "Cast"), None)
            if cast is None:  # the bias of a norm
                continue
            name = made[cast.input[0]].input[1].removeprefix("bert.").removesuffix("_quantized")
            values, scale, zero = _quantised(found, name)
            rows = values.shape[1]
            matrices[bias.removeprefix("bert.")] = values.T, _column(scale, rows), _column(zero, rows)
    return matrices


def _quantised(found: Weights, name: str) -> tuple[np.ndarray, ...]:
    scale, zero = found[f"{name}_scale"], found[f"{name}_zero_point"]
    return found[f"{name}_quantized"], scale.reshape(-1, 1), zero.reshape(-1, 1)


def _column(values: np.ndarray, rows: int) -> np.ndarray:
    return np.ascontiguousarray(np.broadcast_to(values.reshape(-1, 1), (rows, 1)))


def _packed(name: str, values: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> Weights:
    return {f"{name}|values": np.ascontiguousarray(values), f"{name}|scale": scale, f"{name}|zero": zero}


# --- out ---------------------------------------------------------------------------------------------------------


class Graph:
    """An ONNX graph that grows node by node."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[object] = []
        self.values: dict[str, object] = {}

    def constant(self, name: str, value: np.ndarray) -> str:
        self.values[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def weight(self, name: str) -> str:
        return self.constant(name, plain(self.weights, name))

    def __call__(self, kind: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: object) -> str:
        names = [f"{kind}_{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, domain=domain, **attributes))
        return names[0] if outputs == 1 else " ".join(names)

    def fused(self, kind: str, *inputs: str, **attributes: object) -> str:
        return self(kind, *inputs, domain="com.microsoft", **attributes)

    def linear(self, x: str, name: str, rows: slice = slice(None), label: str = "") -> str:
        """A matrix in int8 with a scale for every output, or at 4 bits; what it multiplies is quantised as it comes."""
        if f"{name}.weight|nibbles" in self.weights:
            return self.linear_four(x, name, rows, label)
        values, scale = self.weights[f"{name}.weight|values"][rows], self.weights[f"{name}.weight|scale"][rows]
        if f"{name}.evened" in self.weights:  # what it multiplies is made alike in strength first
            x = self("Mul", x, self.weight(f"{name}.evened"))
        assert values.dtype == np.int8, name
        matrix = self.constant(f"{name}{label}.weight", values.T)
        scales = self.constant(f"{name}{label}.scale", scale[:, 0].astype(np.float32))
        zeros = self.constant(f"{name}{label}.zero", np.zeros(len(values), np.int8))
        bias = self.constant(f"{name}{label}.bias", self.weights[f"{name}.bias"][rows].astype(np.float32))
        return self.fused("DynamicQuantizeMatMul", x, matrix, scales, zeros, bias)

    def linear_four(self, x: str, name: str, rows: slice, label: str) -> str:
        """A matrix at 4 bits (nibbles.four), whose scales the runtime widens when it loads the graph. What it
        multiplies is quantised in blocks of 32 too: one scale for all of it loses much in this encoder."""
        kept, scales, zeros = (self.weights[f"{name}.weight|{part}"][rows] for part in ("nibbles", "scales", "zeros"))
        values = np.concatenate([kept & 15, kept >> 4], 2)
        matrix = self.constant(f"{name}{label}.weight", values[:, :, ::2] | values[:, :, 1::2] << 4)
        scale = self("Cast", self.constant(f"{name}{label}.scale", scales.ravel()), to=1)
        zero = self.constant(f"{name}{label}.zero", (zeros[:, ::2] | zeros[:, 1::2] << 4).ravel())
        sizes = {"K": scales.shape[1] * 32, "N": len(scales), "bits": 4, "block_size": 32, "accuracy_level": 4}
        bias = self.constant(f"{name}{label}.bias", self.weights[f"{name}.bias"][rows].astype(np.float32))
        return self("Add", self.fused("MatMulNBits", x, matrix, scale, zero, **sizes), bias)

    def halves(self, packed: str) -> str:
        """Blocks of bytes as twice as many numbers from 0 to 15: the low halves, then the high ones."""
        both = self("Cast", packed, to=1)
        high = self("Floor", self("Mul", both, self.constant("sixteenth", np.array(1 / 16, np.float32))))
        low = self("Sub", both, self("Mul", high, self.constant("sixteen", np.array(16, np.float32))))
        return self("Concat", low, high, axis=-1)

    def dense(self, x: str, name: str) -> str:
        """A small matrix in float32."""
        matrix = self.constant(f"{name}.weight", plain(self.weights, f"{name}.weight").T)
        return self("Add", self("MatMul", x, matrix), self.weight(f"{name}.bias"))

    def whole(self, name: str, value: int) -> str:
        return self.constant(name, np.array([value]))

    def norm(self, x: str, name: str) -> str:
        """A layer norm in the form that the runtime computes fastest on ARM: half the time of its fused ones."""
        x = self("MeanVarianceNormalization", x, axes=[2])
        return self("Add", self("Mul", x, self.weight(f"{name}.weight")), self.weight(f"{name}.bias"))


def encoder(graph: Graph, reach: Sequence[str], positions: int, ids: str = "ids", types: str = "types") -> str:
    """The nodes of an encoder that reads the inputs `ids` and `types` (all of the first type, where that is ""), and
    the name of its last states.

    What each layer computes (its keys and values are of all tokens): "all" tokens, the "front" ones (as many as the
    input `front` says, the others stay as they were), or the "first" one alone.
    """
    number = graph.constant
    zero = graph.whole("zero", 0)
    words = _words(graph, ids)
    table, kinds = plain(graph.weights, "positions.weight")[:positions], plain(graph.weights, "types.weight")
    position = number("positions", table if types else table + kinds[0])
    x = graph("Add", words, graph("Slice", position, zero, graph("Shape", ids, start=1, end=2), zero))
    if types:
        x = graph("Add", x, graph("Gather", number("types.weight", kinds), types))
    x = graph.norm(x, "norm")
    for layer, part in enumerate(reach):
        at = f"layers.{layer}"
        if part == "all":
            query, key, value = graph("Split", graph.linear(x, f"{at}.qkv"), outputs=3, axis=2, num_outputs=3).split()
            rest, now = "", x
        else:
            end = graph.whole("one", 1) if part == "first" else "front"
            axis = graph.whole("one", 1)
            now = graph("Slice", x, zero, end, axis)
            rest = graph("Slice", x, end, graph.whole("most", 2**31), axis) if part == "front" else ""
            query = graph.linear(now, f"{at}.qkv", slice(0, WIDTH), ".query")
            both = graph.linear(x, f"{at}.qkv", slice(WIDTH, None), ".read")
            key, value = graph("Split", both, outputs=2, axis=2, num_outputs=2).split()
        y = graph.linear(graph.fused("MultiHeadAttention", query, key, value, num_heads=HEADS), f"{at}.out")
        x = now
        for norm in ("norm1", "norm2"):
            if norm == "norm2":
                y = graph.linear(graph.fused("FastGelu", graph.linear(x, f"{at}.inner")), f"{at}.outer")
            x = graph.norm(graph("Add", y, x), f"{at}.{norm}")
        if rest and layer + 1 < len(reach):
            x = graph("Concat", x, rest, axis=1)
    return x


def _words(graph: Graph, ids: str) -> str:
    """The words as they are kept: 8 bits with a scale for each, or 4 (nibbles.py) with a scale for 32 weights."""
    number = graph.constant
    if "words.weight|four" not in graph.weights:
        words = graph("Cast", graph("Gather", number("words", graph.weights["words.weight|values"]), ids), to=1)
        return graph("Mul", words, graph("Gather", number("words.scale", graph.weights["words.weight|scale"]), ids))
    both = graph("Gather", number("words", graph.weights["words.weight|four"].reshape(-1, WIDTH // 32, 16)), ids)
    words = graph("Sub", graph.halves(both), number("words.zero", np.array(8, np.float32)))
    scale = graph(
        "Cast", graph("Gather", number("words.scale", graph.weights["words.weight|each"][:, :, None]), ids), to=1
    )
    return graph("Reshape", graph("Mul", words, scale), number("words.shape", np.array([1, -1, WIDTH])))


def model(graph: Graph, name: str, inputs: dict[str, list[str | int]], outputs: dict[str, list[str | int]]) -> object:
    """The whole graph as a model, checked. Inputs are integers, outputs floats."""
    given = [helper.make_tensor_value_info(each, TensorProto.INT64, shape) for each, shape in inputs.items()]
    made = [helper.make_tensor_value_info(each, TensorProto.FLOAT, shape) for each, shape in outputs.items()]
    whole = helper.make_graph(graph.nodes, name, given, made, list(graph.values.values()))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    built = helper.make_model(whole, opset_imports=opsets, ir_version=9, producer_name="turnwise")
    checker.check_model(built)
    return built
