"""Steady: each merchant sends at about the rate at which its bucket refills."""

from __future__ import annotations

from merchant_user import MerchantUser
from pace import FIRST_AT, EvenPace
from run import Run


class SteadyUser(MerchantUser):
    """One of the users of one merchant, evenly apart from the others."""

    profile = "steady"

    def settle(self, run: Run, seat: int) -> EvenPace:
        """Its share of the merchant's rate."""
        self.merchant, demand, place, peers = run.place_of(seat)
        first_at = FIRST_AT + place / demand.per_second
        return EvenPace(demand.per_second / peers, first_at)
