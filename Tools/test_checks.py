import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(HERE)


class WarningsOfOurOwn(unittest.TestCase):
    def build(self, said, mode="error", status=0):
        """Tools/build around a compiler that says this."""
        with tempfile.TemporaryDirectory() as folder:
            swift, lines = os.path.join(folder, "swift"), os.path.join(folder, "lines")
            with open(lines, "w") as file:
                file.write(said)
            with open(swift, "w") as file:
                file.write(f"#!/bin/sh\ncat {lines}\nexit {status}\n")
            os.chmod(swift, 0o755)
            return subprocess.run([os.path.join(HERE, "build"), "--build-tests"], capture_output=True, text=True,
                                  env={**os.environ, "SWIFT": swift, "TALKIE_WARNINGS": mode})

    def test_a_warning_in_our_sources_fails_the_build_and_is_told(self):
        for place in ("Sources/None/X.swift:1:2:", "Tests/None/X.swift:10:20:", "Examples/None/X.swift:3:4:"):
            result = self.build(f"{TOP}/{place} warning: variable 'x' was never used\nBuild complete!\n")
            self.assertEqual(result.returncode, 1, result)
            self.assertIn(f"error: {place} warning: variable 'x' was never used", result.stderr)

    def test_a_warning_of_a_macro_and_of_the_manifest_is_ours_too(self):
        package = os.path.basename(TOP).lower()
        for line in ("macro expansion #expect:1:20: warning: will never be executed", f"warning: '{package}': found 1 file(s) which are unhandled"):
            self.assertEqual(self.build(line + "\n").returncode, 1, line)

    def test_what_others_warn_of_does_not_fail_it(self):
        result = self.build(f"{TOP}/.build/checkouts/other/Sources/X.swift:1:2: warning: deprecated\n"
                            "warning: prohibited flag(s): -D_REENTRANT\nBuild complete!\n")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_the_file_counts_as_changed_so_that_the_next_build_fails_too(self):
        path = os.path.join(TOP, "Tests/Unit/.warned")
        with open(path, "w"):
            pass
        try:
            os.utime(path, (1, 1))
            self.build(f"{path}:1:2: warning: something\n")
            self.assertGreater(os.stat(path).st_mtime, time.time() - 60)
        finally:
            os.remove(path)

    def test_a_build_that_fails_fails_and_without_the_wish_a_warning_passes(self):
        self.assertEqual(self.build("error: no\n", status=1).returncode, 1)
        self.assertEqual(self.build(f"{TOP}/Sources/X.swift:1:2: warning: w\n", mode="").returncode, 0)


class LinksOfDocuments(unittest.TestCase):
    """Relative links, their anchors, and paths of the repository in code font."""

    @staticmethod
    def documents():
        found = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=TOP, capture_output=True, text=True, check=True).stdout
        for name in filter(None, found.split("\0")):
            with open(os.path.join(TOP, name), encoding="utf-8") as file:
                yield name, file.read()

    @staticmethod
    def anchors(path):
        """As GitHub makes them of headings."""
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"^```.*?^```", "", file.read(), flags=re.M | re.S)
        headings = re.findall(r"^#{1,6} +(.*?) *$", text, flags=re.M)
        plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
        return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}

    def problems(self, name, text, top=TOP):
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(top, os.path.dirname(name), path) if path else os.path.join(top, name))
            if not os.path.exists(target):
                yield f"{name}: {link} does not exist"
            elif anchor and target.endswith(".md") and anchor not in self.anchors(target):
                yield f"{name}: {link} has no such heading"
        for path in re.findall(r"`((?:Sources|Tests|Tools|Benchmarks|Examples|docs)/[A-Za-z0-9_./+-]+)", text):
            if not os.path.exists(os.path.join(top, path.rstrip("."))):
                yield f"{name}: {path} does not exist"

    def test_what_documents_link_and_cite_exists(self):
        self.assertEqual([problem for name, text in self.documents() for problem in self.problems(name, text)], [])

    def test_a_link_a_heading_and_a_path_that_do_not_exist_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a.md", "docs/b.md"):
                os.makedirs(os.path.dirname(os.path.join(folder, name)) or folder, exist_ok=True)
                with open(os.path.join(folder, name), "w") as file:
                    file.write("# One heading, `two`\n")
            text = "[x](docs/b.md#one-heading-two) [y](docs/b.md#three) [z](c.md) [w](https://c.md) `Sources/None.swift`"
            self.assertEqual(len(list(self.problems("a.md", text, folder))), 3)


