"""Train the guard's encoder: is a message an attack (first token), and which tokens of a passage were planted.

    python training/guard/train.py DATA OUT START [START ...] [--minutes 4]

DATA as prepare.py left it; START.npz.xz is the network that it starts as: the shipped embedder, or the guard itself, by
bert_onnx.read_own and packed.write. OUT gets START.npz.xz.0 (and .1...) and START.json. Needs torch and a GPU.
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
from torch.nn.functional import avg_pool1d, binary_cross_entropy_with_logits

from training import bert, packed

SMOOTH = 5  # tokens over which the score of a passage is averaged
RATE, WARM, KEPT = 6e-5, 0.06, 0.998  # the last: of the running mean of the weights, by step


class Net(nn.Module):
    """The encoder, all of whose tokens are computed, and two heads."""

    def __init__(self, encoder: bert.Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.message = nn.Linear(bert.WIDTH, 1)
        self.planted = nn.Linear(bert.WIDTH, 1)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        net = self.encoder
        x = net.words(ids) + net.positions.weight[: ids.shape[1]] + net.types.weight[0]
        x = nn.functional.dropout(net.norm(x), net.dropout, self.training)
        for layer in net.layers:
            x = layer(x, mask)
        return self.message(x[:, 0])[:, 0].float(), self.planted(x)[:, :, 0].float()


class Rows:
    """Examples on the device; drawn by label, and of each kind as often as the root of its number."""

    def __init__(self, flat: dict[str, np.ndarray], name: str, device: str, attacks: float) -> None:
        sizes = flat[f"{name}_sizes"].astype(np.int64)
        inside = np.unpackbits(flat[f"{name}_inside"])[: sizes.sum()]
        width = int(sizes.max())
        where = np.arange(width) < sizes[:, None]
        ids, marks = np.zeros((len(sizes), width), np.int16), np.zeros((len(sizes), width), np.uint8)
        ids[where], marks[where] = flat[f"{name}_ids"].astype(np.int16), inside
        self.ids, self.marks = torch.from_numpy(ids).to(device), torch.from_numpy(marks).to(device)
        self.sizes = torch.from_numpy(sizes).to(device)
        self.labels = torch.from_numpy(flat[f"{name}_labels"].astype(np.float32)).to(device)
        self.kind, self.kinds = flat[f"{name}_kind"], flat[f"{name}_kinds"]
        held = flat[f"{name}_held"].astype(bool)
        self.held = np.flatnonzero(held)
        chance = np.bincount(self.kind, minlength=len(self.kinds))[self.kind] ** -0.5 * ~held
        labels = flat[f"{name}_labels"]
        for label, share in ((1, attacks), (0, 1 - attacks)):
            chance[labels == label] *= share / chance[labels == label].sum()
        self.chance = torch.from_numpy(chance).to(device)

    def draw(self, count: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.take(torch.multinomial(self.chance, count, replacement=True))

    def take(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        sizes = self.sizes[rows]
        width = int(sizes.max())
        mask = torch.arange(width, device=rows.device) < sizes[:, None]
        ids = self.ids[rows, :width].long() & 0xFFFF
        return ids, mask, self.labels[rows], self.marks[rows, :width].float()


def passage_score(tokens: Tensor, mask: Tensor) -> Tensor:
    """The greatest mean of a run of tokens."""
    low = tokens.masked_fill(~mask, -10.0)
    smooth = avg_pool1d(low[:, None], SMOOTH, 1, SMOOTH // 2, count_include_pad=False)[:, 0]
    return smooth.masked_fill(~mask, -20.0).max(1).values


def lesson(net: Net, messages: Rows, passages: Rows, sizes: tuple[int, int]) -> Tensor:
    ids, mask, labels, _ = messages.draw(sizes[0])
    said, _ = net(ids, mask)
    loss = binary_cross_entropy_with_logits(said, labels * 0.98 + 0.01)
    ids, mask, labels, marks = passages.draw(sizes[1])
    _, tokens = net(ids, mask)
    each = binary_cross_entropy_with_logits(tokens, marks, reduction="none")
    loss = loss + (each * mask).sum() / mask.sum() * 2
    return loss + binary_cross_entropy_with_logits(passage_score(tokens, mask), labels * 0.98 + 0.01)


@torch.no_grad()
def scores(net: Net, rows: Rows, which: np.ndarray, passages: bool) -> np.ndarray:
    net.eval()
    found = []
    order = which[np.argsort(rows.sizes.cpu().numpy()[which])]
    for at in range(0, len(order), 256):
        ids, mask, _, _ = rows.take(torch.from_numpy(order[at : at + 256]).to(rows.ids.device))
        with torch.autocast("cuda", torch.bfloat16, enabled=torch.cuda.is_available()):
            said, tokens = net(ids, mask)
        found.append((passage_score(tokens, mask) if passages else said).float().cpu().numpy())
    net.train()
    result = np.empty(len(which))
    result[np.argsort(np.argsort(rows.sizes.cpu().numpy()[which]))] = 0
    result[np.searchsorted(which, order)] = np.concatenate(found)
    return result


def report(net: Net, rows: Rows, passages: bool) -> dict[str, object]:
    which = np.sort(rows.held)
    said, labels = scores(net, rows, which, passages), rows.labels.cpu().numpy()[which]
    clean = np.sort(said[labels == 0])[::-1]
    threshold = float(clean[len(clean) // 200])  # half a percent
    kinds: dict[str, list[float]] = {}
    for kind, score, label in zip(rows.kinds[rows.kind[which]], said, labels, strict=True):
        kinds.setdefault(f"{str(kind).split('/')[0]}={int(label)}", []).append(float(score > threshold))
    found = {kind: [len(each), round(float(np.mean(each)), 3)] for kind, each in sorted(kinds.items())}
    return {"threshold": threshold, "recall": float((said[labels == 1] > threshold).mean()), "flagged": found}


def started(weights: packed.Weights) -> Net:
    """A network that starts as this encoder, with heads of its own or those that come with it."""
    net = Net(begun(weights))
    if any(name.startswith("message.") for name in weights):
        for name, head in (("message", net.message), ("planted", net.planted)):
            head.weight.data[:] = torch.from_numpy(packed.plain(weights, f"{name}.weight"))
            head.bias.data[:] = torch.from_numpy(packed.plain(weights, f"{name}.bias"))
    return net


def begun(weights: packed.Weights) -> bert.Encoder:
    """The encoder with these weights, all of its layers computing all tokens."""
    count = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))
    inner = tuple(len(weights[f"layers.{layer}.inner.bias"]) for layer in range(count))
    net = bert.Encoder(bert.Shape(("all",) * count, inner, tuple(range(count))), 0, 0.1)
    for name, parameter in net.named_parameters():
        value = torch.from_numpy(packed.plain(weights, name))
        parameter.data[: len(value)] = value
    return net


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("starts", nargs="+", type=Path)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--batch", type=int, default=192)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    flat = packed.read(given.data)
    messages, passages = Rows(flat, "messages", device, 0.45), Rows(flat, "passages", device, 0.5)
    nets = {}
    for file in given.starts:
        net = started(packed.read(file)).to(device).train()
        optimizer = torch.optim.AdamW(net.parameters(), RATE, weight_decay=0.01, fused=device == "cuda")
        nets[file.name.split(".")[0]] = net, optimizer, copy.deepcopy(net).eval()
    begin, step = time.time(), 0
    while (done := (time.time() - begin) / (given.minutes * 60)) < 1:
        for net, optimizer, mean in nets.values():
            for group in optimizer.param_groups:
                group["lr"] = RATE * min(1, done / WARM) * (0.5 + 0.5 * math.cos(math.pi * done))
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                loss = lesson(net, messages, passages, (given.batch, given.batch // 3))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            with torch.no_grad():
                torch._foreach_lerp_(list(mean.parameters()), list(net.parameters()), 1 - KEPT)
        step += 1
        if step % 500 == 0:
            print(f"{done:.0%} step {step} loss {loss.item():.4f}", flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    for name, (_, _, net) in nets.items():
        told = {"messages": report(net, messages, False), "passages": report(net, passages, True), "steps": step}
        print(name, json.dumps(told["messages"]), json.dumps(told["passages"]["recall"]), flush=True)
        state = {key.removeprefix("encoder."): value.float().cpu().numpy() for key, value in net.state_dict().items()}
        (given.out / f"{name}.json").write_text(json.dumps({"layers": len(net.encoder.layers), "held_out": told}))
        _save(given.out / f"{name}.npz.xz", state)


def _save(file: Path, state: dict[str, np.ndarray]) -> None:
    arrays: packed.Weights = {}
    for name, value in state.items():
        if value.ndim == 2 and min(value.shape) > 1:
            values, scale, zero = packed.by_row(value)
            arrays |= {f"{name}|values": values, f"{name}|scale": scale, f"{name}|zero": zero}
        else:
            arrays[name] = value
    data = packed.compressed(arrays, 1)
    for number, at in enumerate(range(0, len(data), bert.PART)):
        Path(f"{file}.{number}").write_bytes(data[at : at + bert.PART])


if __name__ == "__main__":
    main()
