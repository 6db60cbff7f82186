import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
import wave
from fractions import Fraction

import numpy as np

import analysis
import chirps
import clips
import compare
import cuts
import statistics_of
import strip
import tables


class Strip(unittest.TestCase):
    def test_every_frame_number_and_flash_is_read_back(self):
        for frame in (0, 1, 2, 4095, 172_799, 2**20 - 1):
            for flash in (False, True):
                self.assertEqual(strip.read(16 + 219 * strip.cells(frame, flash)), (frame, flash))

    def test_one_wrong_cell_is_never_another_number(self):
        for cell in range(len(strip.HEAD), len(strip.HEAD) + strip.NUMBER_BITS + strip.CHECK_BITS):
            row = strip.cells(123_456, False)
            row[cell] ^= 1
            self.assertIsNone(strip.read(row * 255))

    def test_a_picture_without_a_strip_is_nothing(self):
        self.assertIsNone(strip.read(np.zeros(strip.CELLS)))
        self.assertIsNone(strip.read(np.linspace(0, 255, strip.CELLS)))


class Subtitles(unittest.TestCase):
    def test_the_first_line_is_at_five_seconds_and_one_follows_every_four(self):
        lines = clips.subtitle_text(20).strip().split("\n\n")
        self.assertEqual([line.split("\n")[1] for line in lines],
                         [f"00:00:{start:02},000 --> 00:00:{start + 2:02},000" for start in (5, 9, 13, 17)])
        self.assertIn("00:01:01,000 --> 00:01:03,000", clips.subtitle_text(70))

    def test_a_clip_too_short_for_a_line_has_none(self):
        self.assertEqual(clips.subtitle_text(6.9), "")


