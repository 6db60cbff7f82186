import json
import re
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

import man_pages
import relations

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Some commands of a real `talkie --experimental-dump-help`.
DUMP = json.loads((HERE / "test_help.json").read_text())
PAGES = man_pages.pages(DUMP, "1.2.3", "2026-01-31")


def printed(page):
    """A page as a reader sees it, roughly: without fonts and escapes."""
    text = re.sub(r"\\f[BIR]", "", page)
    return text.replace("\\-", "-").replace("\\(ti", "~").replace("\\(ha", "^").replace("\\(ga", "`").replace("\\&", "").replace("\\e", "\\")


def described(command):
    """A command and those below it, as far as they are shown."""
    yield command
    for one in man_pages.commands(command):
        yield from described(one)


class ManPages(unittest.TestCase):
    def test_there_is_a_page_for_the_program_and_each_command(self):
        self.assertEqual(sorted(PAGES), ["talkie", "talkie-play", "talkie-profile"])

    def test_every_option_and_argument_is_in_its_page_with_its_words(self):
        for one in man_pages.commands(DUMP["command"]):
            page = printed(PAGES["talkie-" + one["commandName"]])
            for command in described(one):
                for argument in man_pages.shown(command):
                    for name in argument.get("names", []):
                        self.assertIn(man_pages.spelling(name), page)
                    self.assertIn(argument.get("abstract", ""), page)
                    if argument["kind"] != "flag":
                        self.assertIn(argument["valueName"], page)

    def test_what_the_help_hides_is_hidden_here_too(self):
        hidden = [name["name"] for argument in man_pages.commands(DUMP["command"])[0]["arguments"]
                  if not argument["shouldDisplay"] for name in argument["names"]]
        self.assertEqual(hidden, ["input-ipc-server"])
        self.assertNotIn("input-ipc-server", printed(PAGES["talkie-play"]))

    def test_a_flag_and_the_one_that_takes_it_back_are_one_entry(self):
        self.assertIn(".TP\n--resume-playback, --no-resume-playback\n", printed(PAGES["talkie-play"]))

    def test_sections_come_in_the_order_of_such_pages(self):
        wanted = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "KEYS", "EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO"]
        self.assertEqual(re.findall(r"^\.SH (.*)$", PAGES["talkie-play"], re.M), wanted)
        self.assertIn("talkie-play(1)", PAGES["talkie"].replace("\\-", "-").replace("\\fB", "").replace("\\fR", ""))

    def test_the_name_is_found_by_whatis(self):
        self.assertIn(".SH NAME\ntalkie\\-play \\- play films, addresses and playlists\n", PAGES["talkie-play"])

    def test_no_word_becomes_a_request_and_a_hyphen_can_be_copied(self):
        self.assertEqual(man_pages.escaped(".TH\n'quoted' -x \\n"), "\\&.TH\n\\&'quoted' \\-x \\en")
        for name, page in PAGES.items():
            for line in page.splitlines():
                if line.startswith("."):
                    self.assertRegex(line, r"^\.(TH|SH|SS|TP|IP|PP|BR|br)( |$)", name)
                self.assertFalse(line.startswith("'"), f"{name}: {line}")

    def test_keys_are_those_of_the_guide_and_statuses_those_of_the_readme(self):
        page = printed(PAGES["talkie-play"])
        for words in ("space, p\npause, resume", "Alt and + -, arrows, Backspace; w W\nzoom, pan", "next subtitle track (J previous)"):
            self.assertIn(words, page)
        for status in ("0\nDone.", "66\nCannot open the input.", "69\nA speaker or device is unavailable.", "130 and 143\nAfter SIGINT and SIGTERM."):
            self.assertIn(".TP\n" + status, page)


