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
README = """
## Install

    talkie build

## Use

    talkie play film.mkv         # keys
    talkie pair Kitchen
    talkie play film.mkv --speaker Kitchen

`talkie report` and
`doctor` have `--help`.

Exit status: 0 done, 66 cannot open,
130 after SIGINT.

## Library
"""


class WhatThereIs(unittest.TestCase):
    def test_options_have_the_names_of_the_help_page(self):
        self.assertEqual(features.options(OPTIONS), ["--mute", "--loop-file", "--sub-delay"])

    def test_keys_of_one_cell_without_a_comma_are_one_feature(self):
        self.assertEqual(features.guide_features(PAGE), [
            ["guide: Subtitles"], ["key space"], ["key p"], ["key .", "key ,"], ["key Alt++", "key Alt+-"], ["key Alt+arrows"],
            ["key w"], ["key v"], ["key Alt+v"], ["key PageUp"]])

    def test_commands_and_exit_statuses_are_those_of_the_readme(self):
        self.assertEqual(features.readme_features(README), [
            ["talkie play"], ["talkie pair"], ["talkie report"], ["talkie doctor"], ["exit status 0"], ["exit status 66"], ["exit status 130"],
            ["README: Library"]])

    def test_the_sources_have_features_of_every_kind(self):
        names = {name for feature in features.features(features.TOP) for name in feature}
        self.assertLessEqual({"--sub-delay", "key space", "guide: Subtitles", "talkie pair", "exit status 69", "README: Library"}, names)


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

    def objections(self, tagged):
        return list(features.objections([["--mute"], ["key .", "key ,"]], tagged))

    def test_every_feature_needs_a_test(self):
        good = (["--mute", "key ,"], "A.swift", "one", "")
        self.assertEqual(self.objections([good]), [])
        self.assertEqual(len(self.objections([])), 2)

    def test_a_tag_names_a_feature_and_is_above_a_test(self):
        good = (["--mute", "key ."], "A.swift", "one", "")
        self.assertEqual(len(self.objections([good, (["--mut"], "A.swift", "two", "")])), 1)
        self.assertEqual(self.objections([good, (["gapless"], "A.swift", "two", "")]), [])
        self.assertEqual(len(self.objections([good, (["--mute"], "A.swift", None, "")])), 1)

    def test_a_film_is_played_with_picture_and_sound_from_its_beginning(self):
        good = (["--mute", "key ."], "A.swift", "one", "")
        bad = (["--mute", "key ."], "A.swift", "one", 'play("--no-video")')
        self.assertEqual(len(self.objections([bad])), 1)
        # A failure of a command needs no picture.
        self.assertEqual(self.objections([good, (["silence"], "A.swift", "two", 'play("--no-video")')]), [])

    def test_the_table_names_tests(self):
        rows = list(features.table([["--mute"], ["key .", "key ,"]], [(["key .", "key ,"], "B/A.swift", "one", "")]))
        self.assertEqual(rows[1:], ["| --mute | none |", "| key . key , | `one` (A.swift) |"])


if __name__ == "__main__":
    unittest.main()
