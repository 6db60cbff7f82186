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


if __name__ == "__main__":
    unittest.main()
