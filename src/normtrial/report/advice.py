"""What to try where a run has not learned anything, for cases that are known."""

from typing import Any

from normtrial.report.arms import Run

DEEP = 12  # blocks from which Post without warm-up is known not to train (pytorch/pytorch#55270)


def advice(run: Run) -> str | None:
    """A suggestion for a run whose loss stayed at the trivial predictor's; None where there is nothing to say."""
    if not ((run.summary or {}).get("events") or {}).get("plateau"):
        return None
    layers = run.config["model.num_layers"]
    if run.config["placement.name"] == "post" and layers >= DEEP and warmup_steps(run.config) == 0:
        return (
            f"the loss stayed at the trivial predictor's: placement=post with {layers} layers needs a warm-up. "
            "Try placement=pre, or leave optim.warmup_steps=null (a tenth of the steps)."
        )
    return None


def warmup_steps(config: dict[str, Any]) -> int:
    """Steps of rising learning rate, where null is a tenth of all."""
    given = config["optim.warmup_steps"]
    return config["train.steps"] // 10 if given is None else given
