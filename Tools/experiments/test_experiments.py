import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import wave

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
import own_lab  # finds the meter
import figures
from film_record import Record, whole_parts


class Experiments(unittest.TestCase):
    def test_each_finds_the_lab_and_the_meter_and_says_what_it_does(self):
        for name in (
            "bad-days", "calibrations", "controls", "delivery", "exhaustion", "mutations", "repeats", "slow-stream", "soak",
            "starts", "strangers", "wall", "listeners",
        ):
            said = subprocess.run([sys.executable, "-B", os.path.join(HERE, name), "--help"], capture_output=True, text=True)
            self.assertEqual(said.returncode, 0, f"{name}: {said.stderr}")
            self.assertIn("usage:", said.stdout)


def line(event, **fields):
    return json.dumps({"event": event, **fields}) + "\n"


class Faults(unittest.TestCase):
    @staticmethod
    def tool():
        loader = importlib.machinery.SourceFileLoader("faults", os.path.join(HERE, "faults"))
        tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("faults", loader))
        loader.exec_module(tool)
        return tool

    def test_each_fault_finds_its_place_in_the_sources(self):
        for name, (file, old, _, _) in self.tool().FAULTS.items():
            self.assertEqual(pathlib.Path(HERE, "../..", file).read_text().count(old), 1, name)

    def test_each_verdict_is_counted_and_the_copy_is_as_it_was(self):
        tool = self.tool()
        tool.FAULTS = {name: (f"{name}.swift", "right", name, name) for name in ("seen", "unseen", "slow", "broken")}
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder, f"{name}.swift") for name in tool.FAULTS]
            for path in paths:
                path.write_text("right")

            def inside(copy, command, seconds):
                if command[-1] == "error":
                    return 0, ""
                name = command[-1]
                is_right = pathlib.Path(folder, f"{name}.swift").read_text() == "right"
                status = {"seen": 1, "unseen": 0, "slow": 124, "broken": 1}[name] if not is_right or name == "broken" else 0
                return status, "✘ Test itIs() failed after 1 seconds\nTest run with 1 test"

            tool.inside = inside
            said = io.StringIO()
            with contextlib.redirect_stdout(said), unittest.mock.patch("sys.argv", ["faults", "--copy", folder, "--seconds", "9"]):
                self.assertEqual(tool.main(), 1)
            lines = said.getvalue().splitlines()
            for line, wanted in zip(lines, ("seen: noticed: itIs (", "unseen: NOT NOTICED (", "slow: timed out: still running after 9 s (",
                                            "broken: not tried: without the fault, itIs (")):
                self.assertTrue(line.startswith(wanted), line)
            self.assertEqual(lines[4], "1 noticed; 1 NOT NOTICED; 1 timed out; 1 not tried of 4 faults")
            self.assertEqual([path.read_text() for path in paths], ["right"] * 4)


class Repeats(unittest.TestCase):
    def test_a_log_names_what_failed_was_repeated_or_stalled(self):
        loader = importlib.machinery.SourceFileLoader("repeats", os.path.join(HERE, "repeats"))
        tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("repeats", loader))
        loader.exec_module(tool)
        log = ("✘ Test itIs(route:) with 2 test cases failed after 1.2 seconds with 1 issue.\n"
               "✘ Test itWas() failed after 3 seconds with 1 issue.\n"
               "✔ Test itWillBe() passed after 3 seconds.\n"
               "itWillBe() failed in run 1 of 3, in which the machine stood still for 61 ms at worst, 70 ms altogether: again\n"
               "lanes: FilmTests.Some/itWas() failed in its lane, and passed twice alone\n")
        self.assertEqual(tool.names(log), ["itWas: passed twice alone", "itIs: failed", "itWillBe: stalled"])
        self.assertEqual(tool.names("✔ Test itWillBe() passed after 3 seconds.\n"), [])

    def test_rows_of_an_earlier_call_count(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "rows.md")
            command = [os.path.join(HERE, "repeats"), "--folder", folder]
            for runs, rows in ((1, 1), (1, 1), (2, 2)):
                subprocess.run([*command, "--runs", str(runs), "true"], capture_output=True, check=True)
                self.assertEqual(len(path.read_text().splitlines()), 2 + rows)
            self.assertIn("| `true` | nothing |", path.read_text())
            bad = subprocess.run([*command, "--runs", "1", "--beside", "exec sleep 60", "false"], capture_output=True, text=True)
            self.assertEqual(bad.returncode, 1)
            self.assertRegex(bad.stdout, r"\| 3 \| \w+ \| `false` \| `exec sleep 60` \| \d+ \| 1 \| none \|")


