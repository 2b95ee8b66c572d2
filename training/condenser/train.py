"""Train the condenser on the examples of prepare.py.

    python training/condenser/train.py EXAMPLES.npz ENCODER.npz OUT [--keep 0,1,3,5] [--leave-out 1] [--soft A.npz,...]
        [--guide RUN.npz]

Writes OUT.npz (weights), OUT.json (settings and scores on the held-out conversations) and OUT.held.npz (predictions
there). With --leave-out N the tenths N, N+3, N+6... of the conversations are not trained on and OUT.soft.npz holds the
predictions for them: three such teachers (0, 1, 2) give every example a prediction by one that has not seen it, and
--soft lets a student learn from these as well as from the labels. With --guide a student also learns to
decide as a larger trained network does, on inputs that are changed at random. Needs torch; a GPU, or patience.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from model import FACTS, Condenser, pack
from torch import Tensor, nn

# How often a pool is seen in an epoch, and in the last epochs, which are for what comes closest to the use.
REPEATED = {"qrecc": 3, "small": 6, "labels": 2}
FOCUS = {"qrecc": 3, "small": 6, "varied": 1, "labels": 3, "labels_answered": 1, "small_answered": 1, "canard": 1}
FOCUS |= {"complete": 1, "after": 1, "switch": 1, "opened": 1}
FOLDS = 3


class Examples:
    """All examples as padded tensors on the device."""

    def __init__(self, file: Path, device: str) -> None:
        with np.load(file) as packed:
            flat = {name: packed[name] for name in packed.files}
        self.pools = [str(name) for name in flat["pools"]]
        self.pool, self.part, self.sizes = flat["pool"], flat["part"], flat["tokens"].astype(int)
        self.mentions = flat["mentions"].astype(int)
        self.device = device

        def padded(name: str, counts: np.ndarray, fill: int) -> Tensor:
            table = np.full((len(counts), counts.max()), fill, np.int32)
            table[np.arange(counts.max()) < counts[:, None]] = flat[name]
            return torch.from_numpy(table).to(device)

        self.ids = padded("ids", self.sizes, 0)
        self.token, self.place, self.stem, self.facts = (
            padded(name, self.mentions, 0) for name in ("token", "place", "stem", "facts")
        )
        self.missing = padded("missing", self.mentions, -2)  # -1: not known, -2: no mention
        self.size, self.message_at, self.context, self.wanted = (
            torch.from_numpy(flat[name].astype(np.int64)).to(device)
            for name in ("tokens", "message_at", "context", "wanted")
        )

    def __len__(self) -> int:
        return len(self.pool)

    def of(self, *names: str) -> np.ndarray:
        return np.flatnonzero(np.isin(self.pool, [self.pools.index(name) for name in names]))

    def batch(self, chosen: np.ndarray) -> tuple[tuple[Tensor, ...], Tensor, Tensor]:
        """The inputs of the network; by stem its label; the number of every mention's stem."""
        at = torch.from_numpy(chosen).to(self.device)
        size, count = self.sizes[chosen].max(), max(1, self.mentions[chosen].max())
        ids = self.ids[at, :size].long()
        column = torch.arange(size, device=self.device)
        mask = column < self.size[at, None]
        types = ((column >= self.message_at[at, None]) & mask).long()
        token, place, stem, facts = (
            table[at, :count].long() for table in (self.token, self.place, self.stem, self.facts)
        )
        bits = (facts[..., None] >> torch.arange(FACTS, device=self.device)) & 1
        missing = self.missing[at, :count].long()
        label = torch.full_like(missing, -2).scatter_reduce(1, stem, missing, "amax")
        return (ids, types, mask, token, place, bits.float()), label, stem


def by_stem(logits: Tensor, stem: Tensor, present: Tensor) -> Tensor:
    """A word counts once, by its likeliest mention."""
    return torch.full_like(logits, -30.0).scatter_reduce(1, stem, logits.masked_fill(~present, -30.0), "amax")


