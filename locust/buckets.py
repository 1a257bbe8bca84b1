"""Which buckets a request takes from, by the rules of its merchant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from rules_api import Rule

PATH = "/transactions"

#: The shortest that a window of the calendar can be, in milliseconds.
SHORTEST_MS = {
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 23 * 3_600_000,
    "week": 167 * 3_600_000,
    "month": 28 * 86_400_000 - 3_600_000,
    "year": 365 * 86_400_000 - 3_600_000,
}

#: How much of the traffic each method is.
MIX = {"POST": 0.8, "GET": 0.2}


@dataclass(frozen=True)
class Bucket:
    """One bucket: a limit of a rule, and what a request takes from it."""

    key: tuple[str, ...]
    """Tells it from every other bucket that this run can meet."""
    rule: str
    limit: str
    capacity: int
    refill_tokens: int
    refill_interval_ms: int
    whole_steps: bool
    """Refilled in whole intervals, not continuously."""
    initial_tokens: int
    cost: int
    max_wait: float | None = None
    """Seconds; of a queue, in which requests wait their turn."""

    @property
    def rate(self) -> float:
        """Tokens that come back in a second."""
        return self.refill_tokens * 1000 / self.refill_interval_ms

    @property
    def burst(self) -> int:
        """The most tokens that it can give at one moment.

        In whole steps, one more step may fall into an interval than its length says.
        """
        step = self.refill_tokens if self.whole_steps else 0
        return max(self.capacity, self.initial_tokens) + step

    def most_tokens(self, seconds: float) -> float:
        """The most tokens that it can give in any interval of this length."""
        return self.burst + self.rate * seconds

    def __str__(self) -> str:
        numbers = f"{self.capacity} + {self.refill_tokens} per "
        numbers += f"{self.refill_interval_ms / 1000:g} s"
        return f"{self.rule}, {self.limit}: {numbers}"


#: By method: the buckets that a merchant's request takes from.
Takes = dict[str, tuple[Bucket, ...]]


def takes_of(merchant: str, own: Iterable[Rule], defaults: Iterable[Rule]) -> Takes:
    """The buckets that this merchant's requests to PATH take from."""
    own, defaults = list(own), list(defaults)
    return {
        method: tuple(
            bucket
            for rule in chosen_rules(own, defaults, method)
            for bucket in _buckets_of(rule, merchant, method)
        )
        for method in MIX
    }


def chosen_rules(
    own: Sequence[Rule], defaults: Sequence[Rule], method: str
) -> list[Rule]:
    """In each layer the matching enforced rule with the highest priority.

    On a tie the merchant's own rule comes before a default one, then the older one.
    """
    ranked = [(-rule["priority"], 0, int(rule["id"]), rule) for rule in own]
    ranked += [(-rule["priority"], 1, int(rule["id"]), rule) for rule in defaults]
    chosen: dict[str, Rule] = {}
    for *_, rule in sorted(ranked, key=lambda entry: entry[:3]):
        if rule["enabled"] and rule["mode"] == "enforce" and _matches(rule, method):
            chosen.setdefault(rule["layer"], rule)
    return list(chosen.values())


def _matches(rule: Rule, method: str) -> bool:
    methods, paths = rule["match"]["methods"], rule["match"]["paths"]
    if methods and method not in methods:
        return False
    return not paths or any(path_matches(pattern, PATH) for pattern in paths)


def path_matches(pattern: str, path: str) -> bool:
    """`*` stands for a segment or a part of one, `**` for any number of segments."""
    expression = ""
    for segment in filter(None, unquote(pattern).split("/")):
        if segment == "**":
            expression += "(?:/[^/]+)*"
        else:
            expression += "/(?=[^/])" + "[^/]*".join(map(re.escape, segment.split("*")))
    return re.fullmatch(expression, path) is not None


def _buckets_of(rule: Rule, merchant: str, method: str) -> Iterable[Bucket]:
    # All requests of a run come from one address, so that `ip` tells none apart.
    parts = {"merchant": merchant, "method": method, "ip": ""}
    key = tuple(f"{part}={parts[part]}" for part in sorted(rule["key"]))
    for limit in rule["limits"]:
        numbers = _numbers_of(limit)
        if numbers is None:
            continue
        capacity, refill_tokens, refill_interval_ms = numbers
        excess = 1 + limit.get("excessPercent", 0) / 100
        # A bucket's refill stays what it is; a window gives its excess each time.
        refill = refill_tokens * (excess if "limit" in limit else 1)
        if capacity == 0:
            refill = 0  # Of a limit of 0 nothing ever comes back.
        yield Bucket(
            key=(rule["id"], limit["name"], *key),
            rule=rule["name"],
            limit=limit["name"],
            capacity=int(capacity * excess),
            refill_tokens=int(refill),
            refill_interval_ms=refill_interval_ms,
            whole_steps=limit.get("refill") == "interval",
            initial_tokens=limit.get("initialTokens", 0),
            cost=rule["cost"],
            max_wait=_max_wait_of(limit),
        )


def _max_wait_of(limit: Mapping[str, Any]) -> float | None:
    on_limit = limit.get("onLimit")
    return on_limit["delay"]["maxWaitMs"] / 1000 if on_limit else None


def queue_of(takes: Takes) -> Bucket | None:
    """A queue that every request of a merchant goes through."""
    posts = takes["POST"]
    queues = (each for each in posts if each.max_wait is not None and each.rate > 0)
    return next((queue for queue in queues if queue in takes["GET"]), None)


def _numbers_of(limit: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """What a limit admits in any interval: capacity, refill, interval in ms.

    None for one that bounds what is in flight, and not what passes; and for an
    elastic one, above which the platform's spare capacity passes.
    """
    algorithm = limit["algorithm"]
    if algorithm == "concurrency" or limit.get("throttle") == "elastic":
        return None
    if algorithm == "leaky_bucket":
        return limit["capacity"], limit["drainTokens"], limit["drainIntervalMs"]
    if algorithm in ("token_bucket", "gcra"):
        interval_ms = limit.get("refillIntervalMs") or SHORTEST_MS[limit["calendar"]]
        return limit["capacity"], limit["refillTokens"], interval_ms
    window_ms = limit.get("windowMs") or SHORTEST_MS[limit["calendar"]]
    # Around a boundary a window admits twice its limit, and a counter nearly that.
    times = 1 if algorithm == "sliding_log" else 2
    return times * limit["limit"], limit["limit"], window_ms
