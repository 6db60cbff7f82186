"""A player's own record of coded clips beside what a recorder heard: when was each flash seen, and each chirp heard?

Import own_lab first. Offsets are sound minus picture in milliseconds, positive = sound late.
"""
import bisect
import json
import os
import wave
from fractions import Fraction

import numpy as np

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
        self.flashes, self.lost, self.restored, self.ended = [], 0, 0, False
        # Pictures: instants of those shown, since `forget`; and how many there ever were.
        self.pictures, self.seen, self.dropped = [], 0, 0
        # When the first film began to pass.
        self.began = None

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
        elif event == "anchor":
            if self.began is None and row.get("rate", 0) > 0:
                self.began = row["anchor_ns"] / 1e9
        elif event == "end":
            self.ended = True

    def _see(self, pts, at):
        self.seen += 1
        self.pictures.append(at)
        place = bisect.bisect_right(self._films, pts + 0.002, key=lambda film: film[0]) - 1
        origin, clip = self._films[max(place, 0)] if self._films else (0.0, None)
        if clip is None:
            return
        frame = (pts - origin - clip.first_picture) * clip.fps
        number = clip.numbers.get(round(frame))
        if number is not None and abs(frame - round(frame)) < 0.3:
            self.flashes.append((at, number, clip))

    def offsets(self, recording: str) -> list:
        """(when heard, offset, flash) of each chirp of a recording whose flash was seen; the clip's own offset is taken off."""
        found = []
        for chirp in beeps.find(recording):
            heard = chirp["monotonic_ns"] / 1e9
            near = [(abs(heard - at), at, clip) for at, number, clip in self.flashes
                    if number % chirps.KINDS == chirp["kind"] and abs(heard - at) < FARTHEST]
            if near:
                _, at, clip = min(near, key=lambda each: each[0])
                found.append((heard, (heard - at) * 1000 - clip.own_offset_ms, at))
        return found

    def forget(self, before: float):
        """Drops what was seen before this instant."""
        self.pictures = [at for at in self.pictures if at >= before]
        self.flashes = [flash for flash in self.flashes if flash[0] >= before]


# Between two looks at a sink's clock, frames and time agree to this (seconds); a machine that stood still breaks it.
BREAK = 0.2


def whole_parts(recording: str) -> list:
    """The recording in parts over whose time frames and clock go together: itself, or files beside it."""
    with open(recording + ".json") as file:
        side = json.load(file)
    rate, anchors = side["rate"], side["anchors"]
    parts = [[]]
    for anchor in anchors:
        if parts[-1]:
            last = parts[-1][-1]
            passed = (anchor["monotonic_ns"] - last["monotonic_ns"]) / 1e9
            if abs(passed - (anchor["frame"] - last["frame"]) / rate) > BREAK:
                parts.append([])
        parts[-1].append(anchor)
    # What lies between two parts belongs to no known time, and too few looks make no clock.
    parts = [part for part in parts if len(part) >= 10]
    if len(parts) < 2 and len(parts[0] if parts else []) >= len(anchors) - 1:
        return [recording]
    paths = []
    with wave.open(recording) as whole:
        for number, part in enumerate(parts):
            begin, end = part[0]["frame"], part[-1]["frame"]
            paths.append(f"{recording[:-len('.wav')]}-part{number}.wav")
            whole.setpos(min(begin, whole.getnframes()))
            with wave.open(paths[-1], "wb") as out:
                out.setparams(whole.getparams())
                out.writeframes(whole.readframes(end - begin))
            with open(paths[-1] + ".json", "w") as out:
                json.dump({**side, "anchors": [{**anchor, "frame": anchor["frame"] - begin} for anchor in part]}, out)
    return paths


class Heard:
    """A recording's silences, on CLOCK_MONOTONIC: where even the pilot tone was missing."""

    def __init__(self, recording: str):
        sound, rate = analysis.read_wav(recording)
        loud = np.flatnonzero(np.abs(sound) > 0.25 * chirps.PILOT_LEVEL)
        self.first = self.last = None
        self.holes = []
        if not len(loud):
            return
        with open(recording + ".json") as file:
            clock = analysis.SoundClock(json.load(file))
        self.first, self.last = (float(clock.heard(at)) for at in (loud[0], loud[-1]))
        begins = ((float(clock.heard(loud[0] + at)), seconds) for at, seconds in chirps.gaps(sound[loud[0]:loud[-1] + 1], rate))
        self.holes = [(at, at + seconds) for at, seconds in begins]
