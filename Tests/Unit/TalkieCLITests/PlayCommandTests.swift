import ArgumentParser
import Foundation
import MediaCore
import MediaFiles
import Playback
import Routing
import SyncRendering
import Telemetry
import Testing

@testable import TalkieApp
@testable import TalkieCLI

@Suite struct PlayCommandTests {
    private func arguments(_ words: String...) throws -> PlayArguments {
        try #require(try TalkieCommand.parseAsRoot(["play"] + words) as? PlayCommand).arguments
    }

    /// One group of options, with files.
    private struct Part<Options: ParsableArguments>: ParsableCommand {
        @Argument var files: [String]
        @OptionGroup var options: Options
    }

    /// Returns the arguments of one group of options.
    ///
    /// In debug builds, ArgumentParser checks all options of a command several times at each parse.
    private func arguments<Options: ParsableArguments>(
        _ apply: (Options) -> (inout PlayArguments) -> Void, _ words: String...
    ) throws -> PlayArguments { try part(apply, words) }

    private func part<Options: ParsableArguments>(
        _ apply: (Options) -> (inout PlayArguments) -> Void, _ words: [String]
    ) throws -> PlayArguments {
        let part = try Part<Options>.parse(words)
        var arguments = PlayArguments(files: part.files)
        apply(part.options)(&arguments)
        return arguments
    }

    /// Returns the message for a command line that must be rejected because of its arguments.
    private func refusal(_ words: String...) throws -> String {
        let outcome = CommandLineRunner.outcome(of: ["play"] + words)
        #expect(outcome.status == 2)
        #expect(outcome.output.isEmpty)
        let lines = outcome.complaint.split(separator: "\n", omittingEmptySubsequences: false)
        // One sentence, one usage line, and a final newline.
        #expect(lines.count == 3)
        #expect(lines.first?.hasPrefix("talkie: ") == true)
        #expect(lines.dropFirst().first?.hasPrefix("Usage: talkie play FILE|URL|PLAYLIST…") == true)
        return String(lines.first ?? "")
    }

    @Test func silenceMeansTheDefaults() throws {
        let arguments = try arguments("film.mp4")
        #expect(arguments.files == ["film.mp4"])
        #expect(arguments.options.start == nil && arguments.options.end == nil)
        #expect(arguments.speakers.isEmpty)
        #expect(!arguments.isFullScreen && arguments.screen == nil && arguments.windowSize == nil)
        #expect(arguments.loopPlaylist == .times(0))
        #expect(arguments.timelinePath == nil && !arguments.isReallyQuiet && arguments.logLevel == .warning)
        let options = arguments.options
        #expect(options.volume == nil && !options.isMuted && options.speed == 1 && !options.startsPaused)
        #expect(options.playsVideo && options.playsAudio && options.loopFile == .times(0))
        #expect(options.audioTrack == nil && options.videoTrack == nil && options.audioLanguages.isEmpty)
        #expect(options.audioPurpose == .main)
        #expect(options.deinterlacing == .auto && arguments.view == VideoGeometry())
        #expect(arguments.videoOutput == .auto && options.hardwareDecoding == .no)
        #expect(options.secondarySubtitles == .none)
        #expect(options.audioDelay == .zero && options.startPolicy == .wait && options.audioDevice == nil)
    }

