"""The result of a run: as data, as a table, as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bound import Interval, tightest_interval, whole_interval
from buckets import Bucket, Takes
from settings import Settings
from smoothing import profile_of, smoothing_of
from tally import STEP, BucketTally, MerchantTally, Tally

Report = dict[str, Any]

PERCENTILES = (50, 95, 99)

#: Where to look first. Rules that say `open` or `local` give more on purpose then.
EXCEEDED = (
    "A bound was exceeded. Was Redis out of the gateway's reach for a while? "
    "Its log says so, and so does tollgate_local_decisions_total in its metrics."
)


def build_report(
    *,
    profile: str,
    settings: Settings,
    takes: Mapping[str, Takes],
    queues: Mapping[str, Bucket],
    tally: Tally,
    started_at: datetime,
    seconds: float,
    broken: Sequence[str],
) -> Report:
    """All that is known about the run, ready for JSON. Times in the unit they name."""
    bounds = {key: _bound(of_bucket) for key, of_bucket in tally.buckets.items()}
    merchants = []
    for merchant, counts in tally.merchants.items():
        keys = {b.key: None for buckets in takes[merchant].values() for b in buckets}
        answer_ms = sorted(counts.answer_ms)
        merchants.append(
            {
                "merchant": merchant,
                "sent": counts.sent,
                "passed": counts.passed,
                "passedWithoutRule": counts.unlimited,
                "refused": counts.refused,
                "failed": counts.failed,
                "answerMs": {f"p{p}": percentile(answer_ms, p) for p in PERCENTILES},
                "bounds": [bounds[key] for key in keys],
                "timeline": _timeline(counts, seconds),
            }
        )
        if merchant in queues:
            of_queue = tally.buckets[queues[merchant].key]
            merchants[-1]["smoothing"] = _smoothing(of_queue, seconds)
    problems = [
        f"{count:,} failed: {why}" for why, count in tally.failures.most_common()
    ]
    problems += broken
    if not any(merchant["sent"] for merchant in merchants):
        problems.append("No request came to an end.")
    kept = all(bound["kept"] for bound in bounds.values())
    return {
        "profile": profile,
        "gateway": settings.gateway,
        "startedAt": started_at.isoformat(),
        "seconds": round(seconds, 3),
        "users": settings.users,
        "merchants": merchants,
        "problems": problems,
        "ok": kept and not problems,
    }


def _timeline(counts: MerchantTally, seconds: float) -> Report:
    """How many requests were sent in each step of the run, by what became of them."""
    steps = range(math.ceil(seconds / STEP))
    return {
        "stepSeconds": STEP,
        "passed": [counts.passed_in[step] for step in steps],
        "refused": [counts.refused_in[step] for step in steps],
    }


def _smoothing(of_queue: BucketTally, seconds: float) -> Report:
    bucket, sent, answered = of_queue.bucket, of_queue.sent, of_queue.answered
    smoothing = smoothing_of(bucket, sent, answered)
    return {
        "text": str(bucket),
        "withinSeconds": round(smoothing.seconds, 6),
        "mostSent": smoothing.most_sent,
        "mostAnswered": smoothing.most_answered,
        "sent": profile_of(sent, seconds),
        "answered": profile_of(answered, seconds),
    }


def _bound(of_bucket: BucketTally) -> Report:
    """What passed by one bucket against law 1: in the whole run, and at the worst."""
    bucket, sent, answered = of_bucket.bucket, of_bucket.sent, of_bucket.answered
    whole = whole_interval(bucket, sent, answered)
    tightest = tightest_interval(bucket, sent, answered)
    return {
        "rule": bucket.rule,
        "limit": bucket.limit,
        "capacity": bucket.capacity,
        "refillTokens": bucket.refill_tokens,
        "refillIntervalMs": bucket.refill_interval_ms,
        "cost": bucket.cost,
        "text": str(bucket),
        "whole": _interval(whole),
        "tightest": _interval(tightest),
        "kept": tightest is None or tightest.kept,
    }


def _interval(interval: Interval | None) -> Report | None:
    if interval is None:
        return None
    return {
        "fromSeconds": round(interval.from_s, 6),
        "toSeconds": round(interval.to_s, 6),
        "passed": interval.passed,
        "allowed": round(interval.allowed, 3),
    }


def percentile(ordered: Sequence[float], percent: int) -> float | None:
    """The nearest rank; None where there is nothing."""
    if not ordered:
        return None
    return round(ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)], 3)


def table(report: Report) -> str:
    """A short table, a line for each merchant, and below it what went wrong."""
    head = ["merchant", "sent", "passed", "refused", "failed", "p50", "p95", "p99 ms"]
    rows = [[*head, "within capacity + rate * time"]]
    for merchant in report["merchants"]:
        counts = [merchant[name] for name in ("sent", "passed", "refused", "failed")]
        times = [merchant["answerMs"][f"p{p}"] for p in PERCENTILES]
        rows.append(
            [
                _printable(merchant["merchant"]),
                *(f"{count:,}" for count in counts),
                *("-" if ms is None else f"{ms:.1f}" for ms in times),
                _verdict(merchant["bounds"]),
            ]
        )
    lines = ["", *_aligned(rows)]
    for merchant in report["merchants"]:
        if merchant["passedWithoutRule"] and merchant["bounds"]:
            name, count = (
                _printable(merchant["merchant"]),
                merchant["passedWithoutRule"],
            )
            why = (
                "of those that passed were matched by no rule, so no limit counts them."
            )
            lines += ["", f"{name}: {count:,} {why}"]
    for merchant in report["merchants"]:
        if "smoothing" in merchant:
            lines += ["", *_smoothing_lines(merchant)]
    if report["problems"]:
        lines += ["", *(_printable(problem) for problem in report["problems"])]
    if not all(b["kept"] for each in report["merchants"] for b in each["bounds"]):
        lines += ["", EXCEEDED]
    return "\n".join(lines)


def _smoothing_lines(merchant: Report) -> Iterable[str]:
    smoothing = merchant["smoothing"]
    within = f"{smoothing['withinSeconds']:g} s"
    name, text = _printable(merchant["merchant"]), _printable(smoothing["text"])
    yield f"{name}: of what passed the queue ({text}), in any {within}"
    for what, most in (("sent", "mostSent"), ("answered", "mostAnswered")):
        yield f"  {what:<8} at most {smoothing[most]:>4}  {smoothing[what]}"


def _verdict(bounds: Sequence[Report]) -> str:
    """About the bucket that broke its bound, or else the one that came closest."""
    if not bounds:
        return "no rule limits it"
    asked = [bound for bound in bounds if bound["whole"]]
    if not asked:
        return "yes: nothing passed"
    broken = [bound for bound in asked if not bound["kept"]]
    bound = max(broken or asked, key=lambda each: _ratio(each["whole"]))
    interval = bound["tightest"] if broken else bound["whole"]
    seconds = interval["toSeconds"] - interval["fromSeconds"]
    allowed = math.floor(interval["allowed"] * 10) / 10
    counts = f"{interval['passed']:,} of at most {allowed:,.1f} in {seconds:.2f} s"
    return f"{'NO' if broken else 'yes'}: {counts} ({_printable(bound['text'])})"


def _ratio(interval: Report) -> float:
    allowed: float = interval["allowed"]
    return interval["passed"] / allowed if allowed else math.inf


def _aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """Columns of equal width: words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for name, *numbers, verdict in rows:
        cells = [name.ljust(widths[0])]
        cells += [text.rjust(width) for text, width in zip(numbers, widths[1:])]
        yield "  ".join([*cells, verdict])


def _printable(text: str) -> str:
    """Without what would do something to a terminal."""
    return "".join(char if char.isprintable() else "?" for char in text)


def write_json(report: Report, directory: Path) -> Path:
    """Writes the report as PROFILE.json and returns where it is."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / f"{report['profile']}.json"
    half = file.with_suffix(".json.half")
    half.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    half.replace(file)
    return file
