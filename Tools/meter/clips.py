"""Flash-and-beep clips: every frame says its number, every second a flash and a chirp at the same instant.

Containers that can hold subtitles have a sparse track of them, as films do: the strip, the flash and the sound are not affected.

Beside CLIP stands CLIP.json: what was asked (Recipe), which frames flash, and what decoding the file showed
(`verified`), because encoders and containers move sound by some milliseconds. The meter subtracts that.
"""
import json
import os
import subprocess
import tempfile
import wave
from dataclasses import asdict, dataclass
from fractions import Fraction

import numpy as np

import chirps
import strip
from statistics_of import summary

VIDEO = {
    "h264": ["libx264", "-preset", "veryfast", "-bf", "3", "-refs", "3", "-profile:v", "high"],
    "hevc": ["libx265", "-preset", "ultrafast", "-x265-params", "log-level=error", "-tag:v", "hvc1"],
    "vp8": ["libvpx", "-deadline", "realtime", "-cpu-used", "8"],
    "vp9": ["libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-row-mt", "1"],
    "av1": ["libsvtav1", "-preset", "12", "-crf", "40"],
    "mpeg2": ["mpeg2video"],
    "mpeg4": ["mpeg4"],
    "prores": ["prores_ks", "-profile:v", "0"],
}
AUDIO = {
    "aac": ["aac", "-aac_pns", "0", "-b:a", "192k"],
    "ac3": ["ac3", "-b:a", "192k"],
    "eac3": ["eac3", "-b:a", "192k"],
    "mp3": ["libmp3lame", "-b:a", "192k"],
    "mp2": ["mp2", "-b:a", "192k"],
    "opus": ["libopus", "-b:a", "160k"],
    "vorbis": ["libvorbis", "-q:a", "6"],
    "flac": ["flac"],
    "alac": ["alac"],
    "pcm": ["pcm_s16le"],
}
# Subtitle codec by container; the others get no track.
SUBTITLES = {".mp4": "mov_text", ".mov": "mov_text", ".m4v": "mov_text", ".mkv": "srt", ".webm": "webvtt"}
# Seconds: the first line, the distance from line to line, and how long each is shown.
FIRST_LINE, LINE_EVERY, LINE_LENGTH = 5, 4, 2


@dataclass
class Recipe:
    """What a clip is asked to be. The container follows from the file's name."""
    size: str = "1280x720"
    fps: str = "24000/1001"
    duration: float = 20.0
    video: str = "h264"
    audio: str = "aac"
    rate: int = 48000
    channels: int = 2
    pixel_format: str = "yuv420p"
    # Sound later than picture by so much, inside the file.
    offset_ms: float = 0.0
    # The film's first timestamp; containers that cannot say so (MP4) start at zero regardless.
    start: float = 0.0
    # The sound track's first sample belongs to this moment of the film; events before it are silent.
    sound_begins: float = 0.0
    # Seconds between events and between key frames, both rounded to whole frames.
    every: float = 1.0
    key_frames: float = 2.0
    # "film" has motion and noise as a camera's picture has; "black" costs next to nothing to decode.
    background: str = "film"
    bit_rate: str = ""

    @property
    def width(self):
        return int(self.size.split("x")[0])

    @property
    def height(self):
        return int(self.size.split("x")[1])

    @property
    def frame_count(self):
        return int(self.duration * Fraction(self.fps))


def load(clip: str) -> dict:
    try:
        with open(clip + ".json") as file:
            return json.load(file)
    except FileNotFoundError:
        raise SystemExit(f"meter: {clip}.json is missing; make the clip with `meter clip`")


