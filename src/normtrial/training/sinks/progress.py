"""A run as a person sees it: a live bar on a terminal, plain lines elsewhere, a table at the end.

The bar and the lines go to stderr and the table to stdout: `python train.py … > result.txt` keeps the result.
"""

import sys
import time
from typing import Any, TextIO

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text
from tqdm import tqdm

from normtrial.training.metrics import evaluated
from normtrial.training.sinks.shift_table import shift_table

NUM_PLAIN_LINES = 20  # training lines of one run in a log file: enough to see a trend, few enough to read
# What an evaluation's line has room for in 80 columns; the final table has the rest.
SHOWN = {"loss_nats": "loss", "accuracy": "accuracy", "bits_per_char": "bits/char"}
STYLES = {"finished": "green", "diverged": "bold red", "crashed": "bold red", "interrupted": "yellow"}
BAR_FORMAT = "{desc} {n_fmt}/{total_fmt} {remaining} left{postfix} |{bar}|"  # the bar gives way, not numbers


class ProgressSink:
    """Loss, learning rate, gradient norm, tokens/s, time left; evaluations as lines; a final table."""

    def __init__(
        self, total_steps: int, name: str, start_step: int = 0, about: str = "", stream: TextIO | None = None
    ):
        self._about = about
        self._total, self._name, self._start = total_steps, name, start_step
        self._stream = stream or sys.stderr
        self._started = time.monotonic()
        self._last_line = -total_steps
        self._bar: tqdm | None = None
        if self._stream.isatty():
            self._bar = tqdm(
                desc=name,
                total=total_steps,
                initial=start_step,
                file=self._stream,
                dynamic_ncols=True,
                bar_format=BAR_FORMAT,
            )

    def row(self, row: dict[str, Any]) -> None:
        """Show a training row on the bar or as a line, and an evaluation as lines."""
        if "train/loss_nats" in row:
            self._training(row)
        for line in evaluation_lines(row):
            self._say(f"{self._where(row['step'])}  {line}")

    def event(self, event: dict[str, Any]) -> None:
        """Show an event as a line."""
        site = f" at {event['site']}" if event.get("site") else ""
        self._say(f"{self._where(event['step'])}  {in_words(event['kind'])}{site}")

    def finish(self, summary: dict[str, Any]) -> None:
        """Close the bar and print the table."""
        if self._bar is not None:
            self._advance(summary["steps"])
            self._bar.close()
            self._bar = None
        Console().print(final_table(summary, self._about))

    def _training(self, row: dict[str, Any]) -> None:
        parts = [
            f"loss {number(row['train/loss_nats'])}",
            f"lr {row['optim/lr']:.1e}",
            f"grad {number(row.get('grad/global_norm'), 2)}",
            f"{short(row.get('throughput/tokens_per_s'))} tok/s",
        ]
        if self._bar is not None:
            self._bar.set_postfix_str(" ".join(parts), refresh=False)
            self._advance(row["step"])
        elif row["step"] >= min(self._total, self._last_line + self._total / NUM_PLAIN_LINES):
            self._last_line = row["step"]
            self._say("  ".join([self._where(row["step"]), *parts, f"{self._time_left(row['step'])} left"]))

    def _advance(self, step: int) -> None:
        assert self._bar is not None
        self._bar.update(step - self._bar.n)
        self._bar.refresh()

    def _where(self, step: int) -> str:
        return f"{self._name}  {step:>{len(str(self._total))}}/{self._total}"

    def _time_left(self, step: int) -> str:
        done = step - self._start
        if done <= 0:
            return "?"
        seconds = (time.monotonic() - self._started) / done * max(self._total - step, 0)
        return tqdm.format_interval(seconds)

    def _say(self, line: str) -> None:
        if self._bar is not None:
            self._bar.write(line, file=self._stream)
        else:
            print(line, file=self._stream, flush=True)


