"""`norm.sync=global`: two processes with unequal numbers of tokens give what one gives on all of them.

B35: with statistics of its own each process would remember others, and a checkpoint would hold the first one's.
Shapes: B examples, L positions, D model width.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from normtrial.errors import ConfigError
from normtrial.norms.batch.running import RunningNorm
from normtrial.norms.catalogue import NORMS
from tests.norms.draws import assert_close, draw, randomize
from tests.norms.options import has, label, make, options
from tests.norms.ranks_worker import Part, Task, normalize

FAMILY = [name for name, cls in NORMS.items() if issubclass(cls, RunningNorm)]
ROOT = Path(__file__).parents[2]
B, SPLIT, L, D, MAX_LEN = 5, 3, 4, 3, 3  # the first rank has 3 of the 5 examples
CHANGES = ({}, {"padding": "include"}, {"padding": "fill"}, {"token_rms": True}, {"sync": "none"})


def exists(name: str, changes: dict[str, Any]) -> bool:
    """True where the norm has these options, and these values of them."""
    if not all(has(name, option) for option in changes):
        return False
    try:
        options(name, **changes)
    except ConfigError:
        return False
    return True


CASES: list[tuple[str, dict[str, Any]]] = [(n, c) for n in FAMILY for c in CHANGES if exists(n, c)]


def part(of: Part, rows: slice, length: int) -> Part:
    """A rank's examples, cut to a length."""
    x_BLD, mask_BL, upstream_BLD = of
    return x_BLD[rows, :length], mask_BL[rows, :length], upstream_BLD[rows, :length]


def task(name: str, changes: dict[str, Any], seed: int) -> Task:
    """Three batches. The second rank's parts are shorter by a position of pads; its last has no token at all."""
    norm = randomize(make(name, D, max_len=MAX_LEN), seed).double()
    length = L if "padding" in changes else L - 1  # where pads count, a position less would change the numbers
    batches: list[list[Part]] = []
    for at in range(3):
        given = draw(10 * seed + at, shape=(B, L, D))
        given.valid_BL[SPLIT:, L - 1], given.upstream_BLD[SPLIT:, L - 1] = False, 0
        if at == 2 and "sync" not in changes:
            given.valid_BL[SPLIT:], given.upstream_BLD[SPLIT:] = False, 0
        whole = given.x_BLD, given.valid_BL, given.upstream_BLD
        batches.append([part(whole, slice(SPLIT), L), part(whole, slice(SPLIT, None), length)])
    return Task(options(name, **{"sync": "global", **changes}), MAX_LEN, norm.state_dict(), batches)


def in_one_process(given: Task) -> dict[str, Any]:
    """The same on whole batches."""
    batches: list[list[Part]] = []
    for first, second in given.batches:
        missing = L - second[0].shape[1]
        padded = [F.pad(t, (0, 0, 0, missing) if t.ndim == 3 else (0, missing)) for t in second]
        joined = [torch.cat(pair) for pair in zip(first, padded, strict=True)]
        batches.append([(joined[0], joined[1], joined[2])])
    return normalize(Task(given.config, given.max_len, given.state, batches), 0)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Task, list[dict[str, Any]]]]:
    """Every task done by two real processes at once, which takes them a few seconds altogether."""
    folder = tmp_path_factory.mktemp("ranks")
    tasks = {f"{label(c)} {name} {seed}": task(name, c, seed) for name, c in CASES for seed in (0, 1)}
    torch.save(list(tasks.values()), folder / "given.pt")
    processes = []
    for rank in ("0", "1"):
        files = [str(folder / name) for name in ("given.pt", f"kept{rank}.pt", "store")]
        command = [sys.executable, "-m", "tests.norms.ranks_worker", rank, *files]
        processes.append(subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True))
    said = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], "\n".join(said)
    kept = [torch.load(folder / f"kept{rank}.pt", weights_only=False) for rank in (0, 1)]
    return {key: (given, [k[at] for k in kept]) for at, (key, given) in enumerate(tasks.items())}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("name", "changes"), [case for case in CASES if "sync" not in case[1]], ids=label)
def test_two_processes_equal_one(name: str, changes: dict[str, Any], seed: int, outcomes) -> None:
    given, ranks = outcomes[f"{label(changes)} {name} {seed}"]
    wanted = in_one_process(given)
    for rank, rows in enumerate((slice(SPLIT), slice(SPLIT, None))):
        for key in ("y", "x"):
            for at, value in enumerate(ranks[rank][key]):
                valid_BL = given.batches[at][rank][1]
                whole = wanted[key][at][rows, : value.shape[1]]
                assert_close(value[valid_BL], whole[valid_BL], 1e-12, f"{key} of batch {at} on rank {rank}")
        for key, value in ranks[rank]["buffers"].items():
            assert_close(value, wanted["buffers"][key], 1e-12, f"{key} on rank {rank}")
        for value, whole in zip(ranks[rank]["penalty"], wanted["penalty"], strict=True):
            assert_close(value, whole, 1e-12, "penalty")
    for key, whole in wanted["parameters"].items():
        assert_close(ranks[0]["parameters"][key] + ranks[1]["parameters"][key], whole, 1e-11, f"gradient of {key}")


@pytest.mark.parametrize("name", FAMILY)
def test_without_it_the_processes_remember_different_statistics(name: str, outcomes) -> None:
    """What `sync=none` is refused for in a distributed run."""
    _, (first, second) = outcomes[f"sync=none {name} 0"]
    assert any(not torch.equal(buffer, second["buffers"][key]) for key, buffer in first["buffers"].items())
