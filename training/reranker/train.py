"""Distil a cross-encoder: the teacher learns from what was judged and scores every pair of prepare.py, then students
learn to score as it does. Two scores of a pair: how well a passage answers, beside others, and whether a single
sentence answers at all.

    python training/reranker/train.py DATA TEACHER OUT NAME=SHAPE [NAME=SHAPE ...] [--minutes 6] [--teach 3]

With --teach N the teacher first learns N times from the grades of our own questions. Its scores are OUT/aim.npz.xz; a
later run with --aim reads them from there and needs no teacher. A shape is written like
"all:768:0,front:1536:8,first:1536:11" (bert.Shape). With --begin NET.npz.xz students begin as a network of as many
layers, as the shipped one by bert_onnx.read_own and packed.write, instead of as layers of the teacher; one that is
wider inside leaves those units that say most. They share the minutes that the teacher leaves. OUT gets NAME.npz.xz.0
(and .1...) and NAME.json after every epoch and at the end; the scores on the held-out questions are printed and in
NAME.json. Needs torch and a GPU; run from the repository's root with it on the path. With --limit a few questions do,
on any machine, to see that all runs.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, kl_div, log_softmax

from training import bert, packed
from training.bert import Encoder, Shape

CLS, SEP = 101, 102
ROOMS = {"student": (112, 28, 14), "teacher": (224, 48, 24)}  # as Room in turnwise/models/reranker.py
HELD_OUT, HELD_OUT_OWN = 0.05, 0.15
SCORES = 2  # how well a passage answers beside others, for the order, and whether a single sentence answers


class Pairs:
    """Questions with their candidates on the device, laid out as the product does it: [CLS] question [SEP] title and
    chosen pieces [SEP]."""

    def __init__(self, file: Path, device: str, limit: int | None) -> None:
        flat = packed.read(file)
        self.device = device
        self.kind, self.own, self.of, self.single = (flat[name][:limit] for name in ("kind", "own", "of", "single"))
        self.grades = np.full((len(flat["kind"]), len(flat["candidates"])), -1, np.int8)
        self.grades[flat["own"]] = flat["grades"]
        self.grades = self.grades[:limit]
        self.count, self.slots = len(self.kind), len(flat["candidates"])
        at = np.concatenate([[0], np.cumsum(flat["pieces"].astype(np.int64))])
        sizes = np.add.reduceat(flat["piece_sizes"].astype(np.int64), at[:-1])
        number = np.concatenate([np.arange(count) for count in flat["pieces"]])
        self._text = self._table(flat["ids"], sizes)
        self._piece = self._table(np.repeat(number, flat["piece_sizes"]).astype(np.int16), sizes)
        self._text_sizes = torch.from_numpy(sizes).to(device)
        self._title = self._table(flat["title_ids"], flat["title_sizes"].astype(np.int64))
        self._title_sizes = torch.from_numpy(flat["title_sizes"].astype(np.int64)).to(device)
        self._question = self._table(flat["question_ids"], flat["question_sizes"].astype(np.int64))
        self._question_sizes = torch.from_numpy(flat["question_sizes"].astype(np.int64)).to(device)
        self._candidates = torch.from_numpy(flat["candidates"].T[:limit].astype(np.int64).reshape(-1)).to(device)
        self._masks = {
            who: torch.from_numpy(np.ascontiguousarray(flat[who].T[:limit]).view(np.int64).reshape(-1)).to(device)
            for who in ROOMS
        }

    def _table(self, values: np.ndarray, sizes: np.ndarray) -> Tensor:
        table = np.zeros((len(sizes), max(1, sizes.max())), np.int16)  # no token is above 30521
        table[np.arange(table.shape[1]) < sizes[:, None]] = values
        return torch.from_numpy(table).to(self.device)

    def laid_out(self, who: str) -> Laid:
        """All pairs as the student or the teacher reads them."""
        room, of_question, of_title = ROOMS[who]
        pairs = self.count * self.slots
        ids = torch.zeros(pairs, room, dtype=torch.int16, device=self.device)
        sizes = torch.zeros(pairs, dtype=torch.int64, device=self.device)
        fronts = torch.zeros(pairs, dtype=torch.int64, device=self.device)
        for start in range(0, pairs, 16384):
            rows = torch.arange(start, min(pairs, start + 16384), device=self.device)
            passage, question = self._candidates[rows], rows // self.slots
            asked = self._question[question, :of_question].long()
            asked_kept = _below(asked, self._question_sizes[question])
            text, mask = self._text[passage].long(), self._masks[who][rows]
            kept = ((mask[:, None] >> self._piece[passage].long()) & 1).bool() | (mask == 0)[:, None]
            kept &= _below(text, self._text_sizes[passage])
            title = self._title[passage, :of_title].long()
            body, body_kept = (
                torch.cat([title, text], 1),
                torch.cat([_below(title, self._title_sizes[passage]), kept], 1),
            )
            left = room - 3 - asked_kept.sum(1)
            body_kept &= body_kept.cumsum(1) <= left[:, None]
            cls = torch.full((len(rows), 1), CLS, device=self.device)
            sep, one = torch.full_like(cls, SEP), torch.ones_like(cls).bool()
            line = torch.cat([cls, asked, sep, body, sep], 1)
            line_kept = torch.cat([one, asked_kept, one, body_kept, one], 1)
            place = (line_kept.cumsum(1) - 1).masked_fill(~line_kept, room)  # what is not kept goes beyond the end
            filled = torch.zeros(len(rows), room + 1, dtype=torch.int64, device=self.device).scatter_(1, place, line)
            ids[rows], sizes[rows] = filled[:, :room].to(torch.int16), line_kept.sum(1)
            fronts[rows] = asked_kept.sum(1) + 2
        return Laid(ids, sizes, fronts)


def _below(table: Tensor, sizes: Tensor) -> Tensor:
    return torch.arange(table.shape[1], device=table.device) < sizes[:, None]


class Laid:
    def __init__(self, ids: Tensor, sizes: Tensor, fronts: Tensor) -> None:
        self.ids, self.sizes, self.fronts = ids, sizes, fronts

    def batch(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        sizes = self.sizes[rows]
        ids = self.ids[rows, : int(sizes.max())].long()
        return ids, _below(ids, sizes), self.fronts[rows]


@torch.no_grad()
def scored(net: Encoder, laid: Laid, rows: Tensor, what: str, batch: int = 2048) -> Tensor:
    """A score for each of the rows, the short ones together."""
    net.eval()
    started = time.time()
    order = rows[laid.sizes[rows].argsort()]
    scores = torch.zeros(len(laid.sizes), SCORES, device=rows.device)
    for number, some in enumerate(order.split(batch)):
        with torch.autocast(rows.device.type, torch.float16, enabled=rows.device.type == "cuda"):
            scores[some] = net(*laid.batch(some))
        if number % 100 == 0:
            print(f"{what}: {number * batch} of {len(rows)} scored, {time.time() - started:.0f} s", flush=True)
    return scores[rows]


def twice(weights: packed.Weights) -> packed.Weights:
    """The weights of a network with one score as those of one that gives it for each of ours."""
    head = {name: np.repeat(packed.plain(weights, name), SCORES, 0) for name in ("head.weight", "head.bias")}
    return {name: value for name, value in weights.items() if not name.startswith("head.")} | head


def taught(
    teacher: Encoder,
    laid: Laid,
    aim: Tensor,
    kind: Tensor,
    grades: Tensor,
    unseen: Tensor,
    alone: Tensor,
    args: argparse.Namespace,
) -> Encoder:
    """The teacher after it has learnt from the grades, a part of which is held out; of all other questions it is to
    think as before. `alone` tells rows of single sentences."""
    device, slots = aim.device, torch.arange(aim.shape[1], device=aim.device)
    net = Encoder(teacher.shape, SCORES, 0.1).to(device)
    net.load_state_dict(teacher.state_dict())
    judged = (grades >= 0).sum(1) > 1
    learnt, held = (torch.nonzero(judged & part)[:, 0] for part in (~unseen, unseen))
    others = torch.nonzero(~judged & ~unseen)[:, 0]
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-5, weight_decay=0.01)
    steps = args.teach * (len(learnt) // 16)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-5, steps, pct_start=0.1)

    def rows(at: Tensor) -> Tensor:
        return (at[:, None] * len(slots) + slots).reshape(-1)

    def told(what: str) -> None:
        said = scored(net, laid, rows(held), what).view(len(held), -1, SCORES)
        parts = [by_grades(said[part, :, 0], grades[held][part]) for part in (~alone[held], alone[held])]
        print(f"{what}: nDCG@5 by the grades, passages and sentences: {parts} of {len(held)} rows", flush=True)
        print(f"{what}: {whether(said[alone[held], :, 1], grades[held][alone[held]])}", flush=True)

    told("teacher as it came")
    for epoch in range(args.teach):
        net.train()
        for some in learnt[torch.randperm(len(learnt), device=device)].split(16)[: len(learnt) // 16]:
            beside = others[torch.randint(len(others), (16,), device=device)]
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                said = net(*laid.batch(rows(torch.cat([some, beside])))).view(32, -1, SCORES)
            loss = graded(said[:16, :, 0], grades[some])
            loss = loss + 0.5 * sum(losses(said[16:, :, 0], aim[beside, :, 0], kind[beside]))
            loss = loss + answering(said[:16, :, 1], grades[some], alone[some])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        told(f"taught {epoch + 1} times")
    return net.eval().requires_grad_(False)


def graded(said: Tensor, grades: Tensor) -> Tensor:
    """Of the order within a question as it was judged, and of whether a passage answers at all."""
    known = grades >= 0
    order = kl_div(
        log_softmax(said.masked_fill(~known, -1e4), 1),
        log_softmax((1.5 * grades.float()).masked_fill(~known, -1e4), 1),
        log_target=True,
        reduction="batchmean",
    )
    answers = torch.tensor([0.0, 0.05, 0.6, 1.0], device=said.device)[grades.clamp(min=0).long()]
    return order + 0.3 * binary_cross_entropy_with_logits(said[known], answers[known])


def answering(said: Tensor, grades: Tensor, alone: Tensor, aim: Tensor | None = None) -> Tensor:
    """Of whether single sentences answer, by their grades; where there is an aim, half by that, and alone by that where
    there is no grade."""
    known = (grades >= 0) & alone[:, None]
    target = torch.tensor([0.0, 0.0, 0.4, 1.0], device=said.device)[grades.clamp(min=0).long()]
    if aim is not None:
        thought = torch.sigmoid(aim)
        target = torch.where(known, 0.5 * target + 0.5 * thought, thought)
        known = alone[:, None].expand_as(known)
    return binary_cross_entropy_with_logits(said[known], target[known]) if known.any() else said.sum() * 0


def whether(said: Tensor, grades: Tensor) -> dict[str, float]:
    """How well it is told whether a single sentence answers: of all pairs, and of the sentence that seems to answer
    most, whether it does and whether any does (the area under the curve)."""
    known = grades >= 0
    best = said.masked_fill(~known, -1e4).argmax(1, keepdim=True)
    judged = known.any(1)
    right = grades.gather(1, best)[judged, 0] == 3
    top = said.gather(1, best)[judged, 0]
    return {
        "answers: auc of sentences": round(area(said[known], grades[known] == 3), 4),
        "answers: the best one answers": round(float(right.float().mean()), 4),
        "answers: auc of the best one": round(area(top, right), 4),
        "answers: auc of any": round(area(top, (grades[judged] == 3).any(1)), 4),
    }


def area(said: Tensor, true: Tensor) -> float:
    """How often a true one is above one that is not."""
    ranks = said.argsort().argsort().float() + 1
    yes, no = int(true.sum()), int((~true).sum())
    return float((ranks[true].sum() - yes * (yes + 1) / 2) / max(1, yes * no))


def by_grades(said: Tensor, grades: Tensor) -> float:
    """nDCG@5 by the grades, over the questions with a passage that answers."""
    known = grades >= 0
    gains = (2.0 ** grades.float() - 1) * known
    fall = 1 / torch.log2(torch.arange(2, 7, device=said.device).float())
    mine = gains.gather(1, said.masked_fill(~known, -1e4).argsort(1, descending=True)[:, :5])
    best = gains.sort(1, descending=True).values[:, :5]
    answered = (grades >= 2).any(1)
    return float((((mine * fall).sum(1) / (best * fall).sum(1).clamp(min=1e-6))[answered]).mean())


def train(
    net: Encoder,
    laid: Laid,
    aim: Tensor,
    kind: Tensor,
    grades: Tensor,
    alone: Tensor,
    chosen: np.ndarray,
    args: argparse.Namespace,
    until: float,
    epoch_done: Callable[[int], None],
) -> None:
    """Until the time is over; the learning rate falls with it."""
    device = aim.device
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.rate, weight_decay=0.01, fused=device.type == "cuda")
    rng = np.random.default_rng(args.seed)
    started, step, epoch = time.time(), 0, 0
    slots = torch.arange(aim.shape[1], device=device)
    net.train()
    while time.time() < until:
        total, seen = torch.zeros(4, device=device), 0
        for some in np.array_split(rng.permutation(chosen), max(1, len(chosen) // args.batch)):
            gone = min(1.0, (time.time() - started) / (until - started))
            if gone >= 1.0:
                break
            rate = args.rate * min(1.0, (step + 1) / 200) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * gone)))
            for group in optimizer.param_groups:
                group["lr"] = rate
            at = torch.from_numpy(some).to(device)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                said = net(*laid.batch((at[:, None] * len(slots) + slots).reshape(-1))).view(len(at), -1, SCORES)
            told = answering(said[..., 1], grades[at], alone[at], aim[at][..., 1])
            parts = torch.stack([*losses(said[..., 0], aim[at][..., 0], kind[at]), 2 * told])
            optimizer.zero_grad(set_to_none=True)
            parts.sum().backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            total, seen, step = total + parts.detach(), seen + 1, step + 1
            if step % 250 == 0:
                mean = [round(value, 4) for value in (total / seen).tolist()]
                print(f"step {step}, epoch {epoch}, {time.time() - started:.0f} s: {mean}", flush=True)
        epoch += 1
        epoch_done(epoch)
        net.train()


def losses(said: Tensor, aim: Tensor, kind: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of the order within a question as the teacher sees it, of the margins, and of the answers that people gave."""
    order = sum(
        heat * kl_div(log_softmax(said / heat, 1), log_softmax(aim / heat, 1), log_target=True, reduction="batchmean")
        for heat in (1.0, 3.0)
    )
    apart = (said - said.mean(1, keepdim=True)) - (aim - aim.mean(1, keepdim=True))
    margins = 0.05 * apart.square().mean() + 0.01 * (said - aim).square().mean()
    real = kind == 2
    told = cross_entropy(said[real], torch.zeros_like(kind[real])) if real.any() else said.sum() * 0
    return order, margins, 0.1 * told * real.float().mean()


