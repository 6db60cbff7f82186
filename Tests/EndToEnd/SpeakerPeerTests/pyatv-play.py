"""Play a sound file on a speaker with pyatv, a sender that has nothing to do with this project.

  pyatv-play.py ADDRESS PORT FILE [FEATURES]

Prints one JSON object: the monotonic time at which the stream's clock started.
"""
import asyncio
import json
import sys
import time

from pyatv import conf, connect
from pyatv.const import Protocol
from pyatv.protocols.raop.protocols import StreamContext

started = []
reset = StreamContext.reset


def noting_reset(self):
    started.append(time.monotonic_ns())
    reset(self)


StreamContext.reset = noting_reset


async def main(address, port, path, features):
    service = conf.ManualService(
        "02:00:00:00:00:01", Protocol.RAOP, int(port),
        {"et": "0", "features": features, "sr": "44100", "ss": "16", "ch": "2", "md": "0,2"})
    config = conf.AppleTV(address, "Speaker")
    config.add_service(service)
    device = await connect(config, asyncio.get_running_loop())
    try:
        await device.stream.stream_file(path)
    finally:
        await asyncio.gather(*device.close())
    # The first reset begins the stream, the last belongs to the end of the session.
    print(json.dumps({"started_ns": started[0]}))


asyncio.run(main(*sys.argv[1:4], *(sys.argv[4:5] or ["0x00000200,0x14040"])))
