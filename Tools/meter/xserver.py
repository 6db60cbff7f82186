"""The little of Xlib that the meter needs, through ctypes: reading pixels (MIT-SHM) and pressing keys (XTEST)."""
import ctypes as c

import numpy as np

_Display, _Window = c.c_void_p, c.c_ulong


class _Segment(c.Structure):
    _fields_ = [("shmseg", c.c_ulong), ("shmid", c.c_int), ("shmaddr", c.c_void_p), ("readOnly", c.c_int)]


class _Image(c.Structure):  # the head of XImage; what follows is not touched
    _fields_ = [("width", c.c_int), ("height", c.c_int), ("xoffset", c.c_int), ("format", c.c_int),
                ("data", c.c_void_p), ("byte_order", c.c_int), ("bitmap_unit", c.c_int),
                ("bitmap_bit_order", c.c_int), ("bitmap_pad", c.c_int), ("depth", c.c_int),
                ("bytes_per_line", c.c_int), ("bits_per_pixel", c.c_int)]


def _declare(library, name, result, *arguments):
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function


def _open(name: str):
    x11 = c.CDLL("libX11.so.6")
    display = _declare(x11, "XOpenDisplay", _Display, c.c_char_p)(name.encode())
    if not display:
        raise SystemExit(f"meter: cannot open the display {name}")
    return x11, display


class RowReader:
    """Reads one row of pixels of the root window again and again without copying through the socket."""

    def __init__(self, name: str, x: int, y: int, width: int):
        x11, self._display = _open(name)
        ext, libc = c.CDLL("libXext.so.6"), c.CDLL(None, use_errno=True)
        if not _declare(ext, "XShmQueryExtension", c.c_int, _Display)(self._display):
            raise SystemExit(f"meter: the display {name} has no MIT-SHM")
        screen = _declare(x11, "XDefaultScreen", c.c_int, _Display)(self._display)
        self._root = _declare(x11, "XDefaultRootWindow", _Window, _Display)(self._display)
        visual = _declare(x11, "XDefaultVisual", c.c_void_p, _Display, c.c_int)(self._display, screen)
        depth = _declare(x11, "XDefaultDepth", c.c_int, _Display, c.c_int)(self._display, screen)
        create = _declare(ext, "XShmCreateImage", c.POINTER(_Image), _Display, c.c_void_p, c.c_uint, c.c_int,
                          c.c_void_p, c.POINTER(_Segment), c.c_uint, c.c_uint)
        self._segment = _Segment()
        z_pixmap = 2
        self._image = create(self._display, visual, depth, z_pixmap, None, c.byref(self._segment), width, 1)
        image = self._image.contents
        if image.bits_per_pixel != 32:
            raise SystemExit(f"meter: the display {name} has {image.bits_per_pixel} bits a pixel, not 32")
        libc.shmat.restype = c.c_void_p
        libc.shmat.argtypes = [c.c_int, c.c_void_p, c.c_int]
        self._segment.shmid = libc.shmget(0, max(4096, image.bytes_per_line), 0o1600)
        address = libc.shmat(self._segment.shmid, None, 0)
        if self._segment.shmid < 0 or address in (None, c.c_void_p(-1).value):
            raise SystemExit("meter: no shared memory")
        self._segment.shmaddr = image.data = address
        _declare(ext, "XShmAttach", c.c_int, _Display, c.POINTER(_Segment))(self._display, self._segment)
        _declare(x11, "XSync", c.c_int, _Display, c.c_int)(self._display, 0)
        remove = 0  # IPC_RMID: the kernel frees it when both ends are gone
        libc.shmctl(self._segment.shmid, remove, None)
        self._get = _declare(ext, "XShmGetImage", c.c_int, _Display, _Window, c.POINTER(_Image), c.c_int, c.c_int,
                             c.c_ulong)
        self._x, self._y = x, y
        memory = (c.c_uint8 * (width * 4)).from_address(address)
        # Green stands for brightness: the strip is grey.
        self.green = np.frombuffer(memory, np.uint8).reshape(width, 4)[:, 1]

    def look(self):
        """Refresh `green`; returns when the X server has answered."""
        all_planes = 0xFFFFFFFF
        self._get(self._display, self._root, self._image, self._x, self._y, all_planes)


class Keyboard:
    """Presses keys as if on the keyboard; they go to the window under the pointer when there is no window manager."""

    def __init__(self, name: str):
        x11, self._display = _open(name)
        xtst = c.CDLL("libXtst.so.6")
        self._keysym = _declare(x11, "XStringToKeysym", c.c_ulong, c.c_char_p)
        self._keycode = _declare(x11, "XKeysymToKeycode", c.c_ubyte, _Display, c.c_ulong)
        self._fake = _declare(xtst, "XTestFakeKeyEvent", c.c_int, _Display, c.c_uint, c.c_int, c.c_ulong)
        self._sync = _declare(x11, "XSync", c.c_int, _Display, c.c_int)

    def press(self, keys: str):
        """`Right`, or `shift+Right`: names of keysyms. Returns when the X server has taken the events."""
        codes = []
        for key in keys.split("+"):
            name = {"shift": "Shift_L", "ctrl": "Control_L", "alt": "Alt_L"}.get(key.lower(), key)
            code = self._keycode(self._display, self._keysym(name.encode()))
            if not code:
                raise SystemExit(f"meter: there is no key {key}")
            codes.append(code)
        for code in codes:
            self._fake(self._display, code, 1, 0)
        for code in reversed(codes):
            self._fake(self._display, code, 0, 0)
        self._sync(self._display, 0)
