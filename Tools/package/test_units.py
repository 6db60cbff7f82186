"""What systemd thinks of the units of a kiosk; nothing is started."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
UNITS = ["talkie-kiosk@.service", "talkie-kiosk@.socket", "user/talkie-kiosk@.service"]
# As `systemd-analyze security` counts: 0 is locked away from everything, 10 may do anything. docs/guides/operations.md names the figure.
MOST_EXPOSED = 2.0


def analyze(*words, runtime=""):
    return subprocess.run(["systemd-analyze", "--no-pager", *words], capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8", **({"XDG_RUNTIME_DIR": runtime} if runtime else {})})


@unittest.skipUnless(shutil.which("systemd-analyze") or os.environ.get("CI") == "true", "systemd-analyze is not installed")
class Units(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def instance(self, unit, change=lambda text: text):
        """A unit as it is for one kiosk, with a program that is there."""
        path = Path(self.folder.name, Path(unit).name.replace("@.", "@hall."))
        # What is looked at is the unit, not what is installed here.
        path.write_text(change((HERE / unit).read_text().replace("/usr/bin/talkie", "/bin/true")))
        return str(path)

    def verified(self, scope, *paths):
        return analyze("verify", scope, "--man=no", "--recursive-errors=no", *paths, runtime=self.folder.name)

    def exposure(self, path):
        answer = analyze("security", "--offline=true", path)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", answer.stdout).group(1))

    def test_systemd_understands_every_line(self):
        answer = self.verified("--system", self.instance("talkie-kiosk@.service"), self.instance("talkie-kiosk@.socket"))
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        answer = self.verified("--user", self.instance("user/talkie-kiosk@.service"))
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))

    def test_a_line_that_it_does_not_understand_is_found(self):
        path = self.instance("talkie-kiosk@.service", lambda text: text.replace("WatchdogSec=30", "WatchdogSecs=30"))
        self.assertIn("WatchdogSecs", self.verified("--system", path).stderr)

    def test_the_kiosk_is_locked_away_as_far_as_the_guide_says(self):
        self.assertLessEqual(self.exposure(self.instance("talkie-kiosk@.service")), MOST_EXPOSED)

    def test_without_the_hardening_it_would_be_wide_open(self):
        bare = self.instance("talkie-kiosk@.service", lambda text: re.sub(
            r"^(CapabilityBoundingSet|NoNewPrivileges|DynamicUser|Protect\w+|Private\w+|SystemCall\w+|Restrict\w+|Device\w+)=.*$", "",
            text, flags=re.M))
        self.assertGreater(self.exposure(bare), 5)

    def test_a_service_tells_when_it_is_ready_lives_and_is_started_anew(self):
        for unit in ["talkie-kiosk@.service", "user/talkie-kiosk@.service"]:
            lines = (HERE / unit).read_text().splitlines()
            for line in ["Type=notify", "NotifyAccess=main", "WatchdogSec=30", "Restart=on-failure", "RestartSec=200ms", "SuccessExitStatus=143",
                         "StartLimitIntervalSec=0", "ExecReload=/bin/kill -HUP $MAINPID"]:
                self.assertIn(line, lines, unit)

    def test_the_kiosk_has_a_folder_for_its_socket(self):
        self.assertIn("RuntimeDirectory=talkie-kiosk/%i", (HERE / "talkie-kiosk@.service").read_text().splitlines())

    def test_the_ports_are_those_of_ptp_on_addresses_of_ipv4(self):
        ports = re.findall(r"^ListenDatagram=(.*)$", (HERE / "talkie-kiosk@.socket").read_text(), re.M)
        self.assertEqual(ports, ["0.0.0.0:319", "0.0.0.0:320"])

    def test_a_users_unit_leaves_talkie_ports_its_right(self):
        # With no_new_privs a file's capability counts for nothing, and each of these brings it along.
        text = (HERE / "user/talkie-kiosk@.service").read_text()
        self.assertEqual(re.findall(r"^(NoNewPrivileges|SystemCall\w+|Restrict[A-Z]\w+|Protect\w+|Private\w+|LockPersonality)=", text, re.M), [])

    def test_every_unit_is_looked_at(self):
        found = sorted(str(path.relative_to(HERE)) for path in HERE.rglob("*") if path.suffix in (".service", ".socket"))
        self.assertEqual(found, sorted(UNITS))


if __name__ == "__main__":
    unittest.main()
