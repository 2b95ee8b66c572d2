"""Teach the judge of sentences to read a message with what was said before it.

    python training/leaning/train.py DATA BEGIN.npz.xz OUT [--minutes 5] [--seed 1] [--grow 2] [--aims ONE OTHER]
    python training/leaning/train.py DATA BEGIN.npz.xz OUT --fold 0 --start NET.npz.xz --reach all,all,...

DATA comes from prepare.py, BEGIN is the judge of single questions (the shipped re-ranker by bert_onnx.read_own and
packed.write), which is also the teacher: what it thinks of the question as one that stands by itself counts half, what
was marked the other half. With --aims that is what other networks think of the message itself: each was started as NET,
learnt from every second document (--fold) and left OUT.aim.npz.xz. --grow puts more layers behind the second one.
Words, positions and their norm stay, so that both networks can share them. Leaves OUT.npz.xz.0 (and .1...) and
OUT.json. Needs torch and a GPU; run from the repository's root with it on the path.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, log_softmax

from training import bert, packed
from training.bert import Encoder, Shape
from training.reranker.train import CLS, SCORES, SEP, Laid, area, scored, twice

ROOM = 128  # as IN_CONTEXT in turnwise/models/reranker.py
BAR = 1064  # "|" of bert-base-uncased
REACH = ("all", "all", "front", "first")
HELD_OUT = 12  # one document of so many
NONE_KEPT = 0.7  # the share of messages that nothing answers and that get no answer, where right answers are counted


class Data:
    def __init__(self, file: Path, device: str, limit: int | None) -> None:
        flat = packed.read(file)
        self.device = device
        some = slice(None, None, max(1, len(flat["leans"]) // limit) if limit else 1)
        self.grades = torch.from_numpy(flat["grades"][some].astype(np.int64)).to(device)
        self.leans = torch.from_numpy(flat["leans"][some]).to(device)
        self.document = flat["document"][some]
        self.candidates = flat["candidates"][some].astype(np.int64)
        message, asked, self.text = (
            _divided(flat[f"{name}_ids"].astype(np.int64), flat[f"{name}_sizes"])
            for name in ("message", "asked", "text")
        )
        self.message, self.asked = message[some], asked[some]
        self.count, self.slots = self.candidates.shape

    def laid_out(self, fronts: list[np.ndarray]) -> Laid:
        """All pairs: what is asked in each row, and each of its sentences."""
        pairs = self.count * self.slots
        ids = np.zeros((pairs, ROOM), np.int16)
        sizes, ahead = np.zeros(pairs, np.int64), np.zeros(pairs, np.int64)
        for row in range(self.count):
            front = [CLS, *fronts[row], SEP]
            for slot, number in enumerate(self.candidates[row]):
                line = [*front, *self.text[number][: ROOM - 1 - len(front)], SEP]
                at = row * self.slots + slot
                ids[at, : len(line)], sizes[at], ahead[at] = line, len(line), len(front)
        return Laid(*(torch.from_numpy(each).to(self.device) for each in (ids, sizes, ahead)))

    def typed(self, after_last: bool) -> list[np.ndarray]:
        """The message alone, or after the last question."""
        found = []
        for each in self.message:
            parts = np.split(each, np.flatnonzero(each == BAR))
            last = parts[1][1:] if after_last and len(parts) > 1 else parts[0][:0]
            found.append(np.concatenate([last, parts[0]])[:28])
        return found


def _divided(ids: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    return np.split(ids, np.cumsum(sizes.astype(np.int64))[:-1])


def figures(odds: Tensor, grades: Tensor) -> dict[str, float]:
    """How often the likeliest sentence answers; how well its odds tell that one does; how many messages get a right
    answer where NONE_KEPT of those that nothing answers get none."""
    best = odds.argmax(1, keepdim=True)
    right = grades.gather(1, best)[:, 0] >= 2
    top, answered = odds.gather(1, best)[:, 0], (grades >= 2).any(1)
    limit = top[~answered].quantile(NONE_KEPT) if not answered.all() else -math.inf
    return {
        "rows": len(odds),
        "first one right": round(float(right[answered].float().mean()), 4),
        "auc of any": round(area(top, answered), 4),
        "right": round(float((right & (top > limit))[answered].float().mean()), 4),
    }


def begun(weights: packed.Weights, reach: tuple[str, ...], dropout: float) -> Encoder:
    shape = Shape(reach, tuple(len(packed.plain(weights, f"layers.{n}.inner.bias")) for n in range(len(reach))), (0,))
    net = Encoder(shape, SCORES, dropout)
    weights = weights if len(packed.plain(weights, "head.bias")) == SCORES else twice(weights)
    for name, parameter in net.named_parameters():  # a graph keeps only as many positions as it reads
        value = torch.from_numpy(packed.plain(weights, name))
        parameter.data[: len(value)] = value
    return net


@torch.no_grad()
def grown(net: Encoder, count: int, batch: tuple[Tensor, ...], dropout: float) -> Encoder:
    """The same network with so many more layers behind the second, which at first change next to nothing: they are like
    that one, but say a tenth, and their norms give back what they get."""
    seen: list[Tensor] = []
    handle = net.layers[1].register_forward_hook(lambda _, __, output: seen.append(output))
    net.eval()(*batch)
    handle.remove()
    states = seen[0][batch[1]]
    mean, spread = states.mean(1).mean(), states.std(1, correction=0).mean()
    at = 2
    reach, inner = ((*old[:at], *[old[at - 1]] * count, *old[at:]) for old in (net.shape.reach, net.shape.inner))
    larger = Encoder(Shape(reach, inner, (0,)), SCORES, dropout)
    for part in ("words", "positions", "types", "norm", "pooler", "head"):
        getattr(larger, part).load_state_dict(getattr(net, part).state_dict())
    for number, layer in enumerate(larger.layers):
        new = at <= number < at + count
        layer.load_state_dict(net.layers[number if number < at else at - 1 if new else number - count].state_dict())
        if new:
            for name in ("out", "outer"):
                for parameter in getattr(layer, name).parameters():
                    parameter.mul_(0.1)
            for norm in (layer.norm1, layer.norm2):
                norm.weight.fill_(float(spread))
                norm.bias.fill_(float(mean))
    return larger


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("begin", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--start", type=Path, help="another network to begin as")
    parser.add_argument("--reach", default=",".join(REACH), help="what each of its layers computes")
    parser.add_argument("--grow", type=int, default=0, help="more layers")
    parser.add_argument("--fold", type=int, help="learn from every second document, and leave OUT.aim.npz.xz")
    parser.add_argument("--aims", type=Path, nargs=2, help="what the networks of both folds left")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, help="rows, to try things out")
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(args.seed)
    started = time.time()
    data = Data(args.data, device, args.limit)
    known = packed.read(args.begin)
    teacher = begun(known, REACH, 0.0).to(device).requires_grad_(False)
    net = begun(packed.read(args.start) if args.start else known, tuple(args.reach.split(",")), args.dropout).to(device)
    for part in (net.words, net.positions, net.types, net.norm):
        part.requires_grad_(False)
    every = torch.arange(data.count * data.slots, device=device)

    def teachers(fronts: list[np.ndarray], rows: Tensor = every) -> Tensor:
        return scored(teacher, data.laid_out(fronts), rows, "teacher")[:, 1].view(-1, data.slots)

    laid = data.laid_out(data.message)
    if args.grow:
        net = grown(net, args.grow, laid.batch(every[:: max(1, len(every) // 512)]), args.dropout).to(device)
        for part in (net.words, net.positions, net.types, net.norm):
            part.requires_grad_(False)
    aim = torch.zeros(data.count, data.slots, device=device)
    if not args.aims:
        aim = teachers([each[:28] for each in data.asked])
    print(
        f"{data.count} rows, {laid.sizes.float().mean():.0f} tokens a pair, {time.time() - started:.0f} s", flush=True
    )
    marked = (data.grades >= 0).all(1)
    held = torch.from_numpy(data.document % HELD_OUT == 0).to(device) & marked
    other = torch.from_numpy(data.document % 2 == 1).to(device)
    learnt = torch.nonzero(~held & (other == bool(args.fold) if args.fold is not None else True))[:, 0]
    slots = torch.arange(data.slots, device=device)

    def pairs(rows: Tensor) -> Tensor:
        return (rows[:, None] * data.slots + slots).reshape(-1)

    parts = {"lean": torch.nonzero(held & data.leans)[:, 0], "stand": torch.nonzero(held & ~data.leans)[:, 0]}
    readings = {"asked alone": aim}
    if args.seed == 1:
        typed, after = (teachers(data.typed(each)) for each in (False, True))
        readings |= {"as typed": typed, "after the last question": after, "both": 0.6 * typed + 0.4 * after}
    for name, odds in readings.items():
        print(name, {part: figures(odds[rows], data.grades[rows]) for part, rows in parts.items()}, flush=True)

    def told() -> dict[str, dict[str, float]]:
        found = {}
        for part, rows in parts.items():
            odds = scored(net, laid, pairs(rows), part)[:, 1].view(-1, data.slots)
            found[part] = figures(odds, data.grades[rows])
        return found

    print("as it begins", told(), flush=True)
    if args.aims:  # of each document by the network that has not learnt from it
        guides = [torch.from_numpy(packed.read(each)["aim"]).float().to(device) for each in args.aims]
        aim = torch.where(other[:, None], guides[0], guides[1])
        print("the guides", {part: figures(aim[rows], data.grades[rows]) for part, rows in parts.items()}, flush=True)
    target = torch.tensor([0.0, 0.0, 0.5, 1.0], device=device)[data.grades.clamp(min=0)]
    target = torch.where(marked[:, None], 0.5 * target + 0.5 * torch.sigmoid(aim), torch.sigmoid(aim))
    optimizer = torch.optim.AdamW(
        [each for each in net.parameters() if each.requires_grad], args.rate, weight_decay=0.01, fused=device == "cuda"
    )
    until, begin, step, epoch = started + 60 * args.minutes - 10, time.time(), 0, 0
    record: dict[str, object] = {}
    while time.time() < until:
        net.train()
        total = torch.zeros(2, device=device)
        batches = learnt[torch.randperm(len(learnt), device=device)].split(args.batch)
        for some in batches:
            gone = min(1.0, (time.time() - begin) / (until - begin))
            if gone >= 1.0:
                break
            rate = args.rate * min(1.0, (step + 1) / 200) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * gone)))
            for group in optimizer.param_groups:
                group["lr"] = rate
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                odds = net(*laid.batch(pairs(some)))[:, 1].view(len(some), -1)
            single = binary_cross_entropy_with_logits(odds, target[some])
            known_rows = marked[some]
            chance = log_softmax(torch.cat([odds, torch.zeros_like(odds[:, :1])], 1)[known_rows], 1)
            share = torch.tensor([0.0, 0.0, 0.4, 1.0], device=device)[data.grades[some][known_rows].clamp(min=0)]
            none = (1 - share.sum(1, keepdim=True)).clamp(min=0)
            meant = torch.cat([share, none], 1)
            chosen = -((meant / meant.sum(1, keepdim=True)) * chance).sum(1).mean() if len(chance) else 0 * single
            optimizer.zero_grad(set_to_none=True)
            (2 * single + 0.3 * chosen).backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            total, step = total + torch.stack([single.detach(), chosen.detach()]), step + 1
        epoch += 1
        scores = told()
        loss = (total / len(batches)).tolist()
        print(f"epoch {epoch}, {time.time() - started:.0f} s: {loss} {scores}", flush=True)
        settings = {
            key: str(getattr(args, key)) for key in ("minutes", "batch", "rate", "dropout", "reach", "grow", "seed")
        }
        record = {"settings": settings, "rows": len(learnt), "epochs": epoch, "scores": scores}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    if args.fold is not None:
        odds = scored(net, laid, every, "aim")[:, 1].view(-1, data.slots)
        packed.write(args.out.parent / f"{args.out.name}.aim.npz.xz", {"aim": odds.half().cpu().numpy()}, 1)
        return
    bert.save(bert.pack(net), net.shape, args.out.parent, args.out.name, record)
    print(f"done, {time.time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