class FuzzingThatTriesNothing(unittest.TestCase):
    def fuzz(self, *said):
        """Tools/fuzz around a compiler whose fuzzers say this, each with one input that it was given."""
        names = [f"Parser{number}" for number in range(len(said))]
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "Tools"))
            shutil.copy(os.path.join(HERE, "fuzz"), os.path.join(folder, "Tools"))
            for name, words in zip(names, said):
                os.makedirs(os.path.join(folder, "Tests/Fixtures/Fuzz", name))
                with open(os.path.join(folder, "Tests/Fixtures/Fuzz", name, "seed"), "w"):
                    pass
                with open(os.path.join(folder, name + ".fuzzer"), "w") as file:
                    file.write(f'#!/bin/sh\necho "{words}"\n')
            targets = ", ".join(f'{{"name": "{name}"}}' for name in names)
            tools = {"swift": f"""case $1 in package) echo '{{"targets": [{targets}]}}' ;; esac""",
                     "swiftc": 'while [ "$1" != -o ]; do shift; done; cp "$(basename "$2")" "$2"; chmod +x "$2"'}
            for name, text in tools.items():
                path = os.path.join(folder, name)
                with open(path, "w") as file:
                    file.write(f"#!/bin/sh\n{text}\n")
                os.chmod(path, 0o755)
            return subprocess.run([os.path.join(folder, "Tools/fuzz"), "--seconds", "1", *names], capture_output=True, text=True,
                                  env={**os.environ, "PATH": folder + ":" + os.environ["PATH"]})

    def test_a_run_beyond_what_it_was_given_passes_and_says_how_far(self):
        result = self.fuzz("Done 4711 runs in 2 second(s)")
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("Parser0: 4711 inputs", result.stdout)

    def test_a_run_that_tried_only_its_seed_or_nothing_fails(self):
        for said in ("Done 1 runs in 2 second(s)", "Done 0 runs in 2 second(s)", "INFO: nothing"):
            result = self.fuzz(said)
            self.assertEqual(result.returncode, 1, said)
            self.assertIn("nothing was tried", result.stderr)


    def test_of_several_each_is_told_and_one_that_fails_fails_all_wherever_it_stands(self):
        for place in range(5):
            said = ["Done 4711 runs in 2 second(s)"] * 5
            self.assertEqual(self.fuzz(*said).returncode, 0)
            said[place] = "nothing"
            result = self.fuzz(*said)
            self.assertEqual(result.returncode, 1, result)
            self.assertEqual(result.stdout.count("4711 inputs"), 4)
            self.assertIn(f"Parser{place} executed 0 inputs", result.stderr)


class WhatWasLeftOut(unittest.TestCase):
    def look(self, text, *options):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as file:
            file.write(text)
            file.flush()
            return subprocess.run([os.path.join(HERE, "left-out"), *options, file.name], capture_output=True, text=True)

    def test_a_skipped_test_or_suite_and_a_filter_that_matches_nothing_are_found(self):
        for line in ('➜ Test filmMeetsSound() skipped: "no Xvfb here"', "➜ Suite SpeakerLabTests skipped.", "✔ Test x() was cancelled after 0.1 seconds.",
                     "✔ Test run with 0 tests in 0 suites passed after 0.001 seconds.", "warning: No matching test cases were run"):
            result = self.look("✔ Test a() passed after 1 seconds.\n" + line + "\n")
            self.assertEqual(result.returncode, 1, line)
            self.assertIn(line, result.stdout)

    def test_a_fuzz_target_without_a_line_of_its_own_is_found(self):
        names = sorted(e.name for e in os.scandir(os.path.join(TOP, "Tests/Fuzz")) if e.is_dir())
        lines = [f"fuzz: {name}: 4711 inputs in 10 s, no crash" for name in names]
        self.assertEqual(self.look("\n".join(lines), "--fuzzed").returncode, 0)
        for missing in ("", f"fuzz: {names[3]}: 0 inputs in 10 s, no crash", f"fuzz: x{names[3]}: 5 inputs in 10 s"):
            result = self.look("\n".join(lines[:3] + [missing] + lines[4:]), "--fuzzed")
            self.assertEqual(result.returncode, 1, missing)
            self.assertEqual(result.stdout.splitlines()[1:], [f"  fuzz target {names[3]} tried nothing"])
        self.assertEqual(self.look("make: Nothing to be done for 'fuzz'.\n", "--fuzzed").returncode, 1)

    def test_a_whole_run_is_quiet(self):
        result = self.look("◇ Test run started.\n✔ Test garbageIsSkippedAndCounted() passed after 0.1 seconds.\n"
                           "✔ Test run with 10 tests in 2 suites passed after 3 seconds.\n")
        self.assertEqual((result.returncode, result.stdout), (0, ""))


