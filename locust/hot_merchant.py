"""Hot merchant: one merchant sends far more than its share, the others a little."""

from __future__ import annotations

import random
from itertools import accumulate

from merchant_user import MerchantUser
from pace import FIRST_AT, EvenPace
from run import Run

#: Zipf's exponent: the first merchant sends at least 60 % of all, however many follow.
EXPONENT = 2

#: How many times its refill rate the hot merchant sends.
HEAT = 10


class HotMerchantUser(MerchantUser):
    """Sends for any merchant, the first of the list most often."""

    profile = "hot-merchant"

    def settle(self, run: Run, seat: int) -> EvenPace:
        """Its share of the rate that makes the first merchant hot."""
        self._merchants = run.settings.merchants
        weights = [1 / (rank + 1) ** EXPONENT for rank in range(len(self._merchants))]
        self._weights = list(accumulate(weights))
        # The same requests in every run.
        self._random = random.Random(seat)
        users = run.settings.users
        hot = run.demands[self._merchants[0]]
        per_second = HEAT * hot.per_second * sum(weights)
        return EvenPace(per_second / users, FIRST_AT + seat / per_second)

    def next_merchant(self) -> str:
        """By chance, as Zipf has it."""
        [merchant] = self._random.choices(self._merchants, cum_weights=self._weights)
        return merchant
