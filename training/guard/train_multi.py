"""Train the guard's encoder for all languages: some layers of multilingual-e5-small, its words at 4 bits as they came.

    python training/guard/train_multi.py DATA START OUT NAME [--layers 0,2,4,6,8,10 ...] [--minutes 7] [--fork FILE]
    python training/guard/train_multi.py DATA START OUT NAME --join FILE --seed 2
    python training/guard/train_multi.py DATA START OUT NAME --guides ONE.npz.xz OTHER.npz.xz [--begin ONE.npz.xz]

DATA as encode.py left it, START (e5.npz.xz) as e5.py did. Of several choices of layers the one is kept whose loss on
held-out examples is least after TRIED seconds of each. With --fork the state is left in FILE when a part of the time
has gone by; --join waits for it and goes on from there with other examples: the weights of both can be averaged.
With --guides the labels of messages are mixed with what two networks, as narrow.py left them, make of them.
OUT gets NAME.npz.xz.0 (and .1...), without the words, and NAME.json. The lessons are those of train.py.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, dropout, gelu, scaled_dot_product_attention

from training import bert, packed
from training.guard import nibbles
from training.guard.train import KEPT, WARM, Rows, _save, passage_score, report, scores

FORK = 0.3  # of the time, when the state is left for another run
TRIED = 15  # seconds of each choice of layers
DROPOUT = 0.1
# For English, and for other messages: what the guides' opinion counts beside the label, and in it that of the second.
GUIDED, SECOND = (1.0, 0.7), (0.0, 0.75)


class Net(nn.Module):
    """The encoder and two heads. The matrices see only tokens that are there; attention is computed on padded rows."""

    def __init__(self, weights: packed.Weights, layers: list[int]) -> None:
        super().__init__()
        words = torch.from_numpy(nibbles.plain(weights, "words.weight"))
        self.register_buffer("words", words, persistent=False)
        self.positions = nn.Embedding(256, bert.WIDTH)
        self.types = nn.Embedding(2, bert.WIDTH)
        self.norm = nn.LayerNorm(bert.WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(bert.Layer(bert.INNER, DROPOUT) for _ in layers)
        self.message = nn.Linear(bert.WIDTH, 1)
        self.planted = nn.Linear(bert.WIDTH, 1)
        for name, parameter in self.named_parameters():
            part = name.split(".")
            if part[0] in ("message", "planted"):
                continue
            if part[0] == "layers":
                name = ".".join(["layers", str(layers[int(part[1])]), *part[2:]])
            parameter.data[:] = torch.from_numpy(nibbles.plain(weights, name))[: len(parameter)]

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        rows, width = ids.shape
        there = mask.reshape(-1).nonzero()[:, 0]  # where the tokens stand in the padded rows
        x = self.words[ids.reshape(-1)[there]] + self.positions(there % width) + self.types.weight[0]
        x = dropout(self.norm(x), DROPOUT, self.training)
        for layer in self.layers:
            heads = layer.qkv(x)
            heads = heads.new_zeros(rows * width, 3 * bert.WIDTH).index_copy(0, there, heads)
            query, key, value = heads.view(rows, width, 3, bert.HEADS, -1).permute(2, 0, 3, 1, 4)
            y = scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None])
            y = layer.out(y.transpose(1, 2).reshape(rows * width, -1)[there])
            x = layer.norm1(x + dropout(y, DROPOUT, self.training))
            y = layer.outer(gelu(layer.inner(x), approximate="tanh"))
            x = layer.norm2(x + dropout(y, DROPOUT, self.training))
        first = mask.sum(1).cumsum(0)
        first = torch.cat([first.new_zeros(1), first[:-1]])
        tokens = x.new_zeros(rows * width, dtype=torch.float32).index_copy(0, there, self.planted(x)[:, 0].float())
        return self.message(x[first])[:, 0].float(), tokens.view(rows, width)


def narrowed(weights: packed.Weights, narrow: Path) -> Net:
    """A network of all layers as narrow.py left it, with the words of the one it began as."""
    found = packed.read(narrow)
    net = Net(weights, list(range(12)))
    for name, parameter in net.named_parameters():
        kept = [found.get(f"{name}|{part}") for part in ("nibbles", "scales", "zeros")]
        value = found[name] if kept[0] is None else nibbles.whole(*kept)
        parameter.data[:] = torch.from_numpy(value.astype(np.float32))
    return net


def guide(messages: Rows, guides: list[Net], foreign: np.ndarray, device: str) -> None:
    """Mix the labels of the messages that are learnt with the guides' opinions."""
    learnt = np.setdiff1d(np.arange(len(foreign)), messages.held)
    odds = [scores(net.to(device), messages, learnt, False) for net in guides]
    second, guided = (np.where(foreign[learnt], each[1], each[0]) for each in (SECOND, GUIDED))
    opinion = 1 / (1 + np.exp(-(1 - second) * odds[0] - second * odds[1]))
    where, opinion, guided = (torch.from_numpy(each).to(device) for each in (learnt, opinion, guided))
    messages.labels[where] = torch.lerp(messages.labels[where], opinion.float(), guided.float())


def together(one: Tensor, other: Tensor, width: int) -> Tensor:
    return torch.cat([nn.functional.pad(each, (0, width - each.shape[1])) for each in (one, other)])


