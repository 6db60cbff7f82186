"""Tools/lanes: which lane runs a test."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

loader = importlib.machinery.SourceFileLoader("lanes", str(Path(__file__).resolve().parent / "lanes"))
lanes = importlib.util.module_from_spec(importlib.util.spec_from_loader("lanes", loader))
loader.exec_module(lanes)


class Lanes(unittest.TestCase):
    def test_what_measures_runs_alone(self):
        for test in ("SoundCardTests.SoundCardTests/soundIsHeard(sink:rate:)", "FilmTests.JointTests/aLoopIsHeard()", "KioskPeerTests.WallTests/oneFrame()",
                     "FilmTests.DemoTests/theDemoPlays()", "FilmTests.FeatureTests/aFilmOrAPartOfItIsPlayed()"):
            self.assertEqual(lanes.lane_of(test), "measuring")

    def test_each_other_test_is_in_one_lane(self):
        self.assertEqual(lanes.lane_of("ScreenTests.PictureOnScreenTests/a()"), "screen")
        self.assertEqual(lanes.lane_of("ScreenTests.KioskOnScreenTests/a()"), "kiosk")
        self.assertEqual(lanes.lane_of("ScreenTests.WindowTests/a()"), "window")
        self.assertEqual(lanes.lane_of("VirtualSpeakerLoopTests.LoopTests/OwnClockTests/a()"), "clocks")
        self.assertEqual(lanes.lane_of("VirtualSpeakerLoopTests.LoopTests/LostSpeakerTests/a()"), "devices")
        self.assertEqual(lanes.lane_of("FilmTests.TerminalTests/a()"), "films")
        self.assertEqual(lanes.lane_of("FilmTests.DemoTests/theSpeakerEndsCleanlyOnASignal()"), "films")
        self.assertEqual(lanes.lane_of("FilmTests.FeatureTests/otherTracksArePlayed()"), "features")
        self.assertEqual(lanes.lane_of("VirtualSpeakerLoopTests.LoopTests/theSpeakerHoldsNoMoreThanItSaid()"), "devices")

    def test_the_lab_is_a_lane(self):
        self.assertEqual(lanes.lane_of("AirPlayLabTests.SpeakerLabTests/MissionTests/a()"), "lab")

    def test_failed_tests_are_read_from_the_events(self):
        def event(kind, **payload):
            return json.dumps({"kind": "event", "version": 0, "payload": {"kind": kind, **payload}})

        test = "FilmTests.JointTests/aLoopIsHeard()/JointTests.swift:166:6"
        lines = [event("testStarted", testID=test), event("issueRecorded", issue={"isKnown": True}, testID=test)]
        self.assertEqual(lanes.failed_tests("\n".join(lines)), [])
        lines += 2 * [event("issueRecorded", issue={"isKnown": False}, testID=test)]
        self.assertEqual(lanes.failed_tests("\n".join(lines)), ["FilmTests.JointTests/aLoopIsHeard()"])
        lines += [event("issueRecorded", issue={"isKnown": False})]
        self.assertIsNone(lanes.failed_tests("\n".join(lines)))

    def test_only_few_measurements_are_repeated(self):
        self.assertTrue(lanes.may_repeat({"a": "measuring", "b": "screen"}))
        self.assertFalse(lanes.may_repeat({name: "lab" for name in range(13)}))

    def test_two_of_three_runs_alone_decide(self):
        for runs, expected in (([True, True], (True, "2 of 2")), ([False, True, True], (True, "2 of 3")), ([False, False], (False, "0 of 2")),
                               ([True, False, False], (False, "1 of 3"))):
            self.assertEqual(lanes.repeat(iter(runs).__next__), expected)

    def test_a_unit_test_that_fails_beside_the_others_is_repeated_alone(self):
        event = json.dumps({"payload": {"kind": "issueRecorded", "issue": {"isKnown": False}, "testID": "PTPTests.ATests/a()/ATests.swift:1:2"}})
        for fails_alone, expected in ((False, 0), (True, 1)):
            with tempfile.TemporaryDirectory() as folder:
                bundle = Path(folder, "bundle")
                # Alone is without --parallel; the last argument is the path of the events.
                bundle.write_text(f"""#!/bin/sh
