"""Medians, percentiles and straight lines that a few wild values do not move."""
import numpy as np


def summary(values) -> dict:
    """median, p5, p95, worst (farthest from the median) and count; only the count when there is nothing."""
    a = np.asarray([v for v in values if v is not None], dtype=float)
    if not len(a):
        return {"count": 0}
    median = float(np.median(a))
    return {"count": len(a), "median": median, "p5": float(np.percentile(a, 5)), "p95": float(np.percentile(a, 95)),
            "worst": float(a[np.argmax(np.abs(a - median))]), "sd": float(a.std())}


def line(x, y, floor: float = 0.0) -> tuple:
    """Slope, value at x[0] and residuals of a least-squares line; points beyond 4 sigma (and `floor`) do not count."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(x) < 2:
        return 0.0, float(y[0]) if len(y) else 0.0, np.zeros(len(y))
    at, keep = x - x[0], np.ones(len(x), dtype=bool)
    # Start from the median slope between distant points, so that a wild minority cannot pull the first fit.
    half = len(x) // 2
    slopes = (y[-half:] - y[:half]) / np.where(x[-half:] != x[:half], x[-half:] - x[:half], np.inf)
    slope = float(np.median(slopes))
    base = float(np.median(y - slope * at))
    for _ in range(10):
        rest = y - (slope * at + base)
        spread = 1.4826 * np.median(np.abs(rest[keep] - np.median(rest[keep])))
        now = np.abs(rest) <= max(4 * spread, floor, 1e-9)
        if now.sum() < 2 or np.ptp(at[now]) == 0:
            break
        slope, base = (float(v) for v in np.polyfit(at[now], y[now], 1))
        if (now == keep).all():
            break
        keep = now
    return slope, base, y - (slope * at + base)
