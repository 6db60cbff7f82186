import os
import random
import subprocess
import sys
import tempfile
import unittest

import impairment
import packet_queue
import rootfs
import settings
from processes import Remembered, give_priority, threads
from speakers import TOLERANCES, Speaker


class ImpairmentWords(unittest.TestCase):
    def test_words_and_numbers_pair_up(self):
        self.assertEqual(impairment.parse(["delay", "20", "jitter", "10", "reorder"]),
                         {"delay": 20.0, "jitter": 10.0, "reorder": 1})

    def test_a_word_without_its_number_is_refused(self):
        for words in (["delay"], ["loss", "much"], ["tail", "3"], ["delay", "3", "inward", "outward"]):
            with self.assertRaises(SystemExit):
                impairment.parse(words)


class Losses(unittest.TestCase):
    def test_the_share_is_kept_when_losses_come_in_runs(self):
        source = random.Random(7)
        loss = packet_queue.Loss(0.05, 8, source.random)
        lost = [loss.takes_next() for _ in range(200_000)]
        self.assertAlmostEqual(sum(lost) / len(lost), 0.05, delta=0.005)
        runs = sum(now and not before for before, now in zip([False, *lost], lost))
        self.assertAlmostEqual(sum(lost) / runs, 8, delta=0.5)

    def test_single_losses_take_their_share(self):
        source = random.Random(7)
        loss = packet_queue.Loss(0.05, 1, source.random)
        self.assertAlmostEqual(sum(loss.takes_next() for _ in range(100_000)) / 100_000, 0.05, delta=0.005)


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


class Priority(unittest.TestCase):
    def test_all_threads_of_a_process_have_it_but_those_of_one_name(self):
        script = ("import ctypes, threading, time\n"
                  "def rest(name): ctypes.CDLL(None).prctl(15, name); ready.wait(); time.sleep(60)\n"  # PR_SET_NAME
                  "ready = threading.Barrier(3)\n"
                  "for name in (b'timer', b'listener'): threading.Thread(target=rest, args=(name,), daemon=True).start()\n"
                  "ready.wait(); print('ready', flush=True); time.sleep(60)\n")
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        try:
            process.stdout.readline()
            self.assertTrue(give_priority(process.pid, os.SCHED_BATCH, 0, "timer"))
            policies = {name: os.sched_getscheduler(thread) for thread, name in threads(process.pid).items()}
            self.assertEqual((policies.pop("timer"), policies.pop("listener")), (os.SCHED_OTHER, os.SCHED_BATCH))
            self.assertEqual(list(policies.values()), [os.SCHED_BATCH])
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def test_a_process_that_has_ended_is_ignored(self):
        process = subprocess.Popen(["true"])
        process.wait()
        self.assertFalse(give_priority(process.pid, os.SCHED_BATCH, 0, "timer"))


class Names(unittest.TestCase):
    def test_the_cable_fits_the_kernels_fifteen_characters(self):
        self.assertLessEqual(len(Speaker(99).cable), 15)


class Pins(unittest.TestCase):
    def test_names_stand_without_architecture_and_comments(self):
        self.assertEqual(rootfs.parse("# suite: x\nlibc6:amd64 2.43-7\nnqptp 1:2-3  # why\n\n"),
                         {"libc6": "2.43-7", "nqptp": "1:2-3"})

    def test_differences_are_told_and_those_of_the_receiver_come_first(self):
        pinned = {"adduser": "1", "gone": "1", "nqptp": "1.2.6-1", "zlib1g": "1"}
        here = {"adduser": "2", "new": "7", "nqptp": "1.2.7-1", "zlib1g": "1"}
        self.assertEqual(rootfs.differences(here, pinned),
                         ["nqptp 1.2.7-1 (pinned: 1.2.6-1)", "adduser 2 (pinned: 1)", "gone is missing (pinned: 1)",
                          "new 7 (pinned: not at all)"])
        self.assertEqual(rootfs.differences(pinned, pinned), [])

    def test_everything_that_the_lab_asks_for_is_pinned(self):
        with open(settings.VERSIONS) as file:
            pinned = rootfs.parse(file.read())
        self.assertEqual([name for name in settings.PACKAGES if name not in pinned], [])


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
