"""Teach the distilled embedder which passages answer: the vectors of passages move so that a question's vector, which
stays as it is, finds them in the order in which a cross-encoder puts them.

    python training/embedder/teach.py PAIRS AIM TEACHER STUDENT OUT NAME=KEPT [NAME=KEPT ...] [--minutes 5] [--more TEXTS]

PAIRS is what training/reranker/prepare.py made, AIM what its teacher thinks of them (aim.npy), TEACHER the whole embedder,
which gives the vectors of questions, STUDENT the weights to begin with. KEPT says how much it counts that a passage's vector
stays near the whole embedder's. OUT gets NAME.npz.xz.0 (and .1...) and NAME.json; with --more also NAME.vectors.npz, the
vectors of those texts. Needs torch and a GPU; run from the repository's root with it on the path.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import kl_div, log_softmax, normalize

from training import bert, packed
from training.bert import Encoder, Shape
from training.embedder.train import CLS, LONGEST, SEP
from training.reranker.train import HELD_OUT, HELD_OUT_OWN, by_grades

SHAPE = "all:1024:0,all:1024:3,all:1024:6,all:1024:9,first:1536:11"
HEAT, TEACHERS_HEAT = 0.03, 2.0
PREFIX = [5050, 2023, 6251, 2005, 6575, 7882, 13768, 1024]  # of a question, as bge-small has it


class Questions:
    """Questions, their candidates and these passages, framed, on the device."""

    def __init__(self, file: Path, aim: Path, device: str) -> None:
        flat = packed.read(file)
        self.device = device
        self.own = flat["own"]
        self.grades = np.full((len(self.own), len(flat["candidates"])), -1, np.int8)
        self.grades[self.own] = flat["grades"]
        at = np.concatenate([[0], np.cumsum(flat["pieces"].astype(np.int64))])
        sizes = np.add.reduceat(flat["piece_sizes"].astype(np.int64), at[:-1])
        titles = np.split(flat["title_ids"], np.cumsum(flat["title_sizes"].astype(np.int64))[:-1])
        texts = np.split(flat["ids"], np.cumsum(sizes)[:-1])
        asked = np.split(flat["question_ids"], np.cumsum(flat["question_sizes"].astype(np.int64))[:-1])
        self.passages = Table([np.concatenate(pair) for pair in zip(titles, texts, strict=True)], device)
        self.asked = Table([np.concatenate([PREFIX, each]) for each in asked], device)
        self.candidates = torch.from_numpy(flat["candidates"].T.astype(np.int64).copy()).to(device)
        self.aim = torch.from_numpy(np.load(aim).astype(np.float32)).to(device)


class Table:
    """Texts as tokens with [CLS] and [SEP]."""

    def __init__(self, texts: list[np.ndarray], device: str, framed: bool = False) -> None:
        lines = texts if framed else [np.concatenate([[CLS], each[: LONGEST - 2], [SEP]]) for each in texts]
        sizes = np.array([len(each) for each in lines])
        table = np.zeros((len(lines), sizes.max()), np.int16)
        table[np.arange(table.shape[1]) < sizes[:, None]] = np.concatenate(lines)
        self.ids, self.sizes = torch.from_numpy(table).to(device), torch.from_numpy(sizes).to(device)

    def batch(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        sizes = self.sizes[rows]
        width = int(sizes.max())
        return self.ids[rows, :width].long(), torch.arange(width, device=rows.device) < sizes[:, None]


@torch.no_grad()
def vectors(net: Encoder, table: Table) -> Tensor:
    net.eval()
    order = table.sizes.argsort()
    found = torch.zeros(len(order), bert.WIDTH, device=order.device)
    for some in order.split(1024):
        with torch.autocast(order.device.type, torch.float16, enabled=order.device.type == "cuda"):
            found[some] = normalize(net(*table.batch(some))).float()
    return found


def train(
    net: Encoder, questions: Questions, asked: Tensor, whole: Tensor, chosen: np.ndarray, keep: float, args: argparse.Namespace
) -> int:
    """Until the time is over; gives the steps."""
    device = asked.device
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.rate, weight_decay=0.01, fused=device.type == "cuda")
    rng = np.random.default_rng(args.seed)
    started, step, total = time.time(), 0, torch.zeros(2, device=device)
    net.train()
    while (gone := (time.time() - started) / (60 * args.minutes)) < 1:
        rate = args.rate * min(1.0, (step + 1) / 200) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * gone)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        at = torch.from_numpy(rng.choice(chosen, args.batch, replace=False)).to(device)
        of_each = questions.candidates[at]
        passages, back = of_each.reshape(-1).unique(return_inverse=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            mine = net(*questions.passages.batch(passages))
        mine = normalize(mine.float())
        wanted = torch.full((len(at), len(passages)), -30.0, device=device)  # another question's passages: none
        wanted.scatter_(1, back.view(of_each.shape), questions.aim[at] / TEACHERS_HEAT)
        order = kl_div(
            log_softmax(asked[at] @ mine.T / HEAT, 1), log_softmax(wanted, 1), log_target=True, reduction="batchmean"
        )
        near = (1 - (mine * whole[passages]).sum(1)).mean()
        parts = torch.stack([order, keep * near])
        optimizer.zero_grad(set_to_none=True)
        parts.sum().backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        total, step = total + parts.detach(), step + 1
        if step % 250 == 0:
            print(f"step {step}, {time.time() - started:.0f} s: {[round(v / 250, 4) for v in total.tolist()]}", flush=True)
            total = torch.zeros(2, device=device)
    return step


def figures(mine: Tensor, whole: Tensor, asked: Tensor, questions: Questions, unseen: np.ndarray) -> dict[str, float]:
    """On held-out questions: the order by the grades and against the cross-encoder's, and where the best passage stands
    among all; for the embedder and, in `whole`, the one it comes from."""
    there = torch.from_numpy(unseen).to(asked.device)
    own = torch.from_numpy(questions.own[unseen]).to(asked.device)
    grades = torch.from_numpy(questions.grades[unseen]).to(asked.device)
    of_each, aim = questions.candidates[there], questions.aim[there]
    found: dict[str, float] = {"cosine": float((mine * whole).sum(1).mean())}
    for name, held in (("", mine), ("whole: ", whole)):
        said = (asked[there, None] * held[of_each]).sum(2)
        found[f"{name}by grades"] = by_grades(said[own], grades[own])
        found[f"{name}best of the teacher first"] = float((said.argmax(1) == aim.argmax(1)).float().mean())
        best = of_each.gather(1, aim.argmax(1, keepdim=True))
        for part, rows in (("own", own), ("others", ~own)):
            scores = asked[there[rows]] @ held.T
            rank = (scores > scores.gather(1, best[rows])).sum(1)
            found[f"{name}{part}: best in five"] = float((rank < 5).float().mean())
            found[f"{name}{part}: best in fifteen"] = float((rank < 15).float().mean())
    return {name: round(value, 4) for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", type=Path)
    parser.add_argument("aim", type=Path)
    parser.add_argument("teacher", type=Path)
    parser.add_argument("student", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="+", metavar="NAME=KEPT")
    parser.add_argument("--more", type=Path)
    parser.add_argument("--minutes", type=float, default=3.0, help="for each")
    parser.add_argument("--batch", type=int, default=64, help="questions")
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--own", type=int, default=5, help="how often a question of our own counts")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    started = time.time()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(args.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    args.out.mkdir(parents=True, exist_ok=True)
    questions = Questions(args.pairs, args.aim, device)
    teacher = bert.teacher(packed.read(args.teacher)).to(device)
    asked, whole = vectors(teacher, questions.asked), vectors(teacher, questions.passages)
    print(f"{len(asked)} questions, {len(whole)} passages, {time.time() - started:.0f} s", flush=True)
    held = np.random.default_rng(5).random(len(asked)) < np.where(questions.own, HELD_OUT_OWN, HELD_OUT)
    chosen, unseen = np.flatnonzero(~held), np.flatnonzero(held)
    chosen = np.concatenate([chosen, np.tile(chosen[questions.own[chosen]], args.own - 1)])
    weights = packed.read(args.student)
    shape = Shape.read(SHAPE)
    for name, keep in (each.split("=") for each in args.names):
        net = Encoder(shape, False).to(device)
        state = net.state_dict()
        for key in state:
            value = torch.from_numpy(packed.plain(weights, key)).to(device)
            state[key][: len(value)] = value
        net.load_state_dict(state)
        print(f"{name} before: {figures(vectors(net, questions.passages), whole, asked, questions, unseen)}", flush=True)
        steps = train(net, questions, asked, whole, chosen, float(keep), args)
        told = figures(vectors(net, questions.passages), whole, asked, questions, unseen)
        print(f"{name} after {steps} steps: {told}", flush=True)
        settings = {key: str(getattr(args, key)) for key in ("minutes", "batch", "rate", "own", "seed")} | {"kept": keep}
        bert.save(bert.pack(net), shape, args.out, name, {"settings": settings, "steps": steps, "scores": told})
        if args.more is not None:
            flat = packed.read(args.more)
            texts = Table(np.split(flat["ids"], np.cumsum(flat["sizes"].astype(np.int64))[:-1]), device, framed=True)
            found = vectors(net, texts)
            scale = found.abs().amax(1, keepdim=True) / 127
            np.savez_compressed(args.out / f"{name}.vectors.npz", values=(found / scale).round().to(torch.int8).cpu().numpy())
    print(f"done, {time.time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
