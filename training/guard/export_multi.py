"""Write the guard's encoder for all languages as ONNX: matrices int8, words at 4 bits as they came; and its card.

    python training/guard/export_multi.py E5 LINEAR.npz FOLDER RUN [RUN ...]

E5 is the folder that e5.py left, RUN.npz.xz.0 ... what train_multi.py did; of several runs the mean of their weights is
taken. FOLDER gets guard.onnx, guard.json, guard_tokenizer.json and guard.npz, LINEAR as export.py writes it (a guard.npz
is copied). Needs `onnx`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path

from onnx import save

from training import packed
from training.guard.export import VERSION, build, linear_card, mean


def main(e5: Path, linear: Path, folder: Path, *runs: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    record = [json.loads(Path(f"{run}.json").read_text()) for run in runs]
    weights = mean([packed.read(Path(f"{run}.npz.xz")) for run in runs])
    words = packed.read(e5 / "e5.npz.xz")
    weights |= {name: value for name, value in words.items() if name.startswith("words.")}
    layers = len(record[0]["layers"])
    save(build(weights, layers), folder / "guard.onnx")
    shutil.copy(e5 / "tokenizer.json", folder / "guard_tokenizer.json")
    linear_card(linear, folder)
    digest = {
        key: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for key, name in (("sha256", "guard.onnx"), ("tokenizer", "guard_tokenizer.json"))
    }
    card = {"version": VERSION, **digest, "layers": layers, "runs": len(runs), "from": record[0]["layers"]}
    (folder / "guard.json").write_text(json.dumps(card, indent=1) + "\n")
    for file in sorted(folder.iterdir()):
        print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
