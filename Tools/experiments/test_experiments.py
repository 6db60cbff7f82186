import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
import own_lab  # finds the meter
from film_record import Record


class Experiments(unittest.TestCase):
    def test_each_finds_the_lab_and_the_meter_and_says_what_it_does(self):
        for name in ("bad-days", "calibrations", "controls", "delivery", "soak", "starts", "strangers"):
            said = subprocess.run([sys.executable, "-B", os.path.join(HERE, name), "--help"], capture_output=True, text=True)
            self.assertEqual(said.returncode, 0, f"{name}: {said.stderr}")
            self.assertIn("usage:", said.stdout)


def line(event, **fields):
    return json.dumps({"event": event, **fields}) + "\n"


class FilmRecord(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "timeline.jsonl")
        self.clips = [os.path.join(folder.name, name) for name in ("a.mp4", "b.mkv")]
        for clip, fps, first in zip(self.clips, ("25", "10"), (0.0, 0.023)):
            with open(clip + ".json", "w") as file:
                json.dump({"fps": fps, "events": [int(fps), 2 * int(fps)],
                           "verified": {"offset_ms": {"count": 0}, "first_picture_s": first}}, file)

    def write(self, *lines):
        with open(self.path, "a") as file:
            file.write("".join(lines))

    def numbers(self, record):
        return [(at, number) for at, number, _ in record.flashes]

    def test_flashes_are_found_by_each_film_s_own_time_over_a_joint(self):
        record = Record(self.path, self.clips)
        self.write(line("film", name=self.clips[0]), line("frame", pts=1.0, presented_ns=101 * 10**9),
                   line("frame", pts=1.04, presented_ns=101_040_000_000),
                   # The next film's first pictures may be told before its beginning.
                   line("frame", pts=4.023, presented_ns=104_023_000_000), line("film", name=self.clips[1], film=3, origin=3.0),
                   line("loop", film=6, origin=6.0), line("frame", pts=8.023, presented_ns=108_023_000_000))
        record.read()
        self.assertEqual(self.numbers(record), [(101.0, 0), (104.023, 0), (108.023, 1)])
        self.assertEqual(record.seen, 4)

    def test_a_record_that_grows_is_read_on_and_half_a_line_waits(self):
        record = Record(self.path, self.clips)
        record.read()
        whole = line("frame", pts=1.0, presented_ns=101 * 10**9)
        self.write(line("film", name=self.clips[0]), line("drop", count=2), whole[:20])
        record.read()
        self.assertEqual((record.seen, record.dropped), (0, 2))
        self.write(whole[20:], line("route", state="lost", route=0), line("end"))
        record.read()
        self.assertEqual(self.numbers(record), [(101.0, 0)])
        self.assertEqual((record.lost, record.restored, record.ended), (1, 0, True))
