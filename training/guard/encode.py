"""The examples that prepare.py left, in the tokens of another tokenizer.

    python training/guard/encode.py FOLDER TOKENIZER.json OUT.npz.xz

FOLDER holds messages.jsonl and passages.jsonl; OUT is for train_multi.py, as data.npz.xz is for train.py.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from training import packed
from training.guard.prepare import encoded
from training.guard.texts import Example
from turnwise.english import is_foreign


def main(folder: Path, file: Path, out: Path) -> None:
    tokenizer = Tokenizer.from_file(str(file))
    arrays: packed.Weights = {}
    for name in ("messages", "passages"):
        with (folder / f"{name}.jsonl").open(encoding="utf-8") as lines:
            examples = [Example(**json.loads(line)) for line in lines]
        arrays |= encoded(examples, tokenizer, name)
        arrays[f"{name}_foreign"] = np.array([is_foreign(each.text) for each in examples], np.uint8)
        sizes = arrays[f"{name}_sizes"]
        print(name, len(examples), "tokens", sizes.sum(), "unknown", (arrays[f"{name}_ids"] == 3).sum(), flush=True)
    packed.write(out, arrays, preset=6)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
