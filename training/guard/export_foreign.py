"""Write the guard's encoder for all languages as ONNX, all at 4 bits, with its tokenizer and card.

    python training/guard/export_foreign.py E5 NARROW.npz.xz FOLDER     (E5 as e5.py left it, NARROW as narrow.py did)

FOLDER gets guard_foreign.onnx, guard_foreign.json and guard_foreign_tokenizer.json. The words are never moved in
training: E5 may hold fewer of them than the network learnt with. The graph gives the log-odds that its text is an
attack. Needs `onnx`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path

from onnx import helper, save

from training import bert_onnx, packed
from training.guard.export import POSITIONS

NAME, VERSION = "guard_foreign", "2"


def build(weights: packed.Weights, layers: int) -> object:
    graph = bert_onnx.Graph(weights)
    x = bert_onnx.encoder(graph, ["all"] * (layers - 1) + ["first"], POSITIONS, "input_ids", "")
    graph.nodes.append(helper.make_node("Identity", [graph.dense(x, "message")], ["attack"]))
    return bert_onnx.model(graph, NAME, {"input_ids": [1, "tokens"]}, {"attack": [1, 1, 1]})


def main(e5: Path, narrow: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    weights = packed.read(narrow)
    layers = sum(name.endswith(".qkv.bias") for name in weights)
    weights |= {name: value for name, value in packed.read(e5 / "e5.npz.xz").items() if name.startswith("words.")}
    model, tokenizer = folder / f"{NAME}.onnx", folder / f"{NAME}_tokenizer.json"
    save(build(weights, layers), model)
    shutil.copy(e5 / "tokenizer.json", tokenizer)
    digest = {
        key: hashlib.sha256(file.read_bytes()).hexdigest()
        for key, file in (("sha256", model), ("tokenizer", tokenizer))
    }
    pieces = len(weights["words.weight|four"])
    card = {"version": VERSION, **digest, "layers": layers, "pieces": pieces}
    (folder / f"{NAME}.json").write_text(json.dumps(card, indent=1) + "\n")
    for file in sorted(folder.glob(f"{NAME}*")):
        print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
