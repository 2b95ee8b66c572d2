"""Go on with the guard's encoder of all languages: taught by a deeper one, and with long messages in stretches.

    python training/guard/train_more.py FOLDER OUT NAME [--minutes 5] [--seed 4]      (learn)
    python training/guard/train_more.py FOLDER OUT --judge NAME [NAME ...]            (judge)

FOLDER holds data.npz.xz (encode.py), words.npz.xz (the words of e5.py's), start.npz.xz and twelve.npz.xz.* (networks as
train_multi.py leaves them), bags.npz.xz and judged.npz.xz (bags.py). OUT gets NAME.npz.xz.0 and NAME.json; from the
judge, judged_odds.npz: the encoder's odds of each text, by network, those of a passage as turnwise computes them.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, pad, softplus

from training import packed
from training.guard.train import KEPT, SMOOTH, WARM, Rows, _save, passage_score, report
from training.guard.train_multi import Net, Run

WARMTH = 2.0  # temperature of the teacher's odds
TAIL = 0.3  # how much it counts that attacks stand above the most suspicious of the honest messages
LONG = 0.7  # how much long messages count
READ, COUNTED = 6, 3  # stretches of a long message, and those of them that decide: as turnwise has it
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def network(weights: packed.Weights, words: packed.Weights) -> Net:
    """A network as train_multi.py left it."""
    count = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))
    net = Net(weights | words, list(range(count)))
    for name in ("message", "planted"):
        for part in ("weight", "bias"):
            getattr(getattr(net, name), part).data[:] = torch.from_numpy(packed.plain(weights, f"{name}.{part}"))
    return net.to(DEVICE)


def padded(ids: np.ndarray, sizes: np.ndarray) -> tuple[Tensor, Tensor]:
    sizes = sizes.astype(np.int64)
    where = np.arange(int(sizes.max())) < sizes[:, None]
    rows = np.zeros(where.shape, np.int16)
    rows[where] = ids.astype(np.int16)
    return torch.from_numpy(rows).to(DEVICE), torch.from_numpy(sizes).to(DEVICE)


class Bags:
    """Long messages as their stretches, drawn by label, of each kind as often as the root of its number."""

    def __init__(self, flat: packed.Weights) -> None:
        self.ids, self.sizes = padded(flat["ids"], flat["sizes"])
        counts = flat["counts"].astype(np.int64)
        self.counts = torch.from_numpy(counts).to(DEVICE)
        self.starts = self.counts.cumsum(0) - self.counts
        labels, kind = flat["labels"], flat["kind"].astype(np.int64)
        self.labels = torch.from_numpy(labels.astype(np.float32)).to(DEVICE)
        chance = np.zeros(len(labels))
        for label in (0, 1):
            its = labels == label
            chance[its] = np.bincount(kind[its])[kind[its]] ** -0.5
            chance[its] /= chance[its].sum()
        self.chance = torch.from_numpy(chance).to(DEVICE)

    def draw(self, count: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Tokens and mask of the stretches, which places of a table of READ by message they have, labels."""
        rows = torch.multinomial(self.chance, count, replacement=True)
        there = torch.arange(READ, device=DEVICE) < self.counts[rows, None]
        texts = (self.starts[rows, None] + torch.arange(READ, device=DEVICE))[there]
        sizes = self.sizes[texts]
        width = int(sizes.max())
        mask = torch.arange(width, device=DEVICE) < sizes[:, None]
        return self.ids[texts, :width].long() & 0xFFFF, mask, there, self.labels[rows]


