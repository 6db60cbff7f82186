"""Records what a PipeWire sink plays, with the moments at which frames of the recording were heard.

    pipewire_probe.py RUNTIME_DIR SINK OUT.wav        until SIGTERM

Writes the files of sound_probe.py. A sink without hardware plays the frames of a cycle of the graph from that cycle's
instant on. PipeWire states the instant with every buffer: neither its server for PulseAudio's clients nor scheduling
is in between. The sink must run at 48,000 Hz: a resampler would add a delay that nobody reports.
"""
import ctypes as c
import json
import os
import signal
import struct
import sys
import threading
import wave

RATE, CHANNELS, WIDTH = 48000, 2, 4
_pointer = c.c_void_p
# enum pw_stream_state, pw_stream_flags (AUTOCONNECT, MAP_BUFFERS).
ERROR, UNCONNECTED, STREAMING = -1, 0, 3
FLAGS = 1 | 4


class _Chunk(c.Structure):
    _fields_ = [("offset", c.c_uint32), ("size", c.c_uint32), ("stride", c.c_int32), ("flags", c.c_int32)]


class _Data(c.Structure):
    _fields_ = [("type", c.c_uint32), ("flags", c.c_uint32), ("fd", c.c_int64), ("mapoffset", c.c_uint32),
                ("maxsize", c.c_uint32), ("data", _pointer), ("chunk", c.POINTER(_Chunk))]


class _SPABuffer(c.Structure):
    _fields_ = [("n_metas", c.c_uint32), ("n_datas", c.c_uint32), ("metas", _pointer), ("datas", c.POINTER(_Data))]


class _Buffer(c.Structure):
    _fields_ = [("buffer", c.POINTER(_SPABuffer))]


class _Time(c.Structure):
    _fields_ = [("now", c.c_int64), ("numerator", c.c_uint32), ("denominator", c.c_uint32), ("ticks", c.c_uint64),
                ("delay", c.c_int64), ("queued", c.c_uint64)]


_StateChanged = c.CFUNCTYPE(None, _pointer, c.c_int, c.c_int, c.c_char_p)
_Process = c.CFUNCTYPE(None, _pointer)


class _Events(c.Structure):
    # Version 0: what follows `drained` is not read.
    _fields_ = [("version", c.c_uint32), ("destroy", _pointer), ("state_changed", _StateChanged)] + [
        (name, _pointer) for name in ("control_info", "io_changed", "param_changed", "add_buffer", "remove_buffer")
    ] + [("process", _Process), ("drained", _pointer)]


def _pod(kind: int, body: bytes) -> bytes:
    """A value in PipeWire's encoding (SPA POD): size, type, body, padding to eight bytes."""
    return struct.pack("<II", len(body), kind) + body + bytes(-len(body) % 8)


def _format() -> bytes:
    """SPA_PARAM_EnumFormat: raw audio, S16_LE, the rate, the channels FL and FR."""
    number, position = struct.Struct("<I").pack, struct.pack("<II", 4, 3) + struct.pack("<II", 3, 4)
    values = [(1, _pod(3, number(1))), (2, _pod(3, number(1))), (0x10001, _pod(3, number(0x103))),
              (0x10003, _pod(4, number(RATE))), (0x10004, _pod(4, number(CHANNELS))), (0x10005, _pod(13, position))]
    body = b"".join(struct.pack("<II", key, 0) + value for key, value in values)
    return _pod(15, struct.pack("<II", 0x40003, 3) + body)