def make(out: str, recipe: Recipe) -> dict:
    """Write the clip and its sidecar; returns the sidecar. Ends the program with a sentence when ffmpeg fails."""
    fps = Fraction(recipe.fps)
    step = max(1, round(recipe.every * fps))
    flash = max(1, round(fps / 10))
    events = list(range(step, recipe.frame_count - step // 2, step))
    side = {**asdict(recipe), "frames": recipe.frame_count, "events": events, "flash_frames": flash}
    with tempfile.TemporaryDirectory(prefix="meter-clip-") as folder:
        sound = os.path.join(folder, "sound.wav")
        _write_sound(sound, recipe, fps, events)
        subtitles = _write_subtitles(os.path.join(folder, "lines.srt"), out, recipe.duration)
        _encode(out, recipe, fps, step, flash, events, sound, subtitles)
    side["verified"] = verify(out, side)
    with open(out + ".json", "w") as file:
        json.dump(side, file)
        file.write("\n")
    return side


def _write_sound(path, recipe, fps, events):
    length = round(recipe.frame_count / fps * recipe.rate)
    starts = [float(n / fps) * recipe.rate + recipe.offset_ms * recipe.rate / 1000 for n in events]
    sound = chirps.film_sound(length, recipe.rate, starts)[round(recipe.sound_begins * recipe.rate):]
    with wave.open(path, "wb") as file:
        file.setnchannels(recipe.channels)
        file.setsampwidth(2)
        file.setframerate(recipe.rate)
        file.writeframes(np.repeat((sound * 32767).astype("<i2")[:, None], recipe.channels, axis=1).tobytes())


def subtitle_text(duration: float) -> str:
    """The lines of a clip so long, as SubRip; empty for one that ends before its first line would."""
    def stamp(second):
        return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02},000"
    starts = range(FIRST_LINE, int(duration) - LINE_LENGTH + 1, LINE_EVERY)
    return "".join(f"{number}\n{stamp(start)} --> {stamp(start + LINE_LENGTH)}\nLine at {start} seconds\n\n"
                   for number, start in enumerate(starts, 1))


def _write_subtitles(path, out, duration):
    """Returns ffmpeg's arguments for the input and for the track; both are empty where there is none."""
    codec, text = SUBTITLES.get(os.path.splitext(out)[1].lower()), subtitle_text(duration)
    if not codec or not text:
        return [], []
    with open(path, "w") as file:
        file.write(text)
    return ["-i", path], ["-map", "2:s", "-c:s", codec, "-disposition:s:0", "default"]


def _encode(out, recipe, fps, step, flash, events, sound, subtitles):
    width, height = recipe.width, recipe.height
    top, strip_height = strip.rows(height)
    # About 0.16 bits a pixel, as on a good disc; less a frame when there are many of them.
    bits = recipe.bit_rate or f"{0.16 * width * height * float(fps) * (0.7 if fps > 30 else 1) / 1e6 + 0.1:.2f}M"
    last = events[-1] + flash if events else 0
    lit = f"gte(n\\,{step})*lt(mod(n\\,{step})\\,{flash})*lt(n\\,{last})"
    if recipe.background == "film":
        ground = (f"testsrc2=s={width}x{height}:r={recipe.fps},format=yuv420p,noise=alls=10:allf=t,"
                  f"drawbox=x=iw*3/8:y=ih/2:w=iw/4:h=ih/4:color=white:t=fill:enable='{lit}'")
    else:
        ground = (f"color=black:s={width}x{height}:r={recipe.fps},format=yuv420p,"
                  f"drawbox=x=0:y=0:w=iw:h=ih:color=white:t=fill:enable='{lit}'")
    graph = (f"{ground}[ground];[0:v]scale={width}:{strip_height}:flags=neighbor,format=yuv420p[strip];"
             f"[ground][strip]overlay=0:{top}:shortest=1,format={recipe.pixel_format},"
             "setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709[v]")
    command = ["ffmpeg", "-y", "-v", "error", "-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{strip.CELLS}x1",
               "-r", recipe.fps, "-i", "-", "-itsoffset", str(recipe.sound_begins), "-i", sound,
               *subtitles[0], "-filter_complex", graph, "-map", "[v]", "-map", "1:a", *subtitles[1],
               "-c:v", *VIDEO[recipe.video]]
    if recipe.video not in ("prores", "av1"):  # these choose their own rate
        command += ["-b:v", bits, "-maxrate", bits, "-bufsize", bits, "-g", str(max(1, int(recipe.key_frames * fps)))]
    command += ["-c:a", *AUDIO[recipe.audio]]
    if recipe.start:
        command += ["-output_ts_offset", str(recipe.start)]
    if out.endswith((".mp4", ".mov", ".m4v")):
        command += ["-movflags", "+faststart"]
    process = subprocess.Popen(command + [out], stdin=subprocess.PIPE)
    bright = {n + i for n in events for i in range(flash)}
    try:
        for number in range(recipe.frame_count):
            process.stdin.write((strip.cells(number, number in bright) * 255).astype(np.uint8).tobytes())
        process.stdin.close()
    except BrokenPipeError:
        pass
    if process.wait():
        raise SystemExit(f"meter: ffmpeg could not make {out}")


def _timestamps(clip, stream, *more):
    out = subprocess.run(["ffprobe", "-v", "error", "-select_streams", stream, *more, "-show_entries",
                          "frame=best_effort_timestamp_time", "-of", "csv=p=0", clip],
                         capture_output=True, text=True, check=True).stdout
    return [float(line.strip(", ")) for line in out.splitlines() if line.strip(", ")]


def key_frames(clip: str) -> list:
    """Numbers of the key frames, wherever the encoder put them."""
    side = load(clip)
    first = side["verified"]["first_picture_s"]
    return [round((t - first) * float(Fraction(side["fps"])))
            for t in _timestamps(clip, "v:0", "-skip_frame", "nokey")]


def verify(clip: str, side: dict) -> dict:
    """Decode the file and say where its flashes and chirps truly are."""
    recipe = Recipe(**{k: side[k] for k in Recipe.__dataclass_fields__})
    top, strip_height = strip.rows(recipe.height)
    stamps = _timestamps(clip, "v:0")
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", clip, "-map", "0:v:0", "-vf",
                          f"crop=iw:2:0:{top + strip_height // 2},scale={4 * strip.CELLS}:1:flags=area,format=gray",
                          "-fps_mode", "passthrough", "-f", "rawvideo", "-"], capture_output=True, check=True).stdout
    rows = np.frombuffer(raw, np.uint8).reshape(-1, strip.CELLS, 4)[:, :, 1:3].mean(axis=2)
    shown = {}
    for stamp, row in zip(stamps, rows):
        reading = strip.read(row)
        if reading:
            shown.setdefault(reading.frame, stamp)
    # The first frame's own timestamp counts: a resampler told to start at zero leaves short gaps open.
    first_sound = _timestamps(clip, "a:0", "-read_intervals", "%+2")[0]
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", clip, "-map", "0:a:0", "-ac", "1", "-ar", str(recipe.rate),
                          "-f", "f32le", "-"], capture_output=True, check=True).stdout
    found = [(first_sound + c.frame / recipe.rate, c.kind)
             for c in chirps.find(np.frombuffer(raw, np.float32).astype(float), recipe.rate)]
    offsets = []
    for number, frame in enumerate(side["events"]):
        near = [t - shown[frame] for t, kind in found
                if frame in shown and kind == number % chirps.KINDS and abs(t - shown[frame]) < 3.5 * recipe.every]
        if near:
            offsets.append(min(near, key=abs) * 1000)
    first = shown.get(0)
    return {"frames": len(rows), "unreadable": len(rows) - len(shown), "events": len(offsets),
            "first_picture_s": first, "first_sound_s": first_sound, "offset_ms": summary(offsets)}
