"""A player's own record of coded clips beside what a recorder heard: when was each flash seen, and each chirp heard?

Import own_lab first. Offsets are sound minus picture in milliseconds, positive = sound late.
"""
import bisect
import json
import os
from fractions import Fraction

import analysis
import beeps
import chirps

# A chirp's kind comes again after eight events; one that is later than this belongs to no flash.
FARTHEST = 1.5


class Clip:
    """What a clip says about itself."""

    def __init__(self, path: str):
        with open(path + ".json") as file:
            side = json.load(file)
        self.fps = float(Fraction(side["fps"]))
        self.numbers = {frame: number for number, frame in enumerate(side["events"])}
        # A container may begin with its sound.
        self.first_picture = side["verified"]["first_picture_s"] or 0.0
        self.own_offset_ms = side["verified"]["offset_ms"].get("median", 0.0)


class Record:
    """The file that `talkie play --timeline` writes; it may be read while it grows."""

    def __init__(self, path: str, clips):
        self.path, self.clips = path, {os.path.realpath(p): Clip(p) for p in clips}
        self._at, self._rest, self._films = 0, "", []
        # (seen at, number, clip) of each flash; seconds of CLOCK_MONOTONIC.
        self.flashes, self.seen, self.dropped, self.lost, self.restored, self.ended = [], 0, 0, 0, 0, False

    def read(self):
        """What was written since the last call. A line that is not whole yet waits for the next one."""
        try:
            with open(self.path) as file:
                file.seek(self._at)
                text = self._rest + file.read()
                self._at = file.tell()
        except FileNotFoundError:
            return
        *lines, self._rest = text.split("\n")
        rows = [json.loads(line) for line in lines if line]
        for row in rows:
            self._note(row)
        # A film's beginning is told some milliseconds beside its first pictures.
        for row in rows:
            if row["event"] == "frame":
                self._see(row["pts"], row["presented_ns"] / 1e9)

    def _note(self, row):
        event = row["event"]
        if event == "film":
            self._films.append((row.get("origin", 0.0), self.clips.get(os.path.realpath(row["name"]))))
        elif event == "loop" and self._films:
            self._films.append((row["origin"], self._films[-1][1]))
        elif event == "drop":
            self.dropped += row["count"]
        elif event == "route":
            self.lost += row["state"] == "lost"
            self.restored += row["state"] == "restored"
        elif event == "end":
            self.ended = True

    def _see(self, pts, at):
        self.seen += 1
        place = bisect.bisect_right(self._films, pts + 0.002, key=lambda film: film[0]) - 1
        origin, clip = self._films[max(place, 0)] if self._films else (0.0, None)
        if clip is None:
            return
        frame = (pts - origin - clip.first_picture) * clip.fps
        number = clip.numbers.get(round(frame))
        if number is not None and abs(frame - round(frame)) < 0.3:
            self.flashes.append((at, number, clip))

    def offsets(self, recording: str) -> list:
        """The offset at each chirp of a recording whose flash was seen; the clip's own is taken off."""
        found = []
        for chirp in beeps.find(recording):
            heard = chirp["monotonic_ns"] / 1e9
            near = [(abs(heard - at), at, clip) for at, number, clip in self.flashes
                    if number % chirps.KINDS == chirp["kind"] and abs(heard - at) < FARTHEST]
            if near:
                _, at, clip = min(near, key=lambda each: each[0])
                found.append((heard - at) * 1000 - clip.own_offset_ms)
        return found

    def forget(self, before: float):
        """Drops the flashes seen before this instant."""
        self.flashes = [flash for flash in self.flashes if flash[0] >= before]


def longest_hole(recording: str) -> float:
    """Seconds for which even the pilot tone was missing."""
    sound, rate = analysis.read_wav(recording)
    return max((seconds for _, seconds in chirps.gaps(sound, rate)), default=0.0)