class Recorder:
    """One stream. `write` gets the samples and `anchors` grows in a thread of PipeWire's library."""

    def __init__(self, runtime: str, sink: str, write):
        os.environ["PIPEWIRE_RUNTIME_DIR"] = runtime
        self._pw = c.CDLL("libpipewire-0.3.so.0")
        self._write, self.anchors, self.started, self.ended = write, [], threading.Event(), threading.Event()
        self._frames, self._first_tick = 0, None
        pw, function = self._pw, self._function
        pw.pw_init(None, None)
        self._loop = function("pw_thread_loop_new", _pointer, c.c_char_p, _pointer)(b"recorder", None)
        loop = function("pw_thread_loop_get_loop", _pointer, _pointer)(self._loop)
        properties = function("pw_properties_new_string", _pointer, c.c_char_p)(
            f"media.type=Audio media.category=Capture stream.capture.sink=true target.object={sink} "
            "node.name=meter-recorder node.dont-reconnect=true".encode())
        self._events = _Events(0, None, _StateChanged(self._on_state), *[None] * 5, _Process(self._on_process), None)
        self._dequeue = function("pw_stream_dequeue_buffer", c.POINTER(_Buffer), _pointer)
        self._queue = function("pw_stream_queue_buffer", c.c_int, _pointer, c.POINTER(_Buffer))
        self._get_time = function("pw_stream_get_time_n", c.c_int, _pointer, c.POINTER(_Time), c.c_size_t)
        self._stream = function("pw_stream_new_simple", _pointer, _pointer, c.c_char_p, _pointer, c.POINTER(_Events), _pointer)(
            loop, b"recorder", properties, c.byref(self._events), None)
        self._param = c.create_string_buffer(_format())
        params = (_pointer * 1)(c.addressof(self._param))
        connect = function("pw_stream_connect", c.c_int, _pointer, c.c_int, c.c_uint32, c.c_int, _pointer, c.c_uint32)
        if not self._stream or connect(self._stream, 0, 0xFFFFFFFF, FLAGS, params, 1) < 0:
            raise SystemExit("meter: cannot reach PipeWire")
        function("pw_thread_loop_start", c.c_int, _pointer)(self._loop)

    def _function(self, name, result, *arguments):
        found = getattr(self._pw, name)
        found.restype, found.argtypes = result, arguments
        return found

    def stop(self):
        # The process callback has a thread of its own, which goes on.
        self.ended.set()
        self._function("pw_thread_loop_stop", None, _pointer)(self._loop)

    def _on_state(self, _data, _old, state, _error):
        if state == STREAMING:
            self.started.set()
        elif state in (ERROR, UNCONNECTED):
            self.ended.set()

    def _on_process(self, _data):
        time, parts = _Time(), []
        while True:
            buffer = self._dequeue(self._stream)
            if not buffer:
                break
            data = buffer.contents.buffer.contents.datas[0]
            chunk = data.chunk.contents
            parts.append(c.string_at(data.data + chunk.offset, chunk.size) if data.data else b"")
            self._queue(self._stream, buffer)
        self._get_time(self._stream, c.byref(time), c.sizeof(time))
        if not parts or not time.denominator or self.ended.is_set():
            return
        # `now` and `ticks` belong to the last buffer. What was missed before it is replaced by silence.
        before = sum(map(len, parts[:-1])) // WIDTH
        position = time.ticks * RATE * time.numerator // time.denominator
        if self._first_tick is None:
            self._first_tick = position - before
        missed = position - self._first_tick - self._frames - before
        if 0 < missed < 10 * RATE:
            self._write(bytes(missed * WIDTH))
            self._frames += missed
        for part in parts:
            self._write(part)
        self._frames += before + len(parts[-1]) // WIDTH
        # The sink drives the graph, so its process is a cycle's last one: the monitor has the cycle before, which ended at `now`.
        self.anchors.append({"frame": self._frames, "monotonic_ns": time.now})


def main():
    runtime, sink, out = sys.argv[1:4]
    try:
        # At a quantum of 5 ms the library's buffers last some 40 ms.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        pass
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with wave.open(out, "wb") as file:
        file.setnchannels(CHANNELS)
        file.setsampwidth(2)
        file.setframerate(RATE)
        recorder = Recorder(runtime, sink, file.writeframesraw)
        if not recorder.started.wait(10):
            raise SystemExit("meter: PipeWire records nothing")
        print("ready", flush=True)
        # What was heard before the server ended is true.
        while not stopped.wait(0.05) and not recorder.ended.is_set():
            pass
        recorder.stop()
        with open(out + ".json", "w") as side:
            json.dump({"rate": RATE, "anchors": recorder.anchors}, side)


if __name__ == "__main__":
    main()
