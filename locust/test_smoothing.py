"""What is said about the evenness of a queue."""

from __future__ import annotations

import unittest

from smoothing import most_within, profile_of


class MostWithin(unittest.TestCase):
    """Counted in half-open intervals."""

    def test_rows(self) -> None:
        evenly = [i / 10 for i in range(20)]
        rows: list[tuple[str, list[float], float, int]] = [
            ("nothing", [], 1, 0),
            ("all at once", [3.0] * 20, 0.4, 20),
            ("evenly", evenly, 0.35, 4),
            ("in any order", evenly[::-1], 0.35, 4),
            ("the end does not count", [0.0, 1.0], 1, 1),
        ]
        for name, times, seconds, expected in rows:
            with self.subTest(name):
                self.assertEqual(most_within(times, seconds), expected)


class Profile(unittest.TestCase):
    """A line that is as long as the run."""

    def test_a_burst_is_one_block(self) -> None:
        self.assertEqual(profile_of([1.0] * 9, 60), " █" + " " * 58)

    def test_evenly_is_one_height(self) -> None:
        self.assertEqual(profile_of([i + 0.5 for i in range(60)], 60), "█" * 60)

    def test_a_moment_after_the_end_is_in_the_last_part(self) -> None:
        self.assertEqual(profile_of([61.0], 60)[-1], "█")


if __name__ == "__main__":
    unittest.main()
