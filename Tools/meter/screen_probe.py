"""Watches the strip on the screen and logs every change, with the times of the looks around it.

    screen_probe.py DISPLAY OUT.npz LOOKS_PER_SECOND X Y WIDTH      until SIGTERM

A process of its own, so that nothing else in the meter delays a look. A change lies between the start of the last
look that still saw the old picture and the end of the first one that saw the new.
"""
import os
import random
import signal
import sys
import time

import numpy as np

import strip
import xserver


def main():
    display, out, rate = sys.argv[1], sys.argv[2], float(sys.argv[3])
    x, y, width = map(int, sys.argv[4:7])
    try:
        os.nice(-15)
    except OSError:
        pass
    reader = xserver.RowReader(display, x, y, width)
    cells = strip.columns(width)
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    looks, changes, seen = [], [], []
    last, last_start = b"", time.monotonic()
    period, due = 1 / rate, time.monotonic()
    print("ready", flush=True)
    while not stopped:
        start = time.monotonic()
        reader.look()
        end = time.monotonic()
        row = reader.green[cells].tobytes()
        looks.append((start, end))
        if row != last:
            changes.append((last_start, end))
            seen.append(row)
            last = row
        last_start = start
        # At random distances, so that the looks never fall in step with the film.
        due = max(due + period * random.uniform(0.6, 1.4), time.monotonic() - period)
        time.sleep(max(0.0, due - time.monotonic()))
    np.savez(out, looks=np.array(looks), changes=np.array(changes).reshape(-1, 2),
             rows=np.frombuffer(b"".join(seen), np.uint8).reshape(-1, strip.CELLS))


main()
