import Testing

@testable import MediaCore

@Suite struct TerminalTextTests {
    @Test func aTitleCannotCommandTheTerminal() {
        #expect(PrintableText.of("a\u{1B}]0;x\u{7}b\r\n\u{9B}1A\u{202E}c") == "a�]0;x�b���1A�c")
        #expect(PrintableText.of("Amélie 🎬 愛") == "Amélie 🎬 愛")
        #expect(PrintableText.of("\u{200F}שלום\u{200E} 1\u{61C}2") == "שלום 12", "directional marks are left out")
    }

    @Test(arguments: [
        ("https://anna:secret@example.org/a.mkv", "https://…@example.org/a.mkv"),
        ("https://token@example.org:8443?x=1", "https://…@example.org:8443?x=1"),
        ("https://a:b@c@example.org/", "https://…@example.org/"),
        ("https://example.org/a@b.mkv", "https://example.org/a@b.mkv"),
        (
            "https://a:b@example.org/f.mp4?id=7&access_Token=xyz&X-Amz-Signature=1#t=3",
            "https://…@example.org/f.mp4?id=7&access_Token=…&X-Amz-Signature=…#t=3"
        ), ("https://example.org/?q=a?b&key=", "https://example.org/?q=a?b&key=…"),
        ("/films/a?token=1.mp4", "/films/a?token=1.mp4"), ("https://example.org/?", "https://example.org/?"),
        ("film?token=0123456789abcdef&for=http://a:b@example.org/", "film?token=…&for=http://…@example.org/"),
        ("udp://@239.1.1.1:1234", "udp://@239.1.1.1:1234"), ("/home/a@b/film.mkv", "/home/a@b/film.mkv"),
    ])
    func credentialsOfAnAddressAreNotPrinted(address: String, printed: String) {
        #expect(PrintableText.withoutCredentials(address) == printed)
    }

    @Test(arguments: [
        ("cannot open '/srv/my films/it's a film.mkv'; check it", "cannot open 'it's a film.mkv'; check it"),
        ("“http://a.org/b/c.mkv?key=1” (/dev/sda1) isn't 5/6 and/or /x/", "“c.mkv” (sda1) isn't 5/6 and/or x"),
        ("https://me:secret@a.org", "a.org"), ("no folder", "no folder"),
        ("'a' and '/b/c' and 'd'", "'a' and 'c' and 'd'"),
    ])
    func aSentenceForOthersNamesNoFolders(_ text: String, _ expected: String) {
        #expect(PrintableText.withoutFolders(text) == expected)
    }
}
