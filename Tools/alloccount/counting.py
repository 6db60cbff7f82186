"""Builds the preloaded counter, and reads what it reports."""
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.realpath(__file__))
BUILD = os.path.join(os.path.dirname(os.path.dirname(HERE)), ".build", "alloccount")
FFMPEG = ("libav", "libsw", "libpostproc", "libdav1d", "libvpx", "libx264", "libx265", "libopus", "libvorbis", "libaom",
          "libcodec2", "libgsm", "libmp3lame", "libopenjp2", "librsvg", "libspeex", "libtheora", "libwebp", "libsoxr")


def _compiler() -> str:
    """The C compiler of the Swift toolchain, or the system's."""
    swift = shutil.which("swift")
    beside = os.path.join(os.path.dirname(os.path.realpath(swift)), "clang") if swift else ""
    found = beside if os.path.exists(beside) else shutil.which("cc") or shutil.which("clang")
    if not found:
        raise SystemExit("alloccount: there is no C compiler; Swift's toolchain brings one")
    return found


def _newer(product: str, source: str) -> bool:
    return os.path.exists(product) and os.path.getmtime(product) > os.path.getmtime(source)


def library() -> str:
    source, product = os.path.join(HERE, "counter.c"), os.path.join(BUILD, "counter.so")
    if not _newer(product, source):
        os.makedirs(BUILD, exist_ok=True)
        subprocess.run([_compiler(), "-O2", "-g", "-Wall", "-Wextra", "-fPIC", "-shared", "-pthread", source, "-o", product],
                       check=True)
    return product


def control() -> str:
    source, product = os.path.join(HERE, "control.swift"), os.path.join(BUILD, "control")
    if not _newer(product, source):
        os.makedirs(BUILD, exist_ok=True)
        subprocess.run(["swiftc", "-O", source, "-o", product], check=True)
    return product


def group(entry: dict) -> str:
    if entry["ours"]:
        return "ours"
    return "ffmpeg" if entry["object"].startswith(FFMPEG) else "others"


def summarize(report: dict, seconds: float, fps: float = 0.0) -> dict:
    """Per thread name: counts of ours, FFmpeg's and other libraries', with the libraries named."""
    threads = {}
    for thread in report["threads"]:
        row = threads.setdefault(thread["name"], {"threads": 0, "ours": 0, "ffmpeg": 0, "others": 0, "libraries": {}})
        row["threads"] += 1
        for entry in thread["objects"]:
            row[group(entry)] += entry["count"]
            row["libraries"][entry["object"]] = row["libraries"].get(entry["object"], 0) + entry["count"]
    result = {"seconds": seconds, "threads": threads}
    for name in ("ours", "ffmpeg", "others"):
        result[name] = sum(row[name] for row in threads.values())
    if fps:
        result["ours_per_frame"] = result["ours"] / (seconds * fps)
    return result


def named_sites(report: dict, program: str, limit: int) -> list:
    """Our busiest call sites, with function names where the executable has symbols."""
    program = os.path.realpath(shutil.which(program) or program)
    sites = sorted(report["sites"], key=lambda s: -s["count"])[:limit]
    offsets = sorted({offset for site in sites for name, offset in site["frames"] if name == "(executable)"})
    names = {}
    if offsets:
        out = subprocess.run(["addr2line", "-f", "-C", "-s", "-e", program, *map(hex, offsets)], capture_output=True, text=True,
                             check=False).stdout.splitlines()
        if len(out) == 2 * len(offsets):
            plain = subprocess.run(["swift", "demangle", "--compact", "--simplified"], input="\n".join(out[::2]),
                                   capture_output=True, text=True, check=False).stdout.splitlines()
            names = dict(zip(offsets, [f"{n} ({at})" for n, at in zip(plain or out[::2], out[1::2])]))
    return [{"thread": site["thread"], "count": site["count"], "bytes": site["bytes"],
             "frames": [names.get(o, f"{n}+{o:#x}") if n == "(executable)" else f"{n}+{o:#x}" for n, o in site["frames"]]}
            for site in sites]


def table(result: dict) -> str:
    rows = [f"allocations in {result['seconds']:g} s", "| thread | ours | FFmpeg | others | libraries |", "|---|---|---|---|---|"]
    for name, row in sorted(result["threads"].items(), key=lambda item: -item[1]["ours"]):
        busiest = sorted(row["libraries"].items(), key=lambda item: -item[1])[:4]
        rows.append(f"| {name}{' × ' + str(row['threads']) if row['threads'] > 1 else ''} | {row['ours']} | {row['ffmpeg']} | "
                    f"{row['others']} | {', '.join(f'{library} {count}' for library, count in busiest)} |")
    rows.append(f"| all | {result['ours']} | {result['ffmpeg']} | {result['others']} | |")
    if "ours_per_frame" in result:
        rows.append(f"ours per frame: {result['ours_per_frame']:.3f}")
    for site in result.get("sites", []):
        rows.append(f"{site['count']} × {site['bytes'] // site['count']} bytes in {site['thread']}:")
        rows += [f"    {frame}" for frame in site["frames"][:8]]
    return "\n".join(rows)
