"""Distil an embedder: students learn to give the vectors of the teacher, on texts cut anew for every step.

    python training/embedder/train.py DATA TEACHER OUT NAME=SHAPE [NAME=SHAPE ...] [--minutes 6]

A shape is written like "all:1536:0,all:1536:4,first:1536:11" (bert.Shape). All students learn on the same batches, so
that the teacher reads them once. OUT gets NAME.npz.xz.0 (and .1...) and NAME.json at every fifth of the time and at
the end; the scores on held-out texts are printed and in NAME.json. Needs torch and a GPU; run from the repository's
root with it on the path. With --batch 2 it runs on any machine, to see that all works.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import kl_div, log_softmax, normalize

from training import bert, packed
from training.bert import Encoder, Shape

CLS, SEP, STOP = 101, 102, 1012  # the last is "."
LONGEST, LONGEST_SHORT = 256, 96  # tokens of a passage, of a question or a piece of a passage
HEAT = 0.05
Batch = tuple[Tensor, Tensor]  # tokens, and which of them are there


class Texts:
    """Passages and questions on the device; a part of both is held out."""

    def __init__(self, file: Path, device: str, seed: int) -> None:
        flat = packed.read(file)
        self.device = device
        self._draw = torch.Generator(device).manual_seed(seed)
        self.ids, self.sizes = self._table(flat["ids"], flat["sizes"])
        self.titles = torch.from_numpy(flat["titles"].astype(np.int64)).to(device)
        self.asked, self.asked_sizes = self._table(flat["question_ids"], flat["question_sizes"])
        self.sources = torch.from_numpy(flat["sources"].astype(np.int64)).to(device)
        self.prefix = torch.from_numpy(flat["prefix"].astype(np.int64)).to(device)
        rng = np.random.default_rng(5)
        held = rng.random(len(self.sizes)) < 0.02
        of_held = np.where(flat["sources"] >= 0, held[flat["sources"]], rng.random(len(flat["sources"])) < 0.02)
        self.held, self.seen, self.held_asked, self.seen_asked = (
            torch.from_numpy(np.flatnonzero(each)).to(device) for each in (held, ~held, of_held, ~of_held)
        )
        first = np.full(len(held), -1)  # by passage a question it answers
        known = np.flatnonzero((flat["sources"] >= 0) & ~of_held)
        first[flat["sources"][known]] = known
        self.question_of = torch.from_numpy(first).to(device)

    def _table(self, values: np.ndarray, sizes: np.ndarray) -> tuple[Tensor, Tensor]:
        sizes = sizes.astype(np.int64)
        table = np.zeros((len(sizes), sizes.max()), np.int16)
        table[np.arange(table.shape[1]) < sizes[:, None]] = values
        return torch.from_numpy(table).to(self.device), torch.from_numpy(sizes).to(self.device)

    def _random(self, count: int) -> Tensor:
        return torch.rand(count, generator=self._draw, device=self.device)

    def step(self, anchors: int) -> tuple[Batch, Batch]:
        """Long and short texts for one step: a passage, the one beside it, a question and a piece for every anchor."""
        at = self.seen[(self._random(anchors) * len(self.seen)).long()]
        beside = (at + 1).clamp(max=len(self.sizes) - 1)
        long = self.passages(torch.cat([at, torch.where(torch.isin(beside, self.seen), beside, at)]), cut=True)
        any_asked = self.seen_asked[(self._random(anchors) * len(self.seen_asked)).long()]
        asked = torch.where(self.question_of[at] >= 0, self.question_of[at], any_asked)
        return long, _joined(self.questions(asked), self.pieces(at))

    def passages(self, at: Tensor, cut: bool) -> Batch:
        """Passages with their title; with `cut` many begin at a later sentence, end early, or lack the title."""
        ids, sizes, titles = self.ids[at].long(), self.sizes[at], self.titles[at]
        if not cut:
            return self._framed(ids, sizes, titles, titles, torch.full_like(sizes, LONGEST), LONGEST)
        start = torch.where(self._random(len(at)) < 0.5, titles, self._sentence(ids, sizes, titles))
        titles = torch.where(self._random(len(at)) < 0.75, titles, torch.zeros_like(titles))
        most = (40 + self._random(len(at)) * 216).long()
        most = torch.where(self._random(len(at)) < 0.6, torch.full_like(most, LONGEST), most)
        return self._framed(ids, sizes, titles, start, most, LONGEST)

    def pieces(self, at: Tensor) -> Batch:
        """A sentence or two of passages; a third of them as if they were questions."""
        ids, sizes, titles = self.ids[at].long(), self.sizes[at], self.titles[at]
        most = (6 + self._random(len(at)) ** 2 * 50).long()
        none = torch.zeros_like(titles)
        start = torch.where(self._random(len(at)) < 0.15, none, self._sentence(ids, sizes, titles))
        return self._framed(ids, sizes, none, start, most, LONGEST_SHORT, self._random(len(at)) < 0.33)

    def questions(self, at: Tensor) -> Batch:
        ids, sizes, none = self.asked[at].long(), self.asked_sizes[at], torch.zeros_like(at)
        return self._framed(ids, sizes, none, none, sizes, LONGEST_SHORT, torch.ones_like(at).bool())

    def _sentence(self, ids: Tensor, sizes: Tensor, titles: Tensor) -> Tensor:
        """Where some sentence begins: after the first stop at or behind a place drawn at random, else the text."""
        drawn = titles + (self._random(len(ids)) * (sizes - titles) * 0.8).long()
        place = torch.arange(ids.shape[1], device=self.device)
        after = (ids == STOP) & (place >= drawn[:, None]) & (place < sizes[:, None] - 6)
        return torch.where(after.any(1), after.int().argmax(1) + 1, titles)

    def _framed(
        self, ids: Tensor, sizes: Tensor, titles: Tensor, start: Tensor, most: Tensor, longest: int,
        asking: Tensor | None = None,
    ) -> Batch:  # fmt: skip
        """[CLS] (the prefix of a question) the title, and the text from a start on [SEP]: so many tokens at most."""
        rows = len(ids)
        place = torch.arange(ids.shape[1], device=self.device)
        kept = (place < titles[:, None]) | ((place >= start[:, None]) & (place < sizes[:, None]))
        prefix = self.prefix.expand(rows, -1)
        before = torch.zeros_like(prefix).bool() if asking is None else asking[:, None].expand_as(prefix)
        room = torch.minimum(most, longest - 2 - before.sum(1))
        kept &= kept.cumsum(1) <= room[:, None]
        cls, one = (
            torch.full((rows, 1), CLS, device=self.device),
            torch.ones(rows, 1, dtype=torch.bool, device=self.device),
        )
        line, there = torch.cat([cls, prefix, ids, cls + 1], 1), torch.cat([one, before, kept, one], 1)
        to = (there.cumsum(1) - 1).masked_fill(~there, longest)
        filled = torch.zeros(rows, longest + 1, dtype=torch.int64, device=self.device).scatter_(1, to, line)
        count = there.sum(1)
        width = int(count.max())
        return filled[:, :width], torch.arange(width, device=self.device) < count[:, None]


def _joined(one: Batch, other: Batch) -> Batch:
    width = max(one[0].shape[1], other[0].shape[1])
    ids, mask = (
        torch.cat([torch.nn.functional.pad(each, (0, width - each.shape[1])) for each in pair])
        for pair in zip(one, other, strict=True)
    )
    return ids, mask


def losses(mine: Tensor, aim: Tensor) -> Tensor:
    """How far the vectors are from the teacher's, and the neighbours among them, looked for with one's own vectors and
    with the teacher's."""
    near = (1 - (mine * aim).sum(1)).mean()
    itself = torch.eye(len(aim), device=aim.device) * 1e4
    wanted = log_softmax(aim @ aim.T / HEAT - itself, 1)
    order = sum(
        kl_div(log_softmax(mine @ other.T / HEAT - itself, 1), wanted, log_target=True, reduction="batchmean")
        for other in (aim, mine)
    )
    return torch.stack([8 * near, 0.5 * order])


