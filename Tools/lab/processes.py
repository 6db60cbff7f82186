"""Processes that outlive the command that started them, remembered by pid and start time."""
import os
import signal
import subprocess
import time


def _start_time(pid: int):
    """In clock ticks since boot; nothing for a process that has ended, also when nobody has waited for it yet."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return None if fields[0] == "Z" else fields[19]
    except OSError:
        return None


class Remembered:
    """A file with "pid start-time"; a pid that the kernel has given to someone else is not taken for ours."""

    def __init__(self, path: str):
        self.path = path

    @property
    def pid(self):
        try:
            with open(self.path) as file:
                pid, started = file.read().split()
        except (OSError, ValueError):
            return None
        return int(pid) if _start_time(int(pid)) == started else None

    def remember(self, pid: int):
        with open(self.path, "w") as file:
            file.write(f"{pid} {_start_time(pid)}\n")

    def start(self, command, log: str, **options) -> subprocess.Popen:
        """In a session of its own, output to the log."""
        with open(log, "ab") as out:
            process = subprocess.Popen(command, stdin=options.pop("stdin", subprocess.DEVNULL), stdout=out, stderr=out,
                                       start_new_session=True, **options)
        self.remember(process.pid)
        return process

    def stop(self, first=signal.SIGTERM, patience: float = 3.0):
        for sign in (first, signal.SIGKILL):
            pid = self.pid
            if pid is None:
                break
            try:
                os.kill(pid, sign)
            except ProcessLookupError:
                break
            end = time.monotonic() + patience
            while self.pid is not None and time.monotonic() < end:
                time.sleep(0.02)
        if os.path.exists(self.path):
            os.remove(self.path)


def threads(pid: int, proc: str = "/proc") -> dict:
    """The names of a process's threads, by their IDs; nothing for one that has ended."""
    def name(thread):
        try:
            with open(f"{proc}/{pid}/task/{thread}/comm") as file:
                return file.read().strip()
        except OSError:
            return ""  # It has just ended.

    try:
        return {int(thread): name(thread) for thread in os.listdir(f"{proc}/{pid}/task")}
    except OSError:
        return {}


def give_priority(pid: int, policy: int, priority: int, but: str, proc: str = "/proc") -> bool:
    """Gives all threads of a process this scheduling policy, but those of one name; returns whether there is one.

    Threads that they start later inherit the policy.
    """
    names = threads(pid, proc)
    for thread, name in names.items():
        try:
            if name != but:
                os.sched_setscheduler(thread, policy, os.sched_param(priority))
        except OSError:
            pass  # It has ended, or it is not permitted.
    return but in names.values()


def run(*command, quiet=False) -> bool:
    """Run to the end; whether it succeeded. `quiet` for a command that is allowed to fail."""
    return subprocess.run(command, stdin=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL if quiet else None,
                          stdout=subprocess.DEVNULL if quiet else None, check=False).returncode == 0


def until(condition, seconds: float, every: float = 0.05) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(every)
    return True
