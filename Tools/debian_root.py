"""Root filesystems of Debian suites: where the archive is, how a root is made, where roots are kept."""
import os
import shutil
import subprocess

CACHE = "/var/cache" if os.getuid() == 0 else os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")


class RootError(Exception):
    """One sentence for the user."""


def mirror() -> str:
    """Returns the address of the archive from which this machine's apt gets Debian."""
    try:
        rows = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)",
                               "Created-By: Packages"], capture_output=True, text=True, check=False).stdout.splitlines()
    except FileNotFoundError:
        raise RootError("there is no apt-get here, which knows Debian's archive.") from None
    for origin, label, address in (row.split("|", 2) for row in rows if row.count("|") == 2):
        if (origin, label) == ("Debian", "Debian"):
            return address
    raise RootError("apt knows no Debian archive here; run apt-get update, or check /etc/apt/sources.list.d.")


def make(suite, root, packages=(), archive=None, options=(), accept=lambda partial: None):
    """Makes `root`, and replaces one that exists; `accept` may refuse it by an exception. A failure leaves `root` as it was."""
    if not shutil.which("mmdebstrap"):
        raise RootError("mmdebstrap is missing; run `make setup`.")
    partial = root + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    os.makedirs(os.path.dirname(root), exist_ok=True)
    # A snapshot of the archive may be older than its Valid-Until date.
    done = subprocess.run(["mmdebstrap", "--quiet", "--mode=root", "--variant=apt", "--format=directory",
                           '--aptopt=Acquire::Check-Valid-Until "false"', *options,
                           *([f"--include={','.join(packages)}"] if packages else []), suite, partial, archive or mirror()],
                          stdin=subprocess.DEVNULL, check=False)
    try:
        if done.returncode:
            raise RootError(f"could not build the root filesystem from {suite} (above).")
        accept(partial)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    shutil.rmtree(root, ignore_errors=True)
    os.rename(partial, root)
