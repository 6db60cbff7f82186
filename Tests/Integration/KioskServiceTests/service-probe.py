"""A service for tests of the supervisor: service-probe.py MODE. Tells that it is ready, gives signs of life, and behaves as MODE says."""
import os
import signal
import socket
import sys
import time

mode = sys.argv[1]
address = os.environ["NOTIFY_SOCKET"].replace("@", "\0", 1)
patience = int(os.environ.get("WATCHDOG_USEC", "0")) / 1e6
ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


def tell(text):
    ear.sendto(text.encode(), address)


def reload(*_):
    tell("RELOADING=1\nMONOTONIC_USEC=%d" % (time.monotonic_ns() // 1000))
    tell("READY=1")


def end(*_):
    tell("STOPPING=1")
    sys.exit(0)


signal.signal(signal.SIGHUP, reload)
signal.signal(signal.SIGTERM, signal.SIG_IGN if mode == "deaf" else end)
if mode == "deaf":
    signal.signal(signal.SIGABRT, signal.SIG_IGN)
tell("READY=1\nSTATUS=" + mode)
if mode == "fail":
    sys.exit(69)
if mode == "finish":
    sys.exit(0)
while True:
    if mode == "live":
        tell("WATCHDOG=1")
    time.sleep(patience / 4 if patience else 60)
