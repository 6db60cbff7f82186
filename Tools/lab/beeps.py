"""Chirps in a recording, and when each was heard."""
import json
import sys
import time
import wave

import numpy as np

from settings import METER

sys.path.insert(0, METER)
import analysis
import chirps


def make(path: str, seconds: float, every: float, rate: int, channels: int):
    """A track of chirps, the first at sample 0, and nothing between."""
    sound = np.zeros(round(seconds * rate))
    for number in range(int(seconds / every) + 1):
        wave_form, at = chirps.LEVEL * chirps.waveform(number % chirps.KINDS, rate), round(number * every * rate)
        if at + len(wave_form) <= len(sound):
            sound[at:at + len(wave_form)] += wave_form
    with wave.open(path, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(np.repeat((sound * 32767).astype("<i2")[:, None], channels, axis=1).tobytes())


def find(path: str) -> list:
    """Each chirp: kind (its number mod 8 in the track), frame, CLOCK_MONOTONIC ns, unix seconds, likeness."""
    sound, rate = analysis.read_wav(path)
    with open(path + ".json") as file:
        clock = analysis.SoundClock(json.load(file))
    # Good while nobody has stepped the wall clock since the recording.
    unix = time.time_ns() - time.monotonic_ns()
    found = []
    for chirp in chirps.find(sound, rate):
        heard = int(float(clock.heard(chirp.frame)) * 1e9)
        found.append({"kind": chirp.kind, "frame": round(chirp.frame, 2), "monotonic_ns": heard,
                      "unix_s": (heard + unix) / 1e9, "likeness": round(chirp.likeness, 3)})
    return found
