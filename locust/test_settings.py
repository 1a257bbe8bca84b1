"""Where load may go, and how much of it."""

from __future__ import annotations

import unittest

from settings import Settings, SettingsError, address_fault, read_settings

TOKEN = {"TOLLGATE_ADMIN_TOKEN": "a-token-of-some-length"}


def settings(host: str | None = None, users: int = 20, **env: str) -> Settings:
    """Twenty users for twenty seconds."""
    return read_settings({**TOKEN, **env}, host, 20, users)


class Targets(unittest.TestCase):
    """This machine, and services that are named on purpose."""

    def test_rows(self) -> None:
        rows = [
            ("http://127.0.0.1:8080", True, True),
            ("http://127.1.2.3:8080/", True, True),
            ("http://[::1]:8080", True, True),
            ("https://localhost", True, True),
            ("http://gateway:8080", False, True),
            ("http://10.0.0.1:8080", False, False),
            ("http://example.com", False, False),
            ("http://127.0.0.1.example.com", False, False),
            ("http://localhost@example.com", False, False),
            ("http://gateway:8080/path", False, False),
            ("http://127.0.0.1:99999", False, False),
            ("ftp://127.0.0.1", False, False),
            ("127.0.0.1:8080", False, False),
            ("http://2130706433", False, False),
        ]
        for address, usual, named in rows:
            with self.subTest(address):
                usual_fault = address_fault(address, service_names=False)
                named_fault = address_fault(address, service_names=True)
                self.assertEqual(
                    (usual_fault is None, named_fault is None), (usual, named)
                )

    def test_a_service_needs_the_variable(self) -> None:
        with self.assertRaisesRegex(SettingsError, "--host must be on this machine"):
            settings("http://gateway:8080")
        with self.assertRaisesRegex(SettingsError, "TOLLGATE_LOAD_RULES_API must be"):
            settings(TOLLGATE_LOAD_RULES_API="http://rules-api:3000")
        named = settings(
            TOLLGATE_LOAD_TARGET="http://gateway:8080",
            TOLLGATE_LOAD_RULES_API="http://rules-api:3000",
        )
        self.assertEqual(named.gateway, "http://gateway:8080")
        self.assertEqual(named.rules_api, "http://rules-api:3000")


class Bounds(unittest.TestCase):
    """Every fault is named."""

    def test_names_all_faults(self) -> None:
        with self.assertRaises(SettingsError) as caught:
            read_settings({"TOLLGATE_LOAD_MERCHANTS": ","}, "http://h.example", 0, 9999)
        faults = str(caught.exception)
        for name in ("--host", "TOKEN", "MERCHANTS", "--run-time", "--users"):
            self.assertIn(name, faults)

    def test_every_merchant_needs_a_user(self) -> None:
        with self.assertRaisesRegex(SettingsError, "--users must be 2"):
            settings(users=1)

    def test_merchants_are_told_once(self) -> None:
        merchants = settings(TOLLGATE_LOAD_MERCHANTS="a, b ,a,").merchants
        self.assertEqual(merchants, ("a", "b"))


if __name__ == "__main__":
    unittest.main()
