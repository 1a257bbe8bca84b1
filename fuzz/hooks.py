"""What Schemathesis cannot know by itself: which resources there are.

Most calls name a resource in their path, and a made-up name ends at 404. So what the
API says it has created is remembered, and calls go to it. Importing this module
registers it with Schemathesis.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections import deque
from typing import Any
from urllib.parse import urlsplit

import schemathesis

#: Resources that are remembered: enough for a choice of each kind.
MOST_PLACES = 500
#: How often a call goes to something that is there, and how often such a call may delete it.
SHARE_OF_KNOWN = 0.75
SHARE_OF_DELETIONS = 0.15
#: Whom webhooks are sent to: an address that the API never sends anything to.
NOWHERE = "https://127.0.0.1:1/"

places: deque[dict[str, str]] = deque(maxlen=MOST_PLACES)
templates: dict[str, re.Pattern[str]] = {}
chance = random.Random(1)
#: What a merchant shows when it asks for itself.
merchant_key = os.environ.get("FUZZ_MERCHANT_KEY", "")


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: dict[str, Any]) -> None:
    """Sends a call to a resource that is there, and nothing outside of this machine."""
    learn_template(case.operation.path)
    if case.operation.path.startswith("/v1/me/"):
        case.headers["Authorization"] = f"Bearer {merchant_key}"
    body = case.body
    if (
        isinstance(body, dict)
        and isinstance(body.get("url"), str)
        and body["url"].startswith("http")
    ):
        body["url"] = NOWHERE
    share = SHARE_OF_DELETIONS if case.method.upper() == "DELETE" else SHARE_OF_KNOWN
    if chance.random() > share:
        return
    place = known_place(set(case.path_parameters or {}))
    if place is not None:
        case.path_parameters.update(place)
    if "If-Match" in (case.headers or {}):
        case.headers["If-Match"] = "*"


@schemathesis.hook
def after_call(_context: Any, _case: Any, response: Any) -> None:
    """Remembers what was created."""
    location = response.headers.get("location")
    if response.status_code not in (200, 201) or not location:
        return
    path = urlsplit(location[0]).path
    for pattern in templates.values():
        found = pattern.fullmatch(path)
        if found:
            places.append(found.groupdict())


@schemathesis.deserializer("application/x-ndjson")
def last_line(_context: Any, response: Any) -> Any:
    """Of lines of progress the last one has the result."""
    return json.loads(response.text.splitlines()[-1])


def learn_template(path: str) -> None:
    if path not in templates:
        templates[path] = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path))


def known_place(names: set[str]) -> dict[str, str] | None:
    """Something that has all of these names; of several, any."""
    if not names:
        return None
    fitting = [place for place in places if names <= place.keys()]
    if not fitting:
        return None
    place = chance.choice(fitting)
    return {name: place[name] for name in names}
