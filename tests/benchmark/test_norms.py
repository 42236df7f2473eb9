"""Every norm is timed, against something that computes the same where torch has it."""

import time

import pytest
import torch

from normtrial.benchmark.norms import shape_from
from normtrial.benchmark.norms.floor import least_traffic
from normtrial.benchmark.norms.peers import PEERS, Peer
from normtrial.benchmark.norms.rows import PASSES, cases_of, make_case, measure, work_of
from normtrial.config.shipped import shipped
from normtrial.errors import ConfigError
from normtrial.norms.catalogue import NORMS, build_norm

SHAPE = (4, 8, 6)
SAID_EQUAL = [
    (name, padded, peer)
    for name, peers in PEERS.items()
    for peer in peers
    for padded in cases_of(name)
    if peer.equal
]


def test_every_norm_of_the_catalogue_is_timed() -> None:
    assert list(PEERS) == list(NORMS), "a new norm needs its line, saying what torch has in its place"
    assert all(PEERS.values())


@pytest.mark.parametrize(
    ("name", "padded", "peer"), SAID_EQUAL, ids=lambda value: getattr(value, "label", str(value))
)
def test_torch_computes_the_same_where_it_is_said(name: str, padded: bool, peer: Peer) -> None:
    torch.manual_seed(0)
    case = make_case(SHAPE, padded)
    ours, theirs = work_of(build_norm(SHAPE[2], shipped(name), SHAPE[1]).train(), case), peer.work(case)
    for passes in PASSES:
        one, other = (getattr(work, passes)() for work in (ours, theirs))
        if passes == "both":
            one, other = one[0], other[0]  # with respect to the input
        if one.shape != other.shape:
            one = case.packed(one)
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_padding_is_seen_by_those_that_heed_it() -> None:
    assert cases_of("bn") == (False, True)
    assert cases_of("ln") == cases_of("ln_seq") == (False,)
    mask = make_case((4, 8, 6), padded=True).mask_BL
    assert mask is not None
    assert mask.sum(1).tolist() == [2, 4, 6, 8]


def test_a_norm_of_the_batch_has_to_look_twice() -> None:
    def traffic(name: str, valid: float = 1.0) -> dict[str, float]:
        return least_traffic(build_norm(4, shipped(name)), valid)

    assert traffic("ln") == {"forward": 2, "both": 5}
    assert traffic("bn") == {"forward": 3, "both": 8}
    assert traffic("bn", valid=0.5) == {"forward": 2, "both": 5}
    assert traffic("ada") == {"forward": 3, "both": 8}


def test_a_norm_is_timed_both_ways_against_all_that_torch_has() -> None:
    forward, both = measure("rms", SHAPE, padded=False, num_pairs=2, clock=time.perf_counter)
    assert (forward.passes, both.passes) == PASSES
    assert [one.name for one in both.peers] == ["rms_norm", "~ layer_norm"]
    assert len(both.peers[0].ratios) == 2
    assert both.floor is not None
    assert both.floor.median > 0
    assert both.seconds > forward.seconds > 0


@pytest.mark.parametrize("typed", ["16,128", "16,128,x", "16,128,1"])
def test_another_shape_is_refused(typed: str) -> None:
    with pytest.raises(ConfigError, match=f"--shape={typed} must be B,L,D"):
        shape_from(typed)
