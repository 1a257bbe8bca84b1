"""When users send."""

from __future__ import annotations

import unittest

from buckets import takes_of
from pace import BurstPace, Demand, EvenPace, demand_of
from test_buckets import rule


class EvenPaces(unittest.TestCase):
    """The same time apart."""

    def test_keeps_the_rate_however_long_the_answers_take(self) -> None:
        pace = EvenPace(2, first_at=1)
        self.assertEqual([pace.wait(now) for now in (0, 1.25, 1.75)], [1, 0.25, 0.25])

    def test_does_not_make_up_for_what_it_missed(self) -> None:
        pace = EvenPace(2, first_at=0)
        pace.wait(0)
        self.assertEqual([pace.wait(5), pace.wait(5)], [0, 0.5])


class BurstPaces(unittest.TestCase):
    """Silence, then all at once."""

    def test_waits_and_then_does_not(self) -> None:
        pace = BurstPace(3, period=2, first_at=1)
        self.assertEqual([pace.wait(now) for now in (0, 1, 1.2)], [1, 0, 0])
        self.assertEqual([pace.wait(now) for now in (1.5, 3, 3)], [1.5, 0, 0])

    def test_a_burst_that_takes_too_long_skips_the_next(self) -> None:
        pace = BurstPace(1, period=2, first_at=1)
        pace.wait(0)
        self.assertEqual(pace.wait(3.5), 1.5)


class Demands(unittest.TestCase):
    """What brings a merchant to its limit."""

    def test_of_one_limit(self) -> None:
        takes = takes_of("acme", [rule("1")], [])
        self.assertEqual(demand_of(takes, 20), Demand(per_second=5, burst=15, period=2))

    def test_the_period_leaves_room_for_three_bursts(self) -> None:
        takes = takes_of("acme", [rule("1")], [])
        self.assertEqual(demand_of(takes, 4.5).period, 1.5)

    def test_counts_what_takes_from_the_bucket(self) -> None:
        posts = {"methods": ["POST"], "paths": []}
        takes = takes_of("acme", [rule("1", match=posts, cost=5)], [])
        # Four of five requests, five tokens each: four tokens a request.
        demand = demand_of(takes, 20)
        self.assertEqual((demand.per_second, demand.burst), (5 / 4, 4))

    def test_of_a_limit_for_nobody(self) -> None:
        burst = rule("1")["limits"][0]
        none = {**burst, "name": "none", "capacity": 0}
        takes = takes_of("acme", [rule("1", limits=[burst, none])], [])
        self.assertEqual(demand_of(takes, 20), demand_of({"POST": (), "GET": ()}, 20))

    def test_by_the_limit_that_binds_first(self) -> None:
        burst, hourly = rule("1")["limits"][0], rule("1")["limits"][0].copy()
        hourly |= {"name": "hourly", "capacity": 5000, "refillIntervalMs": 3_600_000}
        takes = takes_of("acme", [rule("1", limits=[hourly, burst])], [])
        self.assertEqual(demand_of(takes, 20).per_second, 5)

    def test_of_nothing(self) -> None:
        takes = takes_of("acme", [], [])
        self.assertGreater(demand_of(takes, 20).per_second, 0)


if __name__ == "__main__":
    unittest.main()
