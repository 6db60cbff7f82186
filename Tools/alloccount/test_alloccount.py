import json
import os
import subprocess
import tempfile
import unittest

import counting


class Control(unittest.TestCase):
    def count(self, mode):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "report.json")
            environment = {k: v for k, v in os.environ.items() if not k.startswith("ALLOCCOUNT_")}
            environment.update(LD_PRELOAD=counting.library(), ALLOCCOUNT_OUT=out, SWIFT_BACKTRACE="enable=no")
            subprocess.run([counting.control(), mode], env=environment, check=True, timeout=30)
            with open(out) as file:
                return json.load(file)

    def test_one_object_a_frame_is_counted_once_a_frame_as_ours(self):
        report = self.count("object")
        result = counting.summarize(report, 1)
        self.assertEqual(result["ours"], 200)
        self.assertEqual(result["threads"]["control"]["ours"], 200)
        site, = counting.named_sites(report, counting.control(), 5)
        self.assertEqual(site["count"], 200)
        self.assertTrue(any("frame" in frame for frame in site["frames"]), site)

    def test_what_the_c_library_allocates_for_us_is_ours(self):
        self.assertEqual(counting.summarize(self.count("libc"), 1)["ours"], 200)

    def test_frames_without_allocations_count_nothing(self):
        result = counting.summarize(self.count("none"), 1)
        self.assertEqual((result["ours"], result["ffmpeg"], result["others"]), (0, 0, 0))


class Groups(unittest.TestCase):
    def test_libraries_fall_into_ours_ffmpeg_and_others(self):
        # FFmpeg 5.1, 7.1 and 9; SDL2 itself, and SDL3 under sdl2-compat.
        for codecs, screen in (("libavcodec.so.59", "libSDL2-2.0.so.0"), ("libavcodec.so.61", "libSDL2-2.0.so.0"), ("libavcodec.so.63", "libSDL3.so.0")):
            report = {"threads": [{"name": "a", "objects": [
                {"object": codecs, "ours": False, "count": 3, "bytes": 1},
                {"object": screen, "ours": False, "count": 2, "bytes": 1},
                {"object": "libswiftCore.so", "ours": True, "count": 1, "bytes": 1}]}], "sites": []}
            result = counting.summarize(report, 1, fps=2)
            self.assertEqual((result["ours"], result["ffmpeg"], result["others"]), (1, 3, 2), codecs)
            self.assertEqual(result["ours_per_frame"], 0.5)


if __name__ == "__main__":
    unittest.main()
