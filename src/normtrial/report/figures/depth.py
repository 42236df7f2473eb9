"""The figure of fresh models by depth: gradients of the first and last MLP, variance of the stream."""

from pathlib import Path

from normtrial.report.figures.style import line_style, new_figure, tidy

Table = dict[str, dict[str, dict[str, float]]]  # placement -> number of blocks -> measure -> value
PANELS = {
    "gradient_first": ("Gradient, first block", "norm, first matrix of the MLP"),
    "gradient_last": ("Gradient, last block", "norm, first matrix of the MLP"),
    "variance_last": ("Variance of the stream", "after the last block"),
}
CEILING = 100.0  # without a norm everything explodes, and would flatten the rest


def draw_depth(table: Table, path: Path) -> Path:
    """One line a placement in three panels, both axes logarithmic. The same numbers give the same bytes."""
    from matplotlib import rc_context

    figure = new_figure(10.5, 3.8)
    depths = sorted({int(depth) for rows in table.values() for depth in rows})
    for axes, (measure, (title, label)) in zip(figure.subplots(1, len(PANELS)), PANELS.items(), strict=True):
        tidy(axes, title, label)
        for index, (placement, rows) in enumerate(table.items()):
            points = sorted((int(depth), row[measure]) for depth, row in rows.items())
            axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=placement, **line_style(index))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(depths, [str(depth) for depth in depths])
        axes.minorticks_off()
        axes.set_ylim(top=CEILING)
        axes.set_xlabel("number of blocks", fontsize=9)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    with rc_context({"svg.hashsalt": "normtrial", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
    return path
