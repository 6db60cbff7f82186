import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))


class Experiments(unittest.TestCase):
    def test_each_finds_the_lab_and_the_meter_and_says_what_it_does(self):
        for name in ("bad-days", "calibrations", "controls", "delivery", "starts", "strangers"):
            said = subprocess.run([sys.executable, "-B", os.path.join(HERE, name), "--help"], capture_output=True, text=True)
            self.assertEqual(said.returncode, 0, f"{name}: {said.stderr}")
            self.assertIn("usage:", said.stdout)
