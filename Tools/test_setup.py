"""Tools/setup on systems that are made of small programs: what they are asked for, and what is said."""
import os
import re
import shutil
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIST = """
[build]
# Words.
libfilm-dev : film.pc
libnew3 | libold2 : libnew.so.3
libpretty-dev : pretty.pc # films are less pretty
[run]
libsixt64 | libsix : libsix.so.6 # six is not known
[test]
screen : Xscreen
[package]
wrap
"""
# What the shell of Tools/setup itself uses.
TOOLS = "bash awk sed grep sort head tr cut dirname readlink cat chmod rm mkdir env".split()
# Knows the packages of AVAILABLE, writes down what it does, and installs into STATUS.
APT = """
echo "$*" >> "$WORLD/asked"
case " $* " in
  *" update "*)
    if [ -e "$WORLD/offline" ]; then
      echo "W: Could not resolve host" >&2
      case " $* " in *" --error-on=any "*) exit 100 ;; *) exit 0 ;; esac
    fi
    cp "$WORLD/archive" "$WORLD/known" ;;
  *" --assume-no "*) printf 'Need to get %s of archives.\\nAfter this operation, %s of additional disk space will be used.\\nAbort.\\n' "133 MB" "467 MB"; exit 1 ;;
  *" --download-only "*) [ ! -e "$WORLD/offline" ] || { echo "E: Failed to fetch" >&2; exit 100; } ;;
  *" install "*) for word; do case $word in -*|install|*=*) ;; *) printf 'installed\\t%s\\t\\n' "$word" >> "$WORLD/status" ;; esac; done ;;
esac
"""
CACHE = """
shift
for name; do if grep -qx "$name" "$WORLD/known"; then printf '%s:\\n  Installed: (none)\\n  Candidate: 1\\n' "$name"; else printf '%s:\\n  Candidate: (none)\\n' "$name"; fi; done
"""
DF = """printf 'Filesystem 1024-blocks Used Available Capacity Mounted on\\n/dev/vda 1 1 %s 1%% /\\n' "$(cat "$WORLD/free")" """


