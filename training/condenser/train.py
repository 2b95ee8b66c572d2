"""Train the condenser on the examples of prepare.py.

    python training/condenser/train.py EXAMPLES.npz ENCODER.npz OUT [--keep 0,1,3,5] [--leave-out 1] [--soft A.npz,...]
        [--guides RUN.npz RUN.npz@3 ...] [--wide 3]

Writes OUT.npz (weights), OUT.json (settings and scores on the held-out conversations) and OUT.held.npz (predictions
there). With --leave-out N the tenths N, N+3, N+6... of the conversations are not trained on and OUT.soft.npz holds the
predictions for them: three such teachers (0, 1, 2) give every example a prediction by one that has not seen it, and
--soft lets a student learn from these as well as from the labels. With --guides a student also learns to
decide as larger trained networks do, on inputs that are changed at random. Needs torch; a GPU, or patience.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from pathlib import Path

import numpy as np
import torch
from model import EDITS, FACTS, Batch, Condenser, pack
from torch import Tensor, nn

REPEATED = {"qrecc": 2, "small": 5, "talks": 3, "labels": 3}  # how often a pool is seen in an epoch
FOLDS = 3


class Examples:
    """All examples as padded tensors on the device."""

    def __init__(self, file: Path, device: str) -> None:
        with np.load(file) as packed:
            flat = {name: packed[name] for name in packed.files}
        self.pools = [str(name) for name in flat["pools"]]
        self.pool, self.part, self.sizes = flat["pool"], flat["part"], flat["tokens"].astype(int)
        self.mentions, words = flat["mentions"].astype(int), flat["words"].astype(int)
        self.asked = self.sizes - flat["message_at"]
        self.device = device

        def padded(name: str, counts: np.ndarray, fill: int) -> Tensor:
            table = np.full((len(counts), counts.max()), fill, np.int32)
            table[np.arange(counts.max()) < counts[:, None]] = flat[name]
            return torch.from_numpy(table).to(device)

        self.ids = padded("ids", self.sizes, 0)
        self.token, self.place, self.facts = (padded(name, self.mentions, 0) for name in ("token", "place", "facts"))
        self.missing = padded("missing", self.mentions, -2)  # -1: not known, -2: no mention
        edit = np.full((len(words), self.asked.max()), -1, np.int64)
        row = np.repeat(np.arange(len(words)), words)
        edit[row, flat["word"] - flat["message_at"][row]] = flat["edit"]
        self.edit = torch.from_numpy(edit).to(device)
        self.size, self.message_at, self.judged, self.changed, self.wanted = (
            torch.from_numpy(flat[name].astype(np.int64)).to(device)
            for name in ("tokens", "message_at", "judged", "changed", "wanted")
        )

    def __len__(self) -> int:
        return len(self.pool)

    def of(self, *names: str) -> np.ndarray:
        return np.flatnonzero(np.isin(self.pool, [self.pools.index(name) for name in names]))

    def batch(self, chosen: np.ndarray) -> tuple[Batch, Tensor]:
        """The inputs of the network, and the label of every mention."""
        at = torch.from_numpy(chosen).to(self.device)
        size, count, asked = self.sizes[chosen].max(), max(1, self.mentions[chosen].max()), self.asked[chosen].max()
        column = torch.arange(size, device=self.device)
        mask = column < self.size[at, None]
        token, place, facts = (table[at, :count].long() for table in (self.token, self.place, self.facts))
        bits = (facts[..., None] >> torch.arange(FACTS, device=self.device)) & 1
        missing = self.missing[at, :count].long()
        message = self.message_at[at, None] + torch.arange(asked, device=self.device)
        there = message < self.size[at, None]
        return Batch(
            ids=self.ids[at, :size].long(),
            types=((column >= self.message_at[at, None]) & mask).long(),
            mask=mask,
            token=token,
            present=missing > -2,
            place=place,
            facts=bits.float(),
            asked=torch.where(there, message, 0),
            asked_mask=there,
        ), missing


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
    of_heads = ("missing", "context", "places", "edit")
    heads = [each for name, each in net.named_parameters() if name.startswith(of_heads)]
    body = [each for name, each in net.named_parameters() if not name.startswith(of_heads)]
    groups = [{"params": body, "lr": args.rate}, {"params": heads, "lr": 5 * args.rate}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01, fused=device == "cuda")
    steps = sum(len(chosen) // args.batch + 1 for chosen in drawn)
    guides = [guide(*each.partition("@")[::2]).to(device).eval().requires_grad_(False) for each in args.guides]
    started = time.time()

    def over(step: int) -> float:
        """The share of the training that is over, in steps or in the time it may take."""
        return max(step / steps, (time.time() - started) / args.seconds)

    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, step / (0.06 * steps + 1)) * max(0.0, 1 - over(step))
    )
    net.train()
    done_steps = 0
    for epoch, chosen in enumerate(drawn):
        order = rng.permutation(chosen)
        total = torch.zeros(4, device=device)
        groups_of = [order[i : i + args.batch * 32] for i in range(0, len(order), args.batch * 32)]
        batches = [
            batch
            for group in groups_of
            for batch in np.array_split(group[np.argsort(data.sizes[group])], max(1, len(group) // args.batch))
        ]
        for number in rng.permutation(len(batches)):
            if over(done_steps) >= 1:
                break
            done_steps += 1
            inputs, label = data.batch(batches[number])
            at = torch.from_numpy(batches[number]).to(device)
            inputs.facts = inputs.facts * (torch.rand(len(at), 1, 1, device=device) > 0.1)
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                context, missing, edit = net(inputs)
                near = astray(net, guides, inputs, args) if guides else context.new_zeros(())
            judged = torch.stack([data.judged[at], data.changed[at]], 1)
            loss_context = masked(context, judged.float(), judged >= 0) * 2
            loss_missing = masked(missing, label.float(), label >= 0) * args.missing
            if soft is not None:
                soft_context, soft_missing = soft[0][at], soft[1][at, : missing.shape[1]]
                taught = masked(context, soft_context.sigmoid(), torch.isfinite(soft_context)) * 2
                loss_context = 0.6 * loss_context + 0.4 * taught  # here people's own word counts for more
                taught = masked(missing, soft_missing.sigmoid(), inputs.present & torch.isfinite(soft_missing))
                loss_missing = (1 - args.soft_share) * loss_missing + args.soft_share * args.missing * taught
            done = data.edit[at, : edit.shape[1]]
            loss_edit = 0.5 * nn.functional.cross_entropy(edit.reshape(-1, EDITS), done.reshape(-1), ignore_index=-1)
            loss = loss_context + loss_missing + loss_edit + near
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += torch.stack([each.detach() for each in (loss_context, loss_missing, loss_edit, near)])
        losses = [round(value, 4) for value in (total / len(batches)).tolist()]
        passed = f"{done_steps} of {steps} steps, {time.time() - started:.0f} s"
        print(f"{args.out.name} epoch {epoch}: {losses}, {passed}", flush=True)


def guide(file: str, wide: str) -> Condenser:
    """A trained network, of which all layers read all tokens, or so many."""
    return Condenser.start(Path(file), int(wide or 99))


def astray(net: Condenser, guides: list[Condenser], inputs: Batch, args: argparse.Namespace) -> Tensor:
    """How far a network decides from its guides, on inputs that nobody labelled: half of them as they are, half with
    words of the history exchanged; a third ask the question of another example."""
    ids, types, mask = inputs.ids, inputs.types, inputs.mask
    other = torch.randperm(len(ids), device=ids.device)
    history = (types == 0) & mask & (ids > 102)
    mixed = history & history[other] & (torch.rand(ids.shape, device=ids.device) < 0.2)
    mixed &= torch.rand(len(ids), 1, device=ids.device) < 0.5
    ids = torch.where(mixed, ids[other], ids)
    swapped = (torch.rand(len(ids), 1, device=ids.device) < 0.33) & (types == types[other]) & (mask == mask[other])
    changed = dataclasses.replace(inputs, ids=torch.where(swapped & (types == 1), ids[other], ids))
    with torch.no_grad():
        told = [guide(changed) for guide in guides]
        aim_context = torch.stack([each[0].sigmoid() for each in told]).mean(0)
        aim = torch.stack([each[1].sigmoid() for each in told]).mean(0)
    context, missing, _ = net(changed)
    near = 2 * masked(context, aim_context, torch.ones_like(aim_context, dtype=torch.bool))
    return near + args.missing * masked(missing, aim, inputs.present)


def masked(logits: Tensor, target: Tensor, known: Tensor) -> Tensor:
    target = torch.where(known, target, torch.zeros_like(target))
    loss = nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none") * known
    return loss.sum() / known.sum().clamp(min=1)


Predicted = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@torch.no_grad()
def predict(net: Condenser, data: Examples, chosen: np.ndarray) -> Predicted:
    """By example: the logits of needing the context; by mention the logits of being missing, and the labels; by token
    of the message the likeliest edit."""
    net.eval()
    count = data.token.shape[1]
    context = np.full((len(chosen), 2), np.nan, np.float16)
    missing = np.full((len(chosen), count), np.nan, np.float16)
    labels = np.full((len(chosen), count), -2, np.int8)
    edits = np.full((len(chosen), data.edit.shape[1]), -1, np.int8)
    for start in range(0, len(chosen), 512):
        rows = chosen[start : start + 512]
        inputs, label = data.batch(rows)
        with torch.autocast(data.device, torch.bfloat16, enabled=data.device == "cuda"):
            one, mention, edit = net(inputs)
        stop = start + len(rows)
        context[start:stop] = one.cpu().numpy()
        missing[start:stop, : mention.shape[1]] = mention.masked_fill(label == -2, float("nan")).cpu().numpy()
        labels[start:stop, : mention.shape[1]] = label.cpu().numpy()
        edits[start:stop, : edit.shape[1]] = edit.argmax(-1).cpu().numpy()
    return context, missing, labels, edits


def scores(data: Examples, held: dict[str, tuple[np.ndarray, ...]]) -> dict[str, float]:
    """With thresholds chosen here: they are only to compare runs by."""
    figures: dict[str, float] = {}
    context, *_, at = held["held_labels"]
    judged = data.judged[torch.from_numpy(at).to(data.device)].cpu().numpy() == 1
    for threshold in (0.3, 0.4, 0.5, 0.6, 0.7):
        said = sigmoid(context[:, 0]) >= threshold
        figures[f"labels accuracy @{threshold}"] = float(np.mean(said == judged))
        figures[f"labels F1 @{threshold}"] = float(2 * np.sum(said & judged) / (said.sum() + judged.sum()))
    done = {name: data.edit[torch.from_numpy(held[name][4]).to(data.device)].cpu().numpy() for name in REWRITTEN}
    edited = [(done[name][done[name] > 0] == held[name][3][done[name] > 0]).mean() for name in REWRITTEN]
    figures["edits found"] = float(np.mean(edited))
    for gate in (0.3, 0.5, 0.7):
        for threshold in (0.2, 0.3, 0.4, 0.5):
            key = f"@{gate}/{threshold}"
            context, missing, *_ = held["held_switch"]
            figures[f"switch {key}"] = float(changes(context, missing, gate, threshold).any(1).mean())
            right = said_ = wanted = 0
            for name in REWRITTEN:
                context, missing, labels, _, at = held[name]
                chosen = changes(context, missing, gate, threshold)
                hits, count = int((chosen & (labels == 1)).sum()), int(chosen.sum())
                gold = int(data.wanted[torch.from_numpy(at).to(data.device)].sum())
                figures[f"{name[5:]} F1 {key}"] = 2 * hits / max(1, count + gold)
                right, said_, wanted = right + hits, said_ + count, wanted + gold
            figures[f"F1 {key}"] = 2 * right / max(1, said_ + wanted)
    return {name: round(value, 4) for name, value in figures.items()}


REWRITTEN = ("held_qrecc", "held_cast19", "held_ikat23", "held_canard", "held_talks")


def changes(context: np.ndarray, missing: np.ndarray, gate: float, threshold: float) -> np.ndarray:
    return (sigmoid(missing) >= threshold) & (sigmoid(context).min(1) >= gate)[:, None]


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
    parser.add_argument("--guides", nargs="*", default=[])
    parser.add_argument("--wide", type=int, default=99, help="layers that read all tokens; the others a third of them")
    parser.add_argument("--inner", type=int, help="inner units that each layer keeps")
    parser.add_argument("--switches", type=int, default=1, help="how often an epoch has the topic switches")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1e9, help="the time that the training may take")
    parser.add_argument("--often", type=int, default=REPEATED["talks"], help="how often an epoch has our own talks")
    parser.add_argument("--skip", default="", help="pools that are not trained on: more,answered")
    parser.add_argument("--batch", type=int, default=96)
    parser.add_argument("--rate", type=float, default=1.2e-4)
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
    repeated = REPEATED | {"talks": args.often, "switch": args.switches} | dict.fromkeys(args.skip.split(","), 0)
    whole = {name: repeated.get(name, 1) for name in data.pools if not name.startswith("held_")}
    for _ in range(args.epochs):
        chosen = np.concatenate([np.repeat(data.of(name), number) for name, number in whole.items()])
        if args.leave_out is not None:
            chosen = chosen[data.part[chosen] % FOLDS != args.leave_out]
        drawn.append(np.random.permutation(chosen)[: args.limit])
    soft = None
    if args.soft:
        context, missing = torch.full((len(data), 2), torch.nan), torch.full(tuple(data.token.shape), torch.nan)
        for file in args.soft.split(","):
            with np.load(file) as taught:
                at = torch.from_numpy(taught["at"])
                context[at] = torch.from_numpy(taught["context"]).float()
                missing[at, : taught["missing"].shape[1]] = torch.from_numpy(taught["missing"]).float()
        soft = (context.to(device), missing.to(device))
    keep = [int(n) for n in args.keep.split(",") if n] or None
    net = Condenser.start(args.encoder, args.wide, keep, args.dropout).to(device)
    if args.inner:
        net.narrow((data.batch(drawn[0][start : start + 256])[0] for start in range(0, 256 * 40, 256)), args.inner)
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
    names = ("context", "missing", "labels", "edits", "at")
    saved = {
        f"{name}.{what}": value for name, values in held.items() for what, value in zip(names, values, strict=True)
    }
    for name, values in held.items():
        at = torch.from_numpy(values[4]).to(device)
        saved |= {f"{name}.wanted": data.wanted[at].cpu().numpy(), f"{name}.judged": data.judged[at].cpu().numpy()}
    np.savez_compressed(args.out.with_suffix(".held.npz"), **saved)
    if args.leave_out is not None:
        unseen = np.flatnonzero((data.part % FOLDS == args.leave_out) & (data.pool < data.pools.index("held_canard")))
        context, missing, *_ = predict(net, data, unseen)
        np.savez_compressed(args.out.with_suffix(".soft.npz"), at=unseen, context=context, missing=missing)
    print(args.out.name, json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
