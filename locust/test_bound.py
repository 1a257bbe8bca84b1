"""Law 1, on rows that can be checked by hand: ten tokens, five a second."""

from __future__ import annotations

import unittest
from dataclasses import replace

from bound import Interval, tightest_interval, whole_interval
from buckets import Bucket

TEN = Bucket(
    key=("1",),
    rule="transactions",
    limit="burst",
    capacity=10,
    refill_tokens=5,
    refill_interval_ms=1000,
    whole_steps=False,
    initial_tokens=0,
    cost=1,
)


def at(*moments: tuple[float, int]) -> list[float]:
    """So many requests at each moment."""
    return [moment for moment, count in moments for _ in range(count)]


class WholeInterval(unittest.TestCase):
    """From the first sending to the last answer."""

    def judged(self, bucket: Bucket, *moments: tuple[float, int]) -> Interval:
        interval = whole_interval(bucket, at(*moments), at(*moments))
        assert interval is not None
        return interval

    def test_rows(self) -> None:
        rows: list[tuple[str, Bucket, list[tuple[float, int]], int, bool]] = [
            ("a full bucket", TEN, [(0.0, 10)], 10, True),
            ("one more", TEN, [(0.0, 11)], 10, False),
            ("what came back in two seconds", TEN, [(0.0, 10), (2.0, 10)], 20, True),
            ("and one more", TEN, [(0.0, 10), (2.0, 11)], 20, False),
            ("two tokens each", replace(TEN, cost=2), [(0.0, 5)], 5, True),
            ("one too many of those", replace(TEN, cost=2), [(0.0, 6)], 5, False),
            (
                "one more whole step",
                replace(TEN, whole_steps=True),
                [(0, 15)],
                15,
                True,
            ),
            ("but only one", replace(TEN, whole_steps=True), [(0, 16)], 15, False),
            ("a surplus", replace(TEN, initial_tokens=30), [(0, 30)], 30, True),
            ("an empty start", replace(TEN, initial_tokens=1), [(0, 10)], 10, True),
        ]
        for name, bucket, moments, allowed, kept in rows:
            with self.subTest(name):
                interval = self.judged(bucket, *moments)
                self.assertEqual(interval.passed, sum(count for _, count in moments))
                self.assertEqual((interval.allowed, interval.kept), (allowed, kept))

    def test_counts_from_the_sending_to_the_answer(self) -> None:
        interval = whole_interval(TEN, [1.0, 1.5], [3.0, 2.0])
        assert interval is not None
        self.assertEqual((interval.from_s, interval.to_s), (1.0, 3.0))

    def test_nothing_passed(self) -> None:
        self.assertIsNone(whole_interval(TEN, [], []))
        self.assertIsNone(tightest_interval(TEN, [], []))


class TightestInterval(unittest.TestCase):
    """The whole interval can be kept while one inside it is not."""

    def test_finds_a_burst_after_silence(self) -> None:
        moments = at((0.0, 1), (10.0, 6), (10.25, 6), (20.0, 1))
        whole = whole_interval(TEN, moments, moments)
        tightest = tightest_interval(TEN, moments, moments)
        assert whole is not None and tightest is not None
        self.assertTrue(whole.kept)
        self.assertFalse(tightest.kept)
        self.assertEqual((tightest.from_s, tightest.to_s), (10.0, 10.25))
        self.assertEqual((tightest.passed, tightest.allowed), (12, 11.25))

    def test_gives_the_benefit_of_the_doubt(self) -> None:
        # Sent at once, answered over a second: they may have been decided in it.
        sent, answered = at((0.0, 15)), at((0.5, 10), (1.0, 5))
        tightest = tightest_interval(TEN, sent, answered)
        assert tightest is not None
        self.assertTrue(tightest.kept)

    def test_answers_may_come_in_another_order(self) -> None:
        # A slow one from long ago does not count among those of the burst.
        sent = [0.0, *at((10.0, 10))]
        answered = [10.1, *at((10.1, 10))]
        tightest = tightest_interval(TEN, sent, answered)
        assert tightest is not None
        self.assertTrue(tightest.kept)


if __name__ == "__main__":
    unittest.main()
