"""Tools/roots with a root of a shell and its libraries, a toolchain and packages that are a few files."""
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
loader = importlib.machinery.SourceFileLoader("roots", str(HERE / "roots"))
roots = importlib.util.module_from_spec(importlib.util.spec_from_loader("roots", loader))
loader.exec_module(roots)


class Machine:
    """A cache with one bare root, a PATH with a Swift, and git's configuration with a folder of packages."""

    def __init__(self, test):
        folder = tempfile.TemporaryDirectory(prefix="roots with spaces ")
        test.addCleanup(folder.cleanup)
        # The checkout's build folder for this root.
        test.addCleanup(shutil.rmtree, HERE.parent / ".build/roots/tiny", ignore_errors=True)
        self.top = Path(folder.name)
        self.cache = self.top / "cache: a, b"
        self.root = self.cache / "tiny.bare"
        for name in ("proc", "sys", "dev", "etc", "bin"):
            (self.root / name).mkdir(parents=True)
        for program in ("bash", "sleep", "cat", "rm"):
            self.copy(shutil.which(program), f"/bin/{program}")
        self.tools = self.top / "swift/usr"
        (self.tools / "bin").mkdir(parents=True)
        (self.tools / "lib/swift").mkdir(parents=True)
        swift = self.tools / "bin/swift"
        swift.write_text(f"""#!/bin/sh\necho '{{"paths": {{"runtimeResourcePath": "{self.tools}/lib/swift"}}}}'\n""")
        swift.chmod(0o755)
        self.packages = self.top / "packages"
        (self.packages / "apple").mkdir(parents=True)
        config = self.top / "gitconfig"
        config.write_text(f'[url "{self.packages}/"]\n\tinsteadOf = https://example.org/\n[url "https://other.example.org/"]\n\tinsteadOf = o:\n')
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_CONFIG_")}
        self.environment = {**inherited, "PATH": f"{self.tools}/bin:{os.environ['PATH']}", "TALKIE_ROOTS": str(self.cache),
                            "GIT_CONFIG_GLOBAL": str(config), "GIT_CONFIG_SYSTEM": "/dev/null", "TALKIE_TRIED": "yes", "SECRET": "no"}

    def copy(self, source, target):
        """A program and the libraries that it needs, each at its own place."""
        files = re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", source], capture_output=True, text=True, check=True).stdout)
        for file, place in [(source, target), *((file, file) for file in files)]:
            path = self.root / place.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, path)

    def roots(self, *words, **options):
        return subprocess.run([HERE / "roots", *words], capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
                              env=self.environment, **options)

    def run(self, script, *options):
        return self.roots("run", "tiny", "--bare", *options, "--", "bash", "-c", script)


def can_mount():
    return os.getuid() == 0 or os.environ.get("CI") == "true"


