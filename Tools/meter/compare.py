"""Several players on the same clips in the same quarter of an hour, in turn, so that the machine's mood hits all."""
import os
import shlex
import subprocess
import sys
import tempfile

import analysis
import clips
import measure

_MPV = "mpv --no-config --no-border --geometry=+0+0 --really-quiet"
_FFPLAY = "ffplay -v error -nostats -autoexit -noborder -left 0 -top 0 {clip}"
KNOWN = {
    "talkie": ".build/release/talkie play --really-quiet {clip}",
    "mpv-x11": _MPV + " --vo=x11 {clip}",
    "mpv-sdl": _MPV + " --vo=sdl {clip}",
    "ffplay": _FFPLAY,
    "ffplay-soft": "env SDL_RENDER_DRIVER=software " + _FFPLAY,
    "gst-play": "gst-play-1.0 --no-interactive -q {clip}",
}


def player(text: str) -> tuple:
    """Name and command from `NAME=COMMAND` or a known name."""
    name, equals, command = text.partition("=")
    if not equals and name not in KNOWN:
        raise SystemExit(f"meter: {name} is no known player; write NAME=COMMAND")
    return name, shlex.split(command if equals else KNOWN[name])


def decode_alone(clip: str, runs: int = 3) -> dict:
    """Processor time and memory of decoding the clip to nothing: the floor under every player."""
    seconds, peaks = [], []
    for _ in range(runs):
        process = subprocess.Popen(["ffmpeg", "-v", "error", "-i", clip, "-f", "null", "-"], stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"meter: ffmpeg cannot decode {clip}")
        seconds.append(usage.ru_utime + usage.ru_stime)
        peaks.append(usage.ru_maxrss / 1000)
    middle = len(seconds) // 2
    return {"cpu_per_film_second": sorted(seconds)[middle] / clips.load(clip)["duration"],
            "peak_rss_mb": sorted(peaks)[middle]}


def run(paths, players, runs, retries=2, nice=-8, raw=None, sound_server="pulseaudio") -> dict:
    """{"clips": {clip: {"decode": ..., "players": {name: [result of each run]}}}, "commands": ...}"""
    out = {"commands": {name: shlex.join(command) for name, command in players.items()}, "clips": {}}
    for path in paths:
        out["clips"][os.path.basename(path)] = {"decode": decode_alone(path), "players": {n: [] for n in players}}
    for number in range(runs):
        for path in paths:
            for name, command in players.items():
                for attempt in range(retries + 1):
                    result = _one(path, name, command, nice, raw and os.path.join(
                        raw, f"{os.path.basename(path)}.{name}.{number + 1}.{attempt + 1}"),
                                  sound_server)
                    if not result["disturbed"]:
                        break
                offset = result["offset_ms"].get("median")
                print(f"{os.path.basename(path)} {name} run {number + 1}: offset "
                      f"{'-' if offset is None else format(offset, '+.1f')} ms"
                      f"{', DISTURBED' if result['disturbed'] else ''}", file=sys.stderr, flush=True)
                out["clips"][os.path.basename(path)]["players"][name].append(result)
    return out


def _one(path, name, command, nice, keep, sound_server):
    with tempfile.TemporaryDirectory(prefix="meter-run-") as folder:
        if keep:
            folder = keep
            os.makedirs(folder, exist_ok=True)
        measure.run(measure.Plan(path, command, sound_server=sound_server, nice=nice), folder)
        return analysis.analyze(folder)
