"""A client of the demo transaction API, on behalf of merchants."""

from __future__ import annotations

import json
from typing import ClassVar

from locust import FastHttpUser, task

from buckets import PATH
from pace import Pace
from run import Run, current_run

#: Every fifth request reads, as MIX says.
READ_EVERY = 5

TRANSACTION = json.dumps({"amount": 1250, "currency": "EUR", "card": "visa"})


class MerchantUser(FastHttpUser):
    """Sends one request after the other and notes what became of it.

    A profile says by `settle` when, and for whom.
    """

    abstract = True
    connection_timeout = 5
    network_timeout = 10

    profile: ClassVar[str]
    """The name of the profile."""
    needs_queue: ClassVar[bool] = False
    """Whether each merchant needs a limit that delays."""

    load_run: Run
    pace: Pace
    merchant: str

    def settle(self, run: Run, seat: int) -> Pace:
        """Takes one of the profile's seats: the pace of this user."""
        raise NotImplementedError

    def next_merchant(self) -> str:
        """For whom the next request is."""
        return self.merchant

    def on_start(self) -> None:
        """Waits for its first moment."""
        self.load_run = current_run()
        seat = self.load_run.take_seat()
        # Users begin at different places of the mix, or all would read at once.
        self._turn = seat
        self.pace = self.settle(self.load_run, seat)
        self.wait()

    def wait_time(self) -> float:
        """Seconds until the next request, as Locust asks between tasks."""
        return self.pace.wait(self.load_run.now())

    @task
    def transaction(self) -> None:
        """One request: a 429 is a refusal, everything but a 2xx a failure."""
        self._turn += 1
        reads = self._turn % READ_EVERY == 0
        method = "GET" if reads else "POST"
        merchant = self.next_merchant()
        # The client writes headers as Latin-1; ids are UTF-8.
        headers = {"X-Merchant-Id": merchant.encode().decode("latin-1")}
        if not reads:
            headers["Content-Type"] = "application/json"
        run = self.load_run
        sent_at = run.now()
        with self.client.request(
            method,
            PATH,
            headers=headers,
            data=None if reads else TRANSACTION,
            allow_redirects=False,
            catch_response=True,
        ) as response:
            answered_at = run.now()
            status = response.status_code
            if status == 429:
                run.tally.refused(merchant, sent_at, answered_at)
                response.success()
            elif 200 <= status < 300:
                run.tally.passed(merchant, method, sent_at, answered_at)
            else:
                reason = failure_reason(status, response.text, response.error)
                run.tally.failed(merchant, reason)
                response.failure(reason)


def failure_reason(status: int, body: str | None, error: object) -> str:
    """What went wrong, in the words of the problem details where there are some."""
    if status == 0:
        return f"no answer: {error}"
    try:
        problem = json.loads(body or "")
        words = problem.get("detail") or problem.get("title")
    except (ValueError, AttributeError):
        words = None
    return f"{status}: {words}" if words else str(status)
