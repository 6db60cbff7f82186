"""From what was seen and heard to numbers. Every offset is sound minus picture: positive = sound late."""
import bisect
import json
import os
import subprocess
import wave
from fractions import Fraction

import numpy as np

import chirps
import strip
from statistics_of import line, summary

# The first seconds of a run are start-up; steady figures leave them out.
SETTLING = 2.0
# The machine stood still if the probe did not look for this time, in seconds: usual are 2 to 3 ms.
STALL = 0.008
# What was due meanwhile is shown this much later at the latest.
RECOVERY = 0.020


class SoundClock:
    """When a frame of the recording was heard, from the anchors beside it."""

    def __init__(self, side: dict):
        anchors = sorted((a["frame"], a["monotonic_ns"]) for a in side["anchors"])
        if len(anchors) < 2:
            raise SystemExit("meter: the recording has no anchors")
        self.rate = side.get("rate") or side["sample_rate"]
        # What a recorder says about the receiver that it heard (Tools/lab).
        self.receiver = side.get("receiver") or {}
        self._frames = np.array([a[0] for a in anchors], dtype=float)
        self._first_ns = anchors[0][1]
        seconds = np.array([(a[1] - self._first_ns) / 1e9 for a in anchors])
        at = self._frames / self.rate
        self._slope, self._base, rest = line(at, seconds, floor=0.0005)
        # What is left beyond the line and lasts for seconds is the clock's own movement; short-lived is noise.
        good = np.abs(rest) < 0.005
        bins = np.floor((at - at[0]) / 5).astype(int)
        middles = [(at[(bins == b) & good].mean(), np.median(rest[(bins == b) & good]))
                   for b in np.unique(bins) if ((bins == b) & good).sum() >= 5]
        self._bend = np.array(middles).T if middles else np.zeros((2, 1))
        still = np.abs(rest - np.interp(at, *self._bend))
        self.ppm = (self._slope - 1) * 1e6
        self.residual_p95_ms = float(np.percentile(still[good], 95) * 1000) if good.any() else None
        self.outliers = float(1 - good.mean())

    def heard(self, frame):
        """Seconds of CLOCK_MONOTONIC."""
        at = np.asarray(frame, dtype=float) / self.rate
        line_value = self._slope * (at - self._frames[0] / self.rate) + self._base
        return self._first_ns / 1e9 + line_value + np.interp(at, *self._bend)


def read_wav(path: str) -> tuple:
    """Mono samples -1...1 and the rate."""
    try:
        with wave.open(path) as file:
            if file.getsampwidth() == 2:
                samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
                return samples.reshape(-1, file.getnchannels()).mean(axis=1) / 32768, file.getframerate()
    except (wave.Error, EOFError):
        pass
    rate = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "stream=sample_rate", "-of", "csv=p=0", path],
                          capture_output=True, text=True, check=True).stdout.split()[0].strip(",")
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-ac", "1", "-f", "f32le", "-"], capture_output=True,
                         check=True).stdout
    return np.frombuffer(raw, np.float32).astype(float), int(rate)


class Shown:
    """The frames that the screen showed, in order: when, which, and how well the instant is known."""

    def __init__(self, changes, rows, frame_count, looks):
        self.times, self.frames, self.widths, self.unreadable = [], [], [], 0
        for (before, after), row in zip(changes, rows):
            reading = strip.read(row)
            if reading is None or reading.frame >= frame_count:
                self.unreadable += bool(self.frames)
            elif not self.frames or self.frames[-1] != reading.frame:
                self.times.append((before + after) / 2)
                self.widths.append((after - before) / 2)
                self.frames.append(reading.frame)
        self.times, self.frames = np.array(self.times), np.array(self.frames, dtype=int)
        stalled = np.flatnonzero(np.diff(looks[:, 0]) > STALL)
        starts, ends = looks[stalled, 0], np.append(looks[stalled + 1, 1], -np.inf)
        # Whether a frame came while the machine stood still, or just afterwards.
        self.disturbed = self.times < ends[np.searchsorted(starts, self.times) - 1] + RECOVERY

    def when(self, frame: int, near: float, period: float):
        """When this frame was shown.

        It is taken from a neighbour up to two frames away if the frame was dropped or disturbed.
        """
        best = None
        for i in np.flatnonzero(np.abs(self.frames - frame) <= 2):
            away = int(self.frames[i] - frame)
            at = self.times[i] - away * period
            rank = (self.disturbed[i], abs(away), abs(at - near))
            if abs(at - near) < 3.5 and (best is None or rank < best[0]):
                best = (rank, float(at))
        return best and best[1]


def _frames(shown, side, period):
    frames, times = shown.frames, shown.times
    out = {"expected": side["frames"], "shown": len(set(frames.tolist())), "unreadable_looks": shown.unreadable,
           "backward": int((np.diff(frames) < 0).sum())}
    out["dropped"] = out["expected"] - out["shown"]
    if len(frames) > 10:
        slope, base, rest = line(frames * period, times)
        steady = times > times[0] + SETTLING
        steps, waits = np.diff(frames), np.diff(times)
        later = frames[steady]
        out["dropped_steady"] = int(later[-1] - later[0] + 1 - len(set(later.tolist()))) if len(later) else None
        out["held"] = int(((waits > 1.5 * period) & (steps == 1) & steady[:-1]).sum())
        out["late"] = int((np.abs(rest[steady]) > period / 2).sum())
        out["jitter_ms"] = float(rest[steady].std() * 1000) if steady.any() else None
    return out


