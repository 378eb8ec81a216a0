# ruff: noqa: PT009, PT027 - tested with unittest, which every Python has

import unittest

from .slots import free, span, written


def left_of_the_day(*meetings: str) -> list[str]:
    return [written(one) for one in free(map(span, meetings), span("09:00-17:00"))]


class Free(unittest.TestCase):
    def test_a_day_without_meetings_is_free(self) -> None:
        self.assertEqual(left_of_the_day(), ["09:00-17:00"])

    def test_the_time_between_meetings_is_free_in_whatever_order_they_come(self) -> None:
        self.assertEqual(left_of_the_day("13:00-17:00", "10:00-11:00"), ["09:00-10:00", "11:00-13:00"])

    def test_meetings_that_touch_or_overlap_leave_nothing_between_them(self) -> None:
        self.assertEqual(left_of_the_day("09:00-10:00", "10:00-12:00", "11:30-15:00"), ["15:00-17:00"])

    def test_a_meeting_within_a_longer_one_frees_no_time(self) -> None:
        self.assertEqual(left_of_the_day("09:00-12:00", "10:00-10:30"), ["12:00-17:00"])

    def test_meetings_outside_the_day_do_not_count(self) -> None:
        self.assertEqual(left_of_the_day("07:00-08:00", "16:00-18:00", "20:00-21:00"), ["09:00-16:00"])


class Reading(unittest.TestCase):
    def test_what_is_no_span_is_an_error(self) -> None:
        for text in ("", "9:00-10:00", "09:00", "09:60-10:00", "10:00-24:01", "11:00-10:00", "10:00-10:00"):
            with self.subTest(text), self.assertRaises(ValueError):
                span(text)
