"""Where the lab lives, what it is called on this machine, and how to say no."""
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.append(os.path.dirname(HERE))
from debian_root import CACHE  # noqa: E402  beside this folder

# Debian's release in the making: the first with shairport-sync 5 built for AirPlay 2.
SUITE = "forky"
# netbase: nqptp looks its ports up by service name and ends without /etc/services.
PACKAGES = ("shairport-sync", "nqptp", "avahi-daemon", "dbus", "pulseaudio", "netbase")

# Another archive than the one this machine's apt has, such as snapshot.debian.org's of one day.
MIRROR = os.environ.get("TALKIE_LAB_MIRROR")

ROOTFS = os.environ.get("TALKIE_LAB_ROOTFS") or os.path.join(CACHE, "talkie-lab", SUITE)
STATE = os.environ.get("TALKIE_LAB_STATE", "/run/talkie-lab")
# Another lab may stand beside this one with other values.
BRIDGE = os.environ.get("TALKIE_LAB_BRIDGE", "talkielab0")
NETWORK = os.environ.get("TALKIE_LAB_NETWORK", "10.78.0")  # /24; the host is .1, speaker N is .(10+N)

# What the root was made of when the tests were last accepted with it.
VERSIONS = os.path.join(HERE, "versions.txt")
METER = os.path.join(os.path.dirname(HERE), "meter")


def fail(sentence: str):
    sys.exit(f"lab: {sentence}")


def need_root():
    if os.getuid() != 0:
        fail("namespaces and bridges need root; run this with sudo.")
