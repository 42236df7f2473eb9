"""The panels of a project's workspace, in the classes of wandb-workspaces; every name is one that is logged."""

import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws
from wandb_workspaces.reports.v2.interface import ParallelCoordinatesPlotColumn

STEP = "step"  # ours: W&B's own counts the lines of a log, of which a step may have several
CURVES = ("train/loss_nats", "val/loss_nats", "val/accuracy", "val/bits_per_char", "grad/global_norm")
GAP = ("loss_nats", "accuracy", "bits_per_char")
SITES = {  # which sites there are depends on placement and depth
    "Norms": r"^grad/(?:block\d+\.)?(?:\w+\.)?\w*norm\d*/norm$",
    "Attention": r"^grad/block\d+\.attention/norm$",
    "MLP": r"^grad/block\d+\.mlp/norm$",
    "Embeddings, head, placement": r"^grad/(?:embed|positions|head|block\d+\.placement)/norm$",
}
STATISTICS = {
    "Mean of |μ_run − μ_B| / σ_B": r"^stats/.+/tid_mean$",
    "Mean of |σ_run / σ_B − 1|": r"^stats/.+/tid_var$",
}
COUNTERS = (
    "events/nonfinite_loss",
    "events/nonfinite_grad",
    "events/nonfinite_values",
    "events/scaler_skip",
    "events/spike",
)
COLUMNS = ("norm.name", "placement.name", "norm.eps", "norm.affine", "optim.lr")
LOGARITHMIC = ("norm.eps", "optim.lr")


class FlatColumn(ParallelCoordinatesPlotColumn):
    """An axis for a configuration key that has dots in its name, which the package takes for nesting.

    W&B stores a key `a` as `{"a": {"value": …}}`; so `a.b` is `a.b.value` where it is one key, as here, and
    `a.value.b` where it is b inside a (wandb_workspaces.expr.groupby_str_to_key tells of both).
    """

    def _to_model(self):
        assert isinstance(self.metric, wr.Config)
        return super()._to_model().model_copy(update={"accessor": f"config:{self.metric.name}.value"})


def workspace(entity: str, project: str, name: str, metric: str) -> ws.Workspace:
    """The whole workspace; `metric` is what runs are compared by."""
    sections = [
        ws.Section(name="Learning curves by norm and placement", panels=[curve(y) for y in CURVES], is_open=True),
        ws.Section(name="Runs", panels=[parallel(metric), wr.RunComparer(diff_only="split")], is_open=True),
        ws.Section(
            name="Gradient norms by site",
            panels=[sites(title, names, log_y=True) for title, names in SITES.items()],
        ),
        ws.Section(
            name="BatchNorm: running against batch statistics",
            panels=[*map(gap, GAP), *(sites(title, names) for title, names in STATISTICS.items())],
        ),
        ws.Section(name="Non-finite values and spikes", panels=[curve(y, "max") for y in COUNTERS]),
    ]
    return ws.Workspace(entity=entity, project=project, name=name, sections=sections)


def curve(metric: str, across: str = "mean") -> wr.LinePlot:
    """A metric over steps: a line an arm, the range of its seeds around it."""
    return grouped(metric, [metric], across)


def gap(metric: str) -> wr.LinePlot:
    """What evaluation by running statistics costs: the same metric by both."""
    return grouped(f"val/{metric}, running and batch statistics", [f"val/{metric}", f"val/batch_stats/{metric}"])


def grouped(title: str, y: list[str], across: str = "mean") -> wr.LinePlot:
    """Lines of arms."""
    return wr.LinePlot(
        title=title,
        x=STEP,
        y=y,  # pyright: ignore[reportArgumentType]  a list of names is one of metrics
        groupby=wr.Config("arm"),
        groupby_aggfunc=across,  # pyright: ignore[reportArgumentType]  a Literal
        groupby_rangefunc="minmax",
    )


def sites(title: str, names: str, log_y: bool | None = None) -> wr.LinePlot:
    """All metrics whose name fits an expression: a line a site and run."""
    return wr.LinePlot(title=title, x=STEP, metric_regex=names, log_y=log_y)


def parallel(metric: str) -> wr.ParallelCoordinatesPlot:
    """Every run as a line through its settings to its metric."""
    settings = [FlatColumn(metric=wr.Config(key), log=key in LOGARITHMIC or None) for key in COLUMNS]
    measured = ParallelCoordinatesPlotColumn(metric=wr.SummaryMetric(metric))
    return wr.ParallelCoordinatesPlot(title=f"Settings against {metric}", columns=[*settings, measured])


def specification(made: ws.Workspace) -> str:
    """What W&B is sent, as JSON."""
    return made._to_model().spec.model_dump_json(by_alias=True, exclude_none=True, indent=2)  # as its `save` does
