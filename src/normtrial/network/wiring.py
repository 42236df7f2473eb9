"""A model in words, before it is trained: how a block is wired, what stands where, how many parameters it has.

print(describe(model, "placement=hybrid norm=rms"))
"""

import inspect
import re

from torch import nn

from normtrial.network.attention import SelfAttention
from normtrial.network.blocks import Block
from normtrial.network.model import Transformer
from normtrial.sites import own_parameters

DEPEND_ON_DATA = ("embed", "positions", "head")  # not counted: vocabulary, classes and lengths are the text's
USUAL = "matrices Glorot normal, sd = sqrt(2 / (fan_in + fan_out)); embeddings sd = 1 / sqrt(D); biases 0"


def describe(model: Transformer, heading: str) -> str:
    """The drawing and formula of a block, its sites, parameters by kind of site, and the initialization."""
    counts = {site: sum(p.numel() for p in own) for site, own in own_parameters(model.sites()).items()}
    sections = (
        heading,
        inspect.getdoc(model.wiring) or "",
        "Sites, in the order of the forward pass:\n" + "\n".join(_sites(model)),
        "Parameters by kind of site, without embedding and head:\n" + "\n".join(_parameters(counts)),
        "Initial values:\n" + "\n".join(_initial_values(model)),
    )
    return "\n\n".join(sections)


def _sites(model: Transformer) -> list[str]:
    """Runs of equally wired blocks together; and what stands around them, or does not."""
    rows: dict[str, list[int]] = {}
    for layer, block in enumerate(model.blocks):
        assert isinstance(block, Block)
        wired = "\n".join(f"    {name:<22} {_kind(module)}" for name, module in block.sites().items())
        rows.setdefault(wired, []).append(layer)
    blocks = []
    for wired, layers in rows.items():
        names = [f"block{layer:02d}" for layer in layers]
        blocks.append("  " + (names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}") + "\n" + wired)
    embed = "none" if model.embed_norm is None else _kind(model.embed_norm)
    final = f"none: {_why_no_final_norm(model)}" if model.final_norm is None else _kind(model.final_norm)
    return [f"  {'embed_norm':<24} {embed}", *blocks, f"  {'final_norm':<24} {final}"]


def _why_no_final_norm(model: Transformer) -> str:
    if model.wiring.norm_sites():
        return "the last block ends with one"
    if model.embed_norm is not None:
        return "the head reads the stream as it is"
    return "no norm stands anywhere"


def _kind(module: nn.Module) -> str:
    """The class, and the width where it is a norm."""
    inner = getattr(module, "norm", None)  # of a norm of heads
    if isinstance(inner, nn.Module):
        return f"{_kind(inner)}, each head by itself"
    width = f"({module.d_model})" if hasattr(module, "d_model") else ""
    return type(module).__name__ + width


def _parameters(counts: dict[str, int]) -> list[str]:
    """block03.norm1 and block04.norm1 are of one kind: how many there are, and their parameters."""
    kinds: dict[str, list[int]] = {}
    for site, count in counts.items():
        if site not in DEPEND_ON_DATA:
            kinds.setdefault(re.sub(r"^block\d+\.", "", site), []).append(count)
    rows = [f"  {kind:<22} {len(each):>3} × {each[0]:>9,} = {sum(each):>11,}" for kind, each in kinds.items()]
    return [*rows, f"  {'all':<22} {'':>15} = {sum(map(sum, kinds.values())):>11,}"]


def _initial_values(model: Transformer) -> list[str]:
    block = model.blocks[0]
    assert isinstance(block, Block)
    factor = block.placement.init_scale
    rows = [USUAL]
    if factor != 1:
        attends = isinstance(block.attention, SelfAttention)
        whose = "MLP, value and output projections" if attends else "MLP and, twice, filters"
        rows.append(f"{whose} × {factor:.4g} (the placement's companion initialization)")
    rows += [f"{name} = {p.item():g}" for name, p in block.placement.named_parameters()]
    return [f"  {row}" for row in rows]
