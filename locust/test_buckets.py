"""Which rule a request meets, and which bucket."""

from __future__ import annotations

import unittest
from typing import Any

from buckets import chosen_rules, path_matches, queue_of, takes_of


def rule(rule_id: str, **fields: Any) -> dict[str, Any]:
    """A rule for everything, ten at once and five a second."""
    limit = {
        "name": "burst",
        "algorithm": "token_bucket",
        "capacity": 10,
        "refillTokens": 5,
        "refill": "greedy",
    }
    return {
        "id": rule_id,
        "name": f"rule {rule_id}",
        "layer": "merchant",
        "priority": 100,
        "enabled": True,
        "mode": "enforce",
        "match": {"methods": [], "paths": []},
        "key": ["merchant"],
        "limits": [{**limit, "refillIntervalMs": 1000}],
        "cost": 1,
        **fields,
    }


class ChosenRules(unittest.TestCase):
    """One for each layer."""

    def test_rows(self) -> None:
        other = {"methods": ["GET"], "paths": []}
        elsewhere = {"methods": [], "paths": ["/refunds/**"]}
        here = {"methods": ["POST"], "paths": ["/x", "/transactions/**"]}
        rows: list[tuple[str, list[Any], list[Any], list[str]]] = [
            ("no rules", [], [], []),
            ("the highest priority", [rule("1"), rule("2", priority=200)], [], ["2"]),
            ("the older on a tie", [rule("10"), rule("9")], [], ["9"]),
            ("the own before a default one", [rule("9")], [rule("1")], ["9"]),
            ("a default one", [], [rule("1")], ["1"]),
            ("not a disabled one", [rule("1", enabled=False)], [], []),
            ("not a shadow", [rule("1", mode="shadow"), rule("2")], [], ["2"]),
            ("not another method", [rule("1", match=other), rule("2")], [], ["2"]),
            ("not another path", [rule("1", match=elsewhere)], [], []),
            ("one of two paths", [rule("1", match=here)], [], ["1"]),
            ("layers add up", [rule("1")], [rule("2", layer="platform")], ["1", "2"]),
        ]
        for name, own, defaults, expected in rows:
            with self.subTest(name):
                chosen = chosen_rules(own, defaults, "POST")
                self.assertEqual(sorted(each["id"] for each in chosen), expected)

    def test_paths(self) -> None:
        rows = [
            ("/transactions", True),
            ("/transactions/", True),
            ("/transactions/**", True),
            ("/transactions/*", False),
            ("/**", True),
            ("/**/transactions", True),
            ("/*", True),
            ("/trans*", True),
            ("/*transactions", True),
            ("/transactions*x", False),
            ("/t.ansactions", False),
            ("/%74ransactions", True),
            ("/", False),
        ]
        for pattern, expected in rows:
            with self.subTest(pattern):
                self.assertIs(path_matches(pattern, "/transactions"), expected)


class Buckets(unittest.TestCase):
    """Told apart as the gateway does it."""

    def test_by_method_when_the_key_says_so(self) -> None:
        takes = takes_of("acme", [rule("1", key=["merchant", "method"])], [])
        [post], [get] = takes["POST"], takes["GET"]
        self.assertNotEqual(post.key, get.key)

    def test_shared_by_merchants_when_the_key_leaves_them_out(self) -> None:
        defaults = [rule("1", key=["ip"])]
        [one] = takes_of("acme", [], defaults)["POST"]
        [other] = takes_of("globex", [], defaults)["POST"]
        self.assertEqual(one, other)

    def test_one_for_all_methods(self) -> None:
        takes = takes_of("acme", [rule("1")], [])
        self.assertEqual(takes["POST"], takes["GET"])

    def test_the_bound_of_each_algorithm(self) -> None:
        refill = {"capacity": 10, "refillTokens": 5, "refillIntervalMs": 1000}
        drain = {"capacity": 10, "drainTokens": 5, "drainIntervalMs": 1000}
        clock = {"refill": "interval", "align": "clock"}
        midnight = {"capacity": 100, "refillTokens": 23, "calendar": "day"}
        midnight["refill"] = "interval"
        window = {"limit": 10, "windowMs": 1000}
        hours = {"limit": 3600, "calendar": "hour"}
        years = {"limit": 8759, "calendar": "year"}
        rows: list[tuple[dict[str, Any], tuple[int, float] | None]] = [
            ({"algorithm": "gcra", **refill}, (10, 5)),
            ({"algorithm": "leaky_bucket", **drain}, (10, 5)),
            ({"algorithm": "token_bucket", **refill}, (10, 5)),
            ({"algorithm": "token_bucket", **refill, **clock}, (15, 5)),
            ({"algorithm": "token_bucket", **midnight}, (123, 1 / 3600)),
            ({"algorithm": "fixed_window", **window}, (20, 10)),
            ({"algorithm": "fixed_window", **hours}, (7200, 1)),
            ({"algorithm": "fixed_window", **years}, (17518, 1 / 3600)),
            ({"algorithm": "fixed_window", **window, "limit": 0}, (0, 0)),
            ({"algorithm": "gcra", **refill, "capacity": 0}, (0, 0)),
            ({"algorithm": "sliding_counter", **window}, (20, 10)),
            ({"algorithm": "sliding_log", **window}, (10, 10)),
            ({"algorithm": "sliding_log", **window, "excessPercent": 10}, (11, 11)),
            ({"algorithm": "gcra", **refill, "throttle": "elastic"}, None),
            ({"algorithm": "concurrency", "limit": 10, "slotTimeoutMs": 1000}, None),
        ]
        for limit, expected in rows:
            with self.subTest(limit["algorithm"]):
                limits = [{"name": "l", **limit}]
                buckets = takes_of("acme", [rule("1", limits=limits)], [])["POST"]
                found = [(bucket.burst, bucket.rate) for bucket in buckets]
                self.assertEqual(found, [] if expected is None else [expected])

    def test_a_queue_is_one_for_all_requests(self) -> None:
        leaky = {"name": "l", "algorithm": "leaky_bucket", "capacity": 10}
        drain = {"drainTokens": 5, "drainIntervalMs": 1000}
        queue = {**leaky, **drain, "onLimit": {"delay": {"maxWaitMs": 2500}}}
        posts = {"methods": ["POST"], "paths": []}
        rows: list[tuple[str, list[Any], float | None]] = [
            ("a queue", [rule("1", limits=[queue])], 2.5),
            ("a meter", [rule("1", limits=[{**leaky, **drain}])], None),
            ("for nobody", [rule("1", limits=[{**queue, "capacity": 0}])], None),
            ("of some methods", [rule("1", limits=[queue], match=posts)], None),
        ]
        for name, rules, expected in rows:
            with self.subTest(name):
                found = queue_of(takes_of("acme", rules, []))
                self.assertEqual(found and found.max_wait, expected)


if __name__ == "__main__":
    unittest.main()
