"""What W&B is told of a run's configuration: the same while it trains and when it is mirrored afterwards."""

from collections.abc import Mapping
from typing import Any

from normtrial.report.arms import name_of
from normtrial.training.sinks.record import leaves


def wandb_config(config: Mapping[str, Any], text: Mapping[str, Any]) -> dict[str, Any]:
    """Every leaf under its dotted name, the facts of the text, and `arm`: curves are grouped by one key alone.

    >>> wandb_config({"norm.name": "bn", "placement.name": "pre"}, {"windows": 3})
    {'arm': 'bn pre', 'norm.name': 'bn', 'placement.name': 'pre', 'text.windows': 3}
    """
    return {"arm": name_of(dict(config), told=[]), **config, **dict(leaves({"text": text}))}