def figures(said: Tensor, aim: Tensor, kind: np.ndarray) -> dict[str, float]:
    """Of held-out questions: how near the order is to the teacher's, and how often what a question came from is first
    of 15, for the student and the teacher."""
    best = aim.argsort(1, descending=True)
    gain = torch.zeros_like(aim).scatter_(
        1, best[:, :5], torch.tensor([31.0, 15, 7, 3, 1], device=aim.device).expand(len(aim), 5)
    )
    fall = 1 / torch.log2(torch.arange(2, 7, device=aim.device).float())
    mine = gain.gather(1, said.argsort(1, descending=True)[:, :5])
    ranks = [each.argsort(1).argsort(1).float() for each in (said, aim)]
    ranks = [each - each.mean(1, keepdim=True) for each in ranks]
    spearman = (ranks[0] * ranks[1]).sum(1) / ranks[1].square().sum(1)
    found = {
        "ndcg@5 to the teacher": float(((mine * fall).sum(1) / (gain.gather(1, best[:, :5]) * fall).sum(1)).mean()),
        "spearman": float(spearman.mean()),
        "same first": float((said.argmax(1) == aim.argmax(1)).float().mean()),
    }
    for name, number in (("made", 1), ("answers", 2)):
        of_it = torch.from_numpy(kind == number).to(aim.device)
        for who, scores in (("student", said), ("teacher", aim)):
            found[f"{name} first of 15, {who}"] = float((scores[of_it, :15].argmax(1) == 0).float().mean())
    return {name: round(value, 4) for name, value in found.items()}


