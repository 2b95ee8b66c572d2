"""Teach layers of multilingual-e5-small to judge whether a sentence answers a message in a conversation.

    python training/foreign/train.py DATA E5.npz.xz OUT --half 0 [--minutes 8]
    python training/foreign/train.py DATA E5.npz.xz OUT --begin BEGIN.npz.xz --guide JUDGE.npz.xz [--seed 1]

DATA comes from prepare.py, E5 from weights.py. First all twelve layers learn from every second document and leave some
of them with those inner units that say most (OUT.begin.npz.xz). The network that begins as these learns half from the
marks and half from what the English judge (the shipped re-ranker by bert_onnx.read_own and packed.write) thinks of the
same question and sentence in English. The words stay as they are, so that the guard's network can share them. OUT is
OUT.npz.xz and OUT.json. Needs torch and a GPU; run from the repository's root with it on the path.
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
from torch.nn.functional import (
    binary_cross_entropy_with_logits,
    dropout,
    gelu,
    log_softmax,
    scaled_dot_product_attention,
)

from training import bert, packed
from training.bert import Encoder, Shape
from training.guard import nibbles
from training.reranker.train import SCORES, area

# As FOREIGN and STUDENT in turnwise/models/reranker.py: the most tokens, and those at the start and after either part.
ROOM, FIRST, LAST = 128, 0, 2
GUIDE_ROOM, CLS, SEP = 112, 101, 102
GUIDE = ("all", "all", "front", "first")
GUIDED = 0.5  # what the guide's opinion counts beside the marks
HELD_OUT = 12  # one document of so many
NONE_KEPT = 0.7  # the share of messages that nothing answers and that get no answer, where right answers are counted
KEPT_LAYERS, INNER = (1, 3, 5, 7, 9, 11), 512


class Net(nn.Module):
    """The encoder with one score. The matrices see only tokens that are there; attention is computed on padded rows."""

    def __init__(self, words: Tensor, inner: list[int], chance: float) -> None:
        super().__init__()
        self.register_buffer("words", words, persistent=False)
        self.positions = nn.Embedding(ROOM, bert.WIDTH)
        self.types = nn.Embedding(2, bert.WIDTH)
        self.norm = nn.LayerNorm(bert.WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(bert.Layer(each, chance) for each in inner)
        self.head = nn.Linear(bert.WIDTH, 1)
        self.chance = chance

    def forward(self, ids: Tensor, mask: Tensor, front: Tensor) -> Tensor:
        """`front` is how many tokens of each row are of the first part."""
        rows, width = ids.shape
        second = (torch.arange(width, device=ids.device) >= front[:, None]).long()
        there = mask.reshape(-1).nonzero()[:, 0]  # where the tokens stand in the padded rows
        x = self.words[ids.reshape(-1)[there]] + self.positions(there % width)
        x = dropout(self.norm(x + self.types(second.reshape(-1)[there])), self.chance, self.training)
        for layer in self.layers:
            heads = layer.qkv(x)
            heads = heads.new_zeros(rows * width, 3 * bert.WIDTH).index_copy(0, there, heads)
            query, key, value = heads.view(rows, width, 3, bert.HEADS, -1).permute(2, 0, 3, 1, 4)
            y = scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None])
            y = layer.out(y.transpose(1, 2).reshape(rows * width, -1)[there])
            x = layer.norm1(x + dropout(y, self.chance, self.training))
            y = gelu(layer.inner(x), approximate="tanh")
            if layer.busy is not None:
                layer.busy += y.float().abs().sum(0)
            x = layer.norm2(x + dropout(layer.outer(y), self.chance, self.training))
        ends = mask.sum(1).cumsum(0)
        first = torch.cat([ends.new_zeros(1), ends[:-1]])
        return self.head(x[first])[:, 0].float()


def begun(weights: packed.Weights, words: Tensor, chance: float) -> Net:
    """A network with these weights; those that it has not are as they come."""
    count = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))
    inner = [len(packed.plain(weights, f"layers.{layer}.inner.bias")) for layer in range(count)]
    net = Net(words, inner, chance)
    held = {name.split("|")[0] for name in weights}
    for name, parameter in net.named_parameters():
        if name in held:
            value = torch.from_numpy(nibbles.plain(weights, name))[: len(parameter)]
            parameter.data[: len(value)] = value
    return net


def judge(weights: packed.Weights) -> Encoder:
    inner = tuple(len(packed.plain(weights, f"layers.{layer}.inner.bias")) for layer in range(len(GUIDE)))
    net = Encoder(Shape(GUIDE, inner, (0,)), SCORES).eval().requires_grad_(False)
    for name, parameter in net.named_parameters():  # a graph keeps only as many positions as it reads
        value = torch.from_numpy(packed.plain(weights, name))
        parameter.data[: len(value)] = value
    return net


class Pairs:
    """What is asked and the sentences that may answer, in tokens, on the device."""

    def __init__(self, flat: packed.Weights, name: str, ends: tuple[int, int, int], some: np.ndarray, device: str):
        self.device = device
        self.room, self.first, self.last = ends
        self.candidates = torch.from_numpy(flat[f"{name}candidates"][some].astype(np.int64)).to(device)
        self.asked, self.asked_sizes = self._table(flat, f"{name}asked", some)
        self.text, self.text_sizes = self._table(flat, f"{name}text", np.arange(len(flat[f"{name}text_sizes"])))

    def _table(self, flat: packed.Weights, name: str, some: np.ndarray) -> tuple[Tensor, Tensor]:
        sizes = flat[f"{name}_sizes"].astype(np.int64)
        table = np.zeros((len(sizes), sizes.max()), np.int32)
        table[np.arange(table.shape[1]) < sizes[:, None]] = flat[f"{name}_ids"]
        return torch.from_numpy(table[some]).to(self.device), torch.from_numpy(sizes[some]).to(self.device)

    def batch(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """All pairs of some rows: tokens, which are there, and how many are of the first part."""
        text = self.candidates[rows].reshape(-1)
        row = rows.repeat_interleave(self.candidates.shape[1])
        asked, told = self.asked[row].long(), self.text[text].long()
        start, end = (torch.full_like(asked[:, :1], each) for each in (self.first, self.last))
        asked_there = self._below(asked, self.asked_sizes[row])
        left = self.room - 3 - self.asked_sizes[row]
        told_there = self._below(told, torch.minimum(self.text_sizes[text], left))
        one = torch.ones_like(start).bool()
        line = torch.cat([start, asked, end, told, end], 1)
        there = torch.cat([one, asked_there, one, told_there, one], 1)
        place = (there.cumsum(1) - 1).masked_fill(~there, self.room)  # what is not there goes beyond the end
        ids = torch.zeros(len(line), self.room + 1, dtype=torch.int64, device=self.device).scatter_(1, place, line)
        sizes = there.sum(1)
        width = int(sizes.max())
        return ids[:, :width], torch.arange(width, device=self.device) < sizes[:, None], self.asked_sizes[row] + 2

    def _below(self, table: Tensor, sizes: Tensor) -> Tensor:
        return torch.arange(table.shape[1], device=self.device) < sizes[:, None]


class Data:
    def __init__(self, file: Path, device: str, limit: int | None) -> None:
        flat = packed.read(file)
        count = len(flat["leans"])
        some = np.arange(0, count, max(1, count // limit) if limit else 1)
        self.device = device
        self.grades, self.leans, self.document, self.language = (
            torch.from_numpy(flat[name][some].astype(np.int64)).to(device)
            for name in ("grades", "leans", "document", "language")
        )
        self.languages = [str(each) for each in flat["languages"]]
        self.pairs = Pairs(flat, "", (ROOM, FIRST, LAST), some, device)
        self.english = Pairs(flat, "english_", (GUIDE_ROOM, CLS, SEP), some, device)
        self.count, self.slots = self.grades.shape


@torch.no_grad()
def scored(net: nn.Module, pairs: Pairs, rows: Tensor, batch: int = 256) -> Tensor:
    """The log-odds that each sentence of some rows answers."""
    net.eval()
    order = pairs.asked_sizes[rows].argsort()
    found = torch.zeros(len(rows), pairs.candidates.shape[1], device=rows.device)
    for some in order.split(batch):
        with torch.autocast(pairs.device, torch.bfloat16, enabled=pairs.device == "cuda"):
            odds = net(*pairs.batch(rows[some]))
        found[some] = (odds[:, -1] if odds.ndim == 2 else odds).view(len(some), -1)
    return found


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


@torch.no_grad()
def smaller(net: Net, data: Data, rows: Tensor) -> packed.Weights:
    """Some layers of a network, with those inner units that say most on these rows."""
    for layer in net.layers:
        layer.busy = torch.zeros(layer.inner.out_features, device=data.device)
    scored(net, data.pairs, rows)
    kept: dict[str, Tensor] = {
        name: value for name, value in net.state_dict().items() if not name.startswith("layers.")
    }
    for number, source in enumerate(KEPT_LAYERS):
        layer = net.layers[source]
        units = (layer.busy * layer.outer.weight.norm(dim=0)).topk(INNER).indices.sort().values
        for name, value in layer.state_dict().items():
            if name.startswith("inner."):
                value = value[units]
            elif name == "outer.weight":
                value = value[:, units]
            kept[f"layers.{number}.{name}"] = value
    return {name: value.cpu().numpy().astype(np.float16) for name, value in kept.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("start", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--half", type=int)
    parser.add_argument("--guide", type=Path)
    parser.add_argument("--begin", type=Path)
    parser.add_argument("--limit", type=int, help="rows, to try things out")
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(args.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    started = time.time()
    data, weights = Data(args.data, device, args.limit), packed.read(args.start)
    words = torch.from_numpy(nibbles.plain(weights, "words.weight"))
    net = begun(packed.read(args.begin) if args.begin else weights, words, args.dropout).to(device)
    every = torch.arange(data.count, device=device)
    held = data.document % HELD_OUT == 0
    learnt = (~held if args.half is None else ~held & (data.document % 2 == args.half)).nonzero()[:, 0]
    print(f"{data.count} rows, {len(learnt)} learnt, {time.time() - started:.0f} s", flush=True)
    english = data.language == data.languages.index("en")
    every_part = {
        f"{name}, {form}": (held & of & which).nonzero()[:, 0]
        for name, of in (("en", english), ("other", ~english))
        for form, which in (("lean", data.leans == 1), ("stand", data.leans == 0))
    }
    parts = {name: rows for name, rows in every_part.items() if len(rows)}

    def told() -> dict[str, dict[str, float]]:
        return {
            name: figures(scored(net, data.pairs, rows), data.grades[rows]) for name, rows in parts.items() if len(rows)
        }

    target = torch.tensor([0.0, 0.0, 0.5, 1.0], device=device)[data.grades]
    if args.guide:
        aim = scored(judge(packed.read(args.guide)).to(device), data.english, every, 512)
        told_by = {name: figures(aim[rows], data.grades[rows]) for name, rows in parts.items()}
        print(f"guide, {time.time() - started:.0f} s: {json.dumps(told_by)}", flush=True)
        target = (1 - GUIDED) * target + GUIDED * torch.sigmoid(aim)
    parameters = [each for each in net.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(parameters, args.rate, weight_decay=0.01, fused=device == "cuda")
    begin, step, epoch = time.time(), 0, 0
    until = started + 60 * args.minutes
    record: dict[str, object] = {}
    while time.time() < until:
        net.train()
        total, batches = torch.zeros(2, device=device), 0
        for some in learnt[torch.randperm(len(learnt), device=device)].split(args.batch):
            gone = min(1.0, (time.time() - begin) / (until - begin))
            if gone >= 1.0:
                break
            rate = args.rate * min(1.0, (step + 1) / 300) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * gone)))
            for group in optimizer.param_groups:
                group["lr"] = rate
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                odds = net(*data.pairs.batch(some)).view(len(some), -1)
            single = binary_cross_entropy_with_logits(odds, target[some])
            chance = log_softmax(torch.cat([odds, torch.zeros_like(odds[:, :1])], 1), 1)
            share = torch.tensor([0.0, 0.0, 0.4, 1.0], device=device)[data.grades[some]]
            meant = torch.cat([share, (1 - share.sum(1, keepdim=True)).clamp(min=0)], 1)
            chosen = -((meant / meant.sum(1, keepdim=True)) * chance).sum(1).mean()
            optimizer.zero_grad(set_to_none=True)
            (2 * single + 0.3 * chosen).backward()
            nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            total, batches, step = total + torch.stack([single.detach(), chosen.detach()]), batches + 1, step + 1
        epoch += 1
        scores = told()
        loss = (total / max(1, batches)).tolist()
        print(f"epoch {epoch}, step {step}, {time.time() - started:.0f} s: {loss} {json.dumps(scores)}", flush=True)
        settings = {key: str(getattr(args, key)) for key in ("minutes", "batch", "rate", "dropout", "seed")}
        record = {"settings": settings, "rows": len(learnt), "epochs": epoch, "steps": step, "scores": scores}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    if args.half is not None:
        packed.write(Path(f"{args.out}.begin.npz.xz"), smaller(net, data, every[:: max(1, data.count // 2000)]), 1)
        return
    kept: packed.Weights = {}
    for name, value in net.state_dict().items():
        plain = value.float().cpu().numpy()
        kept[name] = plain.astype(np.float32 if plain.ndim == 1 else np.float16)
    packed.write(Path(f"{args.out}.npz.xz"), kept, 1)
    Path(f"{args.out}.json").write_text(json.dumps(record, indent=1) + "\n")
    print(f"done, {time.time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
