"""One speaker seen from the host: start it, find it, enter its network, end it."""
import glob
import os
import re
import signal
import shutil
import socket
import subprocess
import sys
import uuid

from processes import Remembered, run, until
from settings import BRIDGE, HERE, NETWORK, ROOTFS, STATE, fail

_AVAHI = """[server]
host-name=talkie-lab-{number}
allow-interfaces=eth0
use-ipv6=no
[publish]
publish-workstation=no
publish-hinfo=no
[rlimits]
"""
_SHAIRPORT = """general = {{
  name = "{name}";
  service_type = "{kind}";
  mdns_backend = "avahi";
  output_backend = "pulseaudio";
  interpolation = "vernier";
  drift_tolerance_in_seconds = {tolerance};
}};
pulseaudio = {{ server = "unix:/run/lab/pulse"; sink = "dac"; }};
metadata = {{ enabled = "yes"; include_cover_art = "yes"; pipe_name = "/run/lab/metadata"; }};
sessioncontrol = {{ session_timeout = 60; }};
diagnostics = {{ log_output_to = "stderr"; log_verbosity = 1; statistics = "yes"; }};
"""

# How far shairport-sync lets its sound drift before it adds or drops frames, in seconds: its own default (its sample
# configuration names it) and one that holds it at the anchor. The band is the receiver's, whatever a sender does.
TOLERANCES = {"default": 0.002, "tight": 0.0001}