class System:
    """A PATH with programs of its own, and a copy of Tools/setup with a short list."""

    def __init__(self, test, swift="Swift version 6.3.1 (swift-6.3.1-RELEASE)", user=0, apt=True, dpkg=True,
                 available=("libfilm-dev", "libold2", "libpretty-dev", "libsix", "screen"), installed=(), free=10**7):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.top = Path(folder.name)
        self.bin = self.top / "bin"
        self.bin.mkdir()
        for tool in [*TOOLS, "cp"]:
            (self.bin / tool).symlink_to(shutil.which(tool))
        (self.top / "Tools").mkdir()
        self.script = shutil.copy(HERE / "setup", self.top / "Tools/setup")
        (self.top / "Tools/packages.txt").write_text(LIST)
        (self.top / "archive").write_text("".join(name + "\n" for name in available))
        (self.top / "known").write_text("")
        (self.top / "asked").write_text("")
        (self.top / "free").write_text(str(free))
        (self.top / "status").write_text("".join(f"installed\t{row}\n" for row in installed))
        if swift is not None:
            self.program("swift", f"echo '{swift}'")
        self.program("id", f"echo {user}")
        self.program("df", DF)
        if dpkg:
            self.program("dpkg-query", 'cat "$WORLD/status"')
        if apt:
            self.program("apt-get", APT)
            self.program("apt-cache", CACHE)

    def program(self, name, text):
        path = self.bin / name
        path.write_text(f"#!{self.bin}/bash\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def update(self):
        """As if apt-get update had been run."""
        shutil.copy(self.top / "archive", self.top / "known")

    def setup(self, *words):
        return subprocess.run([self.script, *words], capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
                              env={"PATH": str(self.bin), "WORLD": str(self.top), "TALKIE_POLICY_RC": str(self.top / "policy")})

    def installed(self):
        return [row.split("\t")[1] for row in (self.top / "status").read_text().splitlines()]

    def asked(self):
        return (self.top / "asked").read_text()


class Installing(unittest.TestCase):
    def test_of_alternatives_the_first_that_a_source_has_is_installed(self):
        system = System(self)
        done = system.setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(system.installed(), ["libfilm-dev", "libold2", "libpretty-dev", "libsix", "screen"])
        system = System(self, available=("libfilm-dev", "libold2", "libnew3", "libpretty-dev", "libsixt64", "libsix", "screen"))
        system.setup()
        self.assertEqual(system.installed(), ["libfilm-dev", "libnew3", "libpretty-dev", "libsixt64", "screen"])
        self.assertFalse((system.top / "policy").exists())

    def test_when_everything_is_installed_apt_is_not_asked(self):
        system = System(self)
        system.setup()
        before = system.asked()
        done = system.setup()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(system.asked(), before)

    def test_what_an_installed_package_provides_counts_as_installed(self):
        system = System(self, installed=("libfilm-dev\t", "libnewer\tlibx (= 3), libnew3 (= 1:3.0-1)", "libpretty-dev\t",
                                         "libsix-extra\tlibsix", "screen\t"))
        done = system.setup()
        self.assertEqual((done.returncode, done.stdout, system.asked()), (0, "", ""), done.stderr)

    def test_a_package_that_was_removed_does_not_count(self):
        system = System(self)
        system.setup()
        text = (system.top / "status").read_text()
        (system.top / "status").write_text(text.replace("installed\tscreen", "config-files\tscreen"))
        self.assertEqual(system.setup("--check").stdout.split(), ["screen"])

    def test_an_optional_package_that_no_source_has_is_named_with_what_is_lost(self):
        system = System(self, available=("libfilm-dev", "libold2", "screen"))
        done = system.setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("setup: libpretty-dev is in no source of apt: films are less pretty\n", done.stdout)
        self.assertIn("setup: libsixt64 | libsix is in no source of apt: six is not known\n", done.stdout)
        self.assertEqual(system.installed(), ["libfilm-dev", "libold2", "screen"])
        # The next run says so again, and changes nothing.
        before = system.asked()
        done = system.setup()
        self.assertIn("films are less pretty", done.stdout)
        self.assertEqual((done.returncode, system.asked()), (0, before))
        self.assertEqual(system.setup("--check").returncode, 0)

    def test_check_names_what_is_missing_and_installs_nothing(self):
        system = System(self, installed=("libfilm-dev\t",))
        system.update()
        done = system.setup("--check", "build")
        self.assertEqual((done.returncode, done.stdout.split()), (1, ["libold2", "libpretty-dev"]))
        self.assertEqual(system.asked(), "")

    def test_a_section_that_is_not_there_is_an_error(self):
        done = System(self).setup("nonsense")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no such section: nonsense", done.stderr)


class BadInput(unittest.TestCase):
    """One sentence with what to do, and nothing is installed."""

    def refused(self, system, *pattern):
        done = system.setup()
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(len(re.findall(r"(?m)^setup: ", done.stderr)), 1, done.stderr)
        for words in pattern:
            self.assertRegex(done.stderr, words)
        self.assertEqual(system.installed(), [])
        self.assertFalse((system.top / "policy").exists())
        return done

    def test_an_older_swift_is_refused_before_anything_is_installed(self):
        system = System(self, swift="Swift version 6.2.4 (swift-6.2.4-RELEASE)")
        self.refused(system, r"is Swift 6\.2, and 6\.3 or newer is needed: https://www\.swift\.org/install")
        self.assertEqual(system.asked(), "")

    def test_a_newer_swift_is_taken_by_number_and_not_by_letter(self):
        self.assertEqual(System(self, swift="Apple Swift version 6.10 (swift)").setup().returncode, 0)

    def test_without_swift_nothing_is_installed(self):
        system = System(self, swift=None)
        self.refused(system, r"Swift 6\.3 or newer must be on PATH")
        self.assertEqual(system.asked(), "")

    def test_a_swift_that_needs_packages_to_start_gets_them(self):
        system = System(self)
        system.program("swift", """grep -q screen "$WORLD/status" || { echo "libncurses.so.6: cannot open" >&2; exit 127; }; echo Swift version 6.3""")
        self.assertEqual(system.setup().returncode, 0)

    def test_a_swift_that_never_starts_is_named(self):
        system = System(self)
        system.program("swift", "echo 'libxml2.so.2: cannot open' >&2; exit 127")
        done = system.setup()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"libxml2\.so\.2: cannot open\n(?s:.)*does not start \(above\): install the toolchain for this system")

    def test_without_apt_the_packages_are_named(self):
        self.refused(System(self, apt=False), r"there is no apt-get; install these .*: libfilm-dev libnew3 libpretty-dev libsixt64 screen")

    def test_offline_before_the_first_update(self):
        system = System(self)
        (system.top / "offline").touch()
        self.refused(system, "Could not resolve host", "check the network and /etc/apt/sources.list.d.*nothing was installed")

    def test_offline_after_an_update(self):
        system = System(self)
        system.update()
        (system.top / "offline").touch()
        self.refused(system, "Failed to fetch", "could not fetch the packages.*check the network.*nothing was installed")

    def test_a_package_that_no_source_has(self):
        self.refused(System(self, available=("libfilm-dev",)), r"no source of apt has libnew3 \| libold2, screen: docs/guides/install\.md.*nothing")

    def test_a_disk_with_300_megabytes(self):
        system = System(self, free=300 * 1000)
        self.refused(system, r"/ has 307 MB free and the missing packages need 600 MB: free some space; nothing was installed")
        self.assertNotIn("--download-only", system.asked())

    def test_neither_root_nor_sudo(self):
        system = System(self, user=1000)
        self.refused(system, r"needs root: run this as root: /.*/Tools/setup build run test")
        system = System(self, user=1000)
        system.program("sudo", "exit 1")
        self.refused(system, "run this as root")

    def test_sudo_is_used_where_it_needs_no_password(self):
        system = System(self, user=1000)
        system.program("sudo", '[ "$1" != -n ] || shift; [ "$1" = true ] && exit 0; exec "$@"')
        self.assertEqual(system.setup().returncode, 0)
        self.assertIn("screen", system.installed())


