"""Process 1 of one speaker, in its own network, mount and process namespace; when it ends, all of it ends.

    speaker_init.py ROOTFS FOLDER RATE CHANNELS KIND      KIND: airplay2, classic, or bare (network and DAC only)

Waits for a line on standard input (the network is ready), then starts what a speaker consists of: D-Bus, avahi, a
PulseAudio null sink as its DAC, nqptp, shairport-sync. FOLDER is the host's folder for logs and sockets; inside it is
/run/lab. SIGUSR1 gives the speaker a fresh receiver. A receiver that dies is started again and the death logged.
"""
import os
import signal
import subprocess
import sys
import time

from processes import give_priority, threads, until

ROOT, FOLDER, RATE, CHANNELS, KIND = sys.argv[1:6]
# The order of a WAV file's channels; PulseAudio has another one, and none for eight.
ORDERS = {6: " channel_map=front-left,front-right,front-center,lfe,rear-left,rear-right",
          8: " channel_map=front-left,front-right,front-center,lfe,rear-left,rear-right,side-left,side-right"}


def inside(path: str) -> str:
    return os.path.join(ROOT, path)


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


def furnish():
    """The root filesystem read-only, with what must be writable in memory."""
    mount("--make-rprivate", "/")
    mount("--bind", ROOT, ROOT)
    mount("-o", "remount,bind,ro", ROOT)
    for folder in ("run", "tmp", "root", "var/lib", "var/cache"):
        mount("-t", "tmpfs", "-o", "mode=1777" if folder == "tmp" else "mode=755", "lab", inside(folder))
    mount("--rbind", "/dev", inside("dev"))
    mount("-t", "tmpfs", "-o", "mode=1777", "lab", inside("dev/shm"))
    mount("-t", "proc", "proc", inside("proc"))
    for folder in ("run/lab", "run/dbus", "run/avahi-daemon", "var/lib/dbus"):
        os.makedirs(inside(folder))
    mount("--bind", FOLDER, inside("run/lab"))
    mount("--bind", os.path.join(FOLDER, "machine-id"), inside("etc/machine-id"))


def network():
    """IPv4 only, and multicast over the one cable."""
    with open("/proc/sys/net/ipv6/conf/all/disable_ipv6", "w") as file:
        file.write("1")
    for command in ("link set lo up", "link set eth0 up", "route add 224.0.0.0/4 dev eth0"):
        subprocess.run(["ip", *command.split()], check=True)


def guest(log: str, *command, policy=None, priority=0, more=None) -> subprocess.Popen:
    """A program of the speaker's own, from its root filesystem. A speaker is a separate box: real-time priority keeps
    this machine's other work from starving it."""
    def prepare():
        if policy is not None:
            try:
                os.sched_setscheduler(0, policy, os.sched_param(priority))
            except OSError:
                pass
    with open(os.path.join(FOLDER, log), "ab") as out:
        return subprocess.Popen(["chroot", ROOT, *command], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8",
                                     **(more or {})},
                                preexec_fn=prepare)


def note(text: str):
    with open(os.path.join(FOLDER, "receiver.log"), "a") as file:
        file.write(f"{time.time():.6f} LAB receiver {text}\n")


def expect(path: str, what: str):
    if not until(lambda: os.path.exists(inside(path)), 5):
        sys.exit(f"{what} did not start")


def main():
    furnish()
    sys.stdin.readline()
    network()
    guest("dbus.log", "dbus-daemon", "--system", "--nofork", "--nopidfile")
    expect("run/dbus/system_bus_socket", "D-Bus")
    if KIND != "bare":
        guest("avahi.log", "avahi-daemon", "--no-chroot", "-f", "/run/lab/avahi.conf")
    # A null sink runs on CLOCK_MONOTONIC; without rewinds its monitor shows exactly what was heard.
    guest("pulse.log", "pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no",
          "--realtime=yes", "--high-priority=no", "--log-target=stderr",
          "-L", f"module-null-sink sink_name=dac rate={RATE} channels={CHANNELS}{ORDERS.get(int(CHANNELS), '')} format=s32le norewinds=1",
          "-L", "module-native-protocol-unix auth-anonymous=1 socket=/run/lab/pulse")
    expect("run/lab/pulse", "PulseAudio")
    if KIND == "airplay2":
        guest("nqptp.log", "nqptp", "-v", policy=os.SCHED_FIFO, priority=10)
        # shairport-sync gives up at once when nqptp is not there.
        expect("dev/shm/nqptp", "nqptp")
        time.sleep(0.3)
    if KIND == "bare":
        with open(os.path.join(FOLDER, "ready"), "w"):
            pass
        while True:
            signal.pause()
    expect("run/avahi-daemon/socket", "avahi")
    receive()


def environment() -> dict:
    """What an experiment wants the next receiver to find, as NAME=VALUE lines of FOLDER/environment."""
    try:
        with open(os.path.join(FOLDER, "environment")) as file:
            return dict(line.split("=", 1) for line in file.read().splitlines())
    except FileNotFoundError:
        return {}


def receive():
    receiver, asked = None, []

    def renew(*_):
        asked.append(True)
        if receiver:
            receiver.kill()
    signal.signal(signal.SIGUSR1, renew)
    with open(os.path.join(FOLDER, "ready"), "w"):
        pass
    while True:
        receiver = guest("receiver.log", "shairport-sync", "-c", "/run/lab/shairport.conf", more=environment())
        note("started")
        # At each start a thread of its own computes for 1.5 s, to time the resampler: at real-time priority it would hold a
        # processor. A new thread has the name of its parent at first.
        timer, proc = "soxr_checker", inside("proc")
        until(lambda: timer in threads(receiver.pid, proc).values(), 1)
        until(lambda: not give_priority(receiver.pid, os.SCHED_RR, 8, timer, proc), 3)
        status = receiver.wait()
        note("restarted on request" if asked else f"ended with status {status}")
        if not asked:
            time.sleep(1)
        asked.clear()


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
main()
