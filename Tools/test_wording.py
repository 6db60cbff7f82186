import importlib.machinery
import importlib.util
import os
import unittest

LOADER = importlib.machinery.SourceFileLoader(
    "wording", os.path.join(os.path.dirname(os.path.realpath(__file__)), "wording"))
wording = importlib.util.module_from_spec(importlib.util.spec_from_loader("wording", LOADER))
LOADER.exec_module(wording)


class WordingTests(unittest.TestCase):
    def lines(self, path, text):
        return [(line, reason) for line, reason, _ in wording.findings(path, text)]

    def test_idioms_in_comments_only(self):
        source = '/// What nobody needs.\nlet text = "nobody // nobody"\nlet nobody = 1 // it goes on\n/// Calls `tell` with a message.\n'
        self.assertEqual(self.lines("a.swift", source), [(1, "'nobody'"), (3, "'goes on'")])

    def test_names_of_parameters_are_code(self):
        self.assertEqual(self.lines("a.swift", "///   - tell: Called with a message.\n"), [])

    def test_wide_comments_and_paragraphs(self):
        wide = "word " * 25
        self.assertEqual(self.lines("a.swift", f"// {wide}\nlet value = 1 // {wide}\n"), [(1, "128 columns")])
        self.assertEqual(self.lines("a.md", f"{wide}\n| {wide} |\n\n    {wide}\n```\n{wide}\n```\n"), [(1, "125 columns")])

    def test_more_than_three_unlabelled_parameters(self):
        long = "    func plan(\n        _ first: Int, _ second: (Int, Int) -> Void,\n        _ third: Int, _ fourth: inout Int\n    ) {}\n"
        self.assertEqual(self.lines("a.swift", long), [(1, "4 unlabelled parameters")])
        self.assertEqual(self.lines("a.swift", long.replace("_ fourth", "fourth")), [])
        self.assertEqual(self.lines("a.swift", "init?(_ a: A, _ b: B, _: C, @Bound _ d: D) {}\n"), [(1, "4 unlabelled parameters")])
        self.assertEqual(
            self.lines("a.swift", "func run<S: Seq<Int>>(_: S.Type, _ a: A, _ b: [B: C], _ d: D, up: Int) {}\n"),
            [(1, "4 unlabelled parameters")])

    def test_parameters_of_closures_calls_and_c(self):
        closure = "let call: @convention(c) (_ a: A, _ b: B, _ c: C, _ d: D) -> Void = { a, b, c, d in }\n"
        self.assertEqual(self.lines("a.swift", closure + "// func f(_ a: A, _ b: B, _ c: C, _ d: D)\nf(a, b, c, d)\n"), [])
        self.assertEqual(self.lines("a.swift", '@_cdecl("f") public func f(_ a: A, _ b: B, _ c: C, _ d: D) {}\n'), [])
        after = "@_cdecl func f() {}\nfunc g(_ a: A, _ b: B, _ c: C, _ d: D) {}\n"
        self.assertEqual(self.lines("a.swift", after), [(2, "4 unlabelled parameters")])


if __name__ == "__main__":
    unittest.main()