class Speaker:
    def __init__(self, number: int):
        self.number = number
        self.folder = os.path.join(STATE, f"speaker{number}")
        self.name = f"Talkie Lab {number}"
        self.address = f"{NETWORK}.{10 + number}"
        self.cable = f"{BRIDGE[:11]}-s{number}"  # the bridge's end; 15 characters at most
        self._outer = Remembered(self.path("outer.pid"))
        self._init = Remembered(self.path("init.pid"))

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def _read(self, name: str, default: str = "") -> str:
        try:
            with open(self.path(name)) as file:
                return file.read().strip()
        except OSError:
            return default

    def write(self, name: str, text: str):
        with open(self.path(name), "w") as file:
            file.write(text)

    @property
    def kind(self):
        return self._read("kind")

    @property
    def impairment(self):
        return self._read("impair", "none")

    @property
    def dac(self) -> tuple:
        rate, channels = self._read("dac", "44100 2").split()
        return int(rate), int(channels)

    @property
    def tolerance(self) -> float:
        """The receiver's drift tolerance in seconds."""
        return float(self._read("tolerance") or TOLERANCES["default"])

    def tolerate(self, seconds: float):
        """For receivers that start from now on."""
        self.write("tolerance", f"{seconds:g}")
        # A plain number: the parser of the configuration takes 1e-05 for an integer and a stray word.
        self.write("shairport.conf", _SHAIRPORT.format(name=self.name, kind=self.kind, tolerance=f"{seconds:.6f}"))

    @property
    def port(self):
        """Where its receiver listens, once mDNS has said so."""
        return int(self._read("port") or 0) or None

    @property
    def pid(self):
        return self._init.pid

    @property
    def deaths(self) -> int:
        return self._read("receiver.log").count("LAB receiver ended")

    @property
    def starts(self) -> int:
        return self._read("receiver.log").count("LAB receiver started")

    def start(self, kind: str, rate: int, channels: int, tolerance: float):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.write("kind", kind)
        self.write("dac", f"{rate} {channels}")
        self.write("machine-id", uuid.uuid4().hex + "\n")
        self.write("avahi.conf", _AVAHI.format(number=self.number))
        self.tolerate(tolerance)
        # The namespaces have no name: they and the cable vanish with their last process, however that ends.
        outer = self._outer.start(
            ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", sys.executable, "-B",
             os.path.join(HERE, "speaker_init.py"), ROOTFS, self.folder, str(rate), str(channels), kind],
            self.path("init.log"), stdin=subprocess.PIPE)
        children = f"/proc/{outer.pid}/task/{outer.pid}/children"

        def child():
            with open(children) as file:
                return file.read().split()
        if not until(lambda: os.path.exists(children) and child(), 5):
            fail(f"speaker {self.number} did not start: {self._read('init.log')}")
        self._init.remember(int(child()[0]))
        self._plug(self._init.pid)
        outer.stdin.write(b"network ready\n")
        outer.stdin.close()
        if not until(lambda: os.path.exists(self.path("ready")) or outer.poll() is not None, 20) or outer.poll() is not None:
            fail(f"speaker {self.number} did not start: {self._read('init.log')}")

    def _plug(self, pid: int):
        run("ip", "link", "del", self.cable, quiet=True)
        hardware = f"02:74:6c:00:00:{self.number:02x}"
        enter = ["nsenter", "-t", str(pid), "-n"]
        for command in (["ip", "link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns", str(pid)],
                        ["ip", "link", "set", self.cable, "master", BRIDGE, "up"],
                        [*enter, "ip", "link", "set", "eth0", "address", hardware],
                        [*enter, "ip", "address", "add", f"{self.address}/24", "brd", "+", "dev", "eth0"]):
            if not run(*command):
                fail(f"speaker {self.number} has no network: {' '.join(command)}")

    def enter_network(self) -> list:
        """The prefix that runs a program of the host in this speaker's network."""
        if self.pid is None:
            fail(f"speaker {self.number} is not running; see {self.folder}.")
        return ["nsenter", "-t", str(self.pid), "-n"]

    def renew(self, tolerance=None):
        """A fresh receiver process, same name and address; returns when it answers."""
        if self.pid is None or self.kind == "bare":
            fail(f"speaker {self.number} has no receiver running.")
        self.tolerate(self.tolerance if tolerance is None else tolerance)
        before = self.starts
        os.kill(self.pid, signal.SIGUSR1)
        if not until(lambda: self.starts > before and self.answers(), 15):
            fail(f"speaker {self.number} did not come back; see {self.path('receiver.log')}.")

    def press(self, key: str) -> bool:
        """Calls a method of its remote control (Pause, PlayPause, Next…), which sends a command to its sender."""
        enter = ["nsenter", "-t", str(self.pid), "-m", "-n", "chroot", ROOTFS]
        return run(*enter, "dbus-send", "--system", "--print-reply", "--dest=org.gnome.ShairportSync",
                   "/org/gnome/ShairportSync", f"org.gnome.ShairportSync.RemoteControl.{key}", quiet=True)

    def answers(self) -> bool:
        try:
            with socket.create_connection((self.address, self.port or 7000), timeout=1):
                return True
        except OSError:
            return False

    def announced_port(self, environment):
        """The port that mDNS announces for this speaker, or nothing yet."""
        kind = "_raop._tcp" if self.kind == "classic" else "_airplay._tcp"
        try:
            rows = subprocess.run(["avahi-browse", "-rptk", kind], capture_output=True, text=True, timeout=6,
                                  env=environment, check=False).stdout.splitlines()
        except subprocess.TimeoutExpired:
            return None
        for fields in (row.split(";") for row in rows if row.startswith("=")):
            if fields[7] == self.address:
                self.write("port", fields[8])
                return int(fields[8])
        return None

    def stop(self):
        Remembered(self.path("queue.pid")).stop()
        self._init.stop(signal.SIGKILL)
        self._outer.stop()
        run("ip", "link", "del", self.cable, quiet=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def everyone() -> list:
    numbers = (re.search(r"speaker(\d+)$", path) for path in glob.glob(os.path.join(STATE, "speaker*")))
    return [Speaker(n) for n in sorted(int(m.group(1)) for m in numbers if m)]


def named(text: str) -> Speaker:
    """By number, or by the name it announces."""
    for speaker in everyone():
        if text in (str(speaker.number), f"speaker{speaker.number}", speaker.name):
            return speaker
    fail(f"there is no speaker {text}; `lab status` lists them.")
