"""A synthesised voice and what the lips do meanwhile, from the same call of libespeak-ng."""
import ctypes as c
from typing import NamedTuple

import numpy as np

# espeak-ng/speak_lib.h
_RETRIEVAL, _PHONEME_EVENTS, _UTF8, _RATE, _PITCH, _PHONEME = 1, 1, 1, 1, 3, 7


class _Event(c.Structure):
    _fields_ = [("type", c.c_int), ("identifier", c.c_uint), ("text_position", c.c_int), ("length", c.c_int),
                ("audio_position", c.c_int), ("sample", c.c_int), ("user", c.c_void_p), ("phoneme", c.c_char * 8)]


_Callback = c.CFUNCTYPE(c.c_int, c.POINTER(c.c_short), c.c_int, c.POINTER(_Event))


class Lips(NamedTuple):
    """A mouth: how far open and how wide, each 0...1."""
    opening: float
    width: float


_CLOSED, _REST = Lips(0.0, 0.55), Lips(0.0, 0.5)
# By the first letters of the phoneme's name, longest first.
_SHAPES = {
    "m": _CLOSED, "b": _CLOSED, "p": _CLOSED, "f": Lips(0.1, 0.6), "v": Lips(0.1, 0.6), "w": Lips(0.25, 0.1),
    "T": Lips(0.2, 0.6), "D": Lips(0.2, 0.6), "S": Lips(0.25, 0.2), "Z": Lips(0.25, 0.2), "tS": Lips(0.25, 0.2),
    "dZ": Lips(0.25, 0.2), "r": Lips(0.3, 0.3), "a": Lips(0.9, 0.7), "aI": Lips(1.0, 0.75), "aU": Lips(1.0, 0.5),
    "A": Lips(1.0, 0.55), "0": Lips(0.85, 0.35), "O": Lips(0.75, 0.2), "o": Lips(0.7, 0.25), "V": Lips(0.75, 0.55),
    "E": Lips(0.6, 0.8), "e": Lips(0.55, 0.85), "i": Lips(0.4, 1.0), "I": Lips(0.4, 0.9), "u": Lips(0.35, 0.05),
    "U": Lips(0.4, 0.1), "3": Lips(0.5, 0.4), "@": Lips(0.45, 0.5),
}
_OTHER = Lips(0.25, 0.6)
# libespeak-ng names a phoneme some 20 ms after its sound has begun (where lips and loudness correlate best).
_EVENTS_LATE = 0.02


def _lips_for(phoneme: str) -> Lips:
    name = phoneme.lstrip("',%=_|")
    if not name:
        return _REST
    return next((_SHAPES[name[:n]] for n in (2, 1) if name[:n] in _SHAPES), _OTHER)


class Speech(NamedTuple):
    sound: np.ndarray  # mono, -1...1
    rate: int
    lips: list  # (second at which it begins, Lips)


def speak(text: str, voice: str = "en-us", words_per_minute: int = 145, pitch: int = 45) -> Speech:
    library = c.CDLL("libespeak-ng.so.1")
    rate = library.espeak_Initialize(_RETRIEVAL, 200, None, _PHONEME_EVENTS)
    if rate <= 0:
        raise SystemExit("clips: libespeak-ng did not start")
    parts, lips = [], []

    def receive(samples, count, events):
        if count:
            parts.append(np.ctypeslib.as_array(samples, (count,)).copy())
        at = 0
        while events[at].type:
            if events[at].type == _PHONEME:
                name = events[at].phoneme.decode("utf-8", "replace")
                lips.append((events[at].audio_position / 1000, _lips_for(name)))
            at += 1
        return 0

    callback = _Callback(receive)
    library.espeak_SetSynthCallback(callback)
    library.espeak_SetVoiceByName(voice.encode())
    library.espeak_SetParameter(_RATE, words_per_minute, 0)
    library.espeak_SetParameter(_PITCH, pitch, 0)
    data = text.encode() + b"\0"
    library.espeak_Synth(data, c.c_size_t(len(data)), 0, 1, 0, _UTF8, None, None)
    library.espeak_Synchronize()
    return Speech(np.concatenate(parts) / 32768, rate, lips)


def loudness(sound: np.ndarray, rate: int, times: np.ndarray, window: float = 0.03) -> np.ndarray:
    """How loud it is around each moment, 0...1 of the loud passages."""
    power = np.concatenate([[0.0], np.cumsum(sound**2)])
    first = np.clip(((times - window / 2) * rate).astype(int), 0, len(sound))
    last = np.clip(((times + window / 2) * rate).astype(int), 0, len(sound))
    level = np.sqrt((power[last] - power[first]) / np.maximum(last - first, 1))
    return np.clip(level / max(np.percentile(level, 90), 1e-9), 0, 1)


def mouth(speech: Speech, times: np.ndarray) -> list:
    """The lips at each moment: the phoneme's shape, as open as the voice is loud, without jumps."""
    fine = np.arange(0, times[-1] + 0.1, 0.005)
    starts = np.array([at - _EVENTS_LATE for at, _ in speech.lips])
    shapes = [_REST] + [shape for _, shape in speech.lips]
    index = np.searchsorted(starts, fine, side="right")
    loud = loudness(speech.sound, speech.rate, fine)
    opening = np.array([shapes[i].opening for i in index]) * np.minimum(1, 2 * loud) ** 0.5
    width = np.array([shapes[i].width for i in index])
    # Muscles take some tens of milliseconds, before as well as after.
    bell = np.exp(-0.5 * (np.arange(-16, 17) * 0.005 / 0.022) ** 2)
    opening, width = (np.convolve(a, bell / bell.sum(), mode="same") for a in (opening, width))
    return [Lips(float(np.interp(t, fine, opening)), float(np.interp(t, fine, width))) for t in times]
