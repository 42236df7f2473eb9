"""Norms over the positions of an example. Each shows a causal language model its future, and is refused there.

Shapes: B examples, L positions, D model width.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from normtrial.errors import ConfigError, not_one_of, require
from normtrial.norms.base import AffineConfig, Norm, NormConfig
from normtrial.norms.moments import affine, arithmetic_dtype, masked_moments, standardize, statistics_dtype

AFFINE_SHAPES = ("shared", "full")


@dataclass(kw_only=True, slots=True)
class SequenceConfig(AffineConfig):
    """Options of norms that look at all positions of an example."""

    allow_leak: bool  # true trains a causal language model all the same, to measure what it gains by the leak


@dataclass(kw_only=True, slots=True)
class SentenceConfig(SequenceConfig):
    """Options of `ln_seq`."""

    affine_shape: str  # shared: γ and β a feature; full: a position and feature, which fixes the length

    def check(self) -> None:
        """A known shape, of something that exists."""
        AffineConfig.check(self)
        if self.affine_shape not in AFFINE_SHAPES:
            raise not_one_of("norm.affine_shape", self.affine_shape, AFFINE_SHAPES)
        require(
            self.affine or self.affine_shape == "shared",
            f"norm.affine_shape={self.affine_shape} has no effect: norm.affine=false leaves nothing of any shape. "
            "Leave norm.affine_shape=shared.",
        )


class SentenceLayerNorm(Norm):
    """One mean and variance for a whole sentence, padding counted: y = γ (x − μ) / sqrt(σ² + eps) + β, σ² biased.

    Reduces L and D; statistics have shape (B,). The same in training and evaluation, and in both a position
    sees the others and the padding: the more pads, the larger a valid token comes out.
    `affine_shape=full` is `nn.LayerNorm([L, D])` to the letter: γ and β of shape (L, D), and every input must be
    `data.max_len` long. `shared` has γ and β of shape (D,) and takes any length. torch's fused kernel;
    `stats_dtype=input` takes every step in the input's precision instead.

    Raises:
        ConfigError: with `affine_shape=full`, another length.

    Source: the documents' `nn.LayerNorm([seq_len, d_model])`.

    >>> config = SentenceConfig(name="ln_seq", eps=1e-5, stats_dtype="fp32", affine=False, bias=False,
    ...                         gamma_init=1.0, allow_leak=False, affine_shape="shared")
    >>> y = SentenceLayerNorm(2, config)(torch.tensor([[[1.0, 1.0], [3.0, 3.0]]]))
    >>> [f"{value:.2f}" for value in y.flatten().tolist()]
    ['-1.00', '-1.00', '1.00', '1.00']
    """

    reduces: ClassVar[str] = "LD"
    Config: ClassVar[type[NormConfig]] = SentenceConfig

    def __init__(self, d_model: int, config: SentenceConfig, max_len: int = 0):
        super().__init__(d_model, config)
        self.eps, self.max_len = config.eps, max_len
        self.in_input_dtype = config.stats_dtype == "input"
        self.is_full = self.fixed_length(config)
        self.add_affine(config, *((max_len, d_model) if self.is_full else (d_model,)))

    @classmethod
    def sees_padding(cls, config: NormConfig) -> bool:
        """Always: the sentence is what the tensor holds."""
        return True

    @classmethod
    def fixed_length(cls, config: NormConfig) -> bool:
        """With a gain for each position."""
        assert isinstance(config, SentenceConfig)
        return config.affine_shape == "full" and config.affine

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Normalize each sentence; mask and condition are ignored."""
        if self.is_full and x_BLD.shape[1] != self.max_len:
            raise ConfigError(
                f"norm=ln_seq with norm.affine_shape=full has a gain for each of {self.max_len} positions, and "
                f"the input has {x_BLD.shape[1]}. Set norm.affine_shape=shared, or give that length only."
            )
        dtype = arithmetic_dtype(x_BLD, self.in_input_dtype)
        with torch.autocast(x_BLD.device.type, enabled=False):
            x = x_BLD.to(dtype)
            if dtype != statistics_dtype(x):
                moments = masked_moments(x, None, self.reduces)
                y = standardize(x, moments.mean, moments.variance, self.eps)
            else:
                y = F.layer_norm(x, x.shape[1:], None, None, self.eps)
            weight, bias = (None if p is None else p.to(dtype) for p in (self.weight, self.bias))
            return affine(y, weight, bias).to(x_BLD.dtype)