    @Test func everyPromisedOptionArrives() throws {
        let arguments = try arguments(
            "a.mkv", "--speaker", "local", "--speaker", "airplay://10.0.0.2:7000", "--audio-device", "hw:1", "--volume",
            "62.5", "--mute", "--start", "-10", "--end", "50%", "--speed", "1.25", "--pause", "--loop-file", "inf",
            "--loop-playlist", "3", "--fs", "--screen", "1", "--size", "1280x720", "--deinterlace", "yes", "--vo",
            "gpu-next",
            "--hwdec", "vaapi-copy", "--tone-mapping", "bt.2446a", "--target-peak", "400", "--scale", "catmull_rom",
            "--video-aspect-override", "2.35:1", "--video-zoom", "-0.5", "--video-pan-x", "0.1", "--video-pan-y",
            "-0.2",
            "--panscan", "0.25", "--video-rotate", "90", "--aid", "2", "--vid", "1",
            "--alang", "de,en", "--audio-track", "description", "--audio-delay", "-0.08", "--start-policy", "picture",
            "--timeline", "t.jsonl", "--really-quiet",
            "--log-level", "debug", "b.mkv")
        #expect(arguments.files == ["a.mkv", "b.mkv"])
        #expect(arguments.speakers.map(\.choice) == [.local, .named("airplay://10.0.0.2:7000")])
        #expect(arguments.options.start == .fromEnd(MediaTime(value: 10, timescale: 1)))
        #expect(arguments.options.end == .fraction(0.5))
        #expect(arguments.loopPlaylist == .times(3))
        #expect(arguments.videoOutput == .gpuNext && arguments.options.hardwareDecoding == .vaapi)
        #expect(arguments.options.deinterlacing == .yes)
        let drawing = arguments.options.drawing
        #expect(drawing.toneMapping == .bt2446a && drawing.targetPeak == 400 && drawing.scaler == .catmullRom)
        let plain = try self.arguments(VideoOptions.apply, "a", "--target-peak=auto", "--tone-mapping=auto").options
            .drawing
        #expect(plain == VideoRenderingOptions())
        #expect(arguments.view.aspect == .ratio(2.35) && arguments.view.zoom == -0.5 && arguments.view.panscan == 0.25)
        #expect(arguments.view.panX == 0.1 && arguments.view.panY == -0.2 && arguments.view.rotation == 90)
        #expect(arguments.isFullScreen)
        #expect(arguments.screen == .number(1))
        #expect(arguments.windowSize == WindowSize(width: 1280, height: 720))
        #expect(arguments.timelinePath == "t.jsonl")
        #expect(arguments.isReallyQuiet)
        #expect(arguments.logLevel == .debug)
        let options = arguments.options
        #expect(options.audioDevice == "hw:1")
        #expect(options.volume == 62.5)
        #expect(options.isMuted && options.startsPaused)
        #expect(options.speed == 1.25)
        #expect(options.loopFile == .forever)
        #expect(options.audioTrack == 2 && options.videoTrack == 1)
        #expect(options.audioLanguages == ["de", "en"] && options.audioPurpose == .description)
        #expect(options.audioDelay == .milliseconds(-80))
        #expect(options.startPolicy == .video)
        #expect(!(try self.arguments(FilmOptions.apply, "a", "--no-video")).options.playsVideo)
        #expect(!(try self.arguments(FilmOptions.apply, "a", "--no-audio")).options.playsAudio)
        #expect(
            try self.arguments(VideoOptions.apply, "a", "--screen", "DELL U2720Q").screen == .named("DELL U2720Q"))
    }

    @Test func coversPicturesAndSecondSubtitlesAreChosenByMpvsWords() throws {
        let plain = try arguments(CoverOptions.apply, "a").options
        #expect(plain.showsCoverArt && !plain.prefersExternalCovers && "\(plain.coverSearch)" == "exact")
        #expect(plain.imageDisplayDuration == .seconds(1))
        #expect(!(try arguments(CoverOptions.apply, "a", "--audio-display=no")).options.showsCoverArt)
        let chosen = try arguments(
            "a", "--audio-display=external-first", "--cover-art-auto=fuzzy", "--cover-art-file=x.jpg",
            "--cover-art-file=y.png", "--image-display-duration=2.5", "--secondary-sid=2",
            "--no-secondary-sub-visibility"
        ).options
        #expect(chosen.showsCoverArt && chosen.prefersExternalCovers && "\(chosen.coverSearch)" == "fuzzy")
        #expect(chosen.coverFiles == ["x.jpg", "y.png"] && chosen.imageDisplayDuration == .milliseconds(2500))
        #expect(chosen.secondarySubtitles == .number(2) && !chosen.showsSecondarySubtitles)
        #expect(
            try arguments(CoverOptions.apply, "a", "--image-display-duration=inf").options.imageDisplayDuration == nil)
    }

    @Test func aNegativeTimeIsAValueAndNotAnOption() throws {
        #expect(
            try arguments(FilmOptions.apply, "a", "--start=-10").options.start
                == .fromEnd(MediaTime(value: 10, timescale: 1)))
        #expect(try arguments(AudioOptions.apply, "a", "--audio-delay", "-1").options.audioDelay == .seconds(-1))
    }

    /// Expects each of these options with its value to be refused by a sentence that names it.
    private func expectRefused<Options: ParsableArguments>(_ group: Options.Type, _ options: (String, String)...) {
        for (name, value) in options {
            let sentence = sentence(group, name, value)
            #expect(sentence.contains(name), "\(name) \(value): \(sentence)")
        }
    }

    /// Returns the sentence with which a group of options refuses these words; none if it accepts them.
    private func sentence<Options: ParsableArguments>(_ group: Options.Type, _ words: String...) -> String {
        do {
            _ = try group.parse(words)
            return ""
        } catch { return String(group.message(for: error).split(separator: "\n").first ?? "") }
    }

    @Test func aValueOutOfRangeIsRefusedWithWhatIsExpected() {
        expectRefused(
            AudioOptions.self, ("--loudness", "loud"), ("--loudness-target", "-41"), ("--loudness-target", "-9"),
            ("--volume", "131"), ("--volume", "-1"), ("--audio-delay", "601"), ("--audio-delay", "soon"),
            ("--start-policy", "hurry"), ("--speaker", ""))
        expectRefused(
            FilmOptions.self, ("--speed", "0.24"), ("--speed", "4.01"), ("--speed", "nan"), ("--aid", "0"),
            ("--vid", "x"), ("--alang", ","), ("--loop-file", "-1"), ("--loop-playlist", "many"), ("--start", "noon"),
            ("--end", "1:2:3:4"))
        expectRefused(
            VideoOptions.self, ("--tone-mapping", "st2094"), ("--target-peak", "9"), ("--target-peak", "x"),
            ("--scale", "sinc"), ("--size", "1280"), ("--size", "0x720"), ("--size", "1280x99999"),
            ("--size", "1280x720x2"), ("--screen", ""))
        expectRefused(
            RecordOptions.self, ("--log-level", "loud"), ("--remote", "here"), ("--remote", "127.0.0.1:0"),
            ("--remote", "127.0.0.1:65536"))
        expectRefused(
            CoverOptions.self, ("--audio-display", "yes"), ("--cover-art-auto", "some"),
            ("--image-display-duration", "0"), ("--image-display-duration", "nan"))
        expectRefused(SubtitleOptions.self, ("--secondary-sid", "x"))
    }

    @Test func loudnessIsLeftAloneUnlessItIsAskedFor() throws {
        #expect(try arguments(AudioOptions.apply, "a", "--loudness-target=-16").options.loudness == nil)
        #expect(try arguments(AudioOptions.apply, "a", "--loudness=ebur128").options.loudness == -23)
        #expect(
            try arguments(AudioOptions.apply, "a", "--loudness=ebur128", "--loudness-target", "-16").options.loudness
                == -16)
    }

    @Test func wordsThatMakeNoSenseAreUsageErrors() throws {
        #expect(try refusal("film.mp4", "--warp-speed").contains("--warp-speed"))
        #expect(try refusal("--fs").contains("Missing"))
        #expect(try refusal("film.mp4", "--start").contains("--start"))
        #expect(try refusal("film.mp4", "--no-video", "--no-audio").contains("nothing to play"))
        #expect(try refusal("film.mp4", "--no-video", "--fs").contains("--fs"))
        #expect(try refusal("film.mp4", "--no-audio", "--speaker", "local").contains("--speaker"))
        #expect(
            try refusal("film.mp4", "--speaker", "Kitchen;lang=de", "--speaker", "Kitchen;lang=en")
                .contains("'Kitchen' with different options"))
        #expect(try refusal("film.mp4", "--speaker", "Kitchen;volume=3").contains("no option 'volume'"))
        #expect(try refusal("film.mp4", "--start", "20", "--end", "20").contains("--end"))
    }

    /// A process of its own: others read the environment meanwhile, which setenv(3) does not allow.
    @Test func usageIsCheckedBeforeInputAndInputBeforeOutputs() async {
        await #expect(processExitsWith: .success) {
            // A search for speakers creates and stores an identity, which must not be in the user's state folder.
            let state = NSTemporaryDirectory() + "talkie-test-\(UUID().uuidString)"
            setenv("XDG_STATE_HOME", state, 1)
            defer { try? FileManager.default.removeItem(atPath: state) }
            let nobody = "No speaker has this name \(UUID().uuidString)"
            #expect(CommandLineRunner.outcome(of: ["play", "/no/such/film", "--volume", "900"]).status == 2)
            #expect(CommandLineRunner.outcome(of: ["play", "/no/such/film", "--speaker", "airplay://"]).status == 2)
            #expect(CommandLineRunner.outcome(of: ["play", "/no/such/film", "--speaker", nobody]).status == 66)
            #expect(CommandLineRunner.outcome(of: ["play", #filePath, "--speaker", nobody]).status == 69)
        }
    }

    /// Returns the arguments that the runner parses from a command line without a command.
    private func spoken(_ words: String...) throws -> PlayArguments {
        let understood = ArgumentNormalizer.understood(words, commands: ["play", "speakers", "help"])
        return try #require(try TalkieCommand.parseAsRoot(understood) as? PlayCommand).arguments
    }

    private func spoken<Options: ParsableArguments>(
        _ apply: (Options) -> (inout PlayArguments) -> Void, _ words: String...
    ) throws -> PlayArguments {
        let understood = ArgumentNormalizer.understood(words, commands: ["play", "speakers", "help"])
        #expect(understood.first == "play")
        return try part(apply, Array(understood.dropFirst()))
    }

    @Test func aFilmWithoutACommandPlays() throws {
        #expect(try spoken("film.mkv").files == ["film.mkv"])
        #expect(try spoken(VideoOptions.apply, "-fs", "/films/one").isFullScreen)
        #expect(try spoken("-").files == ["-"])
        #expect(try spoken(FilmOptions.apply, "https://example.org/film", "--loop").options.loopFile == .forever)
        #expect(try spoken(AudioOptions.apply, #filePath, "--volume", "7").options.volume == 7)
        for words in [["speakers", "a.mkv"], ["--help"], ["--version"], ["-h"], ["help"], ["fly"], []] {
            #expect(ArgumentNormalizer.understood(words, commands: ["play", "speakers", "help"]) == words)
        }
        #expect(try spoken("--volume", "7", "--", "--loop", "--remote").files == ["--loop", "--remote"])
        // Errors are then reported as those of `play`.
        let outcome = CommandLineRunner.outcome(of: ["film.mkv", "--warp-speed"])
        #expect(outcome.status == 2 && outcome.complaint.contains("Usage: talkie play"))
        #expect(CommandLineRunner.outcome(of: ["/no/such/film.mkv"]).status == 66)
    }

    @Test func mpvsSpellingsAreUnderstood() throws {
        for word in ["--fs", "-fs", "--fullscreen"] {
            #expect(try arguments(VideoOptions.apply, "a", word).isFullScreen)
        }
        #expect(try spoken(FilmOptions.apply, "--loop", "a.mkv").options.loopFile == .forever)
        #expect(try spoken(FilmOptions.apply, "--loop=3", "a.mkv").options.loopFile == .times(3))
        #expect(try spoken(FilmOptions.apply, "--loop", "3", "a.mkv").options.loopFile == .times(3))
        #expect(try spoken(FilmOptions.apply, "a.mkv", "--loop=no").options.loopFile == .times(0))
        #expect(try spoken("a.mkv", "--loop-file", "--mute").options.loopFile == .forever)
        #expect(try spoken(FilmOptions.apply, "a.mkv", "--loop-playlist").loopPlaylist == .forever)
        #expect(try spoken(RecordOptions.apply, "a.mkv").remote == nil)
        #expect(try spoken(RecordOptions.apply, "--remote", "a.mkv").remote == .standard)
        #expect(try spoken(RecordOptions.apply, "a.mkv", "--remote").remote?.text == "0.0.0.0:9596")
        #expect(try spoken(RecordOptions.apply, "--remote", "127.0.0.1", "a.mkv").remote?.text == "127.0.0.1:9596")
        #expect(try spoken(RecordOptions.apply, "--remote=127.0.0.1:80", "a.mkv").remote?.text == "127.0.0.1:80")
        #expect(try spoken(RecordOptions.apply, "--remote", ".").remote == .standard)
        for word in ["localhost", "localhost:9596", ":9596", "9596", "127.0.0.1:0", "256.0.0.1", "[::1]:9596"] {
            #expect(throws: (any Error).self, "\(word) is no film") {
                try spoken(RecordOptions.apply, "--remote", word, "a.mkv")
            }
        }
        #expect(try spoken(FilmOptions.apply, "--loop", "a.mkv").files == ["a.mkv"])
    }

    @Test func serversAreVerifiedUnlessDisabled() throws {
        #expect(try arguments(NetworkOptions.apply, "a").verifiesServers)
        #expect(
            try arguments(NetworkOptions.apply, "a", "--tls-verify=yes", "--tls-ca-file", "own.pem").authorityFile
                == "own.pem")
        #expect(try !arguments(NetworkOptions.apply, "a", "--tls-verify=no").verifiesServers)
        expectRefused(NetworkOptions.self, ("--tls-verify", "perhaps"))
        #expect(throws: (any Error).self) { try arguments("a", "--tls-verify=no", "--tls-ca-file=own.pem") }
    }

    @Test func mpvsOptionsSetTheRequestHeaders() throws {
        let parsed = try arguments(
            NetworkOptions.apply, "a", "--user-agent=Me", "--referrer=http://p/", "--http-header-fields=A: 1\\, 2,B: 3",
            "--http-header-fields-append=C: 4",
            "--network-timeout=7", "--cookies-file=c.txt", "--demuxer-max-bytes=40M", "--cache-secs=90")
        #expect(parsed.options.reading.readAheadBytes == 40 << 20)
        #expect(parsed.options.reading.readAheadTime == .seconds(90))
        #expect(try arguments(NetworkOptions.apply, "a").options.reading.readAheadBytes == 150 << 20)
        #expect(parsed.options.reading.userAgent == "Me" && parsed.options.reading.referrer == "http://p/")
        #expect(parsed.options.reading.headerFields.map(\.value) == ["1, 2", "3", "4"])
        #expect(parsed.options.reading.readTimeout == .seconds(7) && parsed.options.reading.openTimeout == .seconds(7))
        #expect(parsed.cookieFile == "c.txt" && parsed.sharesCookies)
        #expect(try arguments(NetworkOptions.apply, "a", "--no-cookies", "--cookies-file=c.txt").cookieFile == nil)
        #expect(try arguments(NetworkOptions.apply, "a", "--cookies").sharesCookies)
        #expect(try !arguments(NetworkOptions.apply, "a").sharesCookies)
        #expect(FlagNormalizer.settled(["--cookies=no"]) == ["--no-cookies"])
        let pages = try arguments(NetworkOptions.apply, "a", "--ytdl-format=best", "--ytdl-raw-options=proxy=x").options
            .pages
        #expect(pages.isOn && pages.format == "best" && pages.rawOptions.map(\.name) == ["proxy"])
        #expect(try !arguments(NetworkOptions.apply, "a", "--no-ytdl").options.pages.isOn)
        #expect(try arguments(RecordOptions.apply, "a").hasMediaControls)
        #expect(try !arguments(RecordOptions.apply, "a", "--no-media-controls").hasMediaControls)
        for (word, wanted) in [
            ("max", ReadOptions.HLSBitrate.highest), ("min", .lowest), ("no", .first), ("5000", .max(5000)),
        ] {
            #expect(
                try arguments(NetworkOptions.apply, "a", "--hls-bitrate=\(word)").options.reading.hlsBitrate == wanted)
        }
        for wrong in [
            "--hls-bitrate=much", "--ytdl-raw-options=exec=rm", "--http-header-fields=x", "--user-agent=a\nb",
            "--network-timeout=0", "--demuxer-max-bytes=1", "--demuxer-max-bytes=10MB", "--cache-secs=-1",
        ] {
            #expect(throws: (any Error).self) { try arguments(NetworkOptions.apply, "a", wrong) }
        }
    }

    @Test func filmsResumeUnlessDisabled() throws {
        #expect(
            try arguments(FilmOptions.apply, "a").resumesPlayback && !arguments(FilmOptions.apply, "a").keepsPositions)
        #expect(try !arguments(FilmOptions.apply, "a", "--no-resume-playback").resumesPlayback)
        #expect(try arguments(FilmOptions.apply, "a", "--save-position-on-quit").keepsPositions)
        #expect(FlagNormalizer.settled(["--resume-playback=no"]) == ["--no-resume-playback"])
        #expect(FlagNormalizer.settled(["--save-position-on-quit=yes"]) == ["--save-position-on-quit"])
    }

    @Test func moreThanTheMostVolumeIsRefusedWithTheRange() throws {
        #expect(sentence(AudioOptions.self, "--volume=131").contains("from 0 to 130"))
    }

    @Test func aPartToRepeatAndALogArrive() throws {
        let arguments = try arguments("a", "--ab-loop-a=10", "--ab-loop-b", "-5", "--log-file", "evening.log")
        #expect(arguments.sectionStart == .fromStart(MediaTime(value: 10, timescale: 1)))
        #expect(arguments.sectionEnd == .fromEnd(MediaTime(value: 5, timescale: 1)))
        #expect(arguments.logPath == "evening.log")
    }

    @Test func theRecordersFilesArrive() throws {
        #expect(try arguments(RecordOptions.apply, "a").timelineRotation == TimelineRotation(keep: 5))
        let rotation = try arguments(
            RecordOptions.apply, "a", "--timeline-max-size=10MiB", "--timeline-max-age", "1:00:00", "--timeline-keep=3"
        ).timelineRotation
        #expect(rotation == TimelineRotation(maxSize: 10 << 20, maxAge: .seconds(3600), keep: 3))
        #expect(sentence(RecordOptions.self, "--timeline-max-size=10MB").contains("a size must have the form 10MiB"))
        #expect(sentence(RecordOptions.self, "--timeline-max-age=50%").contains("an age must have the form"))
        #expect(sentence(RecordOptions.self, "--timeline-keep=-1").contains("0 to 99 older files can be kept"))
    }

    @Test(arguments: ["bash", "zsh", "fish"]) func shellCompletionsListOptionsAndValues(shell: String) {
        let outcome = CommandLineRunner.outcome(of: ["--generate-completion-script", shell])
        #expect(outcome.status == 0 && outcome.complaint.isEmpty)
        #expect(outcome.output.contains("loop-playlist") && outcome.output.contains("calibrate"))
        #expect(outcome.output.contains("picture") && outcome.output.contains("always"), "words that an option takes")
    }

    @Test func aCommandThatDoesNotExistIsAUsageError() {
        let outcome = CommandLineRunner.outcome(of: ["fly"])
        #expect(outcome.status == 2)
        #expect(outcome.complaint.contains("fly") && outcome.complaint.contains("Usage: talkie COMMAND"))
    }

    @Test(arguments: [
        ["speakers", "--timeout", "soon"], ["speakers", "Kitchen"], ["speakers", "--timeout", "86401"], ["pair"],
        ["pair", "Kitchen", "--pin", "1", "--password", "2"], ["pair", "Kitchen", "--forget", "--pin", "1"],
        ["pair", ""], ["pair", "Kitchen", "--password", ""], ["pair", "local"], ["pair", "airplay://["],
    ])
    func whatSpeakersAndPairCannotUnderstandIsAUsageError(words: [String]) {
        let outcome = CommandLineRunner.outcome(of: words)
        #expect(outcome.status == 2 && outcome.output.isEmpty, "\(outcome.complaint)")
        #expect(outcome.complaint.hasPrefix("talkie: "))
    }

    @Test func helpAndVersionGoToStandardOutput() {
        for words in [["--help"], ["play", "--help"], ["--version"]] {
            let outcome = CommandLineRunner.outcome(of: words)
            #expect(outcome.status == 0 && outcome.complaint.isEmpty && !outcome.output.isEmpty)
        }
        #expect(CommandLineRunner.outcome(of: ["--version"]).output == "talkie \(Release.version)\n")
    }
}