def train(
    net: Condenser,
    data: Examples,
    drawn: list[np.ndarray],
    soft: tuple[Tensor, Tensor] | None,
    args: argparse.Namespace,
) -> None:
    """One epoch for each of the drawn sets of examples."""
    device = data.device
    rng = np.random.default_rng(args.seed)
    heads = [each for name, each in net.named_parameters() if name.startswith(("missing", "context", "places"))]
    body = [each for name, each in net.named_parameters() if not name.startswith(("missing", "context", "places"))]
    groups = [{"params": body, "lr": args.rate}, {"params": heads, "lr": 5 * args.rate}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01, fused=device == "cuda")
    steps = sum(len(chosen) // args.batch + 1 for chosen in drawn)
    guide = Condenser.start(args.guide).to(device).eval().requires_grad_(False) if args.guide else None
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, step / (0.06 * steps + 1)) * max(0.0, (steps - step) / steps)
    )
    net.train()
    started = time.time()
    for epoch, chosen in enumerate(drawn):
        order = rng.permutation(chosen)
        total = torch.zeros(3, device=device)
        groups_of = [order[i : i + args.batch * 32] for i in range(0, len(order), args.batch * 32)]
        batches = [
            batch
            for group in groups_of
            for batch in np.array_split(group[np.argsort(data.sizes[group])], max(1, len(group) // args.batch))
        ]
        for number in rng.permutation(len(batches)):
            inputs, label, stem = data.batch(batches[number])
            at = torch.from_numpy(batches[number]).to(device)
            facts = inputs[5] * (torch.rand(len(at), 1, 1, device=device) > 0.1)
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                context, mention = net(*inputs[:5], facts)
                near = context.new_zeros(())
                if guide is not None:
                    near = astray(net, guide, inputs, stem, data.missing[at, : mention.shape[1]] > -2, args)
            present = data.missing[at, : mention.shape[1]] > -2
            missing = by_stem(mention, stem, present)
            judged = data.context[at]
            loss_context = masked(context, judged.float(), judged >= 0)
            loss_missing = masked(missing, label.float(), label >= 0) * args.missing
            if soft is not None:
                soft_context, soft_missing = (table[at] for table in soft)
                known = label > -2
                loss_context = (1 - args.soft_share) * loss_context + args.soft_share * masked(
                    context, soft_context.sigmoid(), torch.isfinite(soft_context)
                )
                target = soft_missing[:, : mention.shape[1]]
                loss_missing = (1 - args.soft_share) * loss_missing + args.soft_share * args.missing * masked(
                    missing, target.sigmoid(), known & torch.isfinite(target)
                )
            loss = loss_context + loss_missing + near
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += torch.stack([loss_context.detach(), loss_missing.detach(), near.detach()])
        losses = [round(value, 4) for value in (total / len(batches)).tolist()]
        print(f"{args.out.name} epoch {epoch}: {losses}, {time.time() - started:.0f} s", flush=True)


def astray(
    net: Condenser,
    guide: Condenser,
    inputs: tuple[Tensor, ...],
    stem: Tensor,
    present: Tensor,
    args: argparse.Namespace,
) -> Tensor:
    """How far a network decides from its guide, on inputs that nobody labelled: half of them as they are, half with
    words of the history exchanged; a third ask the question of another example."""
    ids, types, mask, *mentions = inputs
    other = torch.randperm(len(ids), device=ids.device)
    history = (types == 0) & mask & (ids > 102)
    mixed = history & history[other] & (torch.rand(ids.shape, device=ids.device) < 0.2)
    mixed &= torch.rand(len(ids), 1, device=ids.device) < 0.5
    ids = torch.where(mixed, ids[other], ids)
    swapped = (torch.rand(len(ids), 1, device=ids.device) < 0.33) & (types == types[other]) & (mask == mask[other])
    ids = torch.where(swapped & (types == 1), ids[other], ids)
    with torch.no_grad():
        context, mention = guide(ids, types, mask, *mentions)
        aim = by_stem(mention, stem, present).sigmoid()
        aim_context = context.sigmoid()
    context, mention = net(ids, types, mask, *mentions)
    known = torch.zeros_like(stem).scatter_reduce(1, stem, present.long(), "amax") > 0
    missing = masked(by_stem(mention, stem, present), aim, known)
    return masked(context, aim_context, torch.ones_like(known[:, 0])) + args.missing * missing


def masked(logits: Tensor, target: Tensor, known: Tensor) -> Tensor:
    target = torch.where(known, target, torch.zeros_like(target))
    loss = nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none") * known
    return loss.sum() / known.sum().clamp(min=1)


@torch.no_grad()
def predict(net: Condenser, data: Examples, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By example: the logit of needing the context; by stem the logits of being missing, and the labels."""
    net.eval()
    count = data.token.shape[1]
    context = np.full(len(chosen), np.nan, np.float16)
    missing = np.full((len(chosen), count), np.nan, np.float16)
    labels = np.full((len(chosen), count), -2, np.int8)
    for start in range(0, len(chosen), 512):
        rows = chosen[start : start + 512]
        inputs, label, stem = data.batch(rows)
        with torch.autocast(data.device, torch.bfloat16, enabled=data.device == "cuda"):
            one, mention = net(*inputs)
        present = data.missing[torch.from_numpy(rows).to(data.device), : mention.shape[1]] > -2
        logits = by_stem(mention, stem, present).masked_fill(label == -2, float("nan"))
        context[start : start + len(rows)] = one.cpu().numpy()
        missing[start : start + len(rows), : logits.shape[1]] = logits.cpu().numpy()
        labels[start : start + len(rows), : logits.shape[1]] = label.cpu().numpy()
    return context, missing, labels


def scores(data: Examples, held: dict[str, tuple[np.ndarray, ...]]) -> dict[str, float]:
    """With thresholds chosen here: they are only to compare runs by."""
    figures: dict[str, float] = {}
    context, _, _, at = held["held_labels"]
    judged = data.context[torch.from_numpy(at).to(data.device)].cpu().numpy()
    for threshold in (0.3, 0.5, 0.7):
        said = sigmoid(context) >= threshold
        figures[f"labels accuracy @{threshold}"] = float(np.mean(said == (judged == 1)))
        figures[f"labels F1 @{threshold}"] = float(
            2 * np.sum(said & (judged == 1)) / (said.sum() + (judged == 1).sum())
        )
    for gate in (0.3, 0.5, 0.7):
        for threshold in (0.3, 0.4, 0.5):
            key = f"@{gate}/{threshold}"
            switch = (sigmoid(held["held_switch"][0]) >= gate) & (sigmoid(held["held_switch"][1]) >= threshold).any(1)
            figures[f"switch {key}"] = float(switch.mean())
            right = said_ = wanted = 0
            for name in ("held_qrecc", "held_cast19", "held_ikat23"):
                context, missing, labels, at = held[name]
                chosen = (sigmoid(missing) >= threshold) & (sigmoid(context) >= gate)[:, None]
                hits, count = int((chosen & (labels == 1)).sum()), int(chosen.sum())
                gold = int(data.wanted[torch.from_numpy(at).to(data.device)].sum())
                figures[f"{name[5:]} F1 {key}"] = 2 * hits / max(1, count + gold)
                right, said_, wanted = right + hits, said_ + count, wanted + gold
            figures[f"F1 {key}"] = 2 * right / max(1, said_ + wanted)
    return {name: round(value, 4) for name, value in figures.items()}


def sigmoid(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.nan_to_num(values.astype(np.float32), nan=-30.0)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("examples", type=Path)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--keep", default="")
    parser.add_argument("--leave-out", type=int)
    parser.add_argument("--soft", default="")
    parser.add_argument("--soft-share", type=float, default=0.6)
    parser.add_argument("--guide", type=Path)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--focus", type=int, default=1, help="epochs on FOCUS after the others")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--missing", type=float, default=4.0)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, help="examples of an epoch, to try things out")
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    data = Examples(args.examples, device)
    drawn = []
    whole = {name: REPEATED.get(name, 1) for name in data.pools if not name.startswith("held_")}
    for times in [whole] * args.epochs + [FOCUS] * args.focus:
        chosen = np.concatenate([np.repeat(data.of(name), number) for name, number in times.items()])
        if args.leave_out is not None:
            chosen = chosen[data.part[chosen] % FOLDS != args.leave_out]
        drawn.append(np.random.permutation(chosen)[: args.limit])
    soft = None
    if args.soft:
        context, missing = torch.full((len(data),), torch.nan), torch.full(tuple(data.token.shape), torch.nan)
        for file in args.soft.split(","):
            with np.load(file) as taught:
                at = torch.from_numpy(taught["at"])
                context[at] = torch.from_numpy(taught["context"]).float()
                missing[at, : taught["missing"].shape[1]] = torch.from_numpy(taught["missing"]).float()
        soft = (context.to(device), missing.to(device))
    net = Condenser.start(args.encoder, [int(n) for n in args.keep.split(",") if n] or None, args.dropout).to(device)
    train(net, data, drawn, soft, args)
    held = {
        name: (*predict(net, data, data.of(name)), data.of(name)) for name in data.pools if name.startswith("held_")
    }
    figures = scores(data, held)
    pack(net, args.out.with_suffix(".npz"))
    settings = {name: value.name if isinstance(value, Path) else str(value) for name, value in vars(args).items()}
    args.out.with_suffix(".json").write_text(
        json.dumps({"settings": settings, "examples": [len(chosen) for chosen in drawn], "scores": figures}, indent=1)
    )
    names = ("context", "missing", "labels", "at")
    saved = {
        f"{name}.{what}": value for name, values in held.items() for what, value in zip(names, values, strict=True)
    }
    for name, values in held.items():
        at = torch.from_numpy(values[3]).to(device)
        saved |= {f"{name}.wanted": data.wanted[at].cpu().numpy(), f"{name}.judged": data.context[at].cpu().numpy()}
    np.savez_compressed(args.out.with_suffix(".held.npz"), **saved)
    if args.leave_out is not None:
        unseen = np.flatnonzero((data.part % FOLDS == args.leave_out) & (data.pool < data.pools.index("held_canard")))
        context, missing, _ = predict(net, data, unseen)
        np.savez_compressed(args.out.with_suffix(".soft.npz"), at=unseen, context=context, missing=missing)
    print(args.out.name, json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
