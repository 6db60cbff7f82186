"""One measured run: probes first, then the player, then all that was seen and heard in one folder."""
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

import clips
import strip
import xserver
from child_processes import child
from rig import Player, Rig, cpu_seconds, machine_busy_seconds

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass
class Plan:
    """How to run the player. `{clip}` in the command stands for the clip's path."""
    clip: str
    command: list
    # Where the film's picture lies on the screen; default: the whole screen, which has the clip's size.
    picture: str = ""
    display: str = ""
    # Another recorder of the sound; `{wav}` and `{seconds}` are filled in. It ends by itself or at SIGTERM.
    sound_command: str = ""
    # A recording that someone else makes meanwhile.
    sound_file: str = ""
    # Keys and the like while the film plays: [{"at": seconds after process start, "key": ..., ...}].
    actions: list = field(default_factory=list)
    stop_after: float = 0.0
    # One of sound_server.KINDS.
    sound_server: str = "pulseaudio"
    looks: float = 500.0
    nice: int = -8
    # Seconds of silence recorded before the player starts and after it has ended.
    lead: float = 1.0
    tail: float = 0.7


class _Watcher:
    """A process that watches meanwhile: one of our probes, which says `ready`, or somebody else's recorder."""

    def __init__(self, command, ends_itself=False, says_ready=False):
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE if says_ready else None, text=True,
                                         preexec_fn=child())
        self._ends_itself, self.pid = ends_itself, self._process.pid
        # Of a probe: the file that it writes.
        self.out = command[-1]
        if says_ready and self._process.stdout.readline().strip() != "ready":
            raise SystemExit(f"meter: {os.path.basename(command[2])} did not start")

    @classmethod
    def probe(cls, script, *arguments):
        return cls([sys.executable, "-B", os.path.join(HERE, script), *map(str, arguments)], says_ready=True)

    def finish(self) -> int:
        if not self._ends_itself and self._process.poll() is None:
            self._process.terminate()
        try:
            return self._process.wait(120)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def _act(action, keyboard, player, environment, rig, probes):
    """Do one action; returns the instant at which it was done."""
    if "sound_restart" in action:
        # What is heard after it is recorded in place of what was heard before.
        now = time.monotonic()
        rig.sound.restart(action["sound_restart"])
        before, probes[-1] = probes[-1], _Watcher.probe(*rig.sound.recorder(probes[-1].out))
        before.finish()
        return now
    if "ipc" in action:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(3)
            connection.connect(action["socket"])
            now = time.monotonic()
            connection.sendall((json.dumps({"command": action["ipc"]}) + "\n").encode())
            connection.recv(4096)
        return now
    now = time.monotonic()
    if "key" in action:
        keyboard.press(action["key"])
    elif "stdin" in action:
        player.stdin.write(action["stdin"].encode())
        player.stdin.flush()
    else:
        subprocess.run(action["shell"], shell=True, env=environment, check=False)
    return now


def _run_actions(plan, player, environment, rig, probes, done, finished):
    keyboard = xserver.Keyboard(rig.display) if any("key" in a for a in plan.actions) else None
    for action in sorted(plan.actions, key=lambda a: a["at"]):
        time.sleep(max(0.0, player.started + action["at"] - time.monotonic()))
        try:
            done.append({**action, "done_s": _act(action, keyboard, player, environment, rig, probes)})
        except OSError as error:
            done.append({**action, "error": str(error)})
    # What this thread has started ends with it (rig.child).
    finished.wait()


def run(plan: Plan, folder: str) -> dict:
    """Measure one run; raw data stay in `folder`: run.json, screen.npz, sound.wav, sound.wav.json, player.log."""
    side = clips.load(plan.clip)
    width, height = map(int, side["size"].split("x"))
    x, y, w, h = map(int, plan.picture.split(",")) if plan.picture else (0, 0, width, height)
    top, strip_height = strip.rows(height)
    row = y + (top + strip_height // 2) * h // height
    limit = plan.stop_after or side["duration"] + 10
    sound = os.path.join(folder, "sound.wav")
    probes, player, done, finished = [], None, [], threading.Event()
    with Rig(side["size"], plan.display, plan.nice, plan.sound_server) as rig:
        try:
            probes.append(_Watcher.probe("screen_probe.py", rig.display, os.path.join(folder, "screen.npz"), plan.looks, x,
                                         row, w))
            if plan.sound_command:
                seconds = round(plan.lead + limit + plan.tail + 3)
                command = plan.sound_command.replace("{wav}", sound).replace("{seconds}", str(seconds))
                probes.append(_Watcher(shlex.split(command), ends_itself="{seconds}" in plan.sound_command))
            elif not plan.sound_file:
                probes.append(_Watcher.probe(*rig.sound.recorder(sound)))
            time.sleep(plan.lead)
            environment = rig.environment()
            command = [part.replace("{clip}", os.path.abspath(plan.clip)) for part in plan.command]
            counted = [p.pid for p in probes]
            busy, x_cpu = machine_busy_seconds(), cpu_seconds(rig.x_pid)
            own = sum(map(cpu_seconds, counted))
            player = Player(command, environment, os.path.join(folder, "player.log"), plan.nice,
                            subprocess.PIPE if any("stdin" in a for a in plan.actions) else None)
            actor = threading.Thread(target=_run_actions, args=(plan, player, environment, rig, probes, done, finished),
                                     daemon=True)
            actor.start()
            stopped = False
            end = player.started + limit
            while player.poll():
                if time.monotonic() > end:
                    player.end(signal.SIGKILL if stopped else signal.SIGTERM)
                    stopped, end = True, time.monotonic() + 5
                time.sleep(0.1)
            ended = time.monotonic()
            x_cpu = cpu_seconds(rig.x_pid) - x_cpu
            own = sum(map(cpu_seconds, counted)) - own
            other = (machine_busy_seconds() - busy - player.cpu - x_cpu - own) / (ended - player.started)
            time.sleep(plan.tail)
            recorder_status = [p.finish() for p in probes][-1]
            probes = []
        finally:
            if player and player.poll():
                player.end(signal.SIGKILL)
            for probe in probes:
                probe.finish()
            finished.set()
    record = {"command": command, "clip": plan.clip, "side": side, "started_s": player.started, "ended_s": ended,
              "exit": player.status, "stopped_by_meter": stopped, "player_cpu_s": player.cpu, "x_cpu_s": x_cpu,
              "meter_cpu_s": own, "other_busy_cores": max(0.0, other), "peak_bytes": player.peak_bytes,
              "actions": done, "recorder_exit": recorder_status,
              "sound": os.path.abspath(plan.sound_file) if plan.sound_file else ""}
    with open(os.path.join(folder, "run.json"), "w") as file:
        json.dump(record, file)
    return record
