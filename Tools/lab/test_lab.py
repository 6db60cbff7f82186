import os
import subprocess
import tempfile
import unittest

import impairment
from processes import Remembered
from speakers import TOLERANCES, Speaker


class ImpairmentWords(unittest.TestCase):
    def test_words_and_numbers_pair_up(self):
        self.assertEqual(impairment.parse(["delay", "20", "jitter", "10", "reorder"]),
                         {"delay": 20.0, "jitter": 10.0, "reorder": 1})

    def test_a_word_without_its_number_is_refused(self):
        for words in (["delay"], ["loss", "much"], ["tail", "3"]):
            with self.assertRaises(SystemExit):
                impairment.parse(words)


class RememberedProcesses(unittest.TestCase):
    def test_a_process_is_forgotten_when_it_ends_even_before_anyone_waits_for_it(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = Remembered(os.path.join(folder, "pid"))
            process = kept.start(["sleep", "60"], os.path.join(folder, "log"))
            self.assertEqual(kept.pid, process.pid)
            kept.stop()
            self.assertIsNone(kept.pid)
            process.wait()

    def test_a_pid_that_was_given_to_another_process_is_not_taken_for_ours(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "pid")
            process = subprocess.Popen(["sleep", "60"])
            try:
                with open(path, "w") as file:
                    file.write(f"{process.pid} 1\n")
                self.assertIsNone(Remembered(path).pid)
            finally:
                process.kill()
                process.wait()


class Names(unittest.TestCase):
    def test_the_cable_fits_the_kernels_fifteen_characters(self):
        self.assertLessEqual(len(Speaker(99).cable), 15)


class Tolerance(unittest.TestCase):
    def test_a_receiver_is_told_and_the_speaker_remembers(self):
        with tempfile.TemporaryDirectory() as folder:
            speaker = Speaker(1)
            speaker.folder = folder
            speaker.write("kind", "airplay2")
            self.assertEqual(speaker.tolerance, TOLERANCES["default"])
            speaker.tolerate(TOLERANCES["tight"])
            self.assertEqual(speaker.tolerance, 0.0001)
            with open(speaker.path("shairport.conf")) as file:
                self.assertIn("drift_tolerance_in_seconds = 0.000100;", file.read())


if __name__ == "__main__":
    unittest.main()
