"""Shapes with soft edges on an RGB picture, enough for a face."""
import numpy as np


class Canvas:
    def __init__(self, width: int, height: int):
        self.pixels = np.zeros((height, width, 3), np.float32)

    def copy(self):
        other = Canvas(1, 1)
        other.pixels = self.pixels.copy()
        return other

    def _box(self, cx, cy, reach):
        height, width = self.pixels.shape[:2]
        top, bottom = int(np.clip(cy - reach, 0, height)), int(np.clip(cy + reach + 1, 0, height))
        left, right = int(np.clip(cx - reach, 0, width)), int(np.clip(cx + reach + 1, 0, width))
        ys, xs = np.mgrid[top:bottom, left:right].astype(np.float32)
        return self.pixels[top:bottom, left:right], xs - cx, ys - cy

    @staticmethod
    def _blend(area, inside, colour):
        """`inside` is the distance to the edge in pixels, positive within the shape."""
        cover = np.clip(inside + 0.5, 0, 1)[..., None]
        area += (np.array(colour, np.float32) - area) * cover

    def ellipse(self, cx, cy, a, b, colour, below=None, above=None):
        """With `below` or `above`, only the part on that side of a horizontal line."""
        area, x, y = self._box(cx, cy, max(a, b) + 2)
        a, b = max(a, 0.5), max(b, 0.5)
        norm = np.sqrt((x / a) ** 2 + (y / b) ** 2)
        slope = np.sqrt((x / a**2) ** 2 + (y / b**2) ** 2) / np.maximum(norm, 1e-6)
        inside = (1 - norm) / np.maximum(slope, 1e-6)
        if below is not None:
            inside = np.minimum(inside, y + cy - below)
        if above is not None:
            inside = np.minimum(inside, above - y - cy)
        self._blend(area, inside, colour)

    def bar(self, cx, cy, length, thickness, angle, colour, round_by=0.0, stripes=None):
        """A rectangle around its centre, turned by `angle` radians counter-clockwise; `stripes`: (colour, width)."""
        area, x, y = self._box(cx, cy, (length + thickness) / 2 + 2)
        along, across = x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)
        dx, dy = np.abs(along) - length / 2 + round_by, np.abs(across) - thickness / 2 + round_by
        outside = np.hypot(np.maximum(dx, 0), np.maximum(dy, 0)) + np.minimum(np.maximum(dx, dy), 0) - round_by
        self._blend(area, -outside, colour)
        if stripes:
            other, width = stripes
            phase = np.mod(along + across, 2 * width)
            self._blend(area, np.minimum(-outside, np.minimum(phase, width - phase)), other)

    def gradient(self, top, bottom):
        share = np.linspace(0, 1, self.pixels.shape[0], dtype=np.float32)[:, None, None]
        self.pixels[:] = np.array(top, np.float32) * (1 - share) + np.array(bottom, np.float32) * share

    def bytes(self) -> bytes:
        return np.clip(self.pixels + 0.5, 0, 255).astype(np.uint8).tobytes()