@unittest.skipUnless(can_mount(), "namespaces need root")
class Run(unittest.TestCase):
    def setUp(self):
        self.machine = Machine(self)

    def test_the_command_runs_in_the_root_in_the_checkout_and_its_status_is_returned(self):
        done = self.machine.run('echo "$PWD $$"; cat Package.swift > /dev/null && ! [ -e /usr/bin/env ] && exit 7')
        self.assertEqual((done.returncode, re.sub(r"(?m)^bash: warning: setlocale: .*\n", "", done.stderr)), (7, ""))
        place, process = done.stdout.rsplit(None, 1)
        self.assertEqual(place, str(HERE.parent))
        self.assertLess(int(process), 100)

    def test_what_it_writes_is_discarded(self):
        self.assertEqual(self.machine.run("echo one > /etc/one && cat /etc/one").stdout, "one\n")
        self.assertEqual(self.machine.run("[ -e /etc/one ]").returncode, 1)
        self.assertEqual(sorted(os.listdir(self.machine.root / "etc")), [])
        self.assertEqual(os.listdir(self.machine.cache / "tiny.runs"), [])

    def test_with_a_folder_as_root_it_is_changed(self):
        self.machine.roots("run", "tiny", "--root", str(self.machine.root), "--", "bash", "-c", "echo one > /etc/one")
        self.assertEqual((self.machine.root / "etc/one").read_text(), "one\n")

    def test_its_build_folder_is_its_own(self):
        mark = HERE.parent / ".build/roots/tiny/mark"
        self.machine.run("echo one > .build/mark")
        self.assertEqual(mark.read_text(), "one\n")

    def test_the_toolchain_and_the_packages_are_there_and_read_only(self):
        for folder in (self.machine.tools, self.machine.packages):
            done = self.machine.run(f'[ -d "{folder}" ] && echo there; echo x > "{folder}/x"')
            self.assertEqual(done.stdout, "there\n")
            self.assertIn("Read-only file system", done.stderr)
        done = self.machine.run('echo "${PATH%%:*} $GIT_CONFIG_KEY_1 $GIT_CONFIG_VALUE_1 $GIT_CONFIG_COUNT $TALKIE_TRIED$SECRET"')
        self.assertEqual(done.stdout, f"{self.machine.tools}/bin url.{self.machine.packages}/.insteadof https://example.org/ 2 yes\n")

    def test_processes_end_with_the_command(self):
        done = self.machine.run("sleep 1000 & cat /proc/self/stat")
        self.assertEqual(done.returncode, 0)
        with open("/proc/self/mounts") as file:
            self.assertNotIn(str(self.machine.top), file.read())

    def test_it_ends_when_it_is_killed(self):
        marker = f"1000.{os.getpid()}"
        process = subprocess.Popen([HERE / "roots", "run", "tiny", "--bare", "--", "bash", "-c", f"echo up; sleep {marker}; echo over"],
                                   stdout=subprocess.PIPE, text=True, env=self.machine.environment)
        self.assertEqual(process.stdout.readline(), "up\n")
        process.kill()
        process.wait()
        # The pipe is closed when nothing of it is left.
        started = time.monotonic()
        self.assertEqual(process.stdout.read(), "")
        process.stdout.close()
        self.assertLess(time.monotonic() - started, 60)
        # The next run removes its layer.
        self.machine.run("true")
        self.assertEqual(os.listdir(self.machine.cache / "tiny.runs"), [])

    def test_offline_there_is_a_loopback_and_nothing_else(self):
        done = self.machine.run("cat /proc/net/dev; cat /proc/net/fib_trie", "--offline")
        self.assertEqual(re.findall(r"(?m)^\s*(\w+): *\d", done.stdout), ["lo"])
        self.assertIn("127.0.0.1", done.stdout)

    def test_a_program_that_is_not_there(self):
        done = self.machine.roots("run", "tiny", "--bare", "--", "nonsense")
        self.assertEqual((done.returncode, done.stderr), (127, "roots: nonsense: No such file or directory\n"))

    def test_list_path_and_remove(self):
        self.assertEqual(self.machine.roots("list").stdout, "")
        (self.machine.root / "usr").mkdir(exist_ok=True)
        self.assertEqual(self.machine.roots("list").stdout, "tiny.bare\n")
        self.assertEqual(self.machine.roots("path", "tiny", "--bare").stdout, f"{self.machine.root}\n")
        self.machine.roots("remove", "tiny")
        self.assertFalse(self.machine.root.exists())


class Refused(unittest.TestCase):
    def setUp(self):
        self.machine = Machine(self)

    def test_a_name_that_is_no_suite(self):
        for name in ("../x", "a b", "Trixie"):
            done = self.machine.roots("path", name)
            self.assertEqual(done.returncode, 1)
            self.assertIn("is not the name of a Debian suite", done.stderr)

    def test_without_swift_and_with_one_of_the_system(self):
        with self.assertRaisesRegex(roots.RootError, "Swift is not on PATH"):
            roots.toolchain(str(self.machine.top / "none"))
        swift = self.machine.tools / "bin/swift"
        swift.write_text("""#!/bin/sh\necho '{"paths": {"runtimeResourcePath": "/usr/lib/swift"}}'\n""")
        with self.assertRaisesRegex(roots.RootError, "a folder of its own"):
            roots.toolchain(str(swift))

    def test_a_root_that_cannot_be_made_leaves_the_old_one(self):
        root = self.machine.cache / "old"
        root.mkdir()
        tool = self.machine.tools / "bin/mmdebstrap"
        tool.write_text('#!/bin/sh\nfor one; do last=$before before=$one; done; mkdir -p "$last"; exit 1\n')
        tool.chmod(0o755)
        with mock.patch.dict(os.environ, self.machine.environment), self.assertRaisesRegex(roots.RootError, "could not build"):
            roots.debian_root.make("old", str(root), archive="http://192.0.2.1/")
        self.assertEqual(sorted(os.listdir(self.machine.cache)), ["old", "tiny.bare"])

    def test_where_apt_knows_no_debian(self):
        tool = self.machine.tools / "bin/apt-get"
        tool.write_text("#!/bin/sh\necho 'Ubuntu|Ubuntu|http://192.0.2.1/'\n")
        tool.chmod(0o755)
        with mock.patch.dict(os.environ, self.machine.environment), self.assertRaisesRegex(roots.RootError, "apt knows no Debian archive"):
            roots.debian_root.mirror()


if __name__ == "__main__":
    unittest.main()
