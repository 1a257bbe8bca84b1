"""When a user sends. Time is an argument: seconds since the run began."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from buckets import MIX, Takes

#: Of a merchant that no rule limits, or that may send nothing at all: requests a
#: second, and requests in a burst.
UNLIMITED_RATE = 10.0
UNLIMITED_BURST = 20

#: How much more than a full bucket a burst asks for.
BURST_OVER_CAPACITY = 1.5

#: Bounds of the time from one burst to the next. Seconds.
SHORTEST_PERIOD = 1.0
LONGEST_PERIOD = 30.0

#: Users connect in this time. Seconds.
FIRST_AT = 1.0


class Pace(Protocol):
    """Tells a user how long to wait."""

    def wait(self, now: float) -> float:
        """Seconds from now to the user's next request; asked once for each."""


class EvenPace:
    """One request after the other, the same time apart."""

    def __init__(self, per_second: float, first_at: float) -> None:
        self._gap = 1 / per_second
        self._next_at = first_at - self._gap

    def wait(self, now: float) -> float:
        """A moment that was missed is not made up for: that would be a burst."""
        self._next_at = max(self._next_at + self._gap, now)
        return self._next_at - now


class BurstPace:
    """Silence, then a number of requests as fast as they go, again and again."""

    def __init__(self, size: int, period: float, first_at: float) -> None:
        self._size = size
        self._period = period
        self._first_at = first_at
        self._left = 0

    def wait(self, now: float) -> float:
        """Nothing within a burst. A burst that takes too long skips the next one."""
        if self._left > 0:
            self._left -= 1
            return 0
        self._left = self._size - 1
        periods = math.floor((now - self._first_at) / self._period) + 1
        return self._first_at + max(0, periods) * self._period - now


@dataclass(frozen=True)
class Demand:
    """The traffic that brings a merchant to its limit."""

    per_second: float
    """Requests that its bucket refills for."""
    burst: int
    """Requests that are more than its full bucket holds."""
    period: float
    """Seconds in which an empty bucket fills, within bounds."""


def demand_of(takes: Takes, seconds: float) -> Demand:
    """The demand by the limit that binds first in a run of this length."""
    # The share of the traffic that takes from each bucket.
    shares = {
        bucket: sum(MIX[method] for method in MIX if bucket in takes[method])
        for buckets in takes.values()
        for bucket in buckets
    }
    if not shares:
        return Demand(UNLIMITED_RATE, UNLIMITED_BURST, SHORTEST_PERIOD)
    bucket, share = min(
        shares.items(),
        key=lambda entry: entry[0].most_tokens(seconds) / (entry[0].cost * entry[1]),
    )
    if bucket.capacity == 0:
        return Demand(UNLIMITED_RATE, UNLIMITED_BURST, SHORTEST_PERIOD)
    tokens = bucket.cost * share
    longest = max(SHORTEST_PERIOD, min(LONGEST_PERIOD, seconds / 3))
    return Demand(
        per_second=bucket.rate / tokens,
        burst=math.ceil(BURST_OVER_CAPACITY * bucket.capacity / tokens),
        period=min(max(SHORTEST_PERIOD, bucket.capacity / bucket.rate), longest),
    )
