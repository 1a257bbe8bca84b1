"""Smooth: all users at once, again and again, and a queue that lets them go evenly."""

from __future__ import annotations

from merchant_user import MerchantUser
from pace import FIRST_AT, SHORTEST_PERIOD, BurstPace
from run import Run


class SmoothUser(MerchantUser):
    """One of the users of one merchant, each of whom sends once in a period."""

    profile = "smooth"
    needs_queue = True

    def settle(self, run: Run, seat: int) -> BurstPace:
        """The period is long enough for the queue to let all of them go."""
        self.merchant, _, _, peers = run.place_of(seat)
        queue = run.queues[self.merchant]
        period = min(queue.max_wait or 0, peers * queue.cost / queue.rate)
        return BurstPace(1, period + SHORTEST_PERIOD, FIRST_AT)