class Mutations(unittest.TestCase):
    def setUp(self):
        loader = importlib.machinery.SourceFileLoader("mutations", os.path.join(HERE, "mutations"))
        self.tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutations", loader))
        loader.exec_module(self.tool)

    def test_a_mutation_follows_from_its_seed_and_differs_from_the_film(self):
        film = b"RIFF\x40\0\0\0WAVE" + b"fmt \x10\0\0\0" + bytes(range(16)) + b"data\x08\0\0\0" + bytes(8)
        made = [bytes(self.tool.bytes_of(film, "a.wav", random.Random(seed))) for seed in (1, 1, 2)]
        self.assertEqual(made[0], made[1])
        self.assertNotEqual(made[0], made[2])
        self.assertTrue(any(one != film for one in made))

    def test_matroska_is_written_with_sizes_that_fit(self):
        film = bytes.fromhex("1a45dfa3844286810118538067941f43b6758fe7810aa38a81000080010203040506")
        made = self.tool.matroska(film, random.Random(3))
        again = self.tool.Element.list(made, 0, len(made))
        self.assertEqual([one.name for one in again], [0x1A45DFA3, 0x18538067])
        self.assertEqual(b"".join(one.written() for one in again), made)

    def test_every_tenth_is_played_at_half_speed(self):
        seeds = tempfile.TemporaryDirectory()
        self.addCleanup(seeds.cleanup)
        with open(os.path.join(seeds.name, "a.smi"), "w") as file:
            file.write(self.tool.SAMI)
        for number in range(40):
            words = self.tool.mutate("sami", argparse.Namespace(of=lambda kind: seeds.name), number, 27, f"{seeds.name}-{number}")
            self.addCleanup(shutil.rmtree, f"{seeds.name}-{number}")
            self.assertEqual(words[-3:], ["--sub-file", "a.smi", "good.mkv"])
            if number % 10 == 0:
                self.assertEqual(words[:-3], ["--speed", "0.5"])

    def test_places_of_bitmaps_lie_in_them(self):
        file = self.tool.presentation_graphics()
        places = list(self.tool.graphics(file))
        self.assertTrue(all(offset + width <= len(file) + 1 for offset, width, _ in places))
        self.assertEqual(len([one for one in places if one[1] == 4]), 2 * file.count(b"PG"))

    def test_what_is_bad_is_said(self):
        options = argparse.Namespace(seconds=60)
        for status, took, resident, fault in ((0, 1, 1, None), (66, 1, 1, None), (-4, 1, 1, "crash"), (132, 1, 1, "crash"),
                                              (0, 61, 1, "does not end"), (42, 1, 1, "undocumented status"), (0, 1, 500 << 20, "memory")):
            self.assertEqual(self.tool.verdict(status, took, resident, options), fault)


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


class Recordings(unittest.TestCase):
    def recording(self, folder, anchors, seconds=40):
        path = os.path.join(folder, "heard.wav")
        with wave.open(path, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(1000)
            file.writeframes(bytes(2000 * seconds))
        with open(path + ".json", "w") as file:
            json.dump({"rate": 1000, "anchors": [{"frame": f, "monotonic_ns": round(s * 1e9)} for f, s in anchors]}, file)
        return path

    def test_a_recording_whose_clock_never_breaks_is_one(self):
        with tempfile.TemporaryDirectory() as folder:
            path = self.recording(folder, [(100 * n, 5 + 0.1 * n) for n in range(300)])
            self.assertEqual(whole_parts(path), [path])

    def test_where_the_machine_stood_still_a_recording_becomes_two(self):
        with tempfile.TemporaryDirectory() as folder:
            before = [(100 * n, 5 + 0.1 * n) for n in range(100)]
            # Half a minute gone, a third of its frames rendered in a hurry.
            after = [(20_000 + 100 * n, 45 + 0.1 * n) for n in range(100)]
            parts = whole_parts(self.recording(folder, before + after))
            self.assertEqual(len(parts), 2)
            with open(parts[1] + ".json") as file:
                self.assertEqual(json.load(file)["anchors"][0], {"frame": 0, "monotonic_ns": 45 * 10**9})
            with wave.open(parts[1]) as file:
                self.assertEqual(file.getnframes(), 9900)


class Heard:
    def __init__(self, first, last, holes=()):
        self.first, self.last, self.holes = first, last, list(holes)


class Figures(unittest.TestCase):
    def test_silence_lasts_over_recordings_and_to_the_end(self):
        parts = [Heard(10.0, 20.0, [(12.0, 12.5)]), Heard(None, None), Heard(24.0, 30.0)]
        self.assertEqual(figures.silences(parts, 30.5), [(12.0, 12.5), (20.0, 24.0)])
        self.assertEqual(figures.silences(parts, 40.0), [(12.0, 12.5), (20.0, 24.0), (30.0, 40.0)])

    def test_in_step_begins_with_four_beeps_near_the_usual_offset(self):
        beeps = [(t, -1.0) for t in range(5)] + [(6, 90.0), (7, 0.0), (8, 40.0), (9, 3.0), (10, 2.0), (11, 1.0), (12, 0.0), (13, -30.0)]
        after, offsets = figures.in_step(beeps, 5.5)
        self.assertEqual(after, 3.5)
        self.assertEqual(offsets, [3.0, 2.0, 1.0, 0.0, -30.0])
        self.assertEqual(figures.in_step(beeps[:8], 5.5), (None, []))