class Teacher:
    """The odds of the deeper network, computed when an example is drawn for the first time."""

    def __init__(self, net: Net, rows: Rows, passages: bool) -> None:
        self.net = net.eval().requires_grad_(False)
        self.rows, self.passages = rows, passages
        shape = rows.ids.shape if passages else rows.ids.shape[:1]
        self.said = torch.full(shape, float("nan"), dtype=torch.float16 if passages else torch.float32, device=DEVICE)

    @torch.no_grad()
    def draw(self, count: int) -> tuple[tuple[Tensor, ...], Tensor]:
        rows = torch.multinomial(self.rows.chance, count, replacement=True)
        known = self.said[rows, 0] if self.passages else self.said[rows]
        if len(new := rows[known.isnan()].unique()):
            ids, mask, _, _ = self.rows.take(new)
            with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
                said, tokens = self.net(ids, mask)
            if self.passages:
                self.said[new, : ids.shape[1]] = tokens.clamp(-30, 30).half()
            else:
                self.said[new] = said
        drawn = self.rows.take(rows)
        return drawn, (
            self.said[rows, : drawn[0].shape[1]].float().nan_to_num(0.0) if self.passages else self.said[rows]
        )


def taught(said: Tensor, by: Tensor) -> Tensor:
    """How far odds are from the teacher's, each."""
    told = torch.sigmoid(by / WARMTH)
    return binary_cross_entropy_with_logits(said / WARMTH, told, reduction="none") * WARMTH**2


