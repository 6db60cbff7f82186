import importlib.machinery
import importlib.util
import os
import tempfile
import unittest

LOADER = importlib.machinery.SourceFileLoader(
    "features", os.path.join(os.path.dirname(os.path.realpath(__file__)), "features"))
features = importlib.util.module_from_spec(importlib.util.spec_from_loader("features", LOADER))
LOADER.exec_module(features)

OPTIONS = """
    @Flag(help: "Begin muted.")
    var mute = false

    @Option(name: [.customLong("loop-file"), .customLong("loop")], help: ArgumentHelp("Again.", valueName: "N"))
    var loopFile: Loop = .times(0)

    @Option(help: ArgumentHelp("Later.", visibility: .hidden))
    var secretThing: Int?

    @Option(transform: { try delay(parsing: $0) })
    var subDelay: Double = 0
"""
PAGE = """
## Subtitles

| key | does |
| --- | --- |
| space, `p` | pauses |
| `.` `,` | steps |
| Alt and `+` `-`, arrows; `w` | zoom |
| `v`, Alt+`v`, Page Up | hides |

| option | does |
| --- | --- |
| `x` | nothing |
"""


class WhatThereIs(unittest.TestCase):
    def test_options_have_the_names_of_the_help_page(self):
        self.assertEqual(features.options(OPTIONS), ["--mute", "--loop-file", "--sub-delay"])

    def test_keys_of_one_cell_without_a_comma_are_one_feature(self):
        self.assertEqual(features.page_features(PAGE, is_guide=True), [
            ["guide: Subtitles"], ["key space"], ["key p"], ["key .", "key ,"], ["key Alt++", "key Alt+-"], ["key Alt+arrows"],
            ["key w"], ["key v"], ["key Alt+v"], ["key PageUp"]])
        self.assertNotIn(["guide: Subtitles"], features.page_features(PAGE, is_guide=False))

    def test_the_sources_have_features_of_every_kind(self):
        names = {name for feature in features.features(features.TOP) for name in feature}
        self.assertLessEqual({"--sub-delay", "key space", "guide: Subtitles"}, names)


class Tags(unittest.TestCase):
    def tagged(self, source):
        with tempfile.TemporaryDirectory() as top:
            os.makedirs(os.path.join(top, "Tests/Unit"))
            with open(os.path.join(top, "Tests/Unit/SomeTests.swift"), "w") as file:
                file.write(source)
            return list(features.tests(top))

    def test_a_tag_belongs_to_the_test_below_it(self):
        source = """struct SomeTests {
    // feature: --mute, key p, guide: Here, there
    @Test(.timeLimit(.minutes(1))) func itIsMuted() throws {
        play("--mute")
    }

    @Test func another() { play("--no-video") }
}
"""
        [(named, path, test, body)] = self.tagged(source)
        self.assertEqual((named, path, test), (["--mute", "key p", "guide: Here, there"], "Tests/Unit/SomeTests.swift", "itIsMuted"))
        self.assertIn("--mute", body)
        self.assertNotIn("--no-video", body)

    def objections(self, tagged, exempt={}):
        return list(features.objections([["--mute"], ["key .", "key ,"]], tagged, exempt))

    def test_every_feature_needs_a_test_or_a_reason(self):
        good = (["--mute", "key ,"], "A.swift", "one", "")
        self.assertEqual(self.objections([good]), [])
        self.assertEqual(len(self.objections([])), 2)
        self.assertEqual(self.objections([], {"--mute": "no ears", "key .": "no hands"}), [])
        self.assertEqual(len(self.objections([good], {"--mute": "no ears"})), 1)
        self.assertEqual(len(self.objections([good], {"--deaf": "no ears"})), 1)

    def test_a_tag_names_a_feature_and_is_above_a_test(self):
        good = (["--mute", "key ."], "A.swift", "one", "")
        self.assertEqual(len(self.objections([good, (["--mut"], "A.swift", "two", "")])), 1)
        self.assertEqual(self.objections([good, (["gapless"], "A.swift", "two", "")]), [])
        self.assertEqual(len(self.objections([good, (["--mute"], "A.swift", None, "")])), 1)

    def test_a_film_is_played_with_picture_and_sound_from_its_beginning(self):
        self.assertEqual(len(self.objections([(["--mute", "key ."], "A.swift", "one", 'play("--no-video")')])), 1)

    def test_the_table_names_tests_and_reasons(self):
        rows = list(features.table([["--mute"], ["key .", "key ,"], ["--x"]], [(["key ,"], "B/A.swift", "one", "")], {"--mute": "no ears"}))
        self.assertEqual(rows[1:], ["| --mute | none: no ears |", "| key . key , | `one` (A.swift) |", "| --x | none |"])


if __name__ == "__main__":
    unittest.main()
