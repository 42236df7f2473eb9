"""Batch statistics beside the running ones that stand in for them in evaluation.

Read after a training step from what the norms remember; no hook is needed. The running statistics are those that
an evaluation would use now: this batch has moved them already, as in the code released with TID.
In PowerNorm μ is 0 and σ² the mean square. Position by position (`bn_pos`), positions with too few tokens are
left out. Averages run over features and positions.
"""

from typing import Any

import torch
from torch import Tensor

from normtrial.norms.batch.running import RunningNorm
from normtrial.norms.moments import Moments
from normtrial.probes.base import Probe, Sites, Values

DECAY = 0.9  # of a probed step's weight, from one to the next: about ten count


class RunningProbe(Probe):
    """A probe of norms with running statistics; measures are logged as `stats/<site>/<measure>`."""

    def __init__(self, sites: Sites):
        super().__init__(sites)
        self.norms = {site: norm for site, norm in sites.items() if isinstance(norm, RunningNorm)}

    def measure(self) -> Values:
        """Of each norm that has seen a batch."""
        found: Values = {}
        for site, norm in self.norms.items():
            pair = norm.compared()
            if pair is not None:
                found |= {f"stats/{site}/{name}": value for name, value in self.read(site, norm, *pair).items()}
        return found

    def read(self, site: str, norm: RunningNorm, batch: Moments, running: Moments) -> Values:
        """Measure → value of one norm."""
        raise NotImplementedError


class Discrepancy(RunningProbe):
    """The training-inference discrepancy: by how much, in batch standard deviations, evaluation will be off.

    `tid_mean` = mean of |μ_run − μ_B| / σ_B; `tid_var` = mean of |σ_run / σ_B − 1|; σ = sqrt(σ² + eps), by which
    norms divide.

    Source: Wang, Wu and Huang 2022, arXiv 2210.05153, in the form of their released code (there without eps); the
    paper's form is ‖μ_B − μ‖₂ / ‖σ‖₂, averaged over batches.
    """

    def read(self, site: str, norm: RunningNorm, batch: Moments, running: Moments) -> Values:
        """Both forms."""
        counted = batch.num >= norm.min_valid_tokens
        sigma, sigma_running = (torch.sqrt(m.variance + norm.eps) for m in (batch, running))
        return {
            "tid_mean": average((running.mean - batch.mean).abs() / sigma, counted),
            "tid_var": average((sigma_running / sigma - 1).abs(), counted),
        }


class BatchStatistics(RunningProbe):
    """How far batch statistics are from the running ones, how they fluctuate, and on how many tokens they rest.

    - `distance_mean`, `distance_var` = ‖μ_B − μ_run‖₂ / D and ‖σ²_B − σ²_run‖₂ / D (Shen et al. 2020, arXiv
      2003.07845); by position, the mean over positions.
    - `cv_mean` = mean of sd_t(μ_B) / sqrt(mean_t(σ²_B) + eps), `cv_var` = mean of sd_t(σ²_B) / (mean_t(σ²_B) +
      eps): coefficients of variation over probed steps t, of which each weighs 0.9 of the next; that of μ is in
      units of σ, for a mean near 0 has none. Learning is part of the variation. From the second probed step on.
    - `log_sigma_mean`, `log_sigma_min`: mean and least log sqrt(σ²_B + eps); where lengths differ widely σ_B can
      collapse, and the output explodes.
    - `tokens`: how many entered the statistics.
    """

    def __init__(self, sites: Sites):
        super().__init__(sites)
        self._history: dict[str, list[Tensor]] = {}

    def read(self, site: str, norm: RunningNorm, batch: Moments, running: Moments) -> Values:
        """All of the above."""
        counted, width = batch.num >= norm.min_valid_tokens, batch.mean.shape[-1]
        one_a_place = counted.expand(*batch.mean.shape[:-1], 1)
        log_sigma = torch.log(batch.variance + norm.eps) / 2
        found: Values = {
            f"distance_{kind}": average((one - other).norm(dim=-1, keepdim=True) / width, one_a_place)
            for kind, one, other in zip(("mean", "var"), batch[:2], running[:2], strict=True)
        }
        found["log_sigma_mean"] = average(log_sigma, counted)
        found["log_sigma_min"] = torch.where(counted, log_sigma, torch.inf).min()
        found["tokens"] = batch.num.sum()
        return found | self._variation(site, norm.eps, batch, counted)

    def _variation(self, site: str, eps: float, batch: Moments, counted: Tensor) -> Values:
        """Take the batch into the history: weight, and mean and variance over time of μ_B and of σ²_B."""
        known = site in self._history
        if not known:
            self._history[site] = [torch.zeros_like(batch.num, dtype=torch.float64)]
            self._history[site] += [torch.zeros_like(batch.mean, dtype=torch.float64) for _ in range(4)]
        weight, *moments = self._history[site]
        counted = counted & batch.mean.isfinite() & batch.variance.isfinite()  # as `remember`: NaN would stay
        weight = torch.where(counted, DECAY * weight + 1, weight)
        share = torch.where(counted, 1 / weight, 0.0)
        for at, new in zip((0, 2), batch[:2], strict=True):  # West's update: no difference of large squares
            step = torch.where(counted, new.double() - moments[at], 0.0)
            moments[at] = moments[at] + share * step
            moments[at + 1] = (1 - share) * (moments[at + 1] + share * step.square())
        self._history[site] = [weight, *moments]
        _, spread_mean, scale, spread_var = moments
        again = weight > 1
        return (
            {
                "cv_mean": average((spread_mean / (scale + eps)).sqrt(), again),
                "cv_var": average(spread_var.sqrt() / (scale + eps), again),
            }
            if known
            else {}
        )

    def state(self) -> dict[str, Any]:
        """The history."""
        return self._history

    def load(self, state: dict[str, Any]) -> None:
        """Go on from it, where the norms are."""
        device = {site: norm.get_buffer("num_batches_tracked").device for site, norm in self.norms.items()}
        self._history = {site: [t.to(device[site]) for t in kept] for site, kept in state.items()}


def average(values: Tensor, counted: Tensor) -> Tensor:
    """Mean over what is counted."""
    counted = counted.expand_as(values)
    return torch.where(counted, values, 0.0).sum() / counted.sum()
