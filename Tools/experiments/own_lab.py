"""A speaker lab of the experiment's own, beside any other on this machine. Import it before anything of Tools/lab or Tools/meter."""
import contextlib
import os
import signal
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
LAB = os.path.join(TOP, "Tools/lab")
METER = os.path.join(TOP, "Tools/meter/meter")
TALKIE = os.path.join(TOP, ".build/release/talkie")
# The same names as a test process's lab (Tests/Support/RouteTestSupport/Lab.swift): the next test run takes down what a killed one left.
NUMBER = os.getpid() % 250 + 1
os.environ.update(TALKIE_LAB_STATE=f"/run/talkie-lab-test-{os.getpid()}", TALKIE_LAB_BRIDGE=f"tklabt{NUMBER}",
                  TALKIE_LAB_NETWORK=f"10.78.{NUMBER}", SDL_VIDEODRIVER="dummy")
sys.path[1:1] = [LAB, os.path.dirname(METER)]
import settings
import speakers


def lab(*words, wait=True):
    """What the lab's program says to these words, or the running program."""
    command = [os.path.join(LAB, "lab"), *map(str, words)]
    if wait:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@contextlib.contextmanager
def running(*words):
    """A lab as `lab up WORDS` starts it, taken down afterwards, also when the experiment is ended."""
    settings.need_root()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        lab("up", *words)
        yield
    finally:
        lab("down")


def recording(speaker, out, seconds):
    """A recorder through which samples flow."""
    recorder = lab("record", speaker, out, seconds, wait=False)
    if recorder.stderr.readline().strip() != "recording":
        sys.exit(f"the lab does not record: {recorder.stderr.read()}")
    return recorder


def address(number):
    return f"airplay://{settings.NETWORK}.{10 + number}:{speakers.Speaker(number).port}"


def make_clip(out, *words):
    subprocess.run([METER, "clip", out, *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def print_table(rows, file=None):
    print("\n".join(rows))
    if file:
        with open(file, "w") as out:
            out.write("\n".join(rows) + "\n")
