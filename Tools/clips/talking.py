"""The talking clip: a clapper, then a face that speaks; lips and voice come from the same phonemes."""
import os
import subprocess
import tempfile
import wave
from fractions import Fraction

import numpy as np

import voice
from drawing import Canvas

WIDTH, HEIGHT, FPS, RATE = 1280, 720, Fraction(24000, 1001), 48000
# The stick meets the board with this frame, and the clap begins with it.
CLAP_FRAME = 24
# The first word comes after the clapper has gone.
SPEECH_AT = 2.2
TEXT = ("Hello! I am Talkie, and these are my lips. "
        "My mama and papa blew a big, blue bubble above the map. "
        "When the picture and the voice belong together, you notice nothing at all. "
        "Pop, pop, pop: watch my lips meet, and hear them part. "
        "One. Two. Three. Goodbye!")

_SKIN, _SHADE, _HAIR = (236, 188, 152), (214, 160, 124), (72, 48, 40)
_WHITE, _BLACK, _IRIS = (250, 248, 244), (24, 22, 26), (70, 110, 150)
_LIP, _THROAT, _TONGUE = (186, 78, 78), (60, 16, 22), (200, 96, 100)
_FACE_X, _FACE_Y, _MOUTH_Y = 640, 350, 490


def _backdrop() -> Canvas:
    """All that does not move."""
    canvas = Canvas(WIDTH, HEIGHT)
    canvas.gradient((58, 84, 112), (26, 34, 52))
    canvas.ellipse(_FACE_X, 800, 330, 190, (58, 118, 110))  # shoulders
    canvas.bar(_FACE_X, 620, 120, 160, 0, _SHADE, 30)
    canvas.ellipse(_FACE_X, _FACE_Y - 40, 246, 290, _HAIR)
    for side in (-1, 1):
        canvas.ellipse(_FACE_X + side * 222, _FACE_Y + 10, 34, 54, _SHADE)
    canvas.ellipse(_FACE_X, _FACE_Y, 220, 280, _SKIN)
    canvas.ellipse(_FACE_X, _FACE_Y - 60, 190, 190, _SKIN)
    canvas.bar(_FACE_X, 392, 26, 70, 0, _SHADE, 13)
    canvas.ellipse(_FACE_X, 420, 30, 16, _SHADE)
    for side in (-1, 1):
        canvas.ellipse(_FACE_X + side * 140, 440, 44, 30, (240, 168, 144))
    return canvas


def _eyes(canvas, lid: float, brows: float):
    for side in (-1, 1):
        x, y = _FACE_X + side * 92, 300
        canvas.ellipse(x, y, 46, 32, _WHITE)
        canvas.ellipse(x - side * 2, y + 2, 20, 20, _IRIS)
        canvas.ellipse(x - side * 2, y + 2, 9, 9, _BLACK)
        canvas.ellipse(x + 5, y - 5, 5, 5, _WHITE)
        if lid > 0.02:
            canvas.ellipse(x, y, 48, 34, _SHADE, above=y - 34 + 68 * lid)
        canvas.bar(x, y - 58 - 12 * brows, 100, 13, side * -0.12, _HAIR, 6)


def _lips(canvas, lips: voice.Lips):
    half = 56 + 46 * lips.width
    gap = 64 * lips.opening
    x, y = _FACE_X, _MOUTH_Y + 0.35 * gap
    fullness = 13 + 4 * (1 - lips.width)
    canvas.ellipse(x, y, half + 8, gap + fullness, _LIP)
    if gap > 1.5:
        canvas.ellipse(x, y, half - 4, gap, _THROAT)
        if gap > 12:
            canvas.ellipse(x, y, half - 12, gap - 2, _WHITE, above=y - gap * 0.55)
            canvas.ellipse(x, y + gap * 0.95, half * 0.55, gap * 0.55, _TONGUE, above=y + gap * 0.86)
    else:
        canvas.bar(x, y, 2 * half - 8, 4, 0, (140, 52, 56), 2)


