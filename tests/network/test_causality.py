"""Who sees the future in a language model, and who sees the padding in a classifier: predicted, then measured.

B45: a norm that mixes positions leaks future tokens, and validation loss falls implausibly.
Shapes: B examples, L positions, V vocabulary, C classes.
"""

import pytest
import torch
from torch import Tensor

from normtrial.network.heads import Classifier
from normtrial.network.model import Transformer
from normtrial.norms.catalogue import NORMS
from normtrial.norms.sequence import SequenceConfig
from tests.network.models import CLASSES, disturb, lengths_mask, model, tokens
from tests.norms.draws import on_the_way
from tests.norms.options import (
    PAIRS,
    TASKS,
    counts_padding,
    evaluates_with_batch,
    label,
    legal,
    options,
    reads_padding,
    settings,
    variants,
)

BOTH_MODES = pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
PREFIX = 3


def trained_a_little(network: Transformer) -> Transformer:
    """Running statistics that are those of no batch below."""
    disturb(network).train()(tokens(9))
    for norm in network.norms():
        on_the_way(norm)
    return network


def prefix_change(network: Transformer) -> float:
    """How far the logits of the first positions move when only later tokens change."""
    before_BL = tokens(0)
    after_BL = before_BL.clone()
    after_BL[:, PREFIX:] = (after_BL[:, PREFIX:] + 5) % 32
    first, second = (network(t)[:, :PREFIX].detach() for t in (before_BL, after_BL))
    return (first - second).abs().max().item()


def looks_ahead(name: str, training: bool, **changes) -> bool:
    config = options(name, **changes)
    return NORMS[name].mixes_positions(config) and (training or evaluates_with_batch(config))


@BOTH_MODES
@pytest.mark.parametrize(("norm", "placement"), PAIRS)
def test_future_tokens_change_the_past_exactly_where_the_norm_says(
    norm: str, placement: str, training: bool
) -> None:
    if not legal(norm, "lm"):
        pytest.skip("refused for a language model")
    network = trained_a_little(model(norm, placement, "lm")).train(training)
    change = prefix_change(network)
    if looks_ahead(norm, training):
        assert change > 1e-3, "expected to leak in training mode"
        assert training, "as shipped, nothing may leak at evaluation"
    else:
        assert change < 1e-6


@pytest.mark.parametrize(("norm", "changes"), variants(), ids=label)
def test_every_switch_is_causal_at_evaluation_or_refused_or_says_so(norm: str, changes: dict) -> None:
    values = {f"norm__{key}": value for key, value in changes.items()}
    try:
        network = model(norm, "pre", "lm", **values)
    except ValueError:
        assert looks_ahead(norm, False, **changes), "refused without need"
        return
    if NORMS[norm].fixed_length(options(norm, **changes)):
        pytest.skip("takes one length only")
    change = prefix_change(trained_a_little(network).eval())
    assert (change > 1e-3) == looks_ahead(norm, False, **changes)
    assert change > 1e-3 or change < 1e-6


@pytest.mark.parametrize("norm", [name for name, cls in NORMS.items() if issubclass(cls.Config, SequenceConfig)])
def test_a_leak_that_is_allowed_leaks_in_training_and_evaluation(norm: str) -> None:
    for training in (True, False):
        network = trained_a_little(model(norm, "pre", "lm", norm__allow_leak=True)).train(training)
        assert prefix_change(network) > 1e-3


def padding_change(network: Transformer, added: int) -> float:
    """How far a classifier's logits move with what stands in the pads, and with their number, relative to them."""
    tokens_BL, mask_BL = tokens(0, L=7), lengths_mask([7, 4, 1, 6], 7)
    other_BL = torch.where(mask_BL, tokens_BL, tokens(1, L=7))
    longer_BL = torch.cat((other_BL, tokens(2, L=added)), dim=1)
    longer_mask_BL = torch.cat((mask_BL, torch.zeros(4, added, dtype=torch.bool)), dim=1)
    kept = {key: buffer.clone() for key, buffer in network.named_buffers()}
    first = network(tokens_BL, mask_BL).detach()
    network.load_state_dict(kept, strict=False)  # a formula may depend on the number of the batch
    return (first - network(longer_BL, longer_mask_BL).detach()).abs().max().item()


@BOTH_MODES
@pytest.mark.parametrize("added", [0, 4])
@pytest.mark.parametrize(("norm", "placement"), PAIRS)
def test_padding_is_not_seen_unless_it_is_counted(norm: str, placement: str, added: int, training: bool) -> None:
    network = trained_a_little(model(norm, placement)).train(training)
    change = padding_change(network, added)
    assert change > 1e-3 if counts_padding(options(norm)) else change < 1e-5


@BOTH_MODES
@pytest.mark.parametrize(("norm", "changes"), variants(), ids=label)
def test_padding_is_seen_exactly_where_it_is_counted(norm: str, changes: dict, training: bool) -> None:
    config = options(norm, **changes)
    if NORMS[norm].fixed_length(config):
        pytest.skip("takes one length only")
    network = model(norm, "pre", **{f"norm__{key}": value for key, value in changes.items()})
    change = padding_change(trained_a_little(network).train(training), 4)
    counted = reads_padding(config) or (counts_padding(config) and NORMS[norm].mixes_positions(config))
    seen = counted and (training or evaluates_with_batch(config))
    assert change > 1e-3 if seen else change < 1e-5


@BOTH_MODES
@pytest.mark.parametrize(("norm", "placement"), PAIRS)
def test_examples_see_each_other_exactly_where_the_norm_says(norm: str, placement: str, training: bool) -> None:
    network = trained_a_little(model(norm, placement)).train(training)
    tokens_BL, mask_BL = tokens(0), lengths_mask([7, 4, 2, 6], 7)
    alone_BL = tokens_BL.clone()
    alone_BL[1:] = tokens(3)[1:]
    first, second = (network(t, mask_BL)[0].detach() for t in (tokens_BL, alone_BL))
    mixes = NORMS[norm].mixes_examples(options(norm)) and (training or evaluates_with_batch(options(norm)))
    change = (first - second).abs().max()
    assert change > 1e-3 if mixes else change < 1e-6


@BOTH_MODES
@pytest.mark.parametrize(("norm", "placement"), PAIRS)
def test_row_of_pads_gives_no_nan(norm: str, placement: str, training: bool) -> None:
    """B23: forward and backward, and the other rows are as without it."""
    results: list[Tensor] = []
    for rows in ([0, 1, 2, 3], [0, 1, 3]):
        network = trained_a_little(model(norm, placement)).train(training)
        logits_BC = network(tokens(0)[rows], lengths_mask([7, 4, 0, 6], 7)[rows])
        logits_BC.square().sum().backward()
        assert logits_BC.isfinite().all()
        assert all(p.grad is None or p.grad.isfinite().all() for p in network.parameters())
        results.append(logits_BC[[0, 1, -1]].detach())
    assert (results[0] - results[1]).abs().max() < 2e-6


def test_classifier_never_reads_the_pads() -> None:
    """B25: whatever stands there, NaN included."""
    mask_BL, stream_BLD = lengths_mask([4, 1], 4), torch.randn(2, 4, 16)
    head = Classifier(16, CLASSES)
    rubbish_BLD = stream_BLD.masked_fill(~mask_BL[..., None], float("nan"))
    assert torch.equal(head(rubbish_BLD, mask_BL), head(stream_BLD, mask_BL))


def test_tasks_are_the_two_that_exist() -> None:
    assert {settings(choice).data.kind for choice in TASKS.values()} == set(TASKS)
