"""What the package recommends and suggests, of the section [run] of Tools/packages.txt, as substitutions for dpkg-gencontrol.

    relations.py Tools/packages.txt
"""
import sys
from pathlib import Path

# The package depends on it: debian/control says why.
DEPENDED = {"libcap2-bin"}
# Good for some films only, and no small thing.
SUGGESTED = {"yt-dlp"}


def section(text, name):
    """The packages of a section."""
    found, inside = [], False
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            inside = line == f"[{name}]"
        elif inside and line and not line.startswith("#"):
            found.append(line.split()[0])
    return found


def substitutions(text):
    run = section(text, "run")
    suggested = [name for name in run if name in SUGGESTED]
    recommended = [name for name in run if name not in SUGGESTED | DEPENDED]
    return f"talkie:Recommends={', '.join(recommended)}\ntalkie:Suggests={', '.join(suggested)}\n"


if __name__ == "__main__":
    sys.stdout.write(substitutions(Path(sys.argv[1]).read_text()))