class MaskedSentenceLayerNorm(Norm):
    """One mean and variance for the valid tokens of a sentence: y = γ (x − μ) / sqrt(σ² + eps) + β, σ² biased.

    Reduces L and D over valid positions; statistics have shape (B,). The same in training and evaluation, and in
    both a position sees the others. Padded positions come out as 0. γ and β have shape (D,).

    Source: what the documents' "MaskedLayerNorm" is named after.

    >>> config = SequenceConfig(name="ln_seq_mask", eps=1e-5, stats_dtype="fp32", affine=False, bias=False,
    ...                         gamma_init=1.0, allow_leak=False)
    >>> x, mask = torch.tensor([[[1.0, 1.0], [3.0, 3.0], [9.0, 9.0]]]), torch.tensor([[True, True, False]])
    >>> y = MaskedSentenceLayerNorm(2, config)(x, mask)
    >>> [f"{value:.2f}" for value in y.flatten().tolist()]
    ['-1.00', '-1.00', '1.00', '1.00', '0.00', '0.00']
    """

    reduces: ClassVar[str] = "LD"
    Config: ClassVar[type[NormConfig]] = SequenceConfig

    def __init__(self, d_model: int, config: SequenceConfig, max_len: int = 0):
        super().__init__(d_model, config)
        self.eps = config.eps
        self.in_input_dtype = config.stats_dtype == "input"
        self.add_affine(config, d_model)

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Normalize over the valid positions; the condition is ignored."""
        dtype = arithmetic_dtype(x_BLD, self.in_input_dtype)
        valid = None if mask_BL is None else mask_BL.unsqueeze(-1)
        with torch.autocast(x_BLD.device.type, enabled=False):
            x = x_BLD.to(dtype)
            if valid is not None:  # a NaN in a pad would reach γ as 0 · NaN
                x = torch.where(valid, x, 0.0)
            moments = masked_moments(x, mask_BL, self.reduces)
            weight, bias = (None if p is None else p.to(dtype) for p in (self.weight, self.bias))
            y = affine(standardize(x, moments.mean, moments.variance, self.eps), weight, bias)
            return (y if valid is None else torch.where(valid, y, 0.0)).to(x_BLD.dtype)


class MaskedInstanceNorm(MaskedSentenceLayerNorm):
    """Each feature of an example over its valid positions: y = γ (x − μ) / sqrt(σ² + eps) + β, σ² biased.

    Reduces L; statistics have shape (B, D). The same in training and evaluation, and in both a position sees
    the others. Padded positions come out as 0. In an example of one valid token x̂ is 0 and β is all that is left;
    and so it is in the mean over an example's positions, so that a classifier that pools by it right after this
    norm (here: in every placement that ends in a norm) gives the same logits whatever the text.

    Source: the statistics of the documents' "MaskedLayerNorm", which are a masked instance norm (Ulyanov et al.
    2016, arXiv 1607.08022) and no LayerNorm; as written the class does not run.

    >>> config = SequenceConfig(name="instance_mask", eps=1e-5, stats_dtype="fp32", affine=False, bias=False,
    ...                         gamma_init=1.0, allow_leak=False)
    >>> x, mask = torch.tensor([[[1.0, 5.0], [3.0, 5.0], [9.0, 9.0]]]), torch.tensor([[True, True, False]])
    >>> y = MaskedInstanceNorm(2, config)(x, mask)
    >>> [f"{value:.2f}" for value in y.flatten().tolist()]
    ['-1.00', '0.00', '1.00', '0.00', '0.00', '0.00']
    """

    reduces: ClassVar[str] = "L"
