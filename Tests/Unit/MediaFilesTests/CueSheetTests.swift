import Foundation
import MediaCore
import Testing

@testable import MediaFiles

@Suite struct CueSheetTests {
    private func sheet(_ text: String) -> CueSheet { CueSheet(Array(text.utf8)) }

    @Test func tracksBeginAtTheirFirstIndexInFramesOfASeventyFifth() {
        let sheet = sheet(
            "\u{FEFF}TITLE \"A record\"\r\nPERFORMER Band\r\nFILE \"a b.wav\" WAVE\r\n  TRACK 01 AUDIO\r\n    TITLE \"One\"\r\n"
                + "    INDEX 01 00:00:00\r\n  TRACK 02 AUDIO\r\n    title Two\r\n    PERFORMER \"Guest\"\r\n"
                + "    INDEX 00 03:58:00\r\n    INDEX 01 04:00:37\r\n    INDEX 02 05:00:00\r\n")
        #expect(sheet.title == "A record" && sheet.performer == "Band")
        #expect(sheet.files.map(\.name) == ["a b.wav"])
        #expect(
            sheet.files[0].tracks == [
                Chapter(start: .zero, title: "One"),
                Chapter(start: MediaTime(value: 240 * 75 + 37, timescale: 75), title: "Guest – Two"),
            ])
    }

    @Test func indexesThatMakeNoSenseAndOtherCommandsAreSkipped() {
        let sheet = sheet(
            "INDEX 01 00:00:00\nFILE x WAVE\nINDEX 01 00:01:00\nTRACK 01 AUDIO\nINDEX 01 00:60:00\nINDEX 01 00:00:75\n"
                + "INDEX 01 -1:00:00\nINDEX 01 999999999999999999999:00:00\nINDEX 01 1:2\nFLAGS DCP\nINDEX\nTITLE\nINDEX 01 0:1:0\n"
        )
        #expect(sheet.files.count == 1)
        #expect(sheet.files[0].tracks == [Chapter(start: MediaTime(value: 1, timescale: 1))])
    }

    @Test func whatOlderProgramsWroteIsLatin1() {
        let sheet = CueSheet(Array("FILE \"caf".utf8) + [0xE9] + Array(".wav\" WAVE\n".utf8))
        #expect(sheet.files.first?.name == "café.wav")
    }

    @Test func theFileIsFoundUnderTheNameItHasNow() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "cue-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("x".utf8).write(to: folder.appending(path: "a.flac"))
        let sheet = folder.appending(path: "a.cue").path
        for name in ["a.flac", "a.wav", "C:\\Music\\a.wav"] {
            #expect(try CueSheet.locate(.init(name: name), beside: sheet) == folder.path + "/a.flac")
        }
        for name in ["", "b.wav", "/dev/zero", ".."] {
            #expect(throws: MediaError.self) { try CueSheet.locate(.init(name: name), beside: sheet) }
        }
    }
}