def _clapper(canvas, angle: float, drop: float):
    """Board and stick; `angle` of the stick in radians, `drop` in pixels as it leaves downwards."""
    x, y = 640, 470 + drop
    canvas.bar(x, y, 560, 300, 0, (28, 28, 32), 10)
    for row in (-60, 0, 60):
        canvas.bar(x, y + row + 30, 500, 4, 0, (190, 190, 190))
    canvas.bar(x, y - 128, 560, 46, 0, (28, 28, 32), 4, stripes=(_WHITE, 46))
    hinge_x, hinge_y, half = x - 280, y - 176, 280
    canvas.bar(hinge_x + half * np.cos(angle), hinge_y - half * np.sin(angle), 2 * half, 46, angle, (28, 28, 32), 4,
               stripes=(_WHITE, 46))
    canvas.ellipse(hinge_x + 14, y - 150, 10, 10, (150, 150, 156))


def _clapper_at(frame: int):
    """(angle, drop) or nothing once it has gone."""
    seconds = float((frame - CLAP_FRAME) / FPS)
    if seconds < 0:
        # Held open, then closed within five frames, faster and faster.
        share = min(1.0, (CLAP_FRAME - frame) / 5)
        return 0.55 * share**0.5, 0.0
    fall = max(0.0, seconds - 0.45)
    return (0.0, 2600 * fall * fall) if fall < 0.5 else None


def _clap() -> np.ndarray:
    """Wood on wood: a burst of noise and a short knock, at its loudest within a millisecond."""
    t = np.arange(int(0.12 * RATE)) / RATE
    noise = np.random.default_rng(7).normal(0, 1, len(t))
    sound = noise * np.exp(-t / 0.008) + 0.8 * np.sin(2 * np.pi * 900 * t) * np.exp(-t / 0.02)
    return 0.75 * sound / np.abs(sound).max()


def _resample(sound, rate):
    """By band-limited interpolation over the whole signal: it is short, and no delay creeps in."""
    count = round(len(sound) * RATE / rate)
    spectrum = np.fft.rfft(sound)
    wide = np.zeros(count // 2 + 1, complex)
    wide[:len(spectrum)] = spectrum[:len(wide)]
    return np.fft.irfft(wide, count) * count / len(sound)


def make(out: str):
    speech = voice.speak(TEXT)
    seconds = SPEECH_AT + len(speech.sound) / speech.rate + 0.8
    frames = int(seconds * FPS)
    sound = np.zeros(round(frames / FPS * RATE))
    spoken = _resample(speech.sound, speech.rate)
    first = round(SPEECH_AT * RATE)
    sound[first:first + len(spoken)] += 0.8 * spoken / np.abs(spoken).max()
    clap_at, clap = round(CLAP_FRAME / FPS * RATE), _clap()
    sound[clap_at:clap_at + len(clap)] += clap
    # A frame is on the screen from its own instant on, so the lips are those of its middle.
    times = np.array([float((n + 0.5) / FPS) for n in range(frames)]) - SPEECH_AT
    lips = voice.mouth(speech, np.maximum(times, 0))
    with tempfile.TemporaryDirectory(prefix="clips-") as folder:
        path = os.path.join(folder, "sound.wav")
        with wave.open(path, "wb") as file:
            file.setnchannels(2)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes(np.repeat((sound * 32767).astype("<i2")[:, None], 2, axis=1).tobytes())
        encoder = subprocess.Popen(
            ["ffmpeg", "-y", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{WIDTH}x{HEIGHT}", "-r", str(FPS),
             "-i", "-", "-i", path, "-vf", "scale=out_color_matrix=bt709:out_range=tv,format=yuv420p,"
             "setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709",
             "-c:v", "libx264", "-preset", "slow", "-crf", "21", "-g", "48", "-c:a", "aac", "-b:a", "128k",
             "-metadata:s:a:0", "language=eng", "-movflags", "+faststart", "-fflags", "+bitexact", out],
            stdin=subprocess.PIPE)
        still = _backdrop()
        for number in range(frames):
            canvas = still.copy()
            second = float(number / FPS)
            blink = min(abs(second % 3.3 - 1.6), 0.12) / 0.12
            _eyes(canvas, 1 - blink, lips[number].opening * 0.6)
            _lips(canvas, lips[number] if times[number] >= 0 else voice.Lips(0.0, 0.5))
            clapper = _clapper_at(number)
            if clapper:
                _clapper(canvas, *clapper)
            encoder.stdin.write(canvas.bytes())
        encoder.stdin.close()
        if encoder.wait():
            raise SystemExit(f"clips: ffmpeg could not make {out}")
    return seconds
