"""A screen and a sound card of our own, and what running a program on them costs."""
import os
import select
import shutil
import subprocess
import tempfile
import time

from child_processes import child, end
from sound_server import SoundServer

TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid) -> float:
    """Processor time of one running process with all its threads."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK
    except (OSError, IndexError):
        return 0.0


def machine_busy_seconds() -> float:
    with open("/proc/stat") as file:
        ticks = [int(v) for v in file.readline().split()[1:9]]
    idle, waiting = ticks[3], ticks[4]
    return (sum(ticks) - idle - waiting) / TICK


def session_peak_bytes(session: int) -> dict:
    """Peak resident bytes of each process of a session, by pid. VmHWM starts anew at exec, ru_maxrss does not."""
    peaks = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(pid)) != session:
                continue
            with open(f"/proc/{pid}/status") as file:
                for row in file:
                    if row.startswith("VmHWM:"):
                        peaks[pid] = int(row.split()[1]) * 1024
        except OSError:
            pass
    return peaks


class Rig:
    """Xvfb and a sound server, both private; `close` ends them. Use as a context manager."""

    def __init__(self, screen: str, display: str = "", nice: int = -8, sound_server: str = "pulseaudio"):
        self.folder = tempfile.mkdtemp(prefix="meter-")
        self._children = []
        self.x_pid = None
        self.sound = SoundServer(sound_server, self.folder)
        try:
            self.display = display or self._start_screen(screen, nice)
            self.sound.start()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _start_screen(self, screen, nice):
        reading, writing = os.pipe()
        log = os.path.join(self.folder, "xvfb.log")
        with open(log, "wb") as errors:
            process = subprocess.Popen(
                ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{screen}x24", "-nolisten", "tcp", "-noreset",
                 "-ac"], pass_fds=[writing], stderr=errors, preexec_fn=child(nice))
        os.close(writing)
        self._children.append(process)
        self.x_pid = process.pid
        answer = b""
        while not answer.endswith(b"\n"):
            part = os.read(reading, 16) if select.select([reading], [], [], 20)[0] else b""
            if not part:
                with open(log) as file:
                    raise SystemExit("meter: Xvfb did not start: " + file.read()[-300:])
            answer += part
        os.close(reading)
        return f":{int(answer)}"

    def environment(self) -> dict:
        """What a player needs in order to use this screen and this sound card."""
        return {**os.environ, **self.sound.environment(), "DISPLAY": self.display, "SDL_VIDEODRIVER": "x11",
                "LIBGL_ALWAYS_SOFTWARE": "1", "NO_AT_BRIDGE": "1"}

    def close(self):
        self.sound.stop()
        for process in reversed(self._children):
            process.terminate()
        for process in self._children:
            end(process)
        shutil.rmtree(self.folder, ignore_errors=True)


class Player:
    """A program under measurement: its processor time, its peak memory, its end."""

    def __init__(self, command, environment, log, nice, stdin=None):
        with open(log, "wb") as out:
            self.started = time.monotonic()
            self._process = subprocess.Popen(command, env=environment, stdin=stdin or subprocess.DEVNULL, stdout=out,
                                             stderr=subprocess.STDOUT, preexec_fn=child(nice, new_session=True))
        self.pid, self.status, self.cpu, self._peaks = self._process.pid, None, 0.0, {}
        self.stdin = self._process.stdin

    def poll(self) -> bool:
        """True while it runs. Called a few times a second, it also follows the memory."""
        if self.status is None:
            for pid, peak in session_peak_bytes(self.pid).items():
                self._peaks[pid] = max(peak, self._peaks.get(pid, 0))
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.status = self._process.returncode = os.waitstatus_to_exitcode(status)
                # Includes every descendant that was waited for.
                self.cpu = usage.ru_utime + usage.ru_stime
        return self.status is None

    @property
    def peak_bytes(self) -> int:
        return sum(self._peaks.values())

    def end(self, signal):
        if self.status is None:
            os.killpg(self.pid, signal)
