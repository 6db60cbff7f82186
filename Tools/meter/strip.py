"""The picture's code: a strip of black and white cells that says which frame this is.

The strip spans the whole width of the picture, so one row of pixels is enough to read it. Cells from the left:
3 guard cells (white black white), 20 bits of frame number, 8 bits of CRC over it, 2 cells that are white while
the flash is on, 3 guard cells (black white black).
"""
from typing import NamedTuple, Optional

import numpy as np

HEAD, TAIL = (1, 0, 1), (0, 1, 0)
NUMBER_BITS, CHECK_BITS, FLASH_CELLS = 20, 8, 2
CELLS = len(HEAD) + NUMBER_BITS + CHECK_BITS + FLASH_CELLS + len(TAIL)
# Where the strip lies, in parts of the picture's height.
TOP, HEIGHT = 0.25, 1 / 16
# White and black of the guards must differ by this much for a reading to count.
LEAST_CONTRAST = 60


class Reading(NamedTuple):
    frame: int
    flash: bool


def crc8(number: int) -> int:
    """CRC-8 with polynomial x^8 + x^2 + x + 1 over the three bytes of the number, from 0xFF."""
    crc = 0xFF
    for byte in number.to_bytes(3, "big"):
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ 0x07 if crc & 0x80 else crc << 1) & 0xFF
    return crc


def _bits(value: int, count: int) -> list:
    return [value >> (count - 1 - i) & 1 for i in range(count)]


def cells(frame: int, flash: bool) -> np.ndarray:
    """The strip of one frame, one 0 or 1 a cell."""
    row = [*HEAD, *_bits(frame, NUMBER_BITS), *_bits(crc8(frame), CHECK_BITS), *[int(flash)] * FLASH_CELLS, *TAIL]
    return np.array(row, dtype=np.uint8)


_GUARD = np.r_[0:len(HEAD), CELLS - len(TAIL):CELLS]
_GUARD_WHITE = np.array(HEAD + TAIL, dtype=bool)
_WEIGHTS = 1 << np.arange(NUMBER_BITS - 1, -1, -1)
_CHECK_WEIGHTS = 1 << np.arange(CHECK_BITS - 1, -1, -1)


def read(brightness) -> Optional[Reading]:
    """What a row of CELLS brightness values (0...255) says, or nothing when it is no strip."""
    row = np.asarray(brightness, dtype=np.int32)
    guard = row[_GUARD]
    black, white = guard[~_GUARD_WHITE], guard[_GUARD_WHITE]
    if white.min() - black.max() < LEAST_CONTRAST:
        return None
    ones = row > (white.mean() + black.mean()) / 2
    number_end = len(HEAD) + NUMBER_BITS
    check_end = number_end + CHECK_BITS
    frame = int(ones[len(HEAD):number_end] @ _WEIGHTS)
    if int(ones[number_end:check_end] @ _CHECK_WEIGHTS) != crc8(frame):
        return None
    return Reading(frame, bool(ones[check_end:check_end + FLASH_CELLS].all()))


def columns(width: int) -> np.ndarray:
    """The middle of each cell in a row of that many pixels."""
    return ((np.arange(CELLS) + 0.5) * width / CELLS).astype(int)


def rows(height: int) -> tuple:
    """First row and height of the strip; both even, as 4:2:0 wants."""
    return int(height * TOP) // 2 * 2, max(8, int(height * HEIGHT) // 2 * 2)
