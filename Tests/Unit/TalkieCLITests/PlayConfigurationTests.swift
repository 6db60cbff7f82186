import ArgumentParser
import Foundation
import MediaCore
import Playback
import Storage
import Testing

@testable import TalkieApp
@testable import TalkieCLI

@Suite final class PlayConfigurationTests {
    private let folder = NSTemporaryDirectory() + "talkie-test-\(UUID().uuidString)"

    init() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func write(_ lines: String..., to name: String = "talkie.conf", mode: Int = 0o600) {
        let data = Data(lines.joined(separator: "\n").utf8)
        _ = FileManager.default.createFile(
            atPath: folder + "/" + name, contents: data, attributes: [.posixPermissions: mode])
    }

    private func arguments(_ typed: String...) throws -> PlayArguments {
        let command = try PlayCommand.parse(FlagNormalizer.settled(typed))
        return try PlayConfiguration.arguments(of: command, typed: typed, folder: ConfigFolder(path: folder))
    }

    @Test func withoutFilesEverythingIsAsItWas() throws {
        let arguments = try arguments("film.mkv", "--volume", "5")
        #expect(arguments.notes.isEmpty && arguments.options.volume == 5 && arguments.files == ["film.mkv"])
        #expect(arguments.keys.commands(for: "q") == [["quit"]])
    }

    @Test func settingsAreInForceAndWhatIsTypedCounts() throws {
        write(
            "fs", "volume=30", "start=-10", "speaker=Kitchen;lang=de", "speaker=\"Living room\"", "loop", "alang=de,en")
        var arguments = try arguments("film.mkv")
        #expect(arguments.notes.isEmpty && arguments.isFullScreen && arguments.options.volume == 30)
        #expect(arguments.options.start == .fromEnd(MediaTime(value: 10, timescale: 1)))
        #expect(arguments.speakers.map(\.choice) == [.named("Kitchen"), .named("Living room")])
        #expect(arguments.speakers.map(\.languages) == [["de"], []])
        #expect(arguments.options.loopFile == .forever && arguments.options.audioLanguages == ["de", "en"])
        arguments = try self.arguments("--volume", "70", "film.mkv", "--speaker", "local", "--no-fs", "--loop=no")
        #expect(arguments.options.volume == 70 && arguments.speakers.map(\.choice) == [.local])
        #expect(!arguments.isFullScreen)
        #expect(arguments.options.loopFile == .times(0) && arguments.files == ["film.mkv"])
    }

    @Test func switchesAreWrittenInMpvsWays() throws {
        write("fs=yes", "mute=yes", "mute=no", "video=no", "pause", "no-pause")
        let arguments = try arguments("film.mkv", "--fullscreen=no")
        #expect(arguments.notes.isEmpty, "\(arguments.notes)")
        #expect(!arguments.isFullScreen && !arguments.options.isMuted && !arguments.options.playsVideo)
        #expect(!arguments.options.startsPaused)
        let typed = try self.arguments("film.mkv", "--video=yes", "--pause=yes", "--", "--no-fs")
        #expect(typed.options.playsVideo && typed.options.startsPaused && typed.isFullScreen)
        #expect(typed.files == ["film.mkv", "--no-fs"])
    }