[ "$3" != --no-parallel ] || {{ echo "$5" >> {folder}/alone; {"true" if fails_alone else "exit 0"}; }}
case "$*" in *"MediaFilesTests"*) exit 0;; esac
for events; do :; done
echo '{event}' > "$events"
exit 1
""")
                bundle.chmod(0o755)
                with contextlib.redirect_stdout(io.StringIO()) as said:
                    self.assertEqual(lanes.run_units(bundle, ["^MediaFilesTests", "^PTPTests"]), expected)
                self.assertIn("lanes: PTPTests.ATests/a() failed in its lane", said.getvalue())
                self.assertEqual(Path(folder, "alone").read_text().splitlines(), 2 * [r"^PTPTests\.ATests/a\(\)(/|$)"])

    def test_the_command_beside_the_lanes_is_idle(self):
        # It is asked from outside: beside a build, an idle process can wait for minutes before it answers.
        beside = lanes.start_beside("sleep 60")
        until = time.monotonic() + 20
        while os.sched_getscheduler(beside.pid) != os.SCHED_IDLE and time.monotonic() < until:
            time.sleep(0.01)
        policy = os.sched_getscheduler(beside.pid)
        os.killpg(beside.pid, signal.SIGKILL)
        beside.wait()
        self.assertEqual(policy, os.SCHED_IDLE)

    def test_nothing_outlives_its_lane(self):
        if not lanes.can_make_namespaces():
            self.skipTest("namespaces cannot be made here (root can)")
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            # Not in /tmp, of which a lane has its own. Without the lock, nothing that inherited it runs any more.
            held = f"{folder}/held"
            for last, is_interrupted in (("exit 1", False), ("sleep 60", True)):
                lane = lanes.Lane("test", ["sh", "-c", f"exec 9> {held}; flock 9; touch {held}.{is_interrupted}; setsid sleep 60 & {last}", "-"], 60, True, False)
                if is_interrupted:
                    until = time.monotonic() + 20
                    while not os.path.exists(f"{held}.{is_interrupted}") and time.monotonic() < until:
                        time.sleep(0.01)
                    lane.end()
                with contextlib.redirect_stdout(io.StringIO()):
                    self.assertIsNone(lane.wait()[0])
                self.assertEqual(subprocess.run(["flock", "--timeout", "10", held, "true"]).returncode, 0)

    def test_a_clone_below_tmp_is_at_its_path_in_a_lane(self):
        if not lanes.can_make_namespaces():
            self.skipTest("namespaces cannot be made here (root can)")
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            clone = Path(folder, "a clone")
            clone.mkdir()
            (clone / "tests").write_text("#!/bin/sh\ntouch /tmp/of-the-lane && test ! -e /tmp/of-the-computer-$1 && echo ran\n")
            (clone / "tests").chmod(0o755)
            other = Path(f"/tmp/of-the-computer-{os.getpid()}")
            other.touch()
            self.addCleanup(other.unlink)
            needed = lanes.needed_below("/tmp", [clone, clone / ".build", "/usr"])
            self.assertEqual(needed, [str(clone)])
            lane = lanes.Lane("test", [str(clone / "tests"), str(os.getpid())], 60, True, False, needed)
            with contextlib.redirect_stdout(io.StringIO()) as output:
                self.assertEqual(lane.wait(), ([], []))
            self.assertIn("\nran\n", output.getvalue())
            self.assertTrue((clone / "tests").exists())
            self.assertFalse(os.path.exists("/tmp/of-the-lane"))

    def test_a_lane_that_cannot_start_says_so(self):
        lane = lanes.Lane("test", ["/nowhere/tests"], 60, False, False)
        with self.assertRaisesRegex(lanes.NotStarted, "lane test could not be started .*127.*/nowhere/tests"):
            lane.wait()

    def test_a_lane_that_cannot_start_ends_the_run_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            # A bundle that lists one test of each lane, runs those of one for a minute, and is away for those of another.
            bundle = Path(folder, "tests")
            bundle.write_text("#!/bin/sh\ncase $* in *--list-tests*) printf '%s\\n' ScreenTests.PictureOnScreenTests/a FilmTests.QueueTests/b;;\n"
                              "*PictureOnScreen*) exec sleep 60;; *) exit 127;; esac\n")
            bundle.chmod(0o755)
            started = time.monotonic()
            run = subprocess.run([str(Path(lanes.__file__)), "--tests", str(bundle), "--jobs", "2"], capture_output=True, text=True,
                                 timeout=50, check=False, env={**os.environ, "TALKIE_TEST_CLIPS": folder})
            self.assertEqual(run.returncode, 1, run.stdout)
            self.assertIn("lanes: error: lane films could not be started", run.stdout)
            self.assertLess(time.monotonic() - started, 30)

    def test_a_test_of_an_unknown_target_is_in_none(self):
        self.assertIsNone(lanes.lane_of("OtherTests.SomeTests/a()"))

    def test_names_are_matched_exactly(self):
        self.assertEqual(lanes.command_of("tests", ["A.B/c(d:)"])[-1], "^A\\.B/c\\(d:\\)(/|$)")


if __name__ == "__main__":
    unittest.main()
