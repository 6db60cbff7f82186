"""Records what a PulseAudio sink plays, with the moments at which frames of the recording were heard.

    sound_probe.py SERVER SINK OUT.wav [SECONDS [RATE [CHANNELS]]]      until SIGTERM or for so long

Writes OUT.wav and OUT.wav.json: `rate` and `anchors`, each {frame, monotonic_ns}: that frame of the recording leaves
the sink at that instant of CLOCK_MONOTONIC. The server is asked for the pair about ten times a second. The sink's
monitor must never be rewound (null sink with norewinds=1), else a recording is not what was heard. RATE (48000) and
CHANNELS (2) are the sink's own: a resampler in between would add a delay that nobody reports.
"""
import ctypes as c
import json
import os
import random
import signal
import sys
import time
import wave

_pa = c.CDLL("libpulse.so.0")
_pointer = c.c_void_p


class _Format(c.Structure):
    _fields_ = [("format", c.c_int), ("rate", c.c_uint32), ("channels", c.c_uint8)]


class _ChannelMap(c.Structure):
    # pa_channel_map; PA_CHANNELS_MAX is 32.
    _fields_ = [("channels", c.c_uint8), ("map", c.c_int * 32)]


def _channel_map(channels: int):
    """The map of a sink with so many channels, so that the server does not mix them; None: its default."""
    if channels not in ORDERS:
        return None
    result = _ChannelMap()
    parse = _function("pa_channel_map_parse", _pointer, c.POINTER(_ChannelMap), c.c_char_p)
    parse(c.byref(result), ORDERS[channels].encode())
    return c.byref(result)


class _Buffering(c.Structure):
    _fields_ = [(n, c.c_uint32) for n in ("maxlength", "tlength", "prebuf", "minreq", "fragsize")]


class _Timing(c.Structure):
    _fields_ = [("seconds", c.c_long), ("microseconds", c.c_long), ("synchronized", c.c_int),
                ("sink_usec", c.c_uint64), ("source_usec", c.c_uint64), ("transport_usec", c.c_uint64),
                ("playing", c.c_int), ("write_corrupt", c.c_int), ("write_index", c.c_int64),
                ("read_corrupt", c.c_int), ("read_index", c.c_int64)]


_Done = c.CFUNCTYPE(None, _pointer, c.c_int, _pointer)


def _function(name, result, *arguments):
    found = getattr(_pa, name)
    found.restype, found.argtypes = result, arguments
    return found


_prepare = _function("pa_mainloop_prepare", c.c_int, _pointer, c.c_int)
_poll = _function("pa_mainloop_poll", c.c_int, _pointer)
_dispatch = _function("pa_mainloop_dispatch", c.c_int, _pointer)
_context_state = _function("pa_context_get_state", c.c_int, _pointer)
_stream_state = _function("pa_stream_get_state", c.c_int, _pointer)
_peek = _function("pa_stream_peek", c.c_int, _pointer, c.POINTER(_pointer), c.POINTER(c.c_size_t))
_drop = _function("pa_stream_drop", c.c_int, _pointer)
_readable = _function("pa_stream_readable_size", c.c_size_t, _pointer)
_update_timing = _function("pa_stream_update_timing_info", _pointer, _pointer, _Done, _pointer)
_timing = _function("pa_stream_get_timing_info", c.POINTER(_Timing), _pointer)
_release = _function("pa_operation_unref", None, _pointer)
READY, FAILED_CONTEXT, STREAM_READY, FAILED_STREAM = 4, 5, 2, 3
# Else a recording of the default sink follows when another becomes the default.
ADJUST_LATENCY, DONT_MOVE = 0x2000, 0x0200
S16LE = 3
# The order of a WAV file's channels, as Tools/lab/speaker_init.py gives it to its sink.
ORDERS = {6: "front-left,front-right,front-center,lfe,rear-left,rear-right",
          8: "front-left,front-right,front-center,lfe,rear-left,rear-right,side-left,side-right"}


