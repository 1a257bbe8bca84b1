"""Reads merchants' rules from the Rules API."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote

ANSWER_WITHIN_S = 10
MOST_PAGES = 50

Rule = dict[str, Any]


class RulesApiError(Exception):
    """Says why the rules could not be read, and what to do about it."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The token is for the Rules API and for nobody that it may point to."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


class RulesApi:
    """The part of the Rules API that a load run needs."""

    def __init__(self, address: str, token: str) -> None:
        self._address = address
        self._token = token
        # Not by a proxy: the address is on this machine or on a network of containers.
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), _NoRedirects()
        )

    def rules_of(self, merchant: str) -> list[Rule]:
        """All rules of a merchant. Raises RulesApiError."""
        return self._items(
            f"/v1/merchants/{quote(merchant, safe='')}/rules",
            not_found=f"There is no merchant {merchant!r}; "
            "--merchants (TOLLGATE_LOAD_MERCHANTS) names others.",
        )

    def default_rules(self) -> list[Rule]:
        """The rules that apply to all merchants. Raises RulesApiError."""
        return self._items("/v1/default-rules", not_found="It has no default rules.")

    def _items(self, path: str, not_found: str) -> list[Rule]:
        items: list[Rule] = []
        cursor = ""
        for _ in range(MOST_PAGES):
            page = self._get(f"{path}?limit=200{cursor}", not_found)
            items += page["items"]
            if page["nextCursor"] is None:
                return items
            cursor = f"&cursor={quote(page['nextCursor'])}"
        raise RulesApiError(f"{path} has more than {MOST_PAGES} pages.")

    def _get(self, path: str, not_found: str) -> dict[str, Any]:
        request = urllib.request.Request(
            self._address + path, headers={"Authorization": f"Bearer {self._token}"}
        )
        try:
            with self._opener.open(request, timeout=ANSWER_WITHIN_S) as response:
                page = json.load(response)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                raise RulesApiError(not_found) from error
            if error.code == 401:
                raise RulesApiError(
                    f"The Rules API at {self._address} does not know this admin token. "
                    "Give the one that npm start prints: --token or "
                    "TOLLGATE_ADMIN_TOKEN."
                ) from error
            raise RulesApiError(
                f"The Rules API at {self._address} answered {path} with {error.code}."
            ) from error
        except OSError as error:
            raise RulesApiError(
                f"The Rules API at {self._address} cannot be reached: "
                f"{getattr(error, 'reason', error)}. It tells the limits that passed "
                "requests are judged by."
            ) from error
        except ValueError as error:
            raise RulesApiError(f"No Rules API is at {self._address}.") from error
        if not isinstance(page, dict) or not {"items", "nextCursor"} <= page.keys():
            raise RulesApiError(f"No Rules API is at {self._address}.")
        return page
