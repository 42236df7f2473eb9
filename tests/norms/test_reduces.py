"""What a norm says it reduces against what it does: one value is changed, and it is seen who notices.

Shapes: B examples, L positions, D model width.
"""

from typing import Any

import pytest
import torch
from torch import Tensor

from normtrial.norms.base import Norm
from normtrial.norms.catalogue import NORMS
from tests.norms.draws import Draw, draw, randomize
from tests.norms.options import evaluates_with_batch, label, make, options, reads_padding, variants

HERE = (0, 0)  # the place that watches; valid in every draw
OTHER_EXAMPLE, OTHER_POSITION = (1, 0), (0, 2)
PAD_OF_EXAMPLE, PAD_HERE, PAD_ELSEWHERE = (0, 3), (3, 0), (3, 3)
SHAPE = (4, 4, 5)


def outputs(norm: Norm, given: Draw) -> Tensor:
    """Output at the watching place; in training mode with fresh running statistics each time."""
    kept = {key: buffer.clone() for key, buffer in norm.named_buffers()}
    y_D = norm(given.x_BLD, given.mask_BL, given.cond_BLD)[HERE].detach().clone()
    for key, buffer in norm.named_buffers():
        buffer.copy_(kept[key])
    return y_D


def notices(norm: Norm, place: tuple[int, int]) -> bool:
    """True where the watching place's output changes with the token, and the condition, at another place."""
    given = draw(1, shape=SHAPE)
    assert given.mask_BL is not None
    given.mask_BL[:3], given.mask_BL[3] = True, torch.tensor([False, True, True, False])
    given.mask_BL[PAD_OF_EXAMPLE] = False
    before = outputs(norm, given)
    for tensor in (given.x_BLD, given.cond_BLD):
        tensor[place] += torch.tensor([2.0, -1.0, 0.5, 3.0, -2.0], dtype=tensor.dtype)
    return not torch.equal(before, outputs(norm, given))


def notices_feature(norm: Norm) -> bool:
    """True where one of a token's features depends on another."""
    for changed in range(5):
        given = draw(1, shape=SHAPE)
        before = outputs(norm, given)
        given.x_BLD[HERE][changed] += 2
        others = torch.arange(5) != changed
        if not torch.equal(before[others], outputs(norm, given)[others]):
            return True
    return False


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize(("name", "changes"), variants(), ids=label)
def test_mixes_what_it_says(name: str, changes: dict[str, Any], training: bool) -> None:
    config, cls = options(name, **changes), NORMS[name]
    norm = randomize(make(name, 5, 4, **changes)).double().train(training)
    taken = training or evaluates_with_batch(config)
    axes = cls.reduced_axes(config)
    assert notices(norm, HERE), "the output does not depend on the input"
    assert notices(norm, OTHER_EXAMPLE) == (taken and cls.mixes_examples(config))
    assert notices(norm, OTHER_POSITION) == (taken and cls.mixes_positions(config))
    read = taken and reads_padding(config)
    assert notices(norm, PAD_OF_EXAMPLE) == (read and cls.mixes_positions(config))
    assert notices(norm, PAD_HERE) == (read and cls.mixes_examples(config))
    assert notices(norm, PAD_ELSEWHERE) == (read and cls.mixes_examples(config) and cls.mixes_positions(config))
    assert notices_feature(norm) == ("D" in axes)


@pytest.mark.parametrize("name", NORMS)
def test_the_order_of_examples_in_a_batch_does_not_matter(name: str) -> None:
    """B31: else a batch that is sorted by label would give the label away."""
    norm, order = randomize(make(name, 5, SHAPE[1])).double().train(), torch.tensor([2, 0, 3, 1])
    given, permuted = draw(1, shape=SHAPE), draw(1, shape=SHAPE)
    assert given.mask_BL is not None
    permuted.x_BLD, permuted.cond_BLD = given.x_BLD[order], given.cond_BLD[order]
    permuted.mask_BL = given.mask_BL[order]
    before = {key: buffer.clone() for key, buffer in norm.named_buffers()}
    y_BLD = norm(given.x_BLD, given.mask_BL, given.cond_BLD)
    norm.load_state_dict(before, strict=False)
    other_BLD = norm(permuted.x_BLD, permuted.mask_BL, permuted.cond_BLD)
    valid = permuted.mask_BL
    assert torch.allclose(other_BLD[valid], y_BLD[order][valid], rtol=0, atol=1e-9)


@pytest.mark.parametrize(("name", "changes"), variants(), ids=label)
def test_training_and_evaluation_differ_where_it_says(name: str, changes: dict[str, Any]) -> None:
    config = options(name, **changes)
    norm = randomize(make(name, 5, SHAPE[1], **changes)).double()
    given = draw(1, shape=SHAPE)
    in_training, in_evaluation = outputs(norm.train(), given), outputs(norm.eval(), given)
    same = evaluates_with_batch(config) or not NORMS[name].has_running_statistics(config)
    assert torch.equal(in_training, in_evaluation) == same


@pytest.mark.parametrize(("name", "changes"), variants(), ids=label)
def test_what_follows_from_the_axes(name: str, changes: dict[str, Any]) -> None:
    config, cls = options(name, **changes), NORMS[name]
    axes = cls.reduced_axes(config)
    assert axes == "".join(axis for axis in "BLD" if axis in axes), "axes are named once each, in order"
    assert set(cls.reduces) <= set(axes), "options widen what is reduced, never narrow it"
    assert (cls.mixes_examples(config), cls.mixes_positions(config)) == ("B" in axes, "L" in axes)
    assert cls.has_running_statistics(config) == bool(list(make(name, 4, 4, **changes).buffers()))