class NumbersThatNobodyBounded(unittest.TestCase):
    def lint(self, code, allowed="", module="MediaFiles/Reading"):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "Tools"))
            os.makedirs(os.path.join(folder, "Sources", module))
            with open(os.path.join(folder, "Tools/unbounded.allowed"), "w") as file:
                file.write(allowed)
            with open(os.path.join(folder, "Sources", module, "X.swift"), "w") as file:
                file.write("import MediaCore\n" + code + "\n")
            return subprocess.run([os.path.join(HERE, "unbounded"), folder], capture_output=True, text=True)

    def test_conversions_that_trap_are_found_with_their_line(self):
        for code in ("let a = Int(b.rounded(.up))", "let a = Int64(\n    Double(b) * length)", "let a = Int(min(1e6, b))",
                     "let a = UInt32(b * 0.5)", "let a = MediaTime(seconds: b)", "let a = MediaTime(value: packet.pointee.pts, timescale: 1)",
                     "let a: Int = 2; let t = p.pointee.pts; b(MediaTime(value: t + 1, timescale: 1))", "let (s, e) = (3, p.pointee.dts); b(MediaTime(value: e, timescale: 1))",
                     "if end - entry.pointee.pos > limit { b() }", "let a = packet.pointee.dts &+ epoch"):
            result = self.lint(code)
            self.assertEqual(result.returncode, 1, code)
            self.assertIn("Sources/MediaFiles/Reading/X.swift:2: error:", result.stderr)

    def test_a_copy_of_a_raw_field_is_followed_to_the_end_of_its_block(self):
        code = "func a() {\n    %s\n    b {\n        c(MediaTime(value: t, timescale: 1))\n    }\n}\nfunc d(t: Int64) { c(MediaTime(value: t, timescale: 1)) }"
        for copy in ("let t = p.pointee.pts", "guard let t = p?.pointee.start_time else { return }", "var (s, t) = (f(1, 2), p.pointee.duration)"):
            result = self.lint(code % copy)
            self.assertIn("Sources/MediaFiles/Reading/X.swift:5: error: a media time of a copy of a raw field", result.stderr, copy)
            self.assertEqual(result.stderr.count("error:"), 1, copy)
        for copy in ("let t = p.pointee.pts.boundedTicks ?? 0", "let (t, s) = (0, p.pointee.duration)", "let u = p.pointee.pts"):
            self.assertEqual(self.lint(code % copy).stderr, "", copy)

    def test_a_raw_field_is_handed_only_to_functions_that_bound_it(self):
        for code in ("b.seek(to: packet.pointee.pos)", "let t = p.pointee.pts; b(t)", "let (s, t) = (1, p?.pointee.dts); b(s, at: t)",
                     "av_rescale_q(p.pointee.duration, a, b)", "a(.init(shift: c(1), position: p.pointee.pos))"):
            result = self.lint(code)
            self.assertIn("Sources/MediaFiles/Reading/X.swift:2: error: a raw field as an argument", result.stderr, code)
        for code in ("clock.filmTime(p.pointee.pts)", "b(p.pointee.pos.boundedBytes)", "let t = p.pointee.pts; clock.follow(clock.unwrapped(t))",
                     "func a() { let t = p.pointee.pts; c.length(t) }\nfunc d(t: Int64) { b(t) }", "let (s, t) = (p.pointee.pts, 1); b(t)",
                     "if p.pointee.pts == b(1) { c() }"):
            self.assertEqual(self.lint(code).stderr, "", code)

    def test_an_ignored_error_needs_its_reason(self):
        for code in ("let a = try? b()", "// ignored:\nlet a = try? b()", "// ignored: why\nlet c = 1\nlet a = try? b()", "// ignored: why\n\nlet a = try? b()",
                     'let a = try? b("// ignored: why")'):
            for module in ("MediaFiles/Reading", "TalkieApp/Session"):
                result = self.lint(code, module=module)
                self.assertIn("error: an ignored error", result.stderr, code)
                self.assertEqual(result.returncode, 1)
        for code in ("let a = try? b() // ignored: why", "// ignored: why\nlet a = try? b()", "// ignored: why\n// and more\nlet a = try? b()",
                     "// ignored: why\na = try? b()\nc = try? d()", "// try? b()", 'let a = "try? b()"', "let a = try b()"):
            self.assertEqual(self.lint(code, module="TalkieApp/Session").stderr, "", code)

    def test_bounded_ones_others_comments_and_other_modules_pass(self):
        for code in ("let a = Int(clamping: b.rounded(), in: 0...9)", "let a = Int64(bounded: b * 0.5, in: 0...9)", "let a = Int(b)",
                     "let a = Int(\n    clamping: b.rounded(.up), in: 0...9)", "// Int(b.rounded())", 'let a = "Int(1.5)"',
                     "let a = MediaTime(boundedSeconds: b)", "if packet.pointee.pts != cff_nopts_value { b() }",
                     "let a = MediaTime(value: 3, timescale: 1)", "let a = entry.pointee.pos.boundedBytes"):
            self.assertEqual(self.lint(code).returncode, 0, code)
        self.assertEqual(self.lint("let a = Int(b.rounded())", module="TalkieApp/Session").returncode, 0)

    def test_a_reviewed_line_passes_and_its_name_goes_with_it(self):
        entry = "# Why.\nSources/MediaFiles/Reading/X.swift: let a = Int(b.rounded())\n"
        self.assertEqual(self.lint("    let a = Int(b.rounded())", entry).returncode, 0)
        result = self.lint("let a = 1", entry)
        self.assertEqual(result.returncode, 1)
        self.assertIn("no such line any more", result.stderr)

    def test_the_project_itself_passes(self):
        self.assertEqual(subprocess.run([os.path.join(HERE, "unbounded")], capture_output=True, text=True).stderr, "")


if __name__ == "__main__":
    unittest.main()