def evaluation_lines(row: dict[str, Any]) -> list[str]:
    """One line for every split and kind of statistics that a row evaluates.

    >>> evaluation_lines({"val/loss_nats": 1.5, "val/loss_nats_se": 0.02, "val/batch_stats/loss_nats": 1.25})
    ['val  loss 1.500 ± 0.020', 'val/batch_stats  loss 1.250']
    """
    groups: dict[str, list[str]] = {}
    for name in row:
        prefix, _, short_name = name.rpartition("/")
        if prefix.split("/")[0] in ("val", "test") and short_name in SHOWN:
            groups.setdefault(prefix, []).append(f"{SHOWN[short_name]} {with_error(row, name)}")
    return [f"{prefix}  {'  '.join(values)}" for prefix, values in groups.items()]


def final_table(summary: dict[str, Any], about: str = "") -> Group:
    """The table at a run's end: status; each metric, its best, the trivial predictor's; `about` the data."""
    metrics, trivial = summary["metrics"], summary.get("trivial") or {}
    best = summary.get("best") or {}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("metric", no_wrap=True)
    baseline = baseline_of(summary)
    titles = ["value ± se", "best (step)", "trivial", *(["baseline"] if baseline else [])]
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    for name in metrics:
        part = evaluated(name)
        plain = name == "train/loss_nats" if part is None else not part.shift
        if plain and not name.endswith("_se"):
            at = f"{number(best[name][0])} ({best[name][1]})" if name in best else ""
            reference = trivial.get(name.rsplit("/", 1)[1]) if name.startswith("val/") else None
            others = [reference, *([baseline["metrics"].get(name)] if baseline else [])]
            cells = ["" if value is None else number(value) for value in others]
            table.add_row(name, with_error(metrics, name), at, *cells)
    status = Text(f"{summary['name']} ")
    status.append(summary["status"], STYLES.get(summary["status"], ""))
    reason = f": {summary['reason']}" if summary.get("reason") else ""
    parameters = short((summary.get("model") or {}).get("parameters"))
    seconds = tqdm.format_interval(summary["seconds"])
    status.append(f"{reason}\nrun {summary['run_id']}: {summary['steps']} steps in {seconds}, ")
    status.append(f"{parameters} parameters")
    shifted = shift_table(metrics, with_error)
    lines = [Text(), status, table, *([] if shifted is None else [shifted])]
    if about:
        lines.append(Text(about))
    if baseline:
        lines.append(Text(f"baseline: {baseline['model']}"))
    if summary.get("events"):
        counts = ", ".join(f"{num} × {in_words(kind)}" for kind, num in summary["events"].items())
        lines.append(Text(f"events: {counts}"))
    return Group(*lines)


def baseline_of(summary: dict[str, Any]) -> dict[str, Any] | None:
    """The `model` and `metrics` that are reached without a Transformer on the same text, where it was measured."""
    return (summary.get("data") or {}).get("baseline")


def in_words(kind: str) -> str:
    """An event's kind as a person writes it.

    >>> in_words("nonfinite_loss")
    'non-finite loss'
    """
    return kind.replace("nonfinite", "non-finite").replace("_", " ")


def with_error(values: dict[str, Any], name: str) -> str:
    """A value with its standard error, where there is one."""
    error = values.get(f"{name}_se")
    return number(values[name]) if error is None else f"{number(values[name])} ± {number(error)}"


def number(value: Any, digits: int = 4) -> str:
    """A number to a few significant digits, always in the same width class; None is a non-finite value.

    >>> [number(x) for x in (0.5, 12.3456, 3e-4, 123456.0, 7, None)]
    ['0.500', '12.35', '3.000e-04', '1.235e+05', '7', 'nan']
    """
    if value is None:
        return "nan"
    if isinstance(value, int | str):
        return str(value)
    if value == 0 or not 1e-3 <= abs(value) < 1e5:
        return "0" if value == 0 else f"{value:.{digits - 1}e}"
    whole = len(str(int(abs(value))))
    return f"{value:.{max(digits - whole, 0)}f}"


def short(value: Any) -> str:
    """A large count in three digits.

    >>> [short(x) for x in (950, 12_345, 2_100_000, None)]
    ['950', '12.3k', '2.1M', '?']
    """
    if value is None:
        return "?"
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"
