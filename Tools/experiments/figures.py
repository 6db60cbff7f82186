"""What became of a day: from its recordings and the player's record to a row. Import own_lab first."""
import os

import numpy as np

import speakers
from film_record import Heard, Record, whole_parts
from statistics_of import summary

# The first seconds are start-up.
SETTLING = 3.0
# So near to where it was before (ms), sound is in step.
IN_STEP = 10.0

HEAD = """| what happens | silence heard: longest, in all | sound back after | in step after | offset from then: median, p5..p95 | offset in all, worst | beeps heard | picture: longest still, drops | lost / rejoined | load |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def silences(parts, until) -> list:
    """(from, to) of each silence over recordings in a row; the last lasts until the film's end when nothing comes back."""
    parts = [part for part in parts if part.first is not None]
    found = [hole for part in parts for hole in part.holes]
    found += [(before.last, after.first) for before, after in zip(parts, parts[1:])]
    if parts and parts[-1].last < until - 1:
        found.append((parts[-1].last, until))
    return sorted(found)


def in_step(beeps, good) -> tuple:
    """Of (when, offset): seconds after `good` of the first of four in a row that are in step, and the offsets from there on;
    (None, []) if that never comes. A single beep that is in step may be chance, and one that is out of it a misreading."""
    before = [offset for at, offset in beeps if at < good]
    usual = float(np.median(before)) if before else 0.0
    after = [(at, offset) for at, offset in beeps if at >= good]
    for first in range(len(after) - 3):
        if all(abs(offset - usual) <= IN_STEP for _, offset in after[first:first + 4]):
            return after[first][0] - good, [offset for _, offset in after[first:]]
    return None, []


def look(day) -> dict:
    """The figures of one day."""
    record = Record(day.path("timeline.jsonl"), [day.clip])
    record.read()
    began = record.began or (record.pictures or [day.began])[0]
    recordings = [part for wav in day.recordings for part in whole_parts(wav)]
    beeps = sorted((heard, offset, flash) for wav in recordings for heard, offset, flash in record.offsets(wav)
                   if heard > began - 0.2 and not (day.case.others and day.bad < heard < (day.good or heard)))
    # An early end of the record (a full disk) is not the film's.
    holes = silences([Heard(wav) for wav in recordings], began + day.seconds - 0.5)
    moving = np.array([at for at in record.pictures if at >= began])
    result = {
        "beeps": len({flash for *_, flash in beeps}), "events": len(record.flashes),
        "offset_ms": summary([offset for _, offset, flash in beeps if flash > began + SETTLING]),
        "holes": [{"at_s": begin - began, "seconds": end - begin} for begin, end in holes],
        "longest_hole_s": max((end - begin for begin, end in holes), default=0.0),
        "silence_s": sum(end - begin for begin, end in holes),
        "frames": record.seen, "dropped": record.dropped,
        "longest_still_s": float(np.diff(moving).max()) if len(moving) > 1 else 0.0,
        "lost": record.lost, "restored": record.restored, "load": os.getloadavg()[0],
        "deaths": 0 if day.case.local else speakers.Speaker(1).deaths, "said": day.said(),
    }
    if day.good:
        result["bad_s"], result["good_s"] = day.bad - began, day.good - began
        after, rest = in_step([(heard, offset) for heard, offset, _ in beeps], day.good)
        result["in_step_after_s"], result["offset_after_ms"] = after, summary(rest)
        # Nothing was missing, or the last hole of the bad time ended this much after it.
        back = [end for begin, end in holes if begin < day.good + 1 and end > day.good]
        result["sound_back_after_s"] = max(back) - day.good if back else 0.0
        result["never_back"] = bool(holes) and holes[-1][1] >= began + day.seconds - 0.6 and holes[-1][0] < day.good + 1
    return result


def _offset(found, worst=False) -> str:
    if not found["count"]:
        return "nothing heard"
    return (f"{found['median']:+.1f} ms, {found['p5']:+.1f}..{found['p95']:+.1f}" + (f", worst {found['worst']:+.1f}" if worst else ""))


def row(case, result) -> str:
    back = step = then = ""
    if "in_step_after_s" in result:
        back = "never" if result["never_back"] else f"{result['sound_back_after_s']:.2f} s"
        after = result["in_step_after_s"]
        step = "never" if after is None else f"{after:.1f} s"
        then = _offset(result["offset_after_ms"])
    return (f"| {case.name}: {case.what} | {result['longest_hole_s']:.2f} s, {result['silence_s']:.2f} s | {back} | {step} | {then} | "
            f"{_offset(result['offset_ms'], worst=True)} | {result['beeps']} of {result['events']} | "
            f"{result['longest_still_s']:.2f} s, {result['dropped']} of {result['frames'] + result['dropped']} dropped | "
            f"{result['lost']} / {result['restored']} | {result['load']:.1f} |")
