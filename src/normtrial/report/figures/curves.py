"""`curves.png` of one run: loss, evaluation metric, gradient norm at every site; events as vertical lines."""

import re
from pathlib import Path
from typing import Any

from normtrial.records import RunFolder
from normtrial.report.figures.style import COLOURS, DASHES, GREY, TRIVIAL, new_figure, save, series, tidy, zoom
from normtrial.training.sinks.progress import in_words

Rows = list[dict[str, Any]]

KINDS = {"norm": DASHES[0], "attention": DASHES[1], "mlp": DASHES[2], "other": DASHES[3]}
KIND_LABELS = {"norm": "norms", "attention": "attention", "mlp": "MLP", "other": "embed, final norm, head"}
METRIC_LABELS = {"accuracy": "accuracy", "bits_per_char": "bits per character"}


def draw_curves(folder: RunFolder) -> Path:
    """Draw a run's three panels into its folder, whatever it has recorded so far."""
    rows, events, summary = folder.read_metrics(), folder.read_events(), folder.read_summary() or {}
    figure = new_figure(8.5, 9.5)
    loss, metric, gradients = figure.subplots(3, 1, sharex=True, height_ratios=(1, 0.8, 1.3))
    trivial = summary.get("trivial") or {}
    _draw_loss(loss, rows, trivial.get("loss_nats"))
    _draw_metric(metric, rows, trivial)
    _draw_gradients(figure, gradients, rows)
    for axes in (loss, metric, gradients):
        _draw_events(axes, events)
    _legend(loss)
    _legend(metric)
    gradients.set_xlabel("step", fontsize=9)
    last = max((row["step"] for row in rows), default=0)
    gradients.set_xlim(0, max(last * 1.02, 1))
    status = summary.get("status", "not ended")
    reason = f": {summary['reason']}" if summary.get("reason") else ""
    name = summary.get("name", folder.run_id)
    figure.suptitle(f"{name}  ({status}{reason})", fontsize=11, x=0.01, ha="left")
    return save(figure, folder.path / "curves.png")


def _draw_loss(axes: Any, rows: Rows, trivial: float | None) -> None:
    tidy(axes, "Loss", "nats")
    train = series(rows, "train/loss_nats")
    _plot(axes, *train, color=COLOURS[6], linewidth=1.0, label="training batch")
    running = _draw_evaluation(axes, rows, "val/loss_nats", COLOURS[0], "validation")
    label = "validation, batch statistics"
    batch = _draw_evaluation(axes, rows, "val/batch_stats/loss_nats", COLOURS[3], label)
    if trivial is not None:
        axes.axhline(trivial, **TRIVIAL, label="trivial predictor")
    zoom(axes, [*train[1], *running, *batch], trivial)


def _draw_metric(axes: Any, rows: Rows, trivial: dict[str, Any]) -> None:
    names = {name for row in rows for name in row}
    metric = next((name for name in METRIC_LABELS if f"val/{name}" in names), None)
    if metric is None:
        tidy(axes, "Evaluation", "")
        axes.text(0.5, 0.5, "no evaluation recorded", transform=axes.transAxes, ha="center", color=GREY)
        return
    label = METRIC_LABELS[metric]
    tidy(axes, f"Validation: {label}", label)
    _draw_evaluation(axes, rows, f"val/{metric}", COLOURS[0], "running statistics")
    batch = _draw_evaluation(axes, rows, f"val/batch_stats/{metric}", COLOURS[3], "batch statistics")
    if not batch:
        axes.lines[0].set_label("validation")
    if trivial.get(metric) is not None:
        axes.axhline(trivial[metric], **TRIVIAL, label="trivial predictor")


def _draw_evaluation(axes: Any, rows: Rows, name: str, colour: str, label: str) -> list[float]:
    steps, values = series(rows, name)
    if not steps:
        return []
    marker, dashes = ("o", "-") if "/batch_stats/" not in name else ("s", DASHES[1])
    errors = dict(zip(*series(rows, f"{name}_se"), strict=True))
    axes.plot(steps, values, color=colour, linestyle=dashes, marker=marker, markersize=3.5, label=label)
    if errors:
        half = [1.96 * errors.get(step, float("nan")) for step in steps]
        low = [value - error for value, error in zip(values, half, strict=True)]
        high = [value + error for value, error in zip(values, half, strict=True)]
        axes.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
    return values


def _draw_gradients(figure: Any, axes: Any, rows: Rows) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm
    from matplotlib.lines import Line2D

    tidy(axes, "Gradient norm by site", "norm (log scale)")
    logged = {name for row in rows for name in row}
    names = sorted(match[1] for name in logged if (match := re.fullmatch(r"grad/(.+)/norm", name)))
    depth = 1 + max((_depth(site) for site in names), default=0)
    # cividis stops short of its pale end: its lightness falls with depth, so grey prints keep the order.
    colours = _cividis(depth)
    positive = False
    for site in names:
        steps, values = series(rows, f"grad/{site}/norm")
        values = [value if value > 0 else float("nan") for value in values]  # a log scale has no zero
        positive = positive or any(value == value for value in values)
        colour = "black" if _kind(site) == "other" else colours[_depth(site)]
        width = 1.1 if depth <= 6 else 0.8
        _plot(axes, steps, values, color=colour, linestyle=KINDS[_kind(site)], linewidth=width)
    if not positive:
        axes.text(0.5, 0.5, "no gradient norm recorded", transform=axes.transAxes, ha="center", color=GREY)
        return
    axes.set_yscale("log")
    kinds = [kind for kind in KINDS if any(_kind(site) == kind for site in names)]
    black = [Line2D([], [], color="black", linestyle=KINDS[kind]) for kind in kinds]
    labels = [KIND_LABELS[kind] for kind in kinds]
    axes.legend(black, labels, fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    if depth > 1:
        from matplotlib.colors import ListedColormap

        scale = ScalarMappable(BoundaryNorm(range(depth + 1), depth), ListedColormap(colours))
        bar = figure.colorbar(scale, cax=axes.inset_axes((1.035, 0.02, 0.035, 0.55)))
        every = max(1, depth // 8)
        bar.set_ticks([block + 0.5 for block in range(0, depth, every)])
        bar.set_ticklabels([str(block) for block in range(0, depth, every)])
        bar.ax.tick_params(length=0, labelsize=8)
        bar.set_label("block", fontsize=8)


def _cividis(depth: int) -> list[Any]:
    from matplotlib import colormaps

    return [colormaps["cividis"](0.85 * block / max(depth - 1, 1)) for block in range(depth)]


def _kind(site: str) -> str:
    part = site.split(".")[-1]
    if "." not in site:
        return "other"
    return "norm" if "norm" in part else part if part in KINDS else "other"


def _depth(site: str) -> int:
    match = re.match(r"block(\d+)\.", site)
    return int(match[1]) if match else 0


def _draw_events(axes: Any, events: Rows) -> None:
    seen = set()
    for event in events:
        kind = event["kind"]
        fatal = kind.startswith("nonfinite")
        label = None if kind in seen else in_words(kind)
        seen.add(kind)
        axes.axvline(
            event["step"],
            color=COLOURS[3] if fatal else COLOURS[5],
            linestyle="-" if fatal else DASHES[3],
            linewidth=1.8 if fatal else 1.0,
            alpha=0.9,
            label=label,
            zorder=0,
        )


def _plot(axes: Any, steps: list[int], values: list[float], **style: Any) -> None:
    # A single point has no line to see.
    axes.plot(steps, values, marker="." if len(steps) < 3 else None, **style)


def _legend(axes: Any) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
