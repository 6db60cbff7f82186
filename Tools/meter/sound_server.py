"""A private sound server with two null sinks.

    sound_server.py KIND FOLDER [QUANTUM]

Serves until SIGTERM. Prints NAME=VALUE of what its clients need in their environment, a line each, then `ready`. With a
quantum PipeWire's graph fetches so many frames at once.
"""
import os
import signal
import subprocess
import sys
import time

from child_processes import child, end

KINDS = ("pulseaudio", "pipewire-pulse", "pipewire-alsa")

_PIPEWIRE = """context.properties = { default.clock.allowed-rates = [ 48000 ] %s }
context.objects = [ %s ]
"""
_PIPEWIRE_SINK = """{ factory = adapter args = { factory.name = support.null-audio-sink node.name = %s
    node.description = %s media.class = Audio/Sink audio.position = [ FL FR ] audio.rate = 48000
    priority.session = %d priority.driver = %d %s } }"""


class SoundServer:
    """A server of one of KINDS. With the two of PipeWire, ALSA's `default` is the plugin of that name."""

    # The sink that is recorded, the default one at the start; and another one.
    SINK, OTHER_SINK = "meter", "other"
    # What else the recorded one states of itself, with the two of PipeWire.
    PROPERTIES = ""

    def __init__(self, kind: str, folder: str, quantum: int = 0):
        self.kind, self._folder, self._quantum = kind, folder, quantum
        self._home = os.path.join(folder, "home")
        self._processes = []
        self.address = f"unix:{folder}/pulse" if kind == "pulseaudio" else f"unix:{self._home}/pulse/native"

    def start(self):
        os.makedirs(self._home, 0o700, exist_ok=True)
        if self.kind == "pulseaudio":
            self._start_pulseaudio()
        else:
            self._start_pipewire()

    def stop(self):
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            end(process)
        self._processes = []

    def restart(self, seconds: float):
        """The server is killed, and is back at the same address after so many seconds."""
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        self._processes = []
        time.sleep(seconds)
        for socket in ("pulse", "home/bus", "home/pipewire-0", "home/pulse/native"):
            if os.path.exists(os.path.join(self._folder, socket)):
                os.remove(os.path.join(self._folder, socket))
        self.start()

    def recorder(self, out: str) -> list:
        """The probe that records the sink, and its arguments."""
        if self.kind == "pulseaudio":
            return ["sound_probe.py", self.address, self.SINK, out]
        return ["pipewire_probe.py", self._home, self.SINK, out]

    def environment(self) -> dict:
        """What a client needs in order to use this server."""
        found = {"PULSE_SERVER": self.address, "SDL_AUDIODRIVER": "pulseaudio"}
        if self.kind != "pulseaudio":
            found |= {"PIPEWIRE_RUNTIME_DIR": self._home,
                      "ALSA_CONFIG_PATH": f"/usr/share/alsa/alsa.conf:{self._home}/hook.conf"}
        return found

    def _start(self, command, socket=None):
        """Starts a program of the server and waits for its socket."""
        home, log = self._home, os.path.join(self._folder, os.path.basename(command[0]) + ".log")
        own = {name: home for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
        with open(log, "ab") as errors:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, preexec_fn=child(-11),
                env={**os.environ, **own, "PULSE_RUNTIME_PATH": home + "/pulse", "PULSE_SERVER": "",
                     "DBUS_SESSION_BUS_ADDRESS": f"unix:path={home}/bus"})
        self._processes.append(process)
        deadline = time.monotonic() + 20
        while socket and not os.path.exists(socket):
            if process.poll() is not None or time.monotonic() > deadline:
                with open(log) as file:
                    raise SystemExit(f"meter: {command[0]} did not start: " + file.read()[-300:])
            time.sleep(0.02)

    def _start_pulseaudio(self):
        # No rewinds: what the monitor has once shown is what was heard.
        sinks = [word for name in (self.SINK, self.OTHER_SINK) for word in
                 ("-L", f"module-null-sink sink_name={name} rate=48000 channels=2 format=s16le norewinds=1")]
        socket = self.address.removeprefix("unix:")
        self._start(["pulseaudio", "-n", "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1", "--realtime=no",
                     "--high-priority=no", "--log-target=stderr", *sinks,
                     "-L", f"module-native-protocol-unix socket={socket} auth-anonymous=1"], socket)

    def _write(self, name, text):
        path = os.path.join(self._home, name)
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def _start_pipewire(self):
        """Starts PipeWire, its session manager and its server for PulseAudio's clients: without logind, with an own message bus."""
        home, names = self._home, ("quantum", "min-quantum", "max-quantum")
        quantum = " ".join(f"default.clock.{name} = {self._quantum}" for name in names if self._quantum)
        sinks = [_PIPEWIRE_SINK % (name, name, priority, priority, properties)
                 for name, priority, properties in ((self.SINK, 1100, self.PROPERTIES), (self.OTHER_SINK, 1000, ""))]
        self._write("pipewire/pipewire.conf.d/meter.conf", _PIPEWIRE % (quantum, " ".join(sinks)))
        plugin = "pulse" if self.kind == "pipewire-pulse" else "pipewire"
        # Loaded by a hook after those of the system, one of which makes PipeWire's plugin the default.
        self._write("default.conf", f"pcm.!default {{ type {plugin} }}\n")
        self._write("hook.conf", f'@hooks.1 {{ func load files [ "{home}/default.conf" ] errors false }}\n')
        # WirePlumber 0.4 exits without logind otherwise; 0.5 does not read this file.
        self._write("wireplumber/bluetooth.lua.d/51-no-logind.lua", 'bluez_monitor.properties["with-logind"] = false\n')
        self._start(["dbus-daemon", "--session", "--nofork", f"--address=unix:path={home}/bus"], home + "/bus")
        self._start(["pipewire"], home + "/pipewire-0")
        self._start(["wireplumber"])
        self._start(["pipewire-pulse"], home + "/pulse/native")
        # Until the session manager has configured the sinks, the default one is a substitute.
        deadline = time.monotonic() + 20
        while True:
            answer = subprocess.run(["pactl", "-s", self.address, "get-default-sink"], capture_output=True, text=True, check=False)
            if answer.stdout.strip() == self.SINK:
                return
            if time.monotonic() > deadline:
                raise SystemExit("meter: PipeWire has no sink: " + answer.stdout + answer.stderr)
            time.sleep(0.05)


def main():
    kind, folder = sys.argv[1:3]
    server = SoundServer(kind, folder, int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server.start()
        for name, value in server.environment().items():
            print(f"{name}={value}")
        print("ready", flush=True)
        while True:
            signal.pause()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