class Elsewhere(unittest.TestCase):
    """Systems without dpkg."""

    def system(self, modules, libraries="", programs=()):
        system = System(self, dpkg=False, apt=False)
        system.program("pkg-config", f'case " {modules} " in *" $2 "*) exit 0 ;; *) exit 1 ;; esac')
        system.program("ldconfig", f"printf '%s\\n' {libraries}")
        for name in programs:
            system.program(name, "exit 0")
        return system

    def test_with_everything_there_is_nothing_to_say(self):
        done = self.system("film pretty", "'libnew.so.3 (libc6)' 'libsix.so.6 (libc6)'", ["Xscreen"]).setup()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_what_the_build_needs_is_an_error_and_the_rest_is_said(self):
        done = self.system("").setup()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "setup: missing: film (pkg-config), libnew.so.3; docs/guides/install.md has their packages' names.\n")
        self.assertIn("setup: pretty (pkg-config) is missing: films are less pretty\n", done.stdout)
        self.assertIn("needed for tests and tools only: Xscreen\n", done.stdout)

    def test_without_tests_programs_it_builds(self):
        done = self.system("film pretty", "'libnew.so.3 (libc6)' 'libsix.so.6 (libc6)'").setup()
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class List(unittest.TestCase):
    """The list itself, and the guide for systems without dpkg."""
    GUIDE = HERE.parent / "docs/guides/install.md"

    @staticmethod
    def entries(section):
        text = (HERE / "packages.txt").read_text()
        for line in re.search(rf"(?ms)^\[{section}\]\n(.*?)(?=^\[|\Z)", text).group(1).splitlines():
            names, _, loss = line.partition("#")
            names, _, check = names.partition(":")
            if names.strip():
                yield [name.strip() for name in names.split("|")], check.strip(), loss.strip()

    def test_every_entry_is_understood(self):
        for section in ("build", "run", "test", "compare", "media", "package"):
            for names, check, _ in self.entries(section):
                self.assertTrue(all(re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name) for name in names), names)
                self.assertRegex(check, r"^(|-|[\w.+-]+|/[\w./+-]+)$", names)

    def test_the_guide_names_each_module_of_pkg_config_that_the_build_needs(self):
        guide = self.GUIDE.read_text()
        for _, check, _ in self.entries("build"):
            if check.endswith(".pc"):
                self.assertRegex(guide, rf"(?m)^\|[^|]*`{re.escape(check[:-3])}`[^|]*\|[^|]*\w[^|]*\|[^|]*\w[^|]*\|$", check)


if __name__ == "__main__":
    unittest.main()
