"""Law 1: what passed in any interval is at most capacity + rate * its length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from buckets import Bucket

#: Absorbs the rounding of floating point, nothing more. Tokens.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Interval:
    """What passed between two moments, against the most that a bucket can give."""

    from_s: float
    to_s: float
    passed: int
    allowed: float
    """Requests, not tokens; seldom a whole number."""
    kept: bool
    """Whether what passed is within what is allowed."""

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.to_s - self.from_s


def whole_interval(
    bucket: Bucket, sent: Sequence[float], answered: Sequence[float]
) -> Interval | None:
    """From the sending of the first request that passed to the last of their answers.

    The gateway decided about all of them in between. `sent` and `answered` are the
    moments of the requests that passed, in seconds on one clock.
    """
    if not sent:
        return None
    return _interval(bucket, min(sent), max(answered), len(sent))


def tightest_interval(
    bucket: Bucket, sent: Sequence[float], answered: Sequence[float]
) -> Interval | None:
    """The interval in which what passed comes closest to the bound, or breaks it most.

    Intervals run from the sending of one request to the answer of another. Both lists
    are sorted for themselves: of the j + 1 requests answered first, at most i were
    sent before the i-th sending, so that at least j + 1 - i were decided from there on.
    """
    starts, ends = sorted(sent), sorted(answered)
    worst: tuple[float, int, int] | None = None
    best_start = 0
    best_level = float("-inf")
    for i, (start, end) in enumerate(zip(starts, ends)):
        level = bucket.rate * start - i * bucket.cost
        if level > best_level:
            best_start, best_level = i, level
        excess = (i + 1) * bucket.cost - bucket.rate * end + best_level
        if worst is None or excess > worst[0]:
            worst = (excess, best_start, i)
    if worst is None:
        return None
    _, first, last = worst
    return _interval(bucket, starts[first], ends[last], last + 1 - first)


def _interval(bucket: Bucket, start: float, end: float, passed: int) -> Interval:
    most = bucket.most_tokens(end - start)
    return Interval(
        from_s=start,
        to_s=end,
        passed=passed,
        allowed=most / bucket.cost,
        kept=passed * bucket.cost <= most + ROUNDING,
    )
