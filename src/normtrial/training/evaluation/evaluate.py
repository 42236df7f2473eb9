"""All evaluations of a split: plain and shifted, with running and with batch statistics."""

from contextlib import ExitStack

from normtrial.data.labelled import LabelledDocuments
from normtrial.training.evaluation.predict import predict
from normtrial.training.evaluation.shifts import Shift
from normtrial.training.metrics import Predictions, score
from normtrial.training.setup import Setup


def evaluate(setup: Setup, split: str, step: int) -> dict[str, float]:
    """Every metric of the split under its name: `split[/shift][/batch_stats]/metric`."""
    shifts, kind = setup.shifts, setup.data.task.kind
    shifted = shifts.always or step == setup.train.steps
    row: dict[str, float] = {}
    for suffix in setup.evaluations:
        plain = _predictions(setup, split, suffix, Shift(""))
        row |= score(plain, kind, split + suffix)
        if not shifted:
            continue
        if shifts.length_buckets is not None:
            assert isinstance(setup.data, LabelledDocuments), "refused for a language model"
            buckets = setup.data.length_buckets(split, shifts.length_buckets)
            for number, examples in enumerate(buckets, 1):
                name = f"{split}/length_{number}of{len(buckets)}{suffix}"
                row |= score(plain.part(examples), kind, name)
        for shift in shifts.each:
            predictions = _predictions(setup, split, suffix, shift)
            row |= score(predictions, kind, f"{split}/{shift.name}{suffix}")
    return row


def _predictions(setup: Setup, split: str, suffix: str, shift: Shift) -> Predictions:
    data = setup.data
    with ExitStack() as stack:
        stack.enter_context(setup.evaluations[suffix]())
        if shift.noise:
            stack.enter_context(setup.shifts.noisy(shift.noise))
        return predict(
            setup.model,
            data.eval_batches(split, shift.view),
            data.task,
            device=setup.device,
            computing=setup.computing,
            tokens_per_char=data.tokens_per("chars", split, shift.view),
            tokens_per_byte=data.tokens_per("bytes", split, shift.view),
        )
