#!/usr/bin/env python3
"""A kiosk in a root filesystem with the package installed, started as its unit says by a supervisor as systemd is one.

    Tools/package/kiosk_in_root.py ROOT DISPLAY USER NAME      what /etc/talkie/NAME.toml of the root says is shown

Part of Tools/package/try: needs root. The kiosk has a network of its own, with nothing but a loopback. Status 1 where something was not as the
guide of kiosks says.
"""
import os
import re
import shlex
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../meter"))
sys.dont_write_bytecode = True
from supervisor import Supervisor


def say(text):
    print(f"try: {text}", flush=True)


def setting(unit, name):
    return re.search(rf"^{name}=(.*)$", unit, re.M).group(1)


def seconds(text):
    return float(text[:-2]) / 1000 if text.endswith("ms") else float(text)


def shades(display):
    """How many shades of grey the screen shows, and what it shows."""
    picture = subprocess.run(
        ["ffmpeg", "-loglevel", "error", "-f", "x11grab", "-video_size", "1280x720", "-i", display, "-frames:v", "1", "-vf", "scale=64:36",
         "-pix_fmt", "gray", "-f", "rawvideo", "-"], stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=True).stdout
    return len(set(picture)), picture


def healthz(process):
    """What the kiosk says of its health, in its network."""
    ask = ("import http.client as h; c = h.HTTPConnection('127.0.0.1', 9595, timeout=5); c.request('GET', '/healthz'); "
           "print(c.getresponse().read().decode())")
    answer = subprocess.run(["nsenter", "-t", str(process), "-n", "python3", "-c", ask], capture_output=True, text=True, timeout=20, check=False)
    return answer.stdout.strip()


def main():
    root, display, user, name = sys.argv[1:]
    home = f"/home/{user}"
    with open(os.path.join(root, "usr/lib/systemd/system/talkie-kiosk@.service")) as file:
        unit = file.read()
    program = shlex.split(setting(unit, "ExecStart").replace("%i", name))
    command = ["unshare", "--net", "bash", "-c", 'ip link set lo up; exec "$@"', "-", "chroot", f"--userspec={user}", root, *program]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": home, "XDG_STATE_HOME": f"{home}/state", "XDG_RUNTIME_DIR": home,
                   "LC_ALL": "C.UTF-8", "DISPLAY": display}
    ear = f"{home}/notify"
    broken = []

    def expect(is_so, words):
        say(words if is_so else f"NOT: {words}")
        if not is_so:
            broken.append(words)

    with open(os.path.join(root, "tmp", "kiosk.log"), "wb", buffering=0) as log:
        wall = Supervisor(command, environment, log, (ear, root + ear), seconds(setting(unit, "RestartSec")))
        try:
            ready = wall.wait(lambda: wall.has_told("READY=1"), 30)
            expect(ready, f"{shlex.join(program)}: ready after {time.monotonic() - wall.starts[0]:.2f} s")
            wall.wait(lambda: any("STATUS=Plays" in text for _, text in list(wall.told)), 10)
            say(next((line for _, text in reversed(wall.told) for line in text.split("\n") if line.startswith("STATUS=")), "no status"))
            time.sleep(1)
            (first, one), _, (_, two) = shades(display), time.sleep(0.5), shades(display)
            expect(first >= 20 and one != two, f"the screen moves, in {first} shades of grey")
            # On a machine with much other work a frame may be late at the first question.
            until, health = time.monotonic() + 20, ""
            while not health.startswith("ok") and time.monotonic() < until:
                health = healthz(wall.process.pid)
            expect(health.startswith("ok"), f"/healthz: {health}")
            at = time.monotonic()
            wall.process.send_signal(signal.SIGHUP)
            expect(wall.wait(lambda: any(t > at and "RELOADING=1" in text for t, text in list(wall.told)), 5), "SIGHUP: reads its configuration again")
            at = time.monotonic()
            wall.process.send_signal(signal.SIGKILL)
            back = wall.wait(lambda: wall.has_told("READY=1", at), 20)
            expect(back, f"killed: ready again after {time.monotonic() - at:.2f} s")
            time.sleep(1)
            expect(shades(display)[0] >= 20, "killed: the film is seen again")
        finally:
            status = wall.end()
        expect(status == 143, f"SIGTERM: exit status {status}")
    with open(os.path.join(root, "tmp", "kiosk.log"), errors="replace") as log:
        for line in log.read().splitlines()[:20]:
            print("  " + line)
    sys.exit(1 if broken else 0)


main()
