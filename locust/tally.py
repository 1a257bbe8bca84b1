"""What became of the requests: by merchant, and by bucket."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from buckets import Bucket, Takes

#: Different reasons of failures that are told apart.
MOST_REASONS = 20

#: Requests are counted over the run in steps of this length. Seconds.
STEP = 0.25


@dataclass
class MerchantTally:
    """The requests of one merchant."""

    passed: int = 0
    unlimited: int = 0
    """Of those that passed: no rule matched them."""
    refused: int = 0
    failed: int = 0
    answer_ms: array[float] = field(default_factory=lambda: array("d"))
    """How long the answers took, passes and refusals."""
    passed_in: Counter[int] = field(default_factory=Counter)
    """By the step of the run in which they were sent."""
    refused_in: Counter[int] = field(default_factory=Counter)

    @property
    def sent(self) -> int:
        """All requests that came to an end."""
        return self.passed + self.refused + self.failed


@dataclass
class BucketTally:
    """When the requests that took from one bucket were sent and answered. Seconds."""

    bucket: Bucket
    sent: array[float] = field(default_factory=lambda: array("d"))
    answered: array[float] = field(default_factory=lambda: array("d"))


class Tally:
    """Counts as the requests end. Times are seconds since the run began."""

    def __init__(self, takes: Mapping[str, Takes]) -> None:
        self._takes = takes
        self.merchants = {merchant: MerchantTally() for merchant in takes}
        self.buckets: dict[tuple[str, ...], BucketTally] = {}
        self.failures: Counter[str] = Counter()
        for by_method in takes.values():
            for buckets in by_method.values():
                for bucket in buckets:
                    self.buckets.setdefault(bucket.key, BucketTally(bucket))

    def passed(
        self, merchant: str, method: str, sent_at: float, answered_at: float
    ) -> None:
        """A request went through."""
        tally = self.merchants[merchant]
        tally.passed += 1
        tally.passed_in[int(sent_at / STEP)] += 1
        tally.unlimited += not self._takes[merchant][method]
        tally.answer_ms.append((answered_at - sent_at) * 1000)
        for bucket in self._takes[merchant][method]:
            of_bucket = self.buckets[bucket.key]
            of_bucket.sent.append(sent_at)
            of_bucket.answered.append(answered_at)

    def refused(self, merchant: str, sent_at: float, answered_at: float) -> None:
        """A request was over a limit."""
        tally = self.merchants[merchant]
        tally.refused += 1
        tally.refused_in[int(sent_at / STEP)] += 1
        tally.answer_ms.append((answered_at - sent_at) * 1000)

    def failed(self, merchant: str, reason: str) -> None:
        """A request got neither a pass nor a refusal."""
        self.merchants[merchant].failed += 1
        known = reason in self.failures or len(self.failures) < MOST_REASONS
        self.failures[reason if known else "other reasons"] += 1