    @Test func profilesAreTakenInWhereTheyAreNamed() throws {
        write(
            "volume=50", "[night]", "profile-desc=Late", "volume=20", "mute", "[party]", "profile=night", "volume=90",
            "[circle]", "profile=circle")
        #expect(try arguments("film.mkv").options.volume == 50)
        #expect(try arguments("film.mkv", "--profile", "night").options.volume == 20)
        #expect(try arguments("film.mkv", "--profile", "night", "--volume", "33").options.volume == 33)
        let party = try arguments("film.mkv", "--profile=party")
        #expect(party.options.volume == 90 && party.options.isMuted)
        #expect(try arguments("film.mkv", "--profile=party,night").options.volume == 20)
        #expect(
            try arguments("film.mkv", "--profile=circle").notes == [
                "talkie.conf line 10: the profile 'circle' includes itself"
            ])
        #expect(throws: ValidationError.self) { try arguments("film.mkv", "--profile=day") }
        let refused = CommandLineRunner.outcome(
            of: ["film.mkv", "--profile=day"], configuration: ConfigFolder(path: folder))
        #expect(refused.status == 2 && refused.complaint.contains("only 'night', 'party'"))
        let listed = CommandLineRunner.outcome(of: ["--profile=help"], configuration: ConfigFolder(path: folder))
        #expect(listed.status == 0 && listed.output == "night  Late\nparty\ncircle\n")
    }

    @Test func allMistakesAreReportedTogetherAndTheRestApplies() throws {
        write(
            "volume=500", "gpu-api=opengl", "mute", "speed", "help", "config-dir=/", "profile=none", "[later]",
            "size=big")
        write("q fly", "w quit", to: "input.conf")
        let arguments = try arguments("film.mkv")
        #expect(arguments.options.isMuted && arguments.keys.commands(for: "w") == [["quit"]])
        #expect(arguments.notes.count == 8, "\(arguments.notes)")
        #expect(arguments.notes[0] == "input.conf line 1: unknown command 'fly'")
        #expect(arguments.notes[1].hasPrefix("talkie.conf line 1: ") && arguments.notes[1].contains("from 0 to"))
        #expect(arguments.notes[2].hasPrefix("talkie.conf line 2: ") && arguments.notes[2].contains("--gpu-api"))
        #expect(arguments.notes[3].hasPrefix("talkie.conf line 4: ") && arguments.notes[3].contains("--speed"))
        #expect(arguments.notes[4] == "talkie.conf line 5: --help is supported on the command line only")
        #expect(arguments.notes[6] == "talkie.conf line 7: there is no profile 'none' in talkie.conf, only 'later'")
        #expect(arguments.notes[7].hasPrefix("talkie.conf line 9: "))
    }

    @Test func aSettingThatContradictsAnOptionIsIgnoredAndReported() throws {
        write("no-video", "volume=10", "end=5")
        let arguments = try arguments("film.mkv", "--fs", "--start=20")
        #expect(arguments.isFullScreen && arguments.options.playsVideo && arguments.options.volume == 10)
        #expect(arguments.options.end == nil)
        #expect(
            arguments.notes.count == 2 && arguments.notes[0].hasPrefix("talkie.conf line 1: --no-video is ignored"))
    }

    @Test func theFilesAreReadWhereItIsSaidOrNotAtAll() throws {
        write("volume=10")
        #expect(try arguments("film.mkv", "--no-config").options.volume == nil)
        #expect(try arguments("film.mkv", "--config-dir", "/no/such/folder").options.volume == nil)
        let command = try PlayCommand.parse(["film.mkv", "--config-dir", folder])
        let arguments = try PlayConfiguration.arguments(
            of: command, typed: ["film.mkv", "--config-dir", folder], folder: ConfigFolder(path: "/no/such/folder"))
        #expect(arguments.options.volume == 10)
    }

    @Test func aPasswordReadableByOthersIsReported() throws {
        write("timeline=ftp://me:secret@host/x", mode: 0o644)
        let notes = try arguments("film.mkv").notes
        #expect(notes.count == 1 && notes[0].contains("line 1 contains a password") && notes[0].contains("chmod 600"))
        #expect(!notes[0].contains("secret"))
        write("timeline=ftp://me:secret@host/x", mode: 0o600)
        #expect(try arguments("film.mkv").notes.isEmpty)
    }

    @Test func anUnreadableFileIsReportedAndTheFilmPlays() throws {
        try FileManager.default.createDirectory(atPath: folder + "/talkie.conf", withIntermediateDirectories: false)
        let arguments = try arguments("film.mkv", "--volume=3")
        #expect(arguments.options.volume == 3)
        #expect(arguments.notes.count == 1 && arguments.notes[0].contains("is ignored"), "\(arguments.notes)")
    }
}
