import contextlib
import importlib.machinery
import importlib.util
import io
import os
import tempfile
import unittest

LOADER = importlib.machinery.SourceFileLoader(
    "sentences", os.path.join(os.path.dirname(os.path.realpath(__file__)), "sentences"))
sentences = importlib.util.module_from_spec(importlib.util.spec_from_loader("sentences", LOADER))
LOADER.exec_module(sentences)

SOURCE = r'''
/// A comment with "a literal in it".
func say() {
    precondition(count > 0, "a length is positive")
    let thread = "reader"
    throw Failure(
        "the film \(name) cannot be opened (\(reason(of: "a b")));"
            + " check its name")
    print("""
        first line \
        goes on
        second "line"
        """)
    let raw = #"a \#(value) and a "quote" here"#
}
'''


class SentencesTests(unittest.TestCase):
    def test_literals_are_joined_and_values_are_named(self):
        self.assertEqual(list(sentences.sentences(SOURCE)), [
            (7, "the film {name} cannot be opened ({…}); check its name"),
            (9, "first line goes on ⏎ second \"line\""),
            (14, "a {value} and a \"quote\" here"),
        ])

    def test_the_sources_of_this_project_are_read_whole(self):
        root = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "Sources")
        count = 0
        for folder, _, names in os.walk(root):
            for name in names:
                if name.endswith(".swift"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        count += len(list(sentences.sentences(file.read())))
        self.assertGreater(count, 1000)

    def test_the_modules_of_the_library_advise_no_command_of_the_program(self):
        root = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "Sources")
        programs = {"TalkieApp", "TalkieCLI", "Kiosk", "VirtualSpeaker", "CLibraries", "Helpers"}
        for module in sorted(set(os.listdir(root)) - programs):
            for folder, _, names in os.walk(os.path.join(root, module)):
                for name in sorted(names):
                    if not name.endswith(".swift"):
                        continue
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        for line, text in sentences.sentences(file.read()):
                            self.assertNotRegex(text, r"\btalkie [a-z]|(?<![\w-])--[a-z]", f"{folder}/{name}:{line}")

    def test_an_idiom_is_found_and_its_module_can_be_selected(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "Sources/Player"))
            with open(os.path.join(folder, "Sources/Player/A.swift"), "w", encoding="utf-8") as file:
                file.write('print("nobody reads this pipe")\nlet other = "the pipe has no reader"\n')
            for arguments, status, lines in ((["--check"], 1, 1), ([], 0, 2), (["--module", "Other"], 0, 0)):
                output = io.StringIO()
                with contextlib.redirect_stdout(output):
                    self.assertEqual(sentences.main(arguments + [folder]), status)
                self.assertEqual(len(output.getvalue().splitlines()), lines)


if __name__ == "__main__":
    unittest.main()