class Children(unittest.TestCase):
    def state(self, pid):
        """Of a process, as in proc(5); nothing for one that is gone."""
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0]
        except OSError:
            return ""

    def test_whoever_is_killed_leaves_neither_servers_nor_probes_nor_players(self):
        starts = ("import subprocess, sys, rig\n"
                  "one = subprocess.Popen(['sleep', '60'], stdout=subprocess.DEVNULL, preexec_fn=rig.child(0))\n"
                  "two = rig.Player(['sleep', '60'], None, '/dev/null', 0)\n"
                  "print(one.pid, two.pid, flush=True)\n"
                  "sys.stdin.read()\n")
        parent = subprocess.Popen([sys.executable, "-B", "-c", starts], cwd=os.path.dirname(os.path.abspath(__file__)),
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        children = list(map(int, parent.stdout.readline().split()))
        self.assertEqual([self.state(pid) in "SRD" and len(children) for pid in children], [2, 2])
        parent.kill()
        parent.wait()
        parent.stdin.close()
        parent.stdout.close()
        end = time.monotonic() + 10
        while any(self.state(pid) not in ("", "Z") for pid in children) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual([self.state(pid) in ("", "Z") for pid in children], [True, True])


class Chirps(unittest.TestCase):
    def test_found_within_a_hundredth_of_a_millisecond_quiet_inverted_and_over_noise(self):
        rate, starts = 48_000, [round((1 + n) * 48_000 * 1.001) for n in range(9)]
        sound = -0.05 * chirps.film_sound(11 * rate, rate, starts)
        sound += np.random.default_rng(1).normal(0, 0.001, len(sound))
        found = chirps.find(sound, rate)
        self.assertEqual([c.kind for c in found], [n % chirps.KINDS for n in range(9)])
        for chirp, start in zip(found, starts):
            self.assertAlmostEqual(chirp.frame, start, delta=0.5)

    def test_found_across_the_seams_of_a_long_recording(self):
        rate = 48_000
        starts = [rate * n for n in range(1, 30)]
        found = chirps.find(chirps.film_sound(31 * rate, rate, starts), rate)
        self.assertEqual([round(c.frame) for c in found], starts)

    def test_silence_has_none_and_speaks_of_no_gap(self):
        self.assertEqual(chirps.find(np.zeros(96_000), 48_000), [])
        self.assertEqual(chirps.gaps(np.zeros(96_000), 48_000), [])

    def test_a_hole_in_the_pilot_is_a_gap(self):
        sound = chirps.film_sound(96_000, 48_000, [])
        sound[48_000:48_960] = 0
        (at, seconds), = chirps.gaps(sound, 48_000)
        self.assertAlmostEqual(at / 48_000, 1, delta=0.006)
        self.assertAlmostEqual(seconds, 0.02, delta=0.006)


class Lines(unittest.TestCase):
    def test_a_wild_third_does_not_move_the_line(self):
        x = np.arange(300.0)
        y = 2 + 0.5 * x + np.random.default_rng(2).normal(0, 0.01, 300)
        y[::3] += 40
        slope, base, _ = statistics_of.line(x, y)
        self.assertAlmostEqual(slope, 0.5, delta=0.001)
        self.assertAlmostEqual(base, 2, delta=0.05)


class Clock(unittest.TestCase):
    def test_late_answers_of_the_server_do_not_move_it(self):
        rng = np.random.default_rng(3)
        anchors = [{"frame": f, "monotonic_ns": int(5e12 + f / 48_000 * 1e9 * (1 + 20e-6) + (rng.random() < 0.2) * 12e6)}
                   for f in range(0, 48_000 * 30, 4_800)]
        clock = analysis.SoundClock({"rate": 48_000, "anchors": anchors})
        self.assertAlmostEqual(float(clock.heard(480_000)), 5000 + 10 * (1 + 20e-6), delta=0.0002)
        self.assertAlmostEqual(clock.ppm, 20, delta=3)


class WholeRun(unittest.TestCase):
    """A run made up of numbers alone: picture on a 60 Hz film from 100.5 s, sound a known time later."""

    def analyze(self, late_ms, dropped=(), drift_ms_per_min=0.0, receiver=None, pace_ppm=0.0, stalled=()):
        rate, fps, frames = 48_000, 60, 900
        events = list(range(60, frames - 30, 60))
        side = {"fps": "60", "frames": frames, "duration": 15.0, "events": events, "verified": {"offset_ms": {"median": 0.0}}}
        starts = [(0.5 + n / fps + (late_ms + drift_ms_per_min * n / fps / 60) / 1000) * rate for n in events]
        shown = [n for n in range(frames) if n not in dropped]
        with tempfile.TemporaryDirectory() as folder:
            with wave.open(os.path.join(folder, "sound.wav"), "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(rate)
                file.writeframes((chirps.film_sound(17 * rate, rate, starts) * 32767).astype("<i2").tobytes())
            with open(os.path.join(folder, "sound.wav.json"), "w") as file:
                anchors = [{"frame": rate * s, "monotonic_ns": 100 * 10**9 + int(s * 1e9 * (1 - pace_ppm / 1e6))}
                           for s in range(17)]
                json.dump({"rate": rate, "anchors": anchors, **({"receiver": receiver} if receiver else {})}, file)
            looks = np.arange(100, 117, 0.002)
            times = np.array([100.5 + n / fps for n in shown])
            for n in stalled:
                # Neither the probe nor the player is run for 12 ms.
                due = 100.5 + n / fps
                looks = looks[(looks < due - 0.001) | (looks > due + 0.011)]
                times[shown.index(n)] = due + 0.013
            np.savez(os.path.join(folder, "screen.npz"), looks=np.stack([looks, looks + 1e-4], 1),
                     changes=np.stack([times - 0.001, times + 0.001], 1),
                     rows=np.array([strip.cells(n, n in events) * 255 for n in shown], np.uint8))
            run = {"command": ["player"], "clip": "clip.mp4", "side": side, "started_s": 100.2, "ended_s": 116.0, "exit": 0,
                   "stopped_by_meter": False, "player_cpu_s": 3.0, "x_cpu_s": 1.5, "meter_cpu_s": 0.5,
                   "other_busy_cores": 0.0, "peak_bytes": 10**8, "actions": [{"at": 5, "key": "x", "by": 1, "done_s": 105.45}],
                   "recorder_exit": 0, "sound": ""}
            with open(os.path.join(folder, "run.json"), "w") as file:
                json.dump(run, file)
            return analysis.analyze(folder)

    def test_sound_late_is_positive_and_exact(self):
        for late in (-45.0, 900.0):
            result = self.analyze(late)
            self.assertAlmostEqual(result["offset_ms"]["median"], late, delta=0.05)
            self.assertEqual(result["events"], {"heard": 14, "expected": 14})
            self.assertFalse(result["disturbed"])

    def test_drops_and_trend_are_seen(self):
        result = self.analyze(0.0, dropped=(120, 121, 700), drift_ms_per_min=30.0)
        self.assertEqual(result["frames"]["dropped"], 3)
        self.assertEqual(result["events"]["heard"], 14)
        self.assertAlmostEqual(result["trend_ms_per_min"], 30.0, delta=0.5)

    def test_a_frame_that_came_while_the_machine_stood_still_is_timed_by_its_neighbours(self):
        result = self.analyze(5.0, stalled=(60, 300, 301))
        self.assertAlmostEqual(result["offset_ms"]["worst"], 5, delta=0.05)
        self.assertEqual(result["frames"]["dropped"], 0)
        # Nothing near it is known any better.
        result = self.analyze(5.0, stalled=range(298, 303))
        self.assertAlmostEqual(result["offset_ms"]["worst"], 5 - 13, delta=0.05)

    def test_a_figure_says_whose_pace_and_tolerance_it_was_taken_with(self):
        text = tables.run(self.analyze(0.0, receiver={"drift_tolerance_s": 0.0001}, pace_ppm=83))
        self.assertIn("converter 83 ppm fast, receiver's drift tolerance 0.1 ms", text)
        self.assertNotIn("tolerance", tables.run(self.analyze(0.0)))

    def test_start_cost_and_action_are_reported(self):
        result = self.analyze(0.0)
        self.assertAlmostEqual(result["start"]["first_picture_ms"], 300, delta=0.01)
        self.assertAlmostEqual(result["start"]["first_sound_ms"], 0, delta=1)  # the pilot was there before
        # With actions the film's length says nothing: the time from the first picture to the end counts.
        self.assertAlmostEqual(result["cpu_per_film_second"]["together"], 4.5 / 15.5, delta=1e-9)
        action, = result["actions"]
        self.assertEqual(action["frame"], 297 + 60)
        self.assertAlmostEqual(action["latency_ms"], (100.5 + action["shown_frame"] / 60 - 105.45) * 1000, delta=0.01)


class Cuts(unittest.TestCase):
    def test_every_cut_lies_on_a_sample(self):
        self.assertEqual(cuts.places(239, Fraction(24000, 1001), 48000, 3), [0, 80, 159, 239])
        # 1601.6 samples a picture: whole ones every five.
        self.assertEqual(cuts.places(100, Fraction(30000, 1001), 48000, 3), [0, 35, 65, 100])


class Players(unittest.TestCase):
    def test_a_player_is_a_known_name_or_a_command(self):
        self.assertEqual(compare.player("mine=a 'b c' {clip}"), ("mine", ["a", "b c", "{clip}"]))
        self.assertEqual(compare.player("mpv-x11")[1][0], "mpv")
        with self.assertRaises(SystemExit):
            compare.player("unheard-of")


if __name__ == "__main__":
    unittest.main()
