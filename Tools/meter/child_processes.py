"""Programs that a measurement starts."""
import ctypes
import os
import signal
import subprocess

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def child(nice: int | None = None, new_session: bool = False):
    """For preexec_fn: a process that ends with this one, however this one ends, and has a lower nice value where that is permitted.

    Whoever is killed cleans nothing up; then the kernel sends the signal of prctl(2), PR_SET_PDEATHSIG. It means the thread that starts
    the process, so that must be one that lasts.
    """
    parent = os.getpid()

    def apply():
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)
        if new_session:
            os.setsid()
        if nice is not None:
            try:
                os.setpriority(os.PRIO_PROCESS, 0, nice)
            except OSError:
                pass
    return apply


def end(process: subprocess.Popen):
    """Waits for a process that was told to end; kills it after five seconds."""
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
