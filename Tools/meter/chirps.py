"""The sound's code: short chirps of eight kinds over a quiet pilot tone.

Event number mod 8 chooses the kind, so a chirp tells which flash it belongs to even when it is seconds late. They
are found by correlation with the known waveform, which gain, codecs and pre-echo hardly move. The pilot runs
through the whole film: where it is missing, sound is missing.
"""
from typing import NamedTuple

import numpy as np

# (from, to) in hertz: four bands, each swept up and down.
SWEEPS = tuple(s for low in (600, 1500, 2400, 3300) for s in ((low, low + 1500), (low + 1500, low)))
KINDS = len(SWEEPS)
LENGTH = 0.05  # seconds
FADE = 0.003
LEVEL = 0.5
PILOT_HERTZ, PILOT_LEVEL = 300.0, 0.01
# Two chirps are never closer than this (seconds); the weaker one is an echo or a side lobe.
APART = 0.3
# Share of the sound's local energy that must have the waveform's shape.
LEAST_LIKENESS = 0.4


class Chirp(NamedTuple):
    frame: float  # where in the recording it begins
    kind: int
    likeness: float  # 0...1


def waveform(kind: int, rate: int) -> np.ndarray:
    t = np.arange(round(LENGTH * rate)) / rate
    start, end = SWEEPS[kind]
    wave = np.sin(2 * np.pi * (start * t + (end - start) * t * t / (2 * LENGTH)))
    fade = 0.5 - 0.5 * np.cos(np.pi * np.arange(int(FADE * rate)) / int(FADE * rate))
    wave[:len(fade)] *= fade
    wave[-len(fade):] *= fade[::-1]
    return wave


def film_sound(length: int, rate: int, starts) -> np.ndarray:
    """Pilot and chirps: `starts` are the sample numbers (may be fractional) at which chirp 0, 1, 2... begins."""
    sound = PILOT_LEVEL * np.sin(2 * np.pi * PILOT_HERTZ * np.arange(length) / rate)
    for number, start in enumerate(starts):
        wave, first = LEVEL * waveform(number % KINDS, rate), round(start)
        if 0 <= first <= length - len(wave):
            sound[first:first + len(wave)] += wave
    return sound


def _correlate(block: np.ndarray, rate: int, size: int, templates) -> tuple:
    """Likeness-free correlation of one block: best envelope, its kind, and the energy under the template."""
    taps = round(LENGTH * rate)
    spectrum = np.fft.rfft(block, size)
    hertz = np.fft.rfftfreq(size, 1 / rate)
    spectrum[(hertz < 400) | (hertz > 6000)] = 0
    filtered = np.fft.irfft(spectrum, size)[:len(block)]
    power = np.concatenate([[0.0], np.cumsum(filtered**2)])
    energy = np.sqrt(np.maximum(power[taps:] - power[:-taps], 1e-12))
    best, kinds = np.zeros(len(energy)), np.zeros(len(energy), dtype=np.int8)
    for kind, template in enumerate(templates):
        # The analytic signal's magnitude: no matter the phase or the polarity.
        one_sided = np.zeros(size, dtype=complex)
        one_sided[:len(spectrum)] = 2 * spectrum * template
        envelope = np.abs(np.fft.ifft(one_sided))[:len(energy)]
        better = envelope > best
        best[better], kinds[better] = envelope[better], kind
    return best, kinds, energy


def find(sound: np.ndarray, rate: int) -> list:
    """Every chirp in the recording (mono, -1...1), in order."""
    taps = round(LENGTH * rate)
    if len(sound) < 2 * taps or not sound.any():
        return []
    size = 1 << 16  # blocks that stay in the processor's cache
    step = size - taps
    templates = []
    for kind in range(KINDS):
        wave = waveform(kind, rate)
        templates.append(np.conj(np.fft.rfft(wave / np.sqrt(wave @ wave), size)))
    parts = [_correlate(sound[at:at + size], rate, size, templates) for at in range(0, len(sound) - taps, step)]
    best, kinds, energy = (np.concatenate([p[i][:step] for p in parts]) for i in range(3))
    likeness = best / energy
    strength = np.where((likeness > LEAST_LIKENESS) & (best > 0.15 * best.max()), best, 0)
    chirps, apart = [], int(APART * rate)
    for first in _peaks(strength, apart):
        left, middle, right = best[max(first - 1, 0)], best[first], best[min(first + 1, len(best) - 1)]
        bend = left - 2 * middle + right
        fraction = 0.5 * (left - right) / bend if bend else 0.0
        chirps.append(Chirp(first + float(fraction), int(kinds[first]), float(min(1, likeness[first]))))
    return chirps


def _peaks(strength: np.ndarray, apart: int) -> list:
    """Places of the local maxima that nothing stronger stands near."""
    found = []
    candidates = np.flatnonzero(strength)
    for at in candidates[np.argsort(strength[candidates])[::-1]]:
        if all(abs(at - other) >= apart for other in found):
            found.append(int(at))
    return sorted(found)


def gaps(sound: np.ndarray, rate: int, block: float = 0.005) -> list:
    """Where even the pilot is missing: (first frame, seconds) of each hole of at least two blocks."""
    size = int(block * rate)
    level = np.sqrt((sound[:len(sound) // size * size].reshape(-1, size)**2).mean(axis=1))
    heard = np.flatnonzero(level > 0.15 * PILOT_LEVEL)
    holes = np.flatnonzero(np.diff(heard) > 2)
    return [(int((heard[i] + 1) * size), float((heard[i + 1] - heard[i] - 1) * block)) for i in holes]
