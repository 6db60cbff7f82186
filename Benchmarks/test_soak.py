import importlib.util
import os
import sys
import unittest
from importlib.machinery import SourceFileLoader

import numpy as np

sys.dont_write_bytecode = True
_loader = SourceFileLoader("soak", os.path.join(os.path.dirname(os.path.realpath(__file__)), "soak"))
soak = importlib.util.module_from_spec(importlib.util.spec_from_loader("soak", _loader))
_loader.exec_module(soak)


def film(begin, end):
    return np.arange(begin, end, 1 / soak.FPS)


class Back(unittest.TestCase):
    """A kill at 10, the next process at 10.13, looked at until 30."""

    def back(self, *changes):
        return soak.back(np.concatenate([film(0, 10), *changes, film(30, 40)]), [0.0, 10.13, 35.0], 10.0, 30.0)

    def test_a_change_of_the_film_is_not_the_return_of_the_picture(self):
        self.assertAlmostEqual(self.back([10.01], film(10.24, 27), film(27.56, 30)), 10.24)

    def test_the_first_picture_stands_until_the_start(self):
        self.assertAlmostEqual(self.back([10.01, 10.24], film(11.88, 30)), 11.88)

    def test_the_window_that_vanishes_is_no_picture(self):
        self.assertAlmostEqual(self.back([10.003, 10.02], film(25, 30)), 25)

    def test_a_picture_that_never_moves_is_none(self):
        self.assertEqual(self.back([10.01, 10.24]), float("inf"))
        self.assertEqual(soak.back(film(0, 10), [0.0], 10.0, 30.0), float("inf"))


class Pictures(unittest.TestCase):
    """A film of 40 s, looked at from outside: all pictures that were due, and those outside of each fault's own second."""

    def figures(self, changes, faults, own=(), stops=()):
        own, held = soak.allowances(changes, faults, own, stops)
        return soak.seen(changes, held, 0.0, 40.0), soak.seen(changes, own + held, 0.0, 40.0)

    def test_without_a_loss_both_are_whole(self):
        self.assertEqual(self.figures(film(0, 40), [(10.02, "replaced", 40.0)]), ((1000, 1000), (975, 975)))

    def test_a_loss_within_the_own_second_is_one_of_all_only(self):
        changes = np.concatenate([film(0, 10), film(10.6, 40)])
        self.assertEqual(self.figures(changes, [(9.98, "killed", 40.0)]), ((985, 1000), (975, 975)))

    def test_what_is_missing_after_the_own_second_counts_in_both(self):
        changes = np.concatenate([film(0, 10), film(11.6, 40)])
        (every, _), (came, due) = self.figures(changes, [(9.98, "killed", 40.0)])
        self.assertEqual((every, came, due - came), (960, 960, 14))

    def test_a_fault_with_two_events_has_two_own_seconds(self):
        changes = np.concatenate([film(0, 10), film(10.4, 14), film(14.4, 40)])
        faults = [(9.98, "resized", 40.0)]
        self.assertEqual(self.figures(changes, faults)[1], (965, 975))
        self.assertEqual(self.figures(changes, faults, own=[soak.own_second(13.98)])[1], (950, 950))

    def test_a_film_that_stops_has_no_pictures_that_are_due(self):
        # The next film begins 13 s after the last picture, and stands for another three seconds.
        changes = np.concatenate([film(0, 12), [25.0], film(28, 40)])
        for came, due in self.figures(changes, [(5.0, "hole", 40.0)], stops=[(11.0, 27.0)]):
            self.assertEqual(due - came, 25)

    def test_a_cut_film_has_the_second_in_which_its_pictures_end(self):
        changes = np.concatenate([film(0, 14), film(14.8, 40)])
        (every, expected), (came, due) = self.figures(changes, [(10.02, "truncated", 40.0)])
        self.assertEqual((expected - every, due - came), (20, 0))

    def test_a_loss_is_listed_with_its_fault_and_the_pictures_around_it(self):
        changes = np.concatenate([film(0, 12), film(12.52, 20), [21.0]])
        frames = [str(number) for number in range(len(changes))]
        lost = soak.losses(changes, [(19.9, 30.0)], 0.0, 40.0)
        rows = soak.loss_rows(lost, changes, frames, [(5.0, "killed", 20.0)], [0.0, 5.5])
        self.assertEqual(rows[0], "| killed | 7.0 s | 6.5 s | 13 | 299 to 300 |")
        self.assertEqual(rows[1].split(" | ")[-1], "487 to none |")

    def test_a_loss_of_two_pictures_is_not_listed(self):
        changes = np.concatenate([film(0, 12), film(12.1, 40)])
        self.assertEqual(soak.loss_rows([(11.96, 2)], changes, [""] * len(changes), [], [0.0]), [])


if __name__ == "__main__":
    unittest.main()
