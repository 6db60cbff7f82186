"""What the package recommends and suggests, as substitutions for dpkg-gencontrol: the installed packages of the section [run] of
Tools/packages.txt, and those that own the libraries that the program opens at run time.

    relations.py [SOURCES]      default: this project's
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# The package depends on it: debian/control says why.
DEPENDED = {"libcap2-bin"}
# Good for some films only, and no small thing.
SUGGESTED = {"yt-dlp"}
# SDL has opened them already, or they are not needed.
BROUGHT = {"libX11", "libXext", "libXrandr", "libwayland-client"}


def section(text, name):
    """The entries of a section: lists of alternatives."""
    found, inside = [], False
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("["):
            inside = line == f"[{name}]"
        elif inside and line:
            found.append([one.strip() for one in line.partition(":")[0].split("|")])
    return found


def opened(sources):
    """The libraries that the sources open by name: pairs of a name and a version, which is empty where a header states it."""
    found = set()
    for path in sorted(sources.rglob("*")):
        if path.suffix in (".swift", ".c", ".h"):
            found |= set(re.findall(r'"(lib[\w+-]+)\.so\.(\d*)', path.read_text()))
    return sorted((name, version) for name, version in found if name not in BROUGHT)


class Installed:
    """What dpkg knows of this system."""

    def __init__(self, libraries=None):
        rows = self._query("--show", "--showformat=${db:Status-Status}\\t${Package}\\t${Provides}\\n").splitlines()
        self.provided = {}
        for status, name, provides in (row.split("\t") for row in rows):
            if status == "installed":
                self.provided[name] = name
                for other in re.findall(r"([a-z0-9][a-z0-9+.-]+)(?:\s*\([^)]*\))?(?:,|$)", provides):
                    self.provided.setdefault(other, name)
        self.libraries = libraries or [path for path in Path("/usr/lib").glob("*-linux-gnu*") if path.is_dir()]

    @staticmethod
    def _query(*words):
        return subprocess.run(["dpkg-query", *words], capture_output=True, text=True, check=False).stdout

    def first(self, alternatives):
        """The installed package that is, or provides, one of them. A single name needs none; of several, none may be right."""
        found = [self.provided[name] for name in alternatives if name in self.provided]
        return found[0] if found else alternatives[0] if len(alternatives) == 1 else None

    def owner(self, name, version):
        """The package with the library's file. Without a version it is the one that the -dev package's link names."""
        for folder in self.libraries:
            path = folder / f"{name}.so{version and '.' + version}"
            if path.exists():
                # The link of a run-time package, and the file that a -dev package's link leads to. /lib and /usr/lib are one folder.
                file = path.name if version else path.resolve().name
                owners = self._query("--search", f"*/{file}").partition(":")[0]
                return owners.split(",")[0].strip() or None
        return None


def substitutions(text, libraries, installed):
    names = [installed.first(entry) for entry in section(text, "run")] + [installed.owner(*library) for library in libraries]
    names = [name for name in dict.fromkeys(names) if name]
    suggested = [name for name in names if name in SUGGESTED]
    recommended = [name for name in names if name not in SUGGESTED | DEPENDED]
    return f"talkie:Recommends={', '.join(recommended)}\ntalkie:Suggests={', '.join(suggested)}\n"


if __name__ == "__main__":
    sources = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "Sources"
    sys.stdout.write(substitutions((ROOT / "Tools/packages.txt").read_text(), opened(sources), Installed()))