class Recorder:
    def __init__(self, server: str, sink: str, rate: int = 48000, channels: int = 2, fragment: float = 0.01):
        self._width = 2 * channels
        self._loop = _function("pa_mainloop_new", _pointer)()
        api = _function("pa_mainloop_get_api", _pointer, _pointer)(self._loop)
        context = _function("pa_context_new", _pointer, _pointer, c.c_char_p)(api, b"meter")
        connect = _function("pa_context_connect", c.c_int, _pointer, c.c_char_p, c.c_int, _pointer)
        if connect(context, server.encode(), 0, None) < 0:
            raise SystemExit("meter: cannot reach the sound server")
        self._wait(lambda: _context_state(context), READY, FAILED_CONTEXT)
        new = _function("pa_stream_new", _pointer, _pointer, c.c_char_p, c.POINTER(_Format), _pointer)
        self._stream = new(context, b"monitor", c.byref(_Format(S16LE, rate, channels)), _channel_map(channels))
        unset = 0xFFFFFFFF
        buffering = _Buffering(unset, unset, unset, unset, int(rate * fragment) * self._width)
        record = _function("pa_stream_connect_record", c.c_int, _pointer, c.c_char_p, c.POINTER(_Buffering), c.c_int)
        record(self._stream, (sink + ".monitor").encode(), c.byref(buffering), ADJUST_LATENCY | DONT_MOVE)
        self._wait(lambda: _stream_state(self._stream), STREAM_READY, FAILED_STREAM)
        self.anchors, self._asked, self._answer = [], False, _Done(self._on_timing)

    def _wait(self, state, wanted, failed):
        while state() != wanted:
            if state() >= failed:
                raise SystemExit("meter: the sound server refused")
            self.turn(20)

    def turn(self, milliseconds: int):
        if min(_prepare(self._loop, milliseconds * 1000), _poll(self._loop), _dispatch(self._loop)) < 0:
            raise SystemExit("meter: lost the sound server")

    def ask(self):
        if not self._asked:
            self._asked = True
            _release(_update_timing(self._stream, self._answer, None))

    def _on_timing(self, _stream, success, _data):
        self._asked = False
        info = _timing(self._stream)
        if not success or not info:
            return
        timing = info.contents
        # Zero means that the sink was late and its position is unknown.
        if timing.write_corrupt or not timing.synchronized or timing.sink_usec == 0:
            return
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        real = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        stamp = (timing.seconds * 1_000_000 + timing.microseconds) * 1000
        monotonic = stamp - real + (before + after) // 2
        # The frame captured last is heard once the sink's buffer has played.
        heard = monotonic + (timing.sink_usec - timing.source_usec) * 1000
        self.anchors.append({"frame": timing.write_index // self._width, "monotonic_ns": heard})

    def take(self):
        """What has arrived since the last call, as bytes."""
        data, size = _pointer(), c.c_size_t()
        parts = []
        if _stream_state(self._stream) != STREAM_READY:
            raise SystemExit("meter: lost the sound server")
        while _readable(self._stream) > 0:
            _peek(self._stream, c.byref(data), c.byref(size))
            if not size.value:
                break
            parts.append(c.string_at(data.value, size.value) if data.value else bytes(size.value))
            _drop(self._stream)
        return b"".join(parts)


def main():
    server, sink, out = sys.argv[1:4]
    try:
        os.nice(-15)
    except OSError:
        pass
    rate, channels = (int(v) for v in (sys.argv[5:7] + ["48000", "2"][len(sys.argv[5:7]):]))
    recorder = Recorder(server, sink, rate, channels)
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end = time.monotonic() + (float(sys.argv[4]) if len(sys.argv) > 4 else 1e9)
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        print("ready", flush=True)
        next_question = 0.0
        try:
            while not stopped and time.monotonic() < end:
                recorder.turn(5)
                file.writeframesraw(recorder.take())
                if time.monotonic() > next_question:
                    next_question = time.monotonic() + random.uniform(0.07, 0.13)
                    recorder.ask()
        finally:
            # What was heard before the server ended is true.
            with open(out + ".json", "w") as side:
                json.dump({"rate": rate, "anchors": recorder.anchors}, side)


if __name__ == "__main__":
    main()
