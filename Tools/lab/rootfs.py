"""The speakers' root filesystem: Debian testing's own packages, built once and never changed by a speaker."""
import os
import shutil
import subprocess

from settings import PACKAGES, ROOTFS, SUITE, fail


def ready() -> bool:
    return all(os.path.exists(os.path.join(ROOTFS, "usr/bin", name)) for name in ("shairport-sync", "nqptp"))


def _mirror() -> str:
    """Where this machine's apt gets Debian from."""
    rows = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)",
                           "Created-By: Packages"], capture_output=True, text=True, check=False).stdout.splitlines()
    for origin, label, address in (row.split("|", 2) for row in rows if row.count("|") == 2):
        if (origin, label) == ("Debian", "Debian"):
            return address
    fail("apt knows no Debian archive here; run apt-get update, or check /etc/apt/sources.list.d.")


def build(force: bool = False):
    """About two minutes and 0.4 GB. A build that is cut short leaves nothing that looks finished."""
    if ready() and not force:
        return
    if not shutil.which("mmdebstrap"):
        fail("mmdebstrap is missing; run `make setup`.")
    partial = ROOTFS + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    os.makedirs(os.path.dirname(ROOTFS), exist_ok=True)
    skip = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")]
    # A snapshot of the archive may be older than its Valid-Until date.
    done = subprocess.run(["mmdebstrap", "--quiet", "--mode=root", "--variant=apt", "--format=directory",
                           '--aptopt=Acquire::Check-Valid-Until "false"', *skip, f"--include={','.join(PACKAGES)}",
                           SUITE, partial, _mirror()], stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        shutil.rmtree(partial, ignore_errors=True)
        fail(f"could not build the root filesystem from {SUITE} (above).")
    # Each speaker has an identity of its own mounted here.
    with open(os.path.join(partial, "etc/machine-id"), "a"):
        pass
    if "AirPlay2" not in version(partial):
        fail(f"{SUITE}'s shairport-sync has no AirPlay 2: {version(partial)}")
    shutil.rmtree(ROOTFS, ignore_errors=True)
    os.rename(partial, ROOTFS)


def version(root: str = ROOTFS) -> str:
    return subprocess.run(["chroot", root, "shairport-sync", "-V"], capture_output=True, text=True,
                          check=False).stdout.strip()
