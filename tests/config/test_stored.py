"""A configuration as a run keeps it; runs of earlier versions lack the options that came later."""

from normtrial.config import as_yaml, stored
from normtrial.identity import run_id
from normtrial.records import ADDED
from tests.norms.options import settings


def test_what_a_run_keeps_is_read_as_it_was() -> None:
    config = settings("norm=bn", "placement=post", "data=sotu")
    assert stored(as_yaml(config)) == config


def test_a_run_is_read_that_is_older_than_some_options() -> None:
    config = settings("norm=bn", "data=bbc")
    younger = {name.split(".")[1] for name in ADDED}
    lines = as_yaml(config).splitlines(keepends=True)
    older = [line for line in lines if line.strip().split(":")[0] not in younger]
    assert len(older) == len(lines) - len(younger)
    assert stored("".join(older)) == config
    assert run_id(stored("".join(older)), "text") == run_id(config, "text")