class Relations(unittest.TestCase):
    PACKAGES = (ROOT / "Tools/packages.txt").read_text()

    def installed(self, status, files=(), owners=()):
        """A system with these packages, these files in its folder of libraries (links as pairs), and their owners."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for file in files:
            name, target = file if isinstance(file, tuple) else (file, None)
            path = Path(folder.name, name)
            path.symlink_to(target) if target else path.touch()

        class Known(relations.Installed):
            @staticmethod
            def _query(*words):
                if words[0] == "--show":
                    return "".join(f"{row}\n" for row in status)
                return f"{dict(owners)[words[1]]}: /usr/lib/x\n" if words[1] in dict(owners) else ""

        return Known([Path(folder.name)])

    def test_of_alternatives_the_installed_one_is_recommended(self):
        text = "[build]\nlibone-dev : one.pc\n[run]\nlibsixt64 | libsix : libsix.so.6 # six is not known\navahi-daemon # none\n"
        for name in ("libsixt64", "libsix"):
            known = self.installed([f"installed\t{name}\t"])
            self.assertEqual(relations.substitutions(text, [], known), f"talkie:Recommends={name}, avahi-daemon\ntalkie:Suggests=\n")
        known = self.installed(["config-files\tlibsixt64\t", "installed\tlibseven\tlibx, libsix (= 7)"])
        self.assertEqual(relations.substitutions(text, [], known), "talkie:Recommends=libseven, avahi-daemon\ntalkie:Suggests=\n")
        self.assertNotIn("libsix", relations.substitutions(text, [], self.installed([])))

    def test_the_owner_of_a_library_that_is_opened_is_recommended(self):
        known = self.installed([], ["libpsl.so.5", ("libfilter.so", "libfilter.so.10.4.100"), "libfilter.so.10.4.100", "libfilter.so.9"],
                               [("*/libpsl.so.5", "libpsl5t64:amd64"), ("*/libfilter.so.10.4.100", "libfilter10:amd64, other:amd64"),
                                ("*/libfilter.so.9", "libfilter9:amd64")])
        found = relations.substitutions("", [("libfilter", ""), ("libmissing", "3"), ("libpsl", "5")], known)
        self.assertEqual(found, "talkie:Recommends=libfilter10, libpsl5t64\ntalkie:Suggests=\n")

    def test_what_the_package_depends_on_is_not_recommended_and_the_large_is_suggested(self):
        control = (HERE / "debian/control").read_text()
        found = relations.substitutions(self.PACKAGES, [], self.installed([]))
        self.assertIn("talkie:Suggests=yt-dlp\n", found)
        for name in relations.DEPENDED:
            self.assertIn([name], relations.section(self.PACKAGES, "run"))
            self.assertRegex(control, rf"(?m)^Depends:.*\b{name}\b")
            self.assertNotIn(name, found)

    def test_the_sources_open_libraries_that_packages_are_listed_for(self):
        opened = relations.opened(ROOT / "Sources")
        self.assertIn(("libpulse", "0"), opened)
        self.assertIn(("libavfilter", ""), opened)
        listed = [name for part in ("build", "run") for entry in relations.section(self.PACKAGES, part) for name in entry]
        for library, _ in opened:
            self.assertTrue(any(name.startswith(library) for name in listed), library)


class Desktop(unittest.TestCase):
    def entries(self):
        lines = (HERE / "talkie.desktop").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))

    def test_the_entry_opens_each_kind_of_film_once(self):
        entries = self.entries()
        kinds = entries["MimeType"].split(";")
        self.assertEqual(kinds.pop(), "")
        self.assertEqual(len(kinds), len(set(kinds)))
        for kind in ("video/mp4", "video/x-matroska", "audio/flac", "application/xspf+xml"):
            self.assertIn(kind, kinds)
        self.assertTrue((HERE / (entries["Icon"] + ".svg")).exists())

    def test_the_shop_window_leads_to_the_entry(self):
        info = xml.etree.ElementTree.parse(HERE / "talkie.metainfo.xml").getroot()
        self.assertEqual(info.findtext("launchable"), "talkie.desktop")
        self.assertEqual(info.findtext("name"), self.entries()["Name"])
        self.assertEqual(xml.etree.ElementTree.parse(HERE / "talkie.svg").getroot().get("viewBox"), "0 0 128 128")


class Project(unittest.TestCase):
    def test_every_field_of_a_maintainer_is_used_and_no_other_is(self):
        lines = (HERE / "project.conf").read_text().splitlines()
        fields = {line.partition("=")[0] for line in lines if line and not line.startswith("#")}
        used = set()
        for name in ("talkie.metainfo.xml", "debian/control", "debian/copyright"):
            used |= set(re.findall(r"@([a-z_]+)@", (HERE / name).read_text()))
        # The script knows version and date; Tools/release writes the archive's address.
        self.assertEqual(used - {"version", "date"}, fields - {"archive"})


class Units(unittest.TestCase):
    def test_services_start_the_program_where_the_package_puts_it(self):
        for path in [*HERE.glob("*.service"), *HERE.glob("user/*.service")]:
            for command in re.findall(r"^ExecStart=[@!:+-]*(\S+)", path.read_text(), re.M):
                self.assertEqual(command, "/usr/bin/talkie", path.name)


class Version(unittest.TestCase):
    def test_it_is_read_where_the_program_has_it(self):
        source = (ROOT / "Sources/MediaCore/Values/Release.swift").read_text()
        self.assertEqual(len(re.findall(r'static let version = "[0-9][0-9A-Za-z.+~]*"', source)), 1)


if __name__ == "__main__":
    unittest.main()
