"""Results as text: a few lines for one run, a Markdown table for a comparison."""
import numpy as np


def _number(value, places=1, sign=False):
    return "-" if value is None else f"{value:{'+' if sign else ''}.{places}f}"


def clip(path, side) -> str:
    found = side["verified"]
    offset = found["offset_ms"]
    return (f"{path}: {found['frames']} frames of {side['frames']}, {found['unreadable']} unreadable, "
            f"{found['events']} events of {len(side['events'])}, sound {_number(offset.get('median'), 2, True)} ms "
            f"(asked {side['offset_ms']:+g}), picture from {found['first_picture_s']} s, sound from {found['first_sound_s']} s")


def run(result) -> str:
    offset, frames, start = result["offset_ms"], result["frames"], result["start"]
    cpu, meter = result["cpu_per_film_second"], result["meter"]
    lines = [f"{result['clip']}: {' '.join(result['command'])[:120]}" +
             (f"  (exit status {result['exit']})" if result["exit"] else "")]
    if offset["count"]:
        lines.append(f"  sound minus picture  median {offset['median']:+.2f}  p5 {offset['p5']:+.2f}  "
                     f"p95 {offset['p95']:+.2f}  worst {offset['worst']:+.2f} ms  ({offset['count']} of "
                     f"{result['events']['expected']} events)  trend {_number(result.get('trend_ms_per_min'), 2, True)} ms/min")
    else:
        lines.append("  no flash and chirp seen together")
    if not result["actions"]:
        lines.append(f"  frames  {frames['shown']} of {frames['expected']}, dropped {frames['dropped']}, held "
                     f"{frames.get('held', '-')}, late {frames.get('late', '-')}, backward {frames['backward']}, "
                     f"jitter {_number(frames.get('jitter_ms'))} ms")
    lines.append(f"  start  picture {_number(start['first_picture_ms'], 0)} ms, sound {_number(start['first_sound_ms'], 0)} ms;"
                 f" {len(result['sound_gaps'])} sound gaps ({sum(g['seconds'] for g in result['sound_gaps']) * 1000:.0f} ms)")
    lines.append(f"  cost  {cpu['player']:.3f} + X {cpu['x_server']:.3f} CPU s per film s, peak {result['peak_rss_mb']:.0f} MB")
    for action in result["actions"]:
        what = action.get("key") or action.get("ipc") or action.get("stdin") or action.get("shell")
        lines.append(f"  action  {what} at {action['at']} s: picture after {_number(action.get('latency_ms'))} ms "
                     f"(frame {action.get('shown_frame', '-')}, wanted {action.get('frame', '-')}), first jump after "
                     f"{_number(action.get('jump_ms'))} ms {action.get('error', '')}")
    lines.append(f"  meter  {meter['looks_per_s']:.0f} looks/s, picture ±{_number(meter['picture_half_width_ms'].get('median'), 2)} ms, "
                 f"sound ±{_number(meter['sound_residual_p95_ms'], 2)} ms (p95){_converter(meter)}, worst stall {_number(meter['worst_stall_ms'], 0)} ms, "
                 f"other load {meter['other_busy_cores']:.2f} cores" + ("  DISTURBED: repeat" if result["disturbed"] else ""))
    return "\n".join(lines)


def _converter(meter) -> str:
    """Whose pace and whose tolerance a figure was taken with."""
    words, tolerance = "", (meter.get("receiver") or {}).get("drift_tolerance_s")
    if meter["sound_ppm"] is not None:
        # A frame that takes longer than it should belongs to a slow converter.
        words += f", converter {abs(meter['sound_ppm']):.0f} ppm {'slow' if meter['sound_ppm'] > 0 else 'fast'}"
    if tolerance is not None:
        words += f", receiver's drift tolerance {tolerance * 1000:g} ms"
    return words


def _over(results, *keys):
    """Median of one figure over the runs, and its range."""
    values = []
    for result in results:
        for key in keys:
            result = (result or {}).get(key)
        if result is not None:
            values.append(result)
    return (float(np.median(values)), min(values), max(values)) if values else (None, None, None)


def comparison(outcome) -> str:
    """Median over the runs of each figure; in brackets the range of the runs' medians."""
    rows = ["| clip | player (runs) | A/V ms: median (range) | p5..p95 | trend ms/min | dropped | held | first picture ms "
            "| first sound ms | CPU s/film s: player + X | × decode | peak RSS MB | other load, cores |", "|" + "---|" * 13]
    for name, clip_result in outcome["clips"].items():
        decode = clip_result["decode"]
        rows.append(f"| {name} | decode alone | | | | | | | | {decode['cpu_per_film_second']:.3f} | 1.0 "
                    f"| {decode['peak_rss_mb']:.0f} | |")
        for player, results in clip_result["players"].items():
            calm = [r for r in results if not r["disturbed"]]
            used = calm or results
            key = "offset_steady_ms" if any("offset_steady_ms" in r for r in used) else "offset_ms"
            median, low, high = _over(used, key, "median")
            spread = "" if median is None else f" ({low:+.1f}..{high:+.1f})"
            together = _over(used, "cpu_per_film_second", "together")[0]
            dropped = _over(used, "frames", "dropped")[0]
            share = "-" if dropped is None else f"{100 * dropped / used[0]['frames']['expected']:.1f} %"
            rows.append(
                f"| {name} | {player} ({len(used)}{'' if calm else ' disturbed'}) | {_number(median, 1, True)}{spread} | "
                f"{_number(_over(used, key, 'p5')[0], 1, True)}..{_number(_over(used, key, 'p95')[0], 1, True)} | "
                f"{_number(_over(used, 'trend_ms_per_min')[0], 1, True)} | {share} | {_number(_over(used, 'frames', 'held')[0], 0)} | "
                f"{_number(_over(used, 'start', 'first_picture_ms')[0], 0)} | {_number(_over(used, 'start', 'first_sound_ms')[0], 0)} | "
                f"{_number(_over(used, 'cpu_per_film_second', 'player')[0], 3)} + "
                f"{_number(_over(used, 'cpu_per_film_second', 'x_server')[0], 3)} | "
                f"{_number(together / decode['cpu_per_film_second'] if together is not None else None, 2)} | "
                f"{_number(_over(used, 'peak_rss_mb')[0], 0)} | {_number(_over(used, 'meter', 'other_busy_cores')[0], 1)} |")
    return "\n".join(rows)
