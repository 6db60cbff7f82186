"""The host's side: a bridge, and someone who speaks mDNS on it."""
import os
import shutil
import subprocess

from processes import Remembered, run, until
from settings import BRIDGE, NETWORK, STATE, fail

_SYSTEM_BUS = "/run/dbus/system_bus_socket"
_OWN_BUS = os.path.join(STATE, "dbus", "socket")
_bus, _avahi = Remembered(os.path.join(STATE, "bus.pid")), Remembered(os.path.join(STATE, "avahi.pid"))
_AVAHI = f"""[server]
host-name=talkie-lab-host
allow-interfaces={BRIDGE}
use-ipv6=no
ratelimit-interval-usec=1000000
ratelimit-burst=1000
[publish]
publish-workstation=no
publish-hinfo=no
"""
_BUS = f"""<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path={_OWN_BUS}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_type="method_call"/>
    <allow send_type="signal"/>
    <allow send_requested_reply="true" send_type="method_return"/>
    <allow send_requested_reply="true" send_type="error"/>
    <allow receive_type="method_call"/>
    <allow receive_type="signal"/>
    <allow receive_type="method_return"/>
    <allow receive_type="error"/>
  </policy>
</busconfig>
"""


def bridge_up():
    if run("ip", "link", "show", BRIDGE, quiet=True):
        return
    for command in (f"link add {BRIDGE} type bridge forward_delay 0 mcast_snooping 0",
                    f"address add {NETWORK}.1/24 dev {BRIDGE}", f"link set {BRIDGE} up"):
        if not run("ip", *command.split()):
            fail(f"cannot make the bridge {BRIDGE}; are network namespaces and bridges allowed here?")


def discovery_up(private: bool = False) -> bool:
    """Starts avahi on the bridge: as the system's own where there is none yet, otherwise (or when `private`) beside it on a
    bus of its own. Returns False if it was running."""
    if _avahi.pid:
        return False
    with open(os.path.join(STATE, "avahi.conf"), "w") as file:
        file.write(_AVAHI)
    daemon = ["avahi-daemon", "--no-rlimits", "-f", os.path.join(STATE, "avahi.conf")]
    log = os.path.join(STATE, "avahi.log")
    if private or run("avahi-daemon", "-c", quiet=True):
        os.makedirs("/run/avahi-daemon", exist_ok=True)
        os.makedirs(os.path.dirname(_OWN_BUS), exist_ok=True)
        config = os.path.join(STATE, "bus.conf")
        with open(config, "w") as file:
            file.write(_BUS)
        if not _bus.pid:
            _start_bus(["dbus-daemon", f"--config-file={config}", "--nofork", "--nopidfile"], _OWN_BUS)
        # Its pid file and socket have fixed places, so it gets a /run/avahi-daemon of its own.
        hidden = 'mount --make-rprivate / && mount -t tmpfs lab /run/avahi-daemon && exec "$@"'
        _avahi.start(["unshare", "--mount", "sh", "-c", hidden, "sh", *daemon, "--no-drop-root"], log,
                     env={**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={_OWN_BUS}"})
        return True
    if not run("dbus-send", "--system", "--dest=org.freedesktop.DBus", "--print-reply", "/", "org.freedesktop.DBus.GetId",
               quiet=True):
        os.makedirs(os.path.dirname(_SYSTEM_BUS), exist_ok=True)
        if os.path.exists(_SYSTEM_BUS):
            os.remove(_SYSTEM_BUS)
        _start_bus(["dbus-daemon", "--system", "--nofork", "--nopidfile"], _SYSTEM_BUS)
    _avahi.start(daemon, log)
    return True


def _start_bus(command, socket):
    _bus.start(command, os.path.join(STATE, "bus.log"))
    if not until(lambda: os.path.exists(socket), 5):
        fail(f"D-Bus did not start; see {STATE}/bus.log.")


def discovery_away(bus: bool):
    """A private avahi ends, with its D-Bus if `bus`, until the next `discovery_up`."""
    if not os.path.exists(_OWN_BUS):
        fail("only a lab that is up with --private has a D-Bus of its own.")
    _avahi.stop()
    if bus:
        _bus.stop()
        if os.path.exists(_OWN_BUS):
            os.remove(_OWN_BUS)


def environment() -> dict:
    """What a program needs in order to find the lab's speakers by mDNS; empty when the system's bus will do."""
    return {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={_OWN_BUS}"} if os.path.exists(_OWN_BUS) else {}


def down():
    _avahi.stop()
    socket = _OWN_BUS if os.path.exists(_OWN_BUS) else _SYSTEM_BUS
    if _bus.pid:
        _bus.stop()
        # A system's D-Bus has given up the right to remove its socket, and playerctl fails where only that is left.
        if os.path.exists(socket):
            os.remove(socket)
    run("ip", "link", "del", BRIDGE, quiet=True)
    shutil.rmtree(STATE, ignore_errors=True)
