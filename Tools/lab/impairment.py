"""A worse network between the host and one speaker."""
import contextlib
import os
import signal
import sys
import time

from processes import Remembered, run, until
from settings import HERE, NETWORK, fail
from speakers import Speaker

_WORDS = {"delay": float, "jitter": float, "loss": float, "burst": float, "duplicate": float, "rate": int}
_SWITCHES = ("reorder", "inward", "outward")


def _firewall(speaker: Speaker, *rule, quiet=False) -> bool:
    # The older tables: kernels without nf_tables' queue expression still have them.
    return run(*speaker.enter_network(), "iptables-legacy", "-w", *rule, quiet=quiet)


def parse(words) -> dict:
    wanted, words = {}, list(words)
    while words:
        word = words.pop(0)
        if word in _SWITCHES:
            wanted[word] = 1
        elif word in _WORDS and words:
            try:
                wanted[word] = _WORDS[word](words.pop(0))
            except ValueError:
                fail(f"{word} wants a number.")
        else:
            fail(f"cannot {word!r}: delay MS, jitter MS, loss PERCENT, burst PACKETS, duplicate PERCENT, rate KBIT, reorder, "
                 "inward, outward.")
    if "inward" in wanted and "outward" in wanted:
        fail("without inward and outward it is both ways.")
    return wanted


def clear(speaker: Speaker):
    _firewall(speaker, "-F")
    _firewall(speaker, "-t", "mangle", "-F")
    Remembered(speaker.path("queue.pid")).stop()
    run("tc", "qdisc", "del", "dev", speaker.cable, "root", quiet=True)
    speaker.write("impair", "none")


def impair(speaker: Speaker, words):
    """Replaces what was there. Delay, jitter and loss act on every packet, each way unless it says inward (towards the speaker)
    or outward; duplicates are made both ways, the rate acts only towards the speaker."""
    wanted = parse(words)
    clear(speaker)
    if "rate" in wanted and not run("tc", "qdisc", "replace", "dev", speaker.cable, "root", "tbf", "rate",
                                    f"{wanted['rate']}kbit", "burst", "16kb", "latency", "500ms"):
        fail("this kernel has no tbf.")
    if "duplicate" in wanted:
        _duplicate(speaker, wanted["duplicate"] / 100)
    if set(wanted) - {"rate", "duplicate"}:
        log = speaker.path("queue.log")
        queue = Remembered(speaker.path("queue.pid"))
        figures = [str(wanted.get(word, 0)) for word in ("delay", "jitter", "loss", "reorder", "burst")]
        queue.start([*speaker.enter_network(), sys.executable, "-B", os.path.join(HERE, "packet_queue.py"), *figures], log)

        def ready():
            with open(log) as file:
                return "ready" in file.read()
        if not until(ready, 5):
            fail(f"the packet queue did not start; see {log}. Does this kernel have nfnetlink_queue?")
        for chain, interface, number, other in (("INPUT", "-i", "1", "outward"), ("OUTPUT", "-o", "2", "inward")):
            if other not in wanted and not _firewall(speaker, "-A", chain, "!", interface, "lo", "-j", "NFQUEUE", "--queue-num", number,
                             "--queue-bypass"):
                fail("this kernel's firewall has no NFQUEUE.")
    speaker.write("impair", " ".join(words))


def _duplicate(speaker: Speaker, share: float):
    """Copies of packets: what comes in goes once more to the speaker itself, what goes out once more to the host."""
    for chain, interface, receiver in (("PREROUTING", "-i", speaker.address), ("OUTPUT", "-o", f"{NETWORK}.1")):
        if not _firewall(speaker, "-t", "mangle", "-A", chain, "!", interface, "lo", "-m", "statistic", "--mode", "random",
                         "--probability", f"{share:.4f}", "-j", "TEE", "--gateway", receiver):
            fail("this kernel's firewall has no TEE.")


@contextlib.contextmanager
def _cut(speaker: Speaker, unplug: bool):
    """Not a packet passes; with `unplug` the link itself is down, as when a cable is pulled."""
    drops = [(chain, "!", flag, "lo", "-j", "DROP") for chain, flag in (("INPUT", "-i"), ("OUTPUT", "-o"))]
    try:
        if unplug:
            run("ip", "link", "set", speaker.cable, "down")
        else:
            for rule in drops:
                _firewall(speaker, "-I", *rule)
        yield
    finally:
        if unplug:
            run("ip", "link", "set", speaker.cable, "up")
        else:
            for rule in drops:
                _firewall(speaker, "-D", *rule)


def cut(speaker: Speaker, seconds: float, unplug: bool):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with _cut(speaker, unplug):
        print(f"cut   {time.time():.6f}  {time.monotonic_ns()}", flush=True)
        time.sleep(seconds)
    print(f"whole {time.time():.6f}  {time.monotonic_ns()}", flush=True)