def aims(
    pairs: Pairs, kind: Tensor, grades: Tensor, held: Tensor, alone: Tensor, args: argparse.Namespace
) -> tuple[Encoder, Tensor]:
    """The teacher, after it has learnt, and its scores of all pairs."""
    teacher = bert.teacher(twice(packed.read(args.teacher))).to(pairs.device)
    laid = pairs.laid_out("teacher")
    every = torch.arange(len(laid.sizes), device=pairs.device)
    aim = scored(teacher, laid, every, "teacher").view(pairs.count, -1, SCORES)
    if not args.teach:
        return teacher, aim
    mean, spread = aim[..., 0].mean(), aim[..., 0].std()
    teacher = taught(teacher, laid, aim, kind, grades, held, alone, args)
    aim = scored(teacher, laid, every, "teacher").view(pairs.count, -1, SCORES)
    order = aim[..., 0]  # made as large as before: thresholds and weights rest on it
    aim[..., 0] = (order - order.mean()) / order.std() * spread + mean
    return teacher, aim


def begun(shape: Shape, teacher: Encoder | None, laid: Laid, args: argparse.Namespace) -> Encoder:
    """A student that starts as layers of the teacher, or as the network of --begin."""
    if args.begin:
        known = packed.read(args.begin)
        inner = tuple(len(packed.plain(known, f"layers.{number}.inner.bias")) for number in range(len(shape.inner)))
        start = Encoder(Shape(shape.reach, inner, shape.start), SCORES).to(laid.ids.device).eval()
        for part, parameter in start.named_parameters():
            value = torch.from_numpy(packed.plain(known, part))
            parameter.data[: len(value)] = value.to(parameter.device)
        places = tuple(range(len(inner)))
    elif teacher is not None:
        start, places = teacher, shape.start
    else:
        raise SystemExit("--aim needs --begin: without the teacher there is nothing to start as")
    some = torch.arange(0, len(laid.sizes), max(1, len(laid.sizes) // 512), device=laid.ids.device)
    net = bert.student(replace(shape, start=places), start, bert.listen(start, [laid.batch(some)]), args.dropout)
    net.shape = shape
    return net


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("teacher", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("students", nargs="+", metavar="NAME=SHAPE")
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--batch", type=int, default=48, help="questions")
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--dropout", type=float, default=0.05)
    parser.add_argument("--teach", type=int, default=0, help="how often the teacher learns from the grades")
    parser.add_argument("--own", type=int, default=6, help="how often an epoch has a question of our own")
    parser.add_argument("--begin", type=Path, help="a network that the students start as")
    parser.add_argument("--aim", type=Path, help="the teacher's scores, as an earlier run left them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, help="questions, to try things out")
    args = parser.parse_args()
    started = time.time()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(args.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    args.out.mkdir(parents=True, exist_ok=True)
    pairs = Pairs(args.data, device, args.limit)
    print(f"{pairs.count} questions x {pairs.slots}, read in {time.time() - started:.0f} s", flush=True)
    held = np.random.default_rng(5).random(pairs.count) < np.where(pairs.own, HELD_OUT_OWN, HELD_OUT)
    held[:2] = True, False
    held = held[pairs.of]
    kind = torch.from_numpy(pairs.kind.astype(np.int64)).to(device)
    grades = torch.from_numpy(pairs.grades).to(device)
    alone = torch.from_numpy(pairs.single).to(device)
    if args.aim:
        start, aim = None, torch.from_numpy(packed.read(args.aim)["aim"]).float().to(device)[: pairs.count]
    else:
        start, aim = aims(pairs, kind, grades, torch.from_numpy(held).to(device), alone, args)
        packed.write(args.out / "aim.npz.xz", {"aim": aim.half().cpu().numpy()})
        print(f"aims, {time.time() - started:.0f} s", flush=True)
    saving = ThreadPoolExecutor(1)  # compressing takes seconds, and the device need not wait
    laid = pairs.laid_out("student")
    print(f"student's tokens: {laid.sizes.float().mean():.0f} of a pair on average", flush=True)
    chosen, unseen = np.flatnonzero(~held), np.flatnonzero(held)
    held_rows = (
        torch.from_numpy(unseen).to(device)[:, None] * pairs.slots + torch.arange(pairs.slots, device=device)
    ).view(-1)
    chosen = np.concatenate([chosen, np.tile(chosen[pairs.own[chosen]], max(0, args.own - 1))])
    for number, each in enumerate(args.students):
        name, shape = each.split("=")
        net = begun(Shape.read(shape), start, laid, args).to(device)
        left = started + 60 * args.minutes - time.time()
        until = time.time() + max(20.0, left / (len(args.students) - number) - 6)

        def epoch_done(epoch: int, net: Encoder = net, name: str = name) -> None:
            said, answers = scored(net, laid, held_rows, name).view(len(unseen), -1, SCORES).unbind(-1)
            there = torch.from_numpy(unseen).to(device)
            order = aim[there][..., 0]
            told = figures(said, order, pairs.kind[unseen])
            own = torch.from_numpy(pairs.own[unseen]).to(device)
            single = alone[there]
            for part, rows in (("passages", own & ~single), ("sentences", single)):
                told[f"own: ndcg@5 by grades, {part}"] = round(by_grades(said[rows], grades[there][rows]), 4)
            told["own: same first"] = round(float((said.argmax(1) == order.argmax(1))[own].float().mean()), 4)
            told |= whether(answers[single], grades[there][single])
            print(f"{name} epoch {epoch}: {told}", flush=True)
            settings = {
                key: str(getattr(args, key)) for key in ("minutes", "batch", "rate", "dropout", "teach", "own", "seed")
            }
            record = {"settings": settings, "questions": len(chosen), "epochs": epoch, "scores": told}
            saving.submit(bert.save, bert.pack(net), net.shape, args.out, name, record)

        train(net, laid, aim, kind, grades, alone, chosen, args, until, epoch_done)
    saving.shutdown()
    print(f"done, {time.time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
