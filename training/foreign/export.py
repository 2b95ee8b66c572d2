"""Write the judge for other languages than English as an int8 ONNX graph with its card.

    python training/foreign/export.py DATA WORDS.npz.xz FOLDER RUN [RUN ...]      (RUN.npz.xz and RUN.json of train.py)

FOLDER gets judge_foreign.onnx and judge_foreign.json. Of several runs the mean of the weights is taken. A few inputs of
the matrices are far stronger than the others, which costs what is quantised with them; so each input is divided by a
number of its own, and the matrix multiplied by it, as DATA's pairs show them. The words are those of the guard's
network, as they were never moved: the graph says where they lie in FOLDER/guard_foreign.onnx. It takes one pair at a
time, unpadded. Needs torch and `onnx`; run from the repository's root with it on the path.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from training import bert, bert_onnx, packed
from training.foreign.train import INNER, KEPT_LAYERS, ROOM, Data, Net, begun
from training.guard import nibbles

NAME, VERSION, OTHER = "judge_foreign", "1", "guard_foreign"
SHARED = ("words", "words.scale")
READ = 64  # rows of the data that show how strong each input is
MATRICES = ("qkv", "out", "inner", "outer")


@torch.no_grad()
def strengths(net: Net, data: Data) -> dict[str, np.ndarray]:
    """The strongest that each input of each matrix is."""
    found: dict[str, torch.Tensor] = {}

    def note(name: str, x: torch.Tensor) -> None:
        most = x.abs().reshape(-1, x.shape[-1]).amax(0)
        found[name] = torch.maximum(found.get(name, most), most)

    hooks = [
        getattr(layer, part).register_forward_pre_hook(
            lambda _, given, name=f"layers.{at}.{part}": note(name, given[0])
        )
        for at, layer in enumerate(net.layers)
        for part in MATRICES
    ]
    foreign = (data.language != data.languages.index("en")).nonzero()[:, 0]
    for row in foreign[:: max(1, len(foreign) // READ)]:
        net(*data.pairs.batch(row[None]))
    for hook in hooks:
        hook.remove()
    return {name: value.numpy() for name, value in found.items()}


def evened(weights: packed.Weights, strong: dict[str, np.ndarray]) -> packed.Weights:
    """The weights with matrices of int8 whose inputs are evened out. What attention gives is evened by its values."""
    found = dict(weights)
    by = {}
    for name, most in strong.items():
        matrix = weights[f"{name}.weight"].astype(np.float32)
        by[name] = np.sqrt(np.maximum(most, 1e-4) / np.maximum(np.abs(matrix).max(0), 1e-4)).astype(np.float32)
        by[name] /= by[name].mean()
        found[f"{name}.weight"] = matrix * by[name]
    for name, divisor in by.items():
        if name.endswith(".out"):
            qkv = name.replace(".out", ".qkv")
            for part in ("weight", "bias"):
                values = found[f"{qkv}.{part}"].astype(np.float32).copy()
                values[2 * bert.WIDTH :] /= divisor[:, None] if part == "weight" else divisor
                found[f"{qkv}.{part}"] = values
        else:
            found[f"{name}.evened"] = 1 / divisor
    for name in by:
        kept = packed.by_row(found.pop(f"{name}.weight"))
        found |= {f"{name}.weight|{part}": each for part, each in zip(("values", "scale", "zero"), kept, strict=True)}
    return found


def build(weights: packed.Weights, layers: int) -> onnx.ModelProto:
    graph = bert_onnx.Graph(weights)
    x = bert_onnx.encoder(graph, ["all"] * (layers - 1) + ["first"], ROOM)
    made = graph("Squeeze", graph.dense(x, "head"), graph.constant("rest", np.array([1, 2])))
    graph.nodes.append(helper.make_node("Identity", [made], ["answers"]))
    return bert_onnx.model(graph, NAME, {"ids": [1, "tokens"], "types": [1, "tokens"]}, {"answers": [1]})


def share(model: onnx.ModelProto, folder: Path) -> None:
    """Replace the words by their place in the guard's file."""
    file = (folder / f"{OTHER}.onnx").read_bytes()
    other = {each.name: each for each in onnx.load(folder / f"{OTHER}.onnx").graph.initializer}
    for each in model.graph.initializer:
        if each.name in SHARED:
            theirs = other[each.name].raw_data
            if not np.array_equal(numpy_helper.to_array(each), numpy_helper.to_array(other[each.name])):
                raise SystemExit(f"{each.name} is not that of {OTHER}.onnx.")
            each.ClearField("raw_data")
            each.data_location = TensorProto.EXTERNAL
            details = {"location": f"{OTHER}.onnx", "offset": str(file.index(theirs)), "length": str(len(theirs))}
            for key, value in details.items():
                each.external_data.add(key=key, value=value)


def main(source: Path, words: Path, folder: Path, *runs: Path) -> None:
    torch.set_num_threads(2)
    records = [json.loads(Path(f"{run}.json").read_text()) for run in runs]
    weights = packed.mean([packed.read(Path(f"{run}.npz.xz")) for run in runs])
    embedded = packed.read(words)
    net = begun(weights, torch.from_numpy(nibbles.plain(embedded, "words.weight")), 0.0).eval()
    made = evened(weights, strengths(net, Data(source, "cpu", 2000)))
    made |= {name: value for name, value in embedded.items() if name.startswith("words.")}
    model = build(made, len(net.layers))
    share(model, folder)
    file = folder / f"{NAME}.onnx"
    file.write_bytes(model.SerializeToString())
    digest, theirs = (hashlib.sha256(each.read_bytes()).hexdigest() for each in (file, folder / f"{OTHER}.onnx"))
    tokenizer = hashlib.sha256((folder / f"{OTHER}_tokenizer.json").read_bytes()).hexdigest()
    card = {"version": VERSION, "sha256": digest, "shares": OTHER, "words": theirs, "tokenizer": tokenizer}
    card |= {"layers": KEPT_LAYERS, "inner": INNER, "runs": records}
    (folder / f"{NAME}.json").write_text(json.dumps(card, indent=1) + "\n")
    print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
