"""One load run from Locust's beginning to its end.

It starts with the rules of the merchants and ends with the report. Importing this
module registers it with Locust.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime
from typing import Any

from locust import events
from locust.env import Environment
from locust.runners import LocalRunner

from buckets import queue_of, takes_of
from pace import Demand, demand_of
from report import Report, build_report, table, write_json
from rules_api import Rule, RulesApi, RulesApiError
from settings import Settings, SettingsError, read_settings
from tally import Tally

#: The exit code when nothing could be measured.
UNABLE = 2


class Run:
    """What the users of a run share."""

    def __init__(self, profile: str, settings: Settings) -> None:
        """Reads the rules. Raises RulesApiError."""
        self.profile = profile
        self.settings = settings
        self._api = RulesApi(settings.rules_api, settings.admin_token)
        self._rules = self._read_rules()
        defaults = self._rules[""]
        self.takes = {
            merchant: takes_of(merchant, self._rules[merchant], defaults)
            for merchant in settings.merchants
        }
        self.demands = {
            merchant: demand_of(takes, settings.seconds)
            for merchant, takes in self.takes.items()
        }
        #: By merchant: the queue that all of its requests go through.
        self.queues = {
            merchant: queue
            for merchant, takes in self.takes.items()
            if (queue := queue_of(takes))
        }
        self.tally = Tally(self.takes)
        self._seats = 0
        self.begin()

    def begin(self) -> None:
        """The clock of the run starts."""
        self.started_at = datetime.now(UTC)
        self._started = time.perf_counter()

    def now(self) -> float:
        """Seconds since the run began, by a clock that nobody sets."""
        return time.perf_counter() - self._started

    def take_seat(self) -> int:
        """Numbers the users in the order in which they start, from 0."""
        self._seats += 1
        return self._seats - 1

    def place_of(self, seat: int) -> tuple[str, Demand, int, int]:
        """Spreads the users evenly over the merchants.

        Returns the user's merchant, that merchant's demand, the user's number among
        those of the merchant, and how many they are.
        """
        merchants = self.settings.merchants
        index = seat % len(merchants)
        peers = len(range(index, self.settings.users, len(merchants)))
        merchant = merchants[index]
        return merchant, self.demands[merchant], seat // len(merchants), peers

    def report(self, broken: list[str]) -> Report:
        """The result so far. `broken` are reasons why the run itself went wrong."""
        return build_report(
            profile=self.profile,
            settings=self.settings,
            takes=self.takes,
            queues=self.queues,
            tally=self.tally,
            started_at=self.started_at,
            seconds=self.now(),
            broken=[*broken, *self._edits()],
        )

    def _edits(self) -> list[str]:
        """Limits that changed on the way cannot judge what passed."""
        try:
            if self._read_rules() == self._rules:
                return []
        except RulesApiError as error:
            return [f"The rules could not be read again after the run: {error}"]
        return ["The rules were edited during the run, so that nothing can be judged."]

    def _read_rules(self) -> dict[str, list[Rule]]:
        """By merchant; the default rules by the empty id, which no merchant has."""
        rules = {m: self._api.rules_of(m) for m in self.settings.merchants}
        return {"": self._api.default_rules(), **rules}


#: The run of this process, once Locust is set up.
_current: Run | None = None


def current_run() -> Run:
    """The run that users belong to."""
    if _current is None:
        raise RuntimeError("Locust is not set up yet")
    return _current


@events.init.add_listener
def _set_up(environment: Environment, runner: Any = None, **_: object) -> None:
    global _current
    options = environment.parsed_options
    try:
        if not isinstance(runner, LocalRunner):
            raise SettingsError(
                "A run is one process: the verdict needs all its timestamps. "
                "Run Locust headless, without --processes, --master or --worker."
            )
        if len(environment.user_classes) != 1:
            raise SettingsError("Give Locust the file of one profile.")
        settings = read_settings(
            os.environ,
            environment.host,
            getattr(options, "run_time", None),
            getattr(options, "num_users", None),
        )
        [user_class] = environment.user_classes
        user_class.host = settings.gateway
        run = Run(getattr(user_class, "profile", ""), settings)
        if getattr(user_class, "needs_queue", False):
            _demand_queues(run)
        _current = run
    except (SettingsError, RulesApiError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(UNABLE) from error


def _demand_queues(run: Run) -> None:
    missing = [each for each in run.settings.merchants if each not in run.queues]
    if missing:
        raise SettingsError(
            f"No queue smooths the requests of {', '.join(missing)}: their rules need "
            "a leaky_bucket with onLimit (docs/algorithms.md)."
        )


@events.test_start.add_listener
def _begin(**_: object) -> None:
    run = current_run()
    run.begin()
    to = f"{', '.join(run.settings.merchants)} at {run.settings.gateway}"
    print(f"Sending {run.profile} load to {to} for {run.settings.seconds:g} s ...")
    sys.stdout.flush()


@events.quitting.add_listener
def _finish(environment: Environment, **_: object) -> None:
    # After Ctrl-C the users still run: the requests in flight come to their end first.
    if environment.runner is None or _current is None:
        return
    environment.runner.quit()
    errors = environment.runner.exceptions.values()
    report = _current.report([f"In the load itself: {row['msg']}" for row in errors])
    print(table(report))
    if _current.settings.results is not None:
        print(f"\nWritten to {write_json(report, _current.settings.results)}.")
    sys.stdout.flush()
    environment.process_exit_code = 0 if report["ok"] else 1
