"""The rules of a verdict, from an interval and a prediction."""

from normtrial.claims.claim.training import Prediction
from normtrial.report.inference import Interval

REPRODUCED, DIRECTION, CONTRADICTED = "reproduced", "direction only", "contradicted"
NO_EFFECT, SIZE_EXCLUDED, INCONCLUSIVE = "no effect", "size excluded", "inconclusive"
NOT_TESTABLE = "not testable on this task"
IN_PART = "in part"  # of exact and cost claims with several parts
PENDING = "pending"  # runs are missing
VERDICTS = (
    REPRODUCED,
    DIRECTION,
    IN_PART,
    NO_EFFECT,
    CONTRADICTED,
    SIZE_EXCLUDED,
    INCONCLUSIVE,
    NOT_TESTABLE,
    PENDING,
)
OPEN = (SIZE_EXCLUDED, INCONCLUSIVE)  # more seeds would say more


def decide(measured: Interval, prediction: Prediction) -> str:
    """The verdict on an interval [lo, hi], turned so that the claimed direction is positive; the first that holds.

    - no effect: −δ < lo and hi < δ
    - reproduced: lo > δ, and no size is claimed or hi reaches it
    - direction only: lo > 0
    - contradicted: hi < 0
    - size excluded: a size is claimed, and hi does not reach it
    - inconclusive

    A claim of equality is reproduced where another would be `no effect`, and contradicted where the interval lies
    beyond δ on either side; a claim not to be worse is reproduced where −δ < lo, and contradicted where hi < −δ.

    >>> decide(Interval(0.05, 0.03, 0.08), Prediction(direction="up", smallest=0.01, size=0.07))
    'reproduced'
    >>> decide(Interval(0.05, 0.03, 0.08), Prediction(direction="down", smallest=0.01))
    'contradicted'
    >>> decide(Interval(0.0, -0.005, 0.005), Prediction(direction="equal", smallest=0.01))
    'reproduced'
    """
    delta, turned = prediction.smallest, prediction.turned(measured)
    within = -delta < turned.low and turned.high < delta
    if prediction.direction == "equal":
        if within:
            return REPRODUCED
        return CONTRADICTED if turned.low > delta or turned.high < -delta else INCONCLUSIVE
    if prediction.direction == "not_worse":
        if turned.low > -delta:
            return REPRODUCED
        return CONTRADICTED if turned.high < -delta else INCONCLUSIVE
    if within:
        return NO_EFFECT
    if turned.low > delta and (prediction.size is None or turned.high >= prediction.size):
        return REPRODUCED
    if turned.low > 0:
        return DIRECTION
    if turned.high < 0:
        return CONTRADICTED
    return SIZE_EXCLUDED if prediction.size is not None and turned.high < prediction.size else INCONCLUSIVE


def of_parts(held: list[bool | None]) -> str:
    """The verdict on a claim of several parts, each True, False, or None where its interval spans a bound.

    >>> of_parts([True, True]), of_parts([True, False]), of_parts([True, None])
    ('reproduced', 'in part', 'inconclusive')
    """
    if None in held:
        return INCONCLUSIVE
    if all(held):
        return REPRODUCED
    return IN_PART if any(held) else CONTRADICTED
