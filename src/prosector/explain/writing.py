"""What may come next, and why: candidates, the lens, shares of a logit, where each hypothesis looked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from prosector.config.special import first_id
from prosector.decoding.sampling import at_temperature
from prosector.explain.tree import Tree
from prosector.observe import Seen
from prosector.observe.lens import logit_lens
from prosector.observe.shares import parts_of

if TYPE_CHECKING:
    from prosector.explain.translation import Translation

N_CANDIDATES = 10

Name = Callable[[int], dict[str, Any]]


def candidates(logits: Tensor, written: Sequence[int], name: Name, temperature: float = 1.0) -> list[dict[str, Any]]:
    """For each step the likeliest tokens, what was written, and the rank of that.

    Args:
        logits: [Lt, V], -∞ for what no one writes.
        written: the token that was written at each step.
        name: from an id to the token.
        temperature: probabilities are p^(1/t).
    """
    log_p = at_temperature(logits.double().log_softmax(dim=-1), temperature)
    steps = []
    for row, scores in zip(log_p, logits.double(), strict=True):
        values, ids = row.topk(min(N_CANDIDATES, int((row > -torch.inf).sum())))
        steps.append(
            {
                "candidates": [
                    {"token": name(id), "p": value, "logit": scores[id].item()}
                    for id, value in zip(ids.tolist(), values.exp().tolist(), strict=True)
                ],
                "logSum": scores.logsumexp(dim=-1).item(),
                "entropy": -(row.exp() * row.clamp(min=-1e9)).sum().item(),
            }
        )
    for step, row, id in zip(steps, log_p, written, strict=False):
        step["chosen"] = {"token": name(id), "p": row[id].exp().item(), "rank": int((row > row[id]).sum()) + 1}
    return steps


def lens(model: nn.Module, seen: Seen, name: Name, stack: str = "decoder") -> list[list[dict[str, Any]]]:
    """For each layer (the embeddings first) and each step: what would be written if the model stopped there."""
    log_p = logit_lens(model, seen, stack)[:, 0].double().log_softmax(dim=-1)  # [N, L, V]
    best = log_p.max(dim=-1)
    return [
        [{"token": name(id), "p": p} for id, p in zip(ids, ps, strict=True)]
        for ids, ps in zip(best.indices.tolist(), best.values.exp().tolist(), strict=True)
    ]


def shares(
    model: nn.Module, seen: Seen, written: Sequence[int], stack: str = "decoder", rows: Sequence[int] | None = None
) -> list[dict[str, float]] | None:
    """For each step what each part added to the logit of the token that was written; they sum to it.

    Args:
        rows: after which tokens they were written; the first ones by default.

    Returns:
        None if the model's norms count over a batch, for then no logit has shares.
    """
    try:
        parts = parts_of(model, seen, stack)
    except ValueError:
        return None
    table: Any = getattr(model, "output", None) or model.embedding
    words = table.weight[torch.tensor(written)].double()  # [L, d]
    n = len(written)
    at = list(range(n) if rows is None else rows)
    found = {address: (value[0, at] * words).sum(dim=-1).tolist() for address, value in parts.items()}
    if getattr(table, "bias", None) is not None:
        found["output.bias"] = table.bias[torch.tensor(written)].tolist()
    return [{address: round(row[step], 4) for address, row in found.items()} for step in range(n)]


@torch.inference_mode()
def looks_of(run: Translation, tree: Tree) -> tuple[Tensor, dict[int, int]]:
    """Where the model looked for what comes after each node: cross-attention, the mean of each layer's heads.

    Returns:
        [nodes, N, Ls], and for the number of a node its row.
    """
    nodes = tree.expanded()
    paths = [tree.path(node) for node in nodes]
    if run.options.mask_off:  # what is written later would change what was looked at: each beginning by itself
        rows = [cross_attention(run, [path])[0, :, len(path)] for path in paths]
    else:
        leaves = [path for path in paths if not any(path == other[: len(path)] != other for other in paths)]
        weights = cross_attention(run, leaves)
        leaf_of = [next(n for n, leaf in enumerate(leaves) if leaf[: len(path)] == path) for path in paths]
        rows = [weights[leaf, :, len(path)] for leaf, path in zip(leaf_of, paths, strict=True)]
    return torch.stack(rows), {node: row for row, node in enumerate(nodes)}


def cross_attention(run: Translation, targets: Sequence[Sequence[int]]) -> Tensor:
    """Where each step of each target looks, [targets, N, Lt, Ls]: the mean of each layer's heads.

    N is 0 if the model has no attention to the source.
    """
    special = run.translator.special
    longest = max(map(len, targets))
    fill = special.ends[0]  # what comes later changes nothing of what was before, and is not read
    begin = first_id(special)
    tgt = torch.tensor([[begin, *target, *[fill] * (longest - len(target))] for target in targets])
    src = torch.tensor([run.source_ids])
    model: Any = run.model
    extra = {"mask": run.options.change.mask} if run.options.mask_off else {}
    with run.options.change.observed(model, keep=["decoder.*.cross.weights", "attention.weights"]) as seen:
        memory = model.encode(src).expand(len(tgt), *[-1] * (model.encode(src).ndim - 1))
        model.decode(tgt, memory, model.real(src).expand(len(tgt), -1), **extra)
    if "attention.weights" in seen:  # of a recurrent network: one head, step by step
        return torch.cat(seen.steps("attention.weights"), dim=1)[:, None]
    layers = [seen[address].mean(dim=1) for address in seen if address.endswith(".cross.weights")]
    return torch.stack(layers, dim=1) if layers else torch.zeros(len(tgt), 0, tgt.shape[1], src.shape[1])
