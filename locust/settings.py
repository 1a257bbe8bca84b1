"""What a load run is told from outside: validated here, once."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

MOST_SECONDS = 600
MOST_USERS = 1000
MOST_MERCHANTS = 100

SERVICE_NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")


class SettingsError(Exception):
    """Says what is wrong with the settings, a line for each fault."""


@dataclass(frozen=True)
class Settings:
    """Where the load goes, and what judges it."""

    gateway: str
    rules_api: str
    admin_token: str
    merchants: tuple[str, ...]
    seconds: float
    users: int
    results: Path | None
    """The directory for results as JSON; none are written without one."""


def read_settings(
    env: Mapping[str, str], host: str | None, seconds: float | None, users: int | None
) -> Settings:
    """Reads the variables and Locust's own options.

    Raises SettingsError, which names every fault.
    """
    faults: list[str] = []
    # Only whoever sets up a network of containers names hosts in it, on purpose.
    target = env.get("TOLLGATE_LOAD_TARGET")
    named = target is not None

    def address(name: str, text: str) -> str:
        fault = address_fault(text, service_names=named)
        if fault:
            faults.append(f"{name} {fault}")
        return text.rstrip("/")

    if target is not None:
        gateway = address("TOLLGATE_LOAD_TARGET", target)
    else:
        gateway = address("--host", host or "http://127.0.0.1:8080")
    rules_api = address(
        "TOLLGATE_LOAD_RULES_API",
        env.get("TOLLGATE_LOAD_RULES_API") or "http://127.0.0.1:3000",
    )
    token = env.get("TOLLGATE_ADMIN_TOKEN", "")
    if not token or re.search(r"[^\x21-\x7e]", token):
        faults.append(
            "TOLLGATE_ADMIN_TOKEN must be the admin token of the Rules API, "
            f"got {'nothing' if not token else 'something with spaces or worse in it'}"
        )
    names = env.get("TOLLGATE_LOAD_MERCHANTS") or "acme,globex"
    merchants = tuple(dict.fromkeys(filter(None, map(str.strip, names.split(",")))))
    if not 1 <= len(merchants) <= MOST_MERCHANTS:
        faults.append(
            f"TOLLGATE_LOAD_MERCHANTS must be 1 to {MOST_MERCHANTS} ids "
            f"with commas between, got {names[:80]!r}"
        )
    if seconds is None or not 1 <= seconds <= MOST_SECONDS:
        faults.append(
            f"--run-time must be 1 to {MOST_SECONDS} s, got {seconds or 'nothing'}"
        )
    if users is None or not len(merchants) <= users <= MOST_USERS:
        faults.append(
            f"--users must be {len(merchants)} (one for each merchant) "
            f"to {MOST_USERS}, got {users or 'nothing'}"
        )
    if faults or seconds is None or users is None:
        raise SettingsError("\n".join(faults))
    results = env.get("TOLLGATE_LOAD_RESULTS")
    return Settings(
        gateway=gateway,
        rules_api=rules_api,
        admin_token=token,
        merchants=merchants,
        seconds=seconds,
        users=users,
        results=Path(results) if results else None,
    )


def address_fault(text: str, *, service_names: bool) -> str | None:
    """The reason why load must not be sent to this address, or None.

    Load is for this machine. `service_names` also permits a name without dots, as
    containers on one network have.
    """
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return f"must be an address such as http://127.0.0.1:8080, got {text!r}"
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc:
        return f"must be an address such as http://127.0.0.1:8080, got {text!r}"
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        return f"must be an address without a path, got {text!r}"
    if is_loopback(host) or (service_names and SERVICE_NAME.fullmatch(host)):
        return None
    return f"must be on this machine (127.0.0.1, ::1, localhost), got {text!r}"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its spelling; no name is looked up."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