def lesson(net: Net, teachers: tuple[Teacher, Teacher], bags: Bags, batch: int) -> tuple[Tensor, dict[str, Tensor]]:
    (ids, mask, labels, _), odds = teachers[0].draw(batch)
    (read, there, planted, marks), by_token = teachers[1].draw(batch // 3)
    long, where, table, hostile = bags.draw(batch // 4)
    width = max(each.shape[1] for each in (ids, read, long))
    ids = torch.cat([pad(each, (0, width - each.shape[1])) for each in (ids, read, long)])
    every = torch.cat([pad(each, (0, width - each.shape[1])) for each in (mask, there, where)])
    said, tokens = net(ids, every)
    said, of_long = said[:batch], said[batch + len(read) :]
    tokens = tokens[batch : batch + len(read), : read.shape[1]]

    hard = binary_cross_entropy_with_logits(said, labels * 0.98 + 0.01)
    each = binary_cross_entropy_with_logits(tokens, marks, reduction="none")
    hard = hard + (each * there).sum() / there.sum() * 2
    score = passage_score(tokens, there)
    hard = hard + binary_cross_entropy_with_logits(score, planted * 0.98 + 0.01)

    soft = taught(said, odds).mean() + (taught(tokens, by_token) * there).sum() / there.sum() * 2
    soft = soft + taught(score, passage_score(by_token, there)).mean()

    tail = softplus(said[labels == 0].logsumexp(0) - said[labels == 1]).mean()

    rows = said.new_full(table.shape, -1e4).masked_scatter(table, of_long)
    counted = table.sum(1).clamp(max=COUNTED)
    best = rows.topk(COUNTED, 1).values * (torch.arange(COUNTED, device=DEVICE) < counted[:, None])
    whole = binary_cross_entropy_with_logits(best.sum(1) / counted, hostile * 0.98 + 0.01)
    parts = {"hard": hard, "soft": soft, "tail": tail, "long": whole}
    return 0.5 * hard + 0.5 * soft + TAIL * tail + LONG * whole, parts


def learn(given: argparse.Namespace) -> None:
    words = packed.read(given.folder / "words.npz.xz")
    flat = packed.read(given.data or given.folder / "data.npz.xz")
    data = Rows(flat, "messages", DEVICE, 0.45), Rows(flat, "passages", DEVICE, 0.5)
    deep = network(packed.read(given.folder / "twelve.npz.xz"), words)
    teachers = Teacher(deep, data[0], False), Teacher(deep, data[1], True)
    bags = Bags(packed.read(given.folder / "bags.npz.xz"))
    run = Run(network(packed.read(given.folder / "start.npz.xz"), words), DEVICE)
    torch.manual_seed(given.seed)
    begin, step = time.time(), 0
    while (done := (time.time() - begin) / (given.minutes * 60)) < 1:
        for group in run.optimizer.param_groups:
            group["lr"] = given.rate * min(1, done / WARM) * (0.5 + 0.5 * math.cos(math.pi * done))
        with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
            loss, parts = lesson(run.net, teachers, bags, given.batch)
        run.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(run.net.parameters(), 1.0)
        run.optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(run.mean.parameters()), list(run.net.parameters()), 1 - KEPT)
        step += 1
        if step in (1, 20, 100) or step % 250 == 0:
            told = " ".join(f"{name} {value.item():.4f}" for name, value in parts.items())
            print(f"{given.name} {done:.0%} step {step} loss {loss.item():.4f} {told}", flush=True)
    held = {"messages": report(run.mean, data[0], False), "passages": report(run.mean, data[1], True)}
    brief = {name: round(each["recall"], 4) for name, each in held.items()}
    print(given.name, "steps", step, "held out", brief, flush=True)
    record = {"layers": list(range(len(run.net.layers))), "steps": step, "rate": given.rate, "batch": given.batch}
    record |= {"warmth": WARMTH, "tail": TAIL, "long": LONG, "seed": given.seed, "held_out": held}
    (given.out / f"{given.name}.json").write_text(json.dumps(record))
    state = {name: value.float().cpu().numpy() for name, value in run.mean.state_dict().items()}
    _save(given.out / f"{given.name}.npz.xz", state)


@torch.no_grad()
def odds(net: Net, ids: Tensor, sizes: Tensor, passages: int, most: int) -> np.ndarray:
    """In float32; the last so many texts are passages."""
    net.eval()
    found = np.zeros(len(ids), np.float32)
    chosen = np.arange(len(ids)) if not most else np.r_[:most, len(ids) - most : len(ids)]
    order = torch.from_numpy(chosen[np.argsort(sizes.cpu().numpy()[chosen])]).to(DEVICE)
    for part in order.split(256):
        width = int(sizes[part].max())
        mask = torch.arange(width, device=DEVICE) < sizes[part, None]
        said, tokens = (each.cpu().numpy() for each in net(ids[part, :width].long() & 0xFFFF, mask))
        for number, at in enumerate(part.tolist()):
            found[at] = said[number]
            if at >= len(ids) - passages:
                inside = tokens[number, 1 : int(sizes[at]) - 1]
                run = np.ones(min(SMOOTH, len(inside)))
                if len(inside):
                    smooth = np.convolve(inside, run, "same") / np.convolve(np.ones(len(inside)), run, "same")
                    found[at] = smooth.max()
    return found


def judge(given: argparse.Namespace) -> None:
    words, flat = (packed.read(given.folder / f"{name}.npz.xz") for name in ("words", "judged"))
    data = packed.read(given.data or given.folder / "data.npz.xz")
    held = Rows(data, "messages", DEVICE, 0.45), Rows(data, "passages", DEVICE, 0.5)
    ids, sizes = padded(flat["ids"], flat["sizes"])
    passages = int(flat["passages"])
    every = {name: packed.read(given.folder / f"{name}.npz.xz") for name in ("start", "twelve")}
    for name in given.judge:
        if list(given.out.glob(f"{name}.npz.xz*")):
            every[name] = packed.read(given.out / f"{name}.npz.xz")
    found: packed.Weights = {}
    nets = {name: network(weights, words) for name, weights in every.items()}
    runs = [nets[name] for name in given.judge if name in nets]
    if len(runs) > 1:
        nets["mean"] = network(every["start"], words)
        for parameter, *its in zip(nets["mean"].parameters(), *(run.parameters() for run in runs), strict=True):
            parameter.data[:] = torch.stack([each.data for each in its]).mean(0)
    for name, net in nets.items():
        found[name] = odds(net, ids, sizes, passages, given.most)
        np.savez(given.out / "judged_odds.npz", **found)
        recall = {
            kind: report(net, rows, kind == "passages")["recall"] for kind, rows in zip(("messages", "passages"), held)
        }
        print("judged", name, {kind: round(each, 4) for kind, each in recall.items()}, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("name", nargs="?")
    parser.add_argument("--judge", nargs="+")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--batch", type=int, default=192)
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--most", type=int, default=0, help="texts to judge, for trials")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    (judge if given.judge else learn)(given)


if __name__ == "__main__":
    main()