def train(
    nets: dict[str, Encoder],
    teacher: Encoder,
    texts: Texts,
    args: argparse.Namespace,
    until: float,
    report: Callable[[int], None],
) -> None:
    device = texts.device
    autocast = {"device_type": device, "enabled": device == "cuda"}
    optimizers = {
        name: torch.optim.AdamW(net.parameters(), lr=args.rate, weight_decay=0.01, fused=device == "cuda")
        for name, net in nets.items()
    }
    started, step, told = time.time(), 0, 0
    total = {name: torch.zeros(2, device=device) for name in nets}
    while (gone := (time.time() - started) / (until - started)) < 1:
        rate = args.rate * min(1.0, (step + 1) / 300) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * gone)))
        batches = texts.step(args.batch)
        with torch.no_grad(), torch.autocast(dtype=torch.float16, **autocast):
            aim = normalize(torch.cat([teacher(*batch) for batch in batches]))
        for name, net in nets.items():
            for group in optimizers[name].param_groups:
                group["lr"] = rate
            with torch.autocast(dtype=torch.bfloat16, **autocast):
                mine = torch.cat([net(*batch) for batch in batches])
            parts = losses(normalize(mine), aim)
            optimizers[name].zero_grad(set_to_none=True)
            parts.sum().backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizers[name].step()
            total[name] += parts.detach()
        step += 1
        if step % 250 == 0:
            lost = {name: [round(value / 250, 4) for value in each.tolist()] for name, each in total.items()}
            print(f"step {step}, {time.time() - started:.0f} s: {lost}", flush=True)
            total = {name: torch.zeros(2, device=device) for name in nets}
        if int(gone * 5) > told:
            told += 1
            report(step)
            for net in nets.values():
                net.train()
    report(step)


