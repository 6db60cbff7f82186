"""Tools/release: what it refuses, and the folder that it makes for apt, read by apt itself."""
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest
import unittest.mock
from pathlib import Path

HERE = Path(__file__).resolve().parent
loader = importlib.machinery.SourceFileLoader("release", str(HERE / "release"))
release = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
loader.exec_module(release)

FILLED = {"id": "net.films.talkie", "homepage": "https://films.net/", "developer": "Films", "developer_id": "net.films",
          "maintainer": "Films <films@films.net>", "archive": "https://films.net/apt"}
CHANGES = "# Changelog\n\n## Unreleased\n\n## 1.2.3\n\nIt plays.\n"
PROGRAMS = ("apt-get", "dpkg-deb", "dpkg-scanpackages", "gpg", "gpg-agent")


class Obstacles(unittest.TestCase):
    def test_a_filled_in_project_with_its_changes_is_published(self):
        self.assertEqual(release.obstacles(FILLED, CHANGES, "1.2.3", ""), [])

    def test_every_placeholder_of_the_project_is_refused(self):
        fields = release.project((HERE / "package/project.conf").read_text())
        self.assertEqual(set(fields), set(FILLED))
        found = "\n".join(release.obstacles(fields, CHANGES, "1.2.3", ""))
        for key in ("id", "homepage", "developer_id", "maintainer", "archive"):
            self.assertIn(f"{key} in Tools/package/project.conf is a placeholder", found)

    def test_a_word_that_contains_example_is_none(self):
        self.assertEqual(release.obstacles({**FILLED, "homepage": "https://films.net/examples/"}, CHANGES, "1.2.3", ""), [])

    def test_without_a_section_with_unreleased_changes_and_with_uncommitted_ones(self):
        for words, arguments in (("no section 1.3", (CHANGES, "1.3", "")),
                                 ("under Unreleased", (CHANGES.replace("Unreleased\n", "Unreleased\n\n- It is new.\n"), "1.2.3", "")),
                                 ("not committed", (CHANGES, "1.2.3", " M README.md"))):
            self.assertIn(words, "\n".join(release.obstacles(FILLED, *arguments)))

    def test_it_ends_before_it_builds(self):
        done = subprocess.run([HERE / "release", "--key", "none"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"release: not to be published:\n  id in Tools/package/project\.conf is a placeholder: org\.example\.talkie\n")

    def test_the_changes_of_this_version_are_written(self):
        self.assertRegex((HERE.parent / "CHANGELOG.md").read_text(), rf"\n## Unreleased\n(?s:.*)\n## {re.escape(release.version())}\n")


class Archive(unittest.TestCase):
    def test_it_has_the_files_of_the_commit_and_is_the_same_each_time(self):
        with tempfile.TemporaryDirectory() as folder:
            one = release.source_archive(Path(folder), "1.2.3")
            first = one.read_bytes()
            with tarfile.open(one) as tar:
                names = {name.removeprefix("talkie-1.2.3/") for name in tar.getnames()}
            self.assertTrue({"Package.swift", "Tools/roots", "media/talking.mp4"} <= names)
            self.assertFalse(any(name.startswith((".build", ".git/")) for name in names))
            self.assertEqual(release.source_archive(Path(folder), "1.2.3").read_bytes(), first)


@unittest.skipUnless(all(map(shutil.which, PROGRAMS)) or os.environ.get("CI") == "true", "apt, dpkg-dev or gpg is not installed")
class AptFolder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.top = Path(cls.temporary.name)
        cls.signer = release.Signer()
        cls.addClassCleanup(cls.signer.close)
        cls.packages = {suite: [cls.package(f"1.2.3+{system}")] for suite, system in (("bookworm", "deb12"), ("trixie", "deb13"))}
        cls.made = cls.top / "made"
        release.apt_folder(cls.made, cls.packages, FILLED, cls.signer, 1_790_000_000)

    @classmethod
    def package(cls, version):
        tree = cls.top / version
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "DEBIAN/control").write_text(f"Package: talkie\nVersion: {version}\nArchitecture: all\nMaintainer: x <x@films.net>\nDescription: x\n")
        return Path(release.output("dpkg-deb", "--root-owner-group", "--build", tree, cls.top / f"talkie_{version}_all.deb").split("'")[-2])

    def setUp(self):
        """An apt with a state of its own, whose only source is a copy of the folder."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = Path(folder.name)
        self.folder = self.place / "apt"
        shutil.copytree(self.made, self.folder)
        for name in ("lists/partial", "archives/partial", "etc"):
            (self.place / name).mkdir(parents=True)
        (self.place / "status").touch()

    def apt(self, suite, *words):
        source = (self.folder / f"talkie-{suite}.sources").read_text()
        source = source.replace("URIs: https://films.net/apt\n", f"URIs: file:{self.folder}\n")
        (self.place / "etc/talkie.sources").write_text(source.replace("/usr/share/keyrings/", f"{self.folder}/"))
        options = {"Dir::State::Lists": self.place / "lists", "Dir::State::Status": self.place / "status", "Dir::Cache": self.place,
                   "Dir::Cache::Archives": self.place / "archives", "Dir::Etc::SourceList": "/dev/null", "Dir::Etc::SourceParts": self.place / "etc",
                   "APT::Sandbox::User": "root", "APT::Architecture": "amd64"}
        return subprocess.run(["apt-get", "-q", *(f"-o{key}={value}" for key, value in options.items()), *words], cwd=self.place,
                              capture_output=True, text=True, timeout=60, check=False)

    def test_apt_verifies_it_and_fetches_the_package_of_its_suite(self):
        for suite, system in (("bookworm", "deb12"), ("trixie", "deb13")):
            done = self.apt(suite, "update", "--error-on=any")
            self.assertEqual(done.returncode, 0, done.stderr)
            done = self.apt(suite, "download", "talkie")
            self.assertEqual(done.returncode, 0, done.stderr)
            fetched = next(self.place.glob(f"talkie_1.2.3+{system}_all.deb"))
            self.assertEqual(fetched.read_bytes(), self.packages[suite][0].read_bytes())

    def test_apt_refuses_what_was_changed(self):
        for change in ("dists/trixie/InRelease", "dists/trixie/main/binary-all/Packages"):
            with self.subTest(change):
                path = self.folder / change
                text = path.read_text()
                path.write_text(text.replace("Components: main", "Components: more").replace("Version: 1.2.3", "Version: 1.2.4"))
                Path(f"{path}.gz").unlink(missing_ok=True)
                self.assertNotEqual(path.read_text(), text)
                self.assertNotEqual(self.apt("trixie", "update", "--error-on=any").returncode, 0)
                path.write_text(text)

    def test_apt_refuses_another_key(self):
        other = release.Signer()
        self.addCleanup(other.close)
        other.export(self.folder / release.KEYRING)
        done = self.apt("trixie", "update", "--error-on=any")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout + done.stderr, "NO_PUBKEY|not signed|Missing key|couldn't be verified")

    def test_apt_refuses_another_package(self):
        self.apt("trixie", "update")
        shutil.copy(self.packages["bookworm"][0], next(self.folder.glob("pool/trixie/*.deb")))
        self.assertNotEqual(self.apt("trixie", "download", "talkie").returncode, 0)

    def test_a_key_that_gnupg_does_not_have(self):
        with tempfile.TemporaryDirectory() as home, unittest.mock.patch.dict(os.environ, {"GNUPGHOME": home}):
            with self.assertRaisesRegex(release.Refused, "no secret key nobody"):
                release.Signer("nobody")


if __name__ == "__main__":
    unittest.main()
