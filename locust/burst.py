"""Burst: silence until the buckets are full, then more at once than they hold."""

from __future__ import annotations

import math

from merchant_user import MerchantUser
from pace import FIRST_AT, BurstPace
from run import Run


class BurstUser(MerchantUser):
    """One of the users of one merchant, who all start at the same moment."""

    profile = "burst"

    def settle(self, run: Run, seat: int) -> BurstPace:
        """Its share of the merchant's bursts."""
        self.merchant, demand, _, peers = run.place_of(seat)
        return BurstPace(math.ceil(demand.burst / peers), demand.period, FIRST_AT)
