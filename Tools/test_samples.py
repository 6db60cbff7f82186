import importlib.machinery
import importlib.util
import unittest
from pathlib import Path

loader = importlib.machinery.SourceFileLoader("samples", str(Path(__file__).with_name("samples")))
samples = importlib.util.module_from_spec(importlib.util.spec_from_loader("samples", loader))
loader.exec_module(samples)

PAGE = Path("docs/guides/two-things.md")
TEXT = """Words.

```swift
import Talkie
let one = 1
```

<!-- sample: Whole
import Dispatch
let hidden = 2
-->
```swift
let shown = hidden
```

<!-- sample: Whole -->
```swift
let last = shown
```

```sh
not Swift
```
"""


class Samples(unittest.TestCase):
    def setUp(self):
        self.programs = samples.samples(TEXT, PAGE)

    def test_each_block_is_a_program_of_its_own_unless_it_is_named(self):
        self.assertEqual(list(self.programs), ["TwoThings1", "Whole"])

    def test_blocks_of_one_name_follow_one_another_behind_what_is_hidden(self):
        lines = samples.source(self.programs["Whole"], PAGE).split("\n")
        code = [line for line in lines if line.startswith("let")]
        self.assertEqual(code, ["let hidden = 2", "let shown = hidden", "let last = shown"])
        self.assertEqual(lines[0], "import Dispatch")

    def test_the_compiler_names_the_line_of_the_page(self):
        lines = samples.source(self.programs["TwoThings1"], PAGE).split("\n")
        at = lines.index("let one = 1")
        place = max(n for n in range(at) if lines[n].startswith("#sourceLocation"))
        first = int(lines[place].split("line: ")[1].rstrip(")"))
        self.assertEqual(TEXT.split("\n")[first + at - place - 2], "let one = 1")


if __name__ == "__main__":
    unittest.main()