@torch.no_grad()
def vectors(net: Encoder, texts: Texts, at: Tensor, asked: bool) -> Tensor:
    net.eval()
    found = []
    for some in at.split(512):
        batch = texts.questions(some) if asked else texts.passages(some, cut=False)
        with torch.autocast(texts.device, torch.float16, enabled=texts.device == "cuda"):
            found.append(normalize(net(*batch)))
    return torch.cat(found)


def figures(net: Encoder, teacher: Encoder, texts: Texts, most: int) -> dict[str, float]:
    """On held-out texts: how near the vectors are to the teacher's, how many of the teacher's ten nearest passages are
    found, and how often the passage that a question came from is among the first five."""
    passages = torch.cat([texts.held, texts.seen[: 4 * len(texts.held)]])[:most]
    asked = texts.held_asked[:most]
    mine, aim = (
        [vectors(net_, texts, at, way) for at, way in ((asked, True), (passages, False))] for net_ in (net, teacher)
    )
    best = (aim[0] @ aim[1].T).topk(min(10, len(passages))).indices
    source = texts.sources[asked]
    found = {
        "cosine of questions": float((mine[0] * aim[0]).sum(1).mean()),
        "cosine of passages": float((mine[1] * aim[1]).sum(1)[: len(texts.held)].mean()),
    }
    ways = {"student": (mine[0], mine[1]), "student's questions, teacher's passages": (mine[0], aim[1])}
    for name, (left, right) in (ways | {"teacher": (aim[0], aim[1])}).items():
        scores = left @ right.T
        ten = scores.topk(best.shape[1]).indices
        if name != "teacher":
            found[f"overlap of ten, {name}"] = float((ten[:, :, None] == best[:, None]).any(1).float().mean())
        there = torch.isin(source, passages)
        found[f"source in five, {name}"] = float(
            (passages[ten[there, :5]] == source[there, None]).any(1).float().mean()
        )
    return {name: round(value, 4) for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("teacher", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("students", nargs="+", metavar="NAME=SHAPE")
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--batch", type=int, default=128, help="anchors, of four texts each")
    parser.add_argument("--rate", type=float, default=4e-4)
    parser.add_argument("--most", type=int, default=6000, help="held-out texts to look at")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    started = time.time()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(args.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    args.out.mkdir(parents=True, exist_ok=True)
    texts = Texts(args.data, device, args.seed)
    teacher = bert.teacher(packed.read(args.teacher)).to(device)
    print(f"{len(texts.sizes)} passages, {len(texts.asked_sizes)} questions, {time.time() - started:.0f} s", flush=True)
    with torch.autocast(device, torch.float16, enabled=device == "cuda"):
        busy = bert.listen(teacher, texts.step(min(args.batch, 64)))
    nets = {}
    for each in args.students:
        name, shape = each.split("=")
        nets[name] = bert.student(Shape.read(shape), teacher, busy, 0.0).to(device).train()
    saving = ThreadPoolExecutor(1)  # compressing takes seconds, and the device need not wait

    def report(step: int) -> None:
        for name, net in nets.items():
            told = figures(net, teacher, texts, args.most)
            print(f"{name} at step {step}: {told}", flush=True)
            settings = {key: str(getattr(args, key)) for key in ("minutes", "batch", "rate", "seed")}
            record = {"settings": settings, "steps": step, "scores": told}
            saving.submit(bert.save, bert.pack(net), net.shape, args.out, name, record)

    until = max(time.time() + 5, started + 60 * args.minutes - 10)  # the last report and saving take as long
    train(nets, teacher, texts, args, until, report)
    saving.shutdown()
    print(f"done, {time.time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
