"""The page as a file: whole, alone, and with everything that the runs have."""

import re
from html.parser import HTMLParser

import pytest

from normtrial.errors import ConfigError
from normtrial.report.figures.style import new_figure
from normtrial.report.page.build import compare, page
from normtrial.report.page.sections import across_rates, best_rates
from normtrial.report.page.svg import drawn
from normtrial.report.rates import at_best, families
from normtrial.report.selection import select

VOID = {"meta", "link", "input", "br"}


class Reader(HTMLParser):
    """Checks that elements nest, and collects what a test asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.rows: dict[str, int] = {}
        self.labels: list[str] = []
        self._table = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.links += [v for name, v in attrs if name in ("href", "src", "xlink:href", "action", "srcset") and v]
        self.ids += filter(None, [given.get("id")])
        self.labels += [given["aria-label"] or ""] if tag == "svg" and "aria-label" in given else []
        if tag == "table":
            self._table = given.get("id") or given.get("class") or ""
        if tag == "tr" and "tbody" in self.open:
            self.rows[self._table] = self.rows.get(self._table, 0) + 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()} closes another"


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def made(store, *words: str) -> str:
    return page(compare(select(words, store)), "All runs", "python scripts/report.py")


def test_the_page_is_whole_and_alone(full_page) -> None:
    text = full_page.read_text()
    reader = read(text)
    assert reader.rows["table"] == 9
    assert all(link.startswith(("#", "data:")) for link in reader.links), "nothing may be fetched"
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|WebSocket|sendBeacon", text)
    assert "default-src 'none'" in text
    assert len(set(reader.ids)) == len(reader.ids), "figures share one page"
    assert {link[1:] for link in reader.links if link.startswith("#")} <= set(reader.ids)
    assert "A &lt;title&gt;" in text
    assert "&#39;a&lt;b&#39;" in text


def test_every_section_has_its_drawing(full_store, full_page) -> None:
    text = full_page.read_text()
    assert re.findall(r'<section id="(\w+)"', text) == [
        *("arms", "curves", "rates", "map", "gradients", "gap", "events", "confounds", "runs")
    ]
    assert len(read(text).labels) == 6
    assert "var(--series-2)" in text
    assert "currentColor" in text
    assert "#010203" not in text
    for run in select([], full_store):
        assert f"made up {run.folder.run_id}" in text, "every run's command"


def test_sections_without_data_are_left_out_or_say_so(make_run) -> None:
    folder = make_run("a", norm="ln")
    folder.write_json("summary.json", {**(folder.read_summary() or {}), "events": {}})
    folder.metrics_path.write_text("")
    text = made(make_run.store)
    assert re.findall(r'<section id="(\w+)"', text) == [
        "arms",
        "curves",
        "gradients",
        "events",
        "confounds",
        "runs",
    ]
    assert "No gradient norm by site was recorded" in text
    assert "No run recorded a non-finite value" in text
    assert "Nothing: there is one arm" in text
    read(text)


@pytest.mark.parametrize("status", ["interrupted", "crashed"])
def test_runs_without_a_result_make_a_page(make_run, status: str) -> None:
    make_run("a", ended=status == "crashed", status=status)
    assert "no result" in made(make_run.store)


def test_a_loss_that_diverged_has_no_mean_on_the_page(make_run) -> None:
    make_run("a", task="lm", norm="ln")
    make_run("b", task="lm", status="diverged", die_at=90)
    text = made(make_run.store)
    read(text)
    assert ">failed <" in text
    assert "inf" not in re.sub(r"<script>.*?</script>|<style>.*?</style>", "", text, flags=re.DOTALL).split()


def test_arms_that_share_no_rate_are_not_compared_at_their_best(make_run) -> None:
    for norm, lr in (("bn", "1e-3"), ("bn", "3e-3"), ("ln", "1e-2")):
        make_run(f"{norm}{lr}", norm=norm, lr=lr, layers=1)
    compared = compare(select([], make_run.store))
    section = across_rates(compared.rows, compared.outcome)
    assert section and section.table is None
    assert "share no learning rate" in section.text


def test_each_family_is_set_against_its_references_at_the_best_of_both(make_run) -> None:
    finals = {("bn", 4): 0.9, ("ln", 4): 0.7, ("bn", 8): 0.6, ("ln", 8): 0.7}
    for (norm, batch_size), final in finals.items():
        for lr, lost in (("1e-3", 0.0), ("3e-3", 0.05)):
            run_id = f"{norm}{batch_size}{lr}"
            make_run(run_id, norm=norm, batch_size=batch_size, lr=lr, final=final - lost, layers=1)
    compared = compare(select([], make_run.store))
    best = at_best(families(compared.arms), compared.outcome)
    table = best_rates(best, compared.rows, compared.outcome)
    assert table[0][4] == "difference from its reference"
    assert {line[0]: line[4].strip() for line in table[1:]} == {
        "bn batch_size=4": "+0.200",
        "ln batch_size=4": "",
        "bn batch_size=8": "-0.100",
        "ln batch_size=8": "",
    }
    assert {line[1] for line in table[1:]} == {"0.001"}
    assert {line[5] for line in table[1:]} == {"0.025"}


def test_one_task_at_a_time(make_run) -> None:
    make_run("a", task="lm")
    make_run("b", norm="ln")
    with pytest.raises(ConfigError, match="several tasks; add task=classification or task=lm"):
        compare(select([], make_run.store))


def test_a_reference_is_always_among_the_arms_of_the_figures(make_run) -> None:
    for batch_size in range(1, 15):
        make_run(f"bn{batch_size}", batch_size=batch_size, layers=1, final=0.9)
    make_run("ln", norm="ln", layers=1, final=0.1)
    compared = compare(select([], make_run.store))
    shown = compared.shown()
    assert len(shown) == 12
    assert shown[-1].config["norm.name"] == "ln"


def test_a_drawing_is_the_same_bytes_each_time_and_safe_in_an_attribute() -> None:
    def draw():
        figure = new_figure(2, 1)
        figure.subplots().plot([1, 2], marker="o")
        return figure

    first, second = (drawn("x", "a &lt; b", draw) for _ in range(2))
    assert first == second
    assert first and first.startswith("<svg ") and 'aria-label="a &lt; b"' in first
    assert drawn("x", "", lambda: None) is None