def lesson(net: Net, drawn: tuple[Tensor, ...], read: tuple[Tensor, ...]) -> Tensor:
    """The loss of train.py's lesson, messages and passages read at once."""
    width = max(drawn[0].shape[1], read[0].shape[1])
    ids, mask = (together(one, other, width) for one, other in zip(drawn[:2], read[:2], strict=True))
    said, tokens = net(ids, mask)
    count = len(drawn[0])
    loss = binary_cross_entropy_with_logits(said[:count], drawn[2] * 0.98 + 0.01)
    tokens, mask, marks = tokens[count:], mask[count:], nn.functional.pad(read[3], (0, width - read[3].shape[1]))
    each = binary_cross_entropy_with_logits(tokens, marks, reduction="none")
    loss = loss + (each * mask).sum() / mask.sum() * 2
    return loss + binary_cross_entropy_with_logits(passage_score(tokens, mask), read[2] * 0.98 + 0.01)


class Run:
    """A network, its running mean and what moves it."""

    def __init__(self, net: Net, device: str) -> None:
        self.net = net.to(device).train()
        self.mean = copy.deepcopy(self.net).eval()
        self.device = device
        self.optimizer = torch.optim.AdamW(net.parameters(), 0.0, weight_decay=0.01, fused=device == "cuda")

    def step(self, messages: Rows, passages: Rows, batch: int, rate: float) -> Tensor:
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            loss = lesson(self.net, messages.draw(batch), passages.draw(batch // 3))
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(self.mean.parameters()), list(self.net.parameters()), 1 - KEPT)
        return loss

    @torch.no_grad()
    def held_out(self, messages: Rows, passages: Rows) -> float:
        """The loss on examples that are held out, the same for every choice."""
        self.net.eval()
        losses = []
        for at in range(8):
            parts = []
            for rows, count in ((messages, 192), (passages, 64)):
                spread = np.random.default_rng(at).choice(rows.held, count)
                parts.append(rows.take(torch.from_numpy(spread).to(self.device)))
            with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
                losses.append(lesson(self.net, *parts).item())
        self.net.train()
        return float(np.mean(losses))


def tried(
    weights: packed.Weights, choices: list[list[int]], data: tuple[Rows, Rows], given: argparse.Namespace, device: str
) -> tuple[Run, list[int], dict[str, list[float]]]:
    """The run whose layers were the best choice, after some seconds of each."""
    told: dict[str, list[float]] = {}
    runs = []
    for layers in choices:
        torch.manual_seed(given.seed)
        run = Run(Net(weights, layers), device)
        begin, step = time.time(), 0
        while len(choices) > 1 and (done := (time.time() - begin) / given.tried) < 1:
            run.step(*data, given.batch, given.rate * min(1, done / 0.3))
            step += 1
        told[",".join(map(str, layers))] = [step, run.held_out(*data)] if len(choices) > 1 else []
        print(layers, told[",".join(map(str, layers))], flush=True)
        runs.append(run)
    best = min(range(len(runs)), key=lambda at: list(told.values())[at][1:])
    return runs[best], choices[best], told


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("data", "start", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("name")
    parser.add_argument("--layers", nargs="+", default=["0,2,4,6,8,10"])
    parser.add_argument("--minutes", type=float, default=7.0)
    parser.add_argument("--tried", type=float, default=TRIED)
    parser.add_argument("--batch", type=int, default=192)
    parser.add_argument("--rate", type=float, default=8e-5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fork", type=Path)
    parser.add_argument("--join", type=Path)
    parser.add_argument("--guides", nargs=2, type=Path)
    parser.add_argument("--begin", type=Path)
    given = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    flat, weights = packed.read(given.data), packed.read(given.start)
    data = Rows(flat, "messages", device, 0.45), Rows(flat, "passages", device, 0.5)
    if given.guides:
        guide(data[0], [narrowed(weights, file) for file in given.guides], flat["messages_foreign"] > 0, device)
    step = 0
    if given.join:
        while not given.join.is_file():
            time.sleep(0.2)
        state = torch.load(given.join, map_location=device, weights_only=True)
        layers, begin, told, step = state["layers"], state["begin"], state["tried"], state["step"]
        run = Run(Net(weights, layers), device)
        run.net.load_state_dict(state["net"])
        run.mean.load_state_dict(state["mean"])
        run.optimizer.load_state_dict(state["optimizer"])
    else:
        begin = time.time()
        choices = [list(map(int, each.split(","))) for each in given.layers]
        run, layers, told = tried(weights, choices, data, given, device)
    if given.begin:
        run = Run(narrowed(weights, given.begin), device)
    torch.manual_seed(given.seed)
    fork = given.fork
    while (done := (time.time() - begin) / (given.minutes * 60)) < 1:
        rate = given.rate * min(1, done / WARM) * (0.5 + 0.5 * math.cos(math.pi * done))
        loss = run.step(*data, given.batch, rate)
        step += 1
        if step % 500 == 0:
            print(f"{given.name} {done:.0%} step {step} loss {loss.item():.4f}", flush=True)
        if fork and done > FORK:
            state = {"net": run.net.state_dict(), "mean": run.mean.state_dict(), "begin": begin, "tried": told}
            state |= {"optimizer": run.optimizer.state_dict(), "layers": layers, "step": step}
            torch.save(state, f"{fork}.part")
            Path(f"{fork}.part").rename(fork)
            fork = None
    given.out.mkdir(parents=True, exist_ok=True)
    held = {"messages": report(run.mean, data[0], False), "passages": report(run.mean, data[1], True)}
    print(given.name, "steps", step, json.dumps(held), flush=True)
    record = {"layers": layers, "tried": told, "steps": step, "rate": given.rate, "batch": given.batch}
    (given.out / f"{given.name}.json").write_text(json.dumps(record | {"seed": given.seed, "held_out": held}))
    state = {name: value.float().cpu().numpy() for name, value in run.mean.state_dict().items()}
    _save(given.out / f"{given.name}.npz.xz", state)


if __name__ == "__main__":
    main()
