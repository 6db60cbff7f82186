"""What systemd does for a service of Type=notify, as far as a measurement needs it: starts it, starts it again, hears what it tells."""
import os
import signal
import socket
import subprocess
import threading
import time

from child_processes import child


class Supervisor:
    """Starts a program again whenever it ends, and hears what it tells (sd_notify(3)).

    command: the program and its words; environment: whole; log: an open file for what it says.
    ear: the path of a socket as the program sees it, and as this process does; None is an abstract one.
    pause: seconds from an end to the next start (RestartSec=).
    """

    def __init__(self, command, environment, log, ear=None, pause=0.1):
        self.command, self.environment, self.log, self.pause = command, environment, log, pause
        self.ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        if ear:
            self.address, mine = ear
            self.ear.bind(mine)
            os.chmod(mine, 0o666)
        else:
            self.address = f"@talkie-supervisor-{os.getpid()}"
            self.ear.bind("\0" + self.address[1:])
        self.ear.settimeout(0.2)
        # (instant, datagram) of all that was told; instants of starts; statuses of ends, and when they were seen.
        self.told, self.starts, self.ends, self.ended, self.is_ending = [], [], [], [], False
        self.process = None
        self._start()
        for work in (self._hear, self._watch):
            threading.Thread(target=work, daemon=True).start()

    def _start(self):
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=child(),
            env={**self.environment, "NOTIFY_SOCKET": self.address, "WATCHDOG_USEC": "30000000"})
        self.starts.append(time.monotonic())

    def _hear(self):
        while not self.is_ending:
            try:
                text = self.ear.recv(4096).decode(errors="replace")
            except TimeoutError:
                continue
            self.told.append((time.monotonic(), text))

    def _watch(self):
        # PR_SET_PDEATHSIG means the thread that starts it: this one lasts for as long as the program.
        while True:
            status = self.process.poll()
            if status is not None:
                if self.is_ending:
                    return
                self.ends.append(status)
                self.ended.append(time.monotonic())
                time.sleep(self.pause)
                self._start()
            time.sleep(0.02)

    def has_told(self, line, since=0.0) -> bool:
        return any(at >= since and line in text.split("\n") for at, text in list(self.told))

    def wait(self, is_so, seconds) -> bool:
        deadline = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def end(self) -> int:
        """Ends it as `systemctl stop` would; its status."""
        self.is_ending = True
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait()
