"""What spoils a day: each function returns what is done to a `Day` while its film plays. Import own_lab first."""
import os
import signal
import struct
import subprocess
import time

from own_lab import TOP, lab
import host
import settings
import speakers
from processes import until


def nothing(_day):
    pass


def in_turn(*happenings):
    """One after the other; each waits from where the one before ended."""
    def meanwhile(day):
        for each in happenings:
            each(day)
    return meanwhile


def spoiled(at, seconds, spoil, mend=None):
    """Something bad happens, and is over after so many seconds."""
    def meanwhile(day):
        time.sleep(at)
        day.got_bad()
        spoil(day)
        try:
            time.sleep(seconds)
        finally:
            if mend:
                mend(day)
        day.got_good()
    return meanwhile


# The network.

def cut(seconds, at, *words):
    """No packet passes; with "link" the cable is pulled."""
    return spoiled(at, 0, lambda _: lab("impair", 1, "cut", seconds, *words))


def _address(prefix, device, old, new):
    """One host changes its address on the lab's network; the routes stay, because it is never without one."""
    subprocess.run([*prefix, "sh", "-c", f"echo 1 > /proc/sys/net/ipv4/conf/{device}/promote_secondaries"], check=True)
    for words in (["add", f"{settings.NETWORK}.{new}/24", "brd", "+"], ["del", f"{settings.NETWORK}.{old}/24"]):
        subprocess.run([*prefix, "ip", "address", *words, "dev", device], check=True)


def moved(seconds, at, host=False):
    """Another address for a while. It can be reached all the time, so that good begins with each change."""
    def meanwhile(day):
        prefix, device, old, new = ([], settings.BRIDGE, 1, 2) if host else (speakers.Speaker(1).enter_network(), "eth0", 11, 61)
        time.sleep(at)
        day.got_bad()
        day.got_good()
        _address(prefix, device, old, new)
        try:
            time.sleep(seconds)
        finally:
            _address(prefix, device, new, old)
        day.got_good()
    return meanwhile


# Processes.

def _machine():
    """The process numbers of what speaker 1 plays with: receiver, clock and sound server, in the speaker's network."""
    network = os.readlink(f"/proc/{speakers.Speaker(1).pid}/ns/net")
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                name = os.path.basename(file.read().partition("\0")[0])
            if name in ("shairport-sync", "nqptp", "pulseaudio") and os.readlink(f"/proc/{pid}/ns/net") == network:
                found.append(int(pid))
        except OSError:
            pass
    if len(found) < 3:
        raise RuntimeError("speaker 1 does not run whole")
    return found


def frozen(seconds, at, speaker=True, player=False):
    """All of the speaker stands still, as when its machine hangs; or the player does, or both. The receiver alone would lose its
    stream at the sound server, and be silent for every sender from then on."""
    def meanwhile(day):
        stopped = (_machine() if speaker else []) + ([day.player.pid] if player else [])

        def tell(number):
            for pid in stopped:
                os.kill(pid, number)
        spoiled(0, seconds, lambda _: tell(signal.SIGSTOP), lambda _: tell(signal.SIGCONT))(day)
    return in_turn(lambda _: time.sleep(at), meanwhile)


def restart(at):
    return spoiled(at, 0, lambda _: lab("restart", 1))


def restart_early(_day):
    # A cold start takes 1.7 s: connected, and nothing heard yet.
    time.sleep(1.2)
    lab("restart", 1)


def discovery(seconds, at, bus):
    return spoiled(at, seconds, lambda _: host.discovery_away(bus), lambda _: host.discovery_up(private=True))


def moved_while_the_bus_was_away(at, clock):
    """D-Bus and avahi are away for 5 s, and the wall clock is set meanwhile; then the speaker has another address
    for a minute."""
    def away(day):
        host.discovery_away(bus=True)
        time.sleep(2)
        set_wall_clock(day.path("wall-clock"), clock)
        time.sleep(3)
        host.discovery_up(private=True)
    return in_turn(spoiled(at, 0, away), moved(60, 4))


def sound_server(seconds, at):
    """The sound server of this computer ends and comes back; the recorder, too, can only then go on."""
    def spoil(day):
        day.rig.sound.restart(seconds)
        day.record_again()
    return spoiled(at, 0, spoil)


# The wall clock, as a process is told of it.

def wall_clock_library(folder):
    path, source = os.path.join(folder, "wall_clock.so"), os.path.join(TOP, "Tools/experiments/wall_clock.c")
    if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(source):
        subprocess.run(["cc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", path, source, "-ldl"], check=True)
    return path


def set_wall_clock(path, seconds):
    """Where `wall_clock.c` looks; the file is written in place, because it is mapped."""
    with open(path, "r+b" if os.path.exists(path) else "w+b") as file:
        file.write(struct.pack("=qq", int(seconds * 1e9), time.time_ns()))


def wall_clock(seconds, at):
    """The player's wall clock is set; a clock that is wrong from here on is as good as it gets."""
    return spoiled(at, 0, lambda day: set_wall_clock(day.path("wall-clock"), seconds))


def speaker_wall_clock(seconds, at):
    return spoiled(at, 0, lambda _: set_wall_clock(speakers.Speaker(1).path("wall-clock"), seconds))


# Without room.

def record_on_a_full_disk(day):
    """The player's record is where only the player sees it, and is fetched before it ends."""
    until(lambda: day.player.poll() is not None or time.monotonic() > day.began + day.seconds - 1, day.seconds + 20, 0.2)
    with open(f"/proc/{day.player.pid}/root{day.path('small/timeline.jsonl')}", "rb") as kept, open(day.path("timeline.jsonl"), "wb") as out:
        out.write(kept.read())


def small_disk(folder, kilobytes, fill):
    """A prefix: the program after it sees a small disk at `folder`, full to the last byte if `fill`."""
    filling = f'head -c {kilobytes}K /dev/zero > "$0/filler" 2> /dev/null; ' if fill else ""
    return ["unshare", "--mount", "sh", "-c",
            f'mkdir -p "$0" && mount -t tmpfs -o size={kilobytes}k small "$0" && {{ {filling}exec "$@"; }}', folder]


def taken(at, make_clip):
    def meanwhile(day):
        # The second speaker is an empty box with a network of its own: another sender's computer.
        other = day.play("other.jsonl", speakers.Speaker(2).enter_network(), make_clip(10))
        other.wait(40)
    return spoiled(at, 0, meanwhile)
