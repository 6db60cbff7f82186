"""Drive a film through mpv's JSON interface with python-mpv-jsonipc, a client that has nothing to do with this project.

  mpv-client.py SOCKET

Pauses within the film's second 1, seeks, sets the volume, continues, and waits for the end of the film. Prints one JSON object: what it was told.
"""
import json
import sys
import threading
import time

from python_mpv_jsonipc import MPV, MPVError

WAIT = 20
player = MPV(start_mpv=False, ipc_socket=sys.argv[1])
pauses, events = [], []
observed, paused, restarted, ended = (threading.Event() for _ in range(4))


@player.property_observer("pause")
def pause_changed(_, value):
    pauses.append(value)
    observed.set()
    if value:
        paused.set()


@player.on_event("seek")
def seeking(event):
    events.append(event["event"])


@player.on_event("playback-restart")
def sought(event):
    events.append(event["event"])
    restarted.set()


@player.on_event("end-file")
def over(event):
    ended.set()


# The first value arrives on its own; a change before that would be the first one.
observed.wait(WAIT)
while (player.time_pos or 0) < 1.2:
    time.sleep(0.02)
player.pause = True
paused.wait(WAIT)
player.seek(4, "absolute")
restarted.wait(WAIT)
player.volume = 40
try:
    player.command("explode")
    refused = None
except MPVError as error:
    refused = str(error)
found = {
    "filename": player.filename, "duration": player.duration, "position": player.time_pos, "volume": player.volume,
    "tracks": [track["type"] for track in player.track_list], "refused": refused,
}
player.pause = False
ended.wait(WAIT)
print(json.dumps({**found, "pause": pauses, "events": events}))
player.terminate()
