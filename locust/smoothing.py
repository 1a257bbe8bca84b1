"""How evenly a queue lets go what came at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from buckets import Bucket

#: The time in which a queue lets go so many is what bursts are counted in.
COUNTED = 4
#: From the least to the most.
BLOCKS = " ▁▂▃▄▅▆▇█"
BINS = 60


@dataclass(frozen=True)
class Smoothing:
    """The most that came and the most that went within a time of this length."""

    seconds: float
    most_sent: int
    most_answered: int


def smoothing_of(
    bucket: Bucket, sent: Sequence[float], answered: Sequence[float]
) -> Smoothing:
    """Of the requests that a queue let pass; moments in seconds on one clock."""
    seconds = COUNTED * bucket.cost / bucket.rate
    return Smoothing(
        seconds, most_within(sent, seconds), most_within(answered, seconds)
    )


def most_within(times: Sequence[float], seconds: float) -> int:
    """The most moments in any half-open interval of this length."""
    ordered = sorted(times)
    most = first = 0
    for last, time in enumerate(ordered):
        while ordered[first] <= time - seconds:
            first += 1
        most = max(most, last + 1 - first)
    return most


def profile_of(times: Sequence[float], seconds: float) -> str:
    """How many fell into each part of the run, as a line of blocks."""
    counts = [0] * BINS
    for time in times:
        counts[min(BINS - 1, max(0, int(time / seconds * BINS)))] += 1
    most = max(counts) or 1
    return "".join(BLOCKS[-(-count * (len(BLOCKS) - 1) // most)] for count in counts)
