"""BatchNorm together with a norm of single tokens: after a token RMS, and at the end of a way from LayerNorm.

Shapes: B examples, L positions, D model width, N counted tokens.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from normtrial.errors import require
from normtrial.norms.base import NormConfig
from normtrial.norms.batch.pooled import BatchNorm
from normtrial.norms.batch.running import RunningConfig
from normtrial.norms.layer import affine_layer_norm
from normtrial.norms.moments import root_mean_square


class TokenRmsBatchNorm(BatchNorm):
    """BatchNorm of tokens brought to unit RMS: y = BN(x / sqrt(mean_D(x²) + eps)), a gain and shift in BN only.

    Reduces D for the RMS (no gain), then B and L for BN; the same eps in both. Training, evaluation, padding and
    running statistics as in `bn`, over tokens of unit RMS: no token, however long, can dominate σ_B. Where all
    tokens are zero both divisions meet, and gradients are as large as 1 / eps (in float16 infinite).

    Source: the "batch" arm of PowerNorm's released code (Shen et al. 2020, arXiv 2003.07845), which its paper
    compares as plain BN.

    >>> config = RunningConfig(name="bn_token_rms", eps=1e-5, stats_dtype="fp32", affine=True, bias=True,
    ...                        gamma_init=1.0, momentum=0.1, padding="exclude", eval_stats="running",
    ...                        min_valid_tokens=2, sync="none")
    >>> norm = TokenRmsBatchNorm(2, config)
    >>> x = torch.tensor([[[3.0, 4.0], [-4.0, 3.0]]])
    >>> bool((norm(x) - norm(1000 * x)).abs().max() < 1e-4)
    True
    """

    reduces: ClassVar[str] = "BLD"
    shift_invariant: ClassVar[bool] = False

    def _at_counted(self, x_ND: Tensor, counted_N: Tensor | None) -> Tensor:
        if counted_N is not None:  # rubbish in pads would come back as the gradient of their roots
            x_ND = torch.where(counted_N.unsqueeze(-1), x_ND, 0.0)
        return super()._at_counted(x_ND / root_mean_square(x_ND, self.eps), counted_N)


@dataclass(kw_only=True, slots=True)
class ProgressiveConfig(RunningConfig):
    """Options of `repbn`."""

    decay_steps: int  # training batches over which the share of LayerNorm falls from 1 to 0
    eta_init: float  # η at the start, the gain of the skip; with affine=false it stays there

    def check(self) -> None:
        """At least one step, a finite η."""
        RunningConfig.check(self)
        require(self.decay_steps >= 1, f"norm.decay_steps={self.decay_steps} must be at least 1.")
        require(abs(self.eta_init) < 1e4, f"norm.eta_init={self.eta_init} must be finite.")


class ProgressiveBatchNorm(BatchNorm):
    """From LayerNorm to re-parametrized BatchNorm: y = λ LN(x) + (1 − λ) (BN(x) + η x).

    λ = max(0, 1 − n / decay_steps) after n training batches (`num_batches_tracked`, so a resumed run goes on where
    it was), also in evaluation. LN and BN have a gain and a shift each, η is one learned scalar. Reduces D in LN,
    B and L in BN, whose training, evaluation, padding and running statistics are those of `bn`. From λ = 0 on
    neither tokens nor batches are looked at in evaluation, and the whole can be folded into the next linear map.

    Source: PRepBN of SLAB, Guo et al. 2024, arXiv 2405.11582, where λ falls over all of training; here over
    `decay_steps`, so that training can end with some steps of pure BN. Padding is ours: there it is images.

    >>> config = ProgressiveConfig(
    ...     name="repbn", eps=1e-5, stats_dtype="fp32", affine=True, bias=True, gamma_init=1.0, momentum=0.1,
    ...     padding="exclude", eval_stats="running", min_valid_tokens=2, sync="none", decay_steps=2, eta_init=1.0)
    >>> norm = ProgressiveBatchNorm(2, config)
    >>> shares = [(float(norm.layer_share()), norm(torch.randn(2, 3, 2)).shape)[0] for _ in range(4)]
    >>> shares
    [1.0, 0.5, 0.0, 0.0]
    """

    reduces: ClassVar[str] = "BLD"
    scale_invariant: ClassVar[bool] = False  # η x
    shift_invariant: ClassVar[bool] = False
    Config: ClassVar[type[NormConfig]] = ProgressiveConfig
    eta: Tensor

    def __init__(self, d_model: int, config: ProgressiveConfig, max_len: int = 0):
        super().__init__(d_model, config, max_len)
        self.decay_steps, eta = config.decay_steps, torch.tensor(config.eta_init)
        self.layer_weight = nn.Parameter(torch.full((d_model,), config.gamma_init)) if config.affine else None
        self.layer_bias = nn.Parameter(torch.zeros(d_model)) if config.affine and config.bias else None
        if config.affine:
            self.eta = nn.Parameter(eta)
        else:
            self.register_buffer("eta", eta, persistent=False)

    def layer_share(self) -> Tensor:
        """λ of the next batch."""
        return (1 - self.get_buffer("num_batches_tracked").double() / self.decay_steps).clamp(min=0)

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Mix; see the class."""
        x = x_BLD.to(self.computed_in(x_BLD))
        if mask_BL is not None and not self.counts_pads:  # rubbish in pads would reach η's gradient
            x = torch.where(mask_BL.unsqueeze(-1), x, 0.0)
        share = self.layer_share().to(x.dtype)  # before this batch is counted
        layer = affine_layer_norm(x, self.layer_weight, self.layer_bias, self.eps, self.in_input_dtype)
        batch = super().forward(x, mask_BL) + self.eta.to(x.dtype) * x
        return (share * layer + (1 - share) * batch).to(x_BLD.dtype)
