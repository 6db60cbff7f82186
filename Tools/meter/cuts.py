"""Cuts a clip into items that lie end to end: what a player of queues joins again must look and sound like the clip.

Every cut lies on a picture and on a sample; the items take different codecs in turn. The clip's sound must begin with its
picture and be as long.
"""
import os
import subprocess
from fractions import Fraction

import clips

CODECS = [
    ["-c:v", "libx264", "-preset", "veryfast", "-crf", "14", "-bf", "2", "-c:a", "alac"],
    ["-c:v", "mpeg4", "-q:v", "2", "-c:a", "flac", "-strict", "-2"],
    ["-c:v", "libx264", "-preset", "veryfast", "-crf", "14", "-c:a", "aac", "-b:a", "256k"],
]


def places(frames: int, fps: Fraction, rate: int, count: int) -> list:
    """The pictures at which `count` items begin, and the end: as even as whole samples allow."""
    unit = (rate / fps).denominator
    middle = [round(Fraction(frames * n, count) / unit) * unit for n in range(1, count)]
    return [0, *middle, frames]


def cut(clip: str, count: int, folder: str) -> list:
    """Writes the items and returns their paths."""
    side = clips.load(clip)
    fps, rate = Fraction(side["fps"]), side["rate"]
    os.makedirs(folder, exist_ok=True)
    ends = places(side["frames"], fps, rate, count)
    paths = []
    for number, (first, last) in enumerate(zip(ends, ends[1:])):
        paths.append(os.path.join(folder, f"item{number + 1:02}.mp4"))
        begin, end = (int(n * rate / fps) for n in (first, last))
        # A movie timescale of whole samples, or the lists of edits would be rounded to milliseconds.
        subprocess.run(
            ["ffmpeg", "-nostdin", "-v", "error", "-y", "-i", clip, "-sn",
             "-vf", f"trim=start_frame={first}:end_frame={last},setpts=PTS-STARTPTS",
             "-af", f"atrim=start_sample={begin}:end_sample={end},asetpts=PTS-STARTPTS,apad=whole_len={end - begin}",
             *CODECS[number % len(CODECS)], "-movie_timescale", str(rate), paths[-1]], check=True)
    return paths
