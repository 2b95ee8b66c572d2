"""A network that train_multi.py left, its large matrices at 4 bits, chosen so that real texts are read as before.

    python training/guard/narrow.py FOLDER DATA E5 RUN OUT.npz.xz [--texts 400]

FOLDER holds messages.jsonl as prepare.py left it, DATA is what encode.py made of it, E5 is e5.npz.xz, RUN.npz.xz.0 ...
the network. The texts are of those that were learnt from, three of four not in English. Layer after layer, each matrix
sees what the narrowed ones before it make of them (nibbles.four). OUT is for export_foreign.py. Needs torch.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from training import packed
from training.guard import nibbles
from training.guard.train_multi import Net
from turnwise.english import is_foreign

Batch = tuple[Tensor, Tensor]


def texts(folder: Path, data: Path, count: int) -> list[Batch]:
    """Some messages in tokens, those of a batch equally long or nearly so."""
    with (folder / "messages.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    learnt = np.array([not row["held"] for row in rows])
    foreign = np.array([is_foreign(row["text"]) for row in rows])
    flat = packed.read(data)
    sizes = flat["messages_sizes"].astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    rnd = np.random.default_rng(6)
    english = count // 4  # which it reads too, where the other network is not sure
    chosen = np.concatenate(
        [
            rnd.choice(np.flatnonzero(learnt & which), part, replace=False)
            for which, part in ((foreign, count - english), (~foreign, english))
        ]
    )
    made = []
    for part in np.array_split(chosen[np.argsort(sizes[chosen])], count // 24):
        rows_ = [torch.from_numpy(flat["messages_ids"][starts[at] : starts[at] + sizes[at]].astype(int)) for at in part]
        ids = nn.utils.rnn.pad_sequence(rows_, batch_first=True, padding_value=1)
        made.append((ids, torch.arange(ids.shape[1]) < torch.from_numpy(sizes[part])[:, None]))
    return made


@torch.no_grad()
def powers(net: Net, matrices: list[nn.Linear], batches: list[Batch]) -> list[np.ndarray]:
    """The products of the inputs of these matrices with each other, summed over the texts."""
    sums = [torch.zeros(each.in_features, each.in_features) for each in matrices]

    def note(at: int, x: Tensor) -> None:
        sums[at] += x.T @ x

    hooks = [
        each.register_forward_pre_hook(lambda _, given, at=at: note(at, given[0])) for at, each in enumerate(matrices)
    ]
    for batch in batches:
        net(*batch)
    for hook in hooks:
        hook.remove()
    return [each.numpy() for each in sums]


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("folder", "data", "e5", "run", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--texts", type=int, default=400)
    given = parser.parse_args()
    run = packed.read(Path(f"{given.run}.npz.xz"))
    layers = len(json.loads(Path(f"{given.run}.json").read_text())["layers"])
    net = Net(packed.read(given.e5), list(range(layers))).eval()
    made: packed.Weights = {}
    for name, parameter in net.named_parameters():
        made[name] = packed.plain(run, name)
        parameter.data[:] = torch.from_numpy(made[name])
    batches = texts(given.folder, given.data, given.texts)
    every = net.layers
    for number, layer in enumerate(every):
        net.layers = every[: number + 1]
        matrices = {part: getattr(layer, part) for part in ("qkv", "out", "inner", "outer")}
        for (part, matrix), power in zip(matrices.items(), powers(net, list(matrices.values()), batches), strict=True):
            name = f"layers.{number}.{part}.weight"
            kept = nibbles.four(made.pop(name), power)
            made |= {f"{name}|{of}": each for of, each in zip(("nibbles", "scales", "zeros"), kept, strict=True)}
            matrix.weight.data[:] = torch.from_numpy(nibbles.whole(*kept))
        print("layer", number, flush=True)
    packed.write(given.out, made)


if __name__ == "__main__":
    main()
