"""The speakers' root filesystem: Debian testing's own packages, built once and never changed by a speaker."""
import os
import subprocess

from settings import MIRROR, PACKAGES, ROOTFS, SUITE, VERSIONS, fail
import debian_root  # settings has put its folder on the path


def ready() -> bool:
    return all(os.path.exists(os.path.join(ROOTFS, "usr/bin", name)) for name in ("shairport-sync", "nqptp"))


def build(force: bool = False):
    """About two minutes and 0.4 GB. A build that is cut short leaves nothing that looks finished."""
    if ready() and not force:
        return

    def accept(partial):
        # Each speaker has an identity of its own mounted here.
        with open(os.path.join(partial, "etc/machine-id"), "a"):
            pass
        if "AirPlay2" not in version(partial):
            raise debian_root.RootError(f"{SUITE}'s shairport-sync has no AirPlay 2: {version(partial)}")

    skip = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")]
    try:
        debian_root.make(SUITE, ROOTFS, PACKAGES, MIRROR, skip, accept)
    except debian_root.RootError as error:
        fail(str(error))


def packages(root: str = ROOTFS) -> dict[str, str]:
    """What is installed, by name, each with its version."""
    rows = subprocess.run(["dpkg-query", f"--admindir={root}/var/lib/dpkg", "--show",
                           "--showformat=${binary:Package} ${Version}\n"], capture_output=True, text=True, check=True)
    return parse(rows.stdout)


def architecture(root: str = ROOTFS) -> str:
    return subprocess.run(["chroot", root, "dpkg", "--print-architecture"], capture_output=True, text=True,
                          check=False).stdout.strip()


def parse(text: str) -> dict[str, str]:
    """Lines of a name and a version; what follows # is for people. A name stands without its architecture."""
    rows = (line.partition("#")[0].split() for line in text.splitlines())
    return {row[0].partition(":")[0]: row[1] for row in rows if len(row) == 2}


def differences(here: dict[str, str], pinned: dict[str, str]) -> list[str]:
    """One phrase for each package that is not as it was pinned; those that the lab asks for come first."""
    names = [name for name in {**pinned, **here} if here.get(name) != pinned.get(name)]
    names.sort(key=lambda name: (name not in PACKAGES, name))
    return [f"{name} {here.get(name, 'is missing')} (pinned: {pinned.get(name, 'not at all')})" for name in names]


def report() -> str:
    """How this root differs from the one that the tests were last accepted with, in one line."""
    with open(VERSIONS) as file:
        text = file.read()
    if f"# architecture: {architecture()}\n" not in text:
        return f"versions not compared: {os.path.basename(VERSIONS)} is of another architecture"
    pinned = parse(text)
    found = differences(packages(), pinned)
    if not found:
        return f"all {len(pinned)} packages as pinned"
    rest = f", and {len(found) - 8} more" if len(found) > 8 else ""
    return f"{len(found)} packages are not as pinned: {'; '.join(found[:8])}{rest}"


def version(root: str = ROOTFS) -> str:
    return subprocess.run(["chroot", root, "shairport-sync", "-V"], capture_output=True, text=True,
                          check=False).stdout.strip()