def _actions(done, shown, period):
    """How long after each action, and before the next, the right picture was there."""
    out, moments = [], [a["done_s"] for a in done if "done_s" in a] + [float("inf")]
    for action in done:
        result = {k: v for k, v in action.items() if k not in ("socket", "done_s")}
        if "done_s" in action and len(shown.times):
            first = bisect.bisect_right(shown.times.tolist(), action["done_s"])
            wanted, tolerance = action.get("frame"), action.get("tolerance", 2)
            if wanted is None and "by" in action and first > 0:
                wanted = int(shown.frames[first - 1]) + round(action["by"] / period)
                result["frame"] = wanted
                # A player's own position may be a few frames ahead of what its screen shows.
                tolerance = action.get("tolerance", max(4, round(0.1 / period)))
            last = bisect.bisect_left(shown.times.tolist(), min(m for m in moments if m > action["done_s"]))
            for i in range(max(first, 1), last):
                if "jump_ms" not in result and not 0 < shown.frames[i] - shown.frames[i - 1] < 8:
                    result["jump_ms"] = float(shown.times[i] - action["done_s"]) * 1000
                if wanted is not None and abs(int(shown.frames[i]) - wanted) <= tolerance:
                    result["latency_ms"] = float(shown.times[i] - action["done_s"]) * 1000
                    result["shown_frame"] = int(shown.frames[i])
                    break
        out.append(result)
    return out


def analyze(folder: str) -> dict:
    """Everything about one run, from the folder that `measure.run` filled."""
    with open(os.path.join(folder, "run.json")) as file:
        run = json.load(file)
    side, started = run["side"], run["started_s"]
    period = float(1 / Fraction(side["fps"]))
    with np.load(os.path.join(folder, "screen.npz")) as screen:
        looks = screen["looks"]
        after_start = screen["changes"][:, 1] > started
        shown = Shown(screen["changes"][after_start], screen["rows"][after_start], side["frames"], looks)
    out = {"clip": os.path.basename(run["clip"]), "command": run["command"], "exit": run["exit"],
           "stopped_by_meter": run["stopped_by_meter"]}

    events, clock, first_sound, holes = [], None, None, []
    recording = run["sound"] or os.path.join(folder, "sound.wav")
    if os.path.exists(recording) and os.path.exists(recording + ".json"):
        sound, rate = read_wav(recording)
        with open(recording + ".json") as file:
            clock = SoundClock(json.load(file))
        loud = np.flatnonzero(np.abs(sound) > 0.25 * chirps.PILOT_LEVEL)
        loud = loud[clock.heard(loud) > started]
        if len(loud):
            first_sound = float(clock.heard(loud[0]))
            holes = [{"at_s": float(clock.heard(loud[0] + at) - started), "seconds": s}
                     for at, s in chirps.gaps(sound[loud[0]:loud[-1] + 1], rate)]
        for chirp in chirps.find(sound, rate):
            heard = float(clock.heard(chirp.frame))
            places = [(abs(at - heard), frame, at) for number, frame in enumerate(side["events"])
                      if number % chirps.KINDS == chirp.kind
                      for at in [shown.when(frame, heard, period)] if at is not None]
            if heard > started and places:
                _, frame, at = min(places)
                events.append({"frame": frame, "shown_s": at - started, "heard_s": heard - started,
                               "offset_ms": (heard - at) * 1000})
    own = side["verified"]["offset_ms"].get("median", 0.0)
    offsets = [e["offset_ms"] - own for e in events]
    out["offset_ms"] = summary(offsets)
    out["file_offset_ms"] = own
    out["events"] = {"heard": len(events), "expected": len(side["events"])}
    if len(events) >= 5:
        settled = [e["shown_s"] > events[0]["shown_s"] + SETTLING - 0.1 for e in events]
        out["offset_steady_ms"] = summary([o for o, s in zip(offsets, settled) if s])
        slope, _, _ = line([e["shown_s"] for e in events], offsets)
        out["trend_ms_per_min"] = slope * 60
    out["start"] = {"first_picture_ms": float(shown.times[0] - started) * 1000 if len(shown.times) else None,
                    "first_sound_ms": (first_sound - started) * 1000 if first_sound else None}
    out["frames"] = _frames(shown, side, period)
    out["sound_gaps"] = holes
    out["actions"] = _actions(run["actions"], shown, period)

    film = side["duration"]
    if (run["stopped_by_meter"] or run["actions"]) and len(shown.times):
        film = run["ended_s"] - float(shown.times[0])
    out["cpu_per_film_second"] = {"player": run["player_cpu_s"] / film, "x_server": run["x_cpu_s"] / film,
                                  "together": (run["player_cpu_s"] + run["x_cpu_s"]) / film}
    out["peak_rss_mb"] = run["peak_bytes"] / 1e6

    during = (looks[:, 0] > started) & (looks[:, 0] < run["ended_s"])
    # Between two looks the probe sleeps some 2 ms; much more means that the machine did not run it.
    stalls = (looks[1:, 0] - looks[:-1, 1])[during[1:]] * 1000
    worst = float(stalls.max()) if len(stalls) else None
    lost = float(stalls[stalls > 25].sum()) if len(stalls) else 0.0
    out["meter"] = {"looks_per_s": float(during.sum() / (run["ended_s"] - started)),
                    "picture_half_width_ms": summary([w * 1000 for w in shown.widths]),
                    "sound_residual_p95_ms": clock and clock.residual_p95_ms, "sound_ppm": clock and clock.ppm,
                    "receiver": clock and clock.receiver,
                    "sound_outliers": clock and clock.outliers, "worst_stall_ms": worst, "stalled_ms": lost,
                    "other_busy_cores": run["other_busy_cores"], "cpu_cores": run["meter_cpu_s"] / (run["ended_s"] - started)}
    out["disturbed"] = clock is None or (worst or 0) > 60 or lost > 150
    out["event_list"] = events
    return out
