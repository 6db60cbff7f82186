import Foundation
import Glibc
import MediaCore
import Sockets
import TalkieTestKit
import Testing
import VirtualSpeaker

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// Features of the help page and the guides, on a screen and a sound card: films with video and audio, played from
/// their start.
///
/// Two programs play at once, each with a separate screen and sink. `Tools/features` reads the tags.
@Suite(
    .serialized, .timeLimit(.minutes(5)), .repeatedWhenTheMachineStalls,
    .enabled(
        if: PulseServer.isWanted && VirtualDisplay.isWanted, "needs Xvfb, pulseaudio, python3 and ALSA's pulse plugin"))
struct FeatureTests {
    typealias Setup = ObservedPlayback.Setup
    let films: FeatureFilms
    init() throws { films = try FeatureFilms() }

    // MARK: Playback

    // feature: guide: Sound on this computer, exit status 0, --end, --speed, --loop-file, --loop-playlist, --hwdec
    @Test func aFilmOrAPartOfItIsPlayed() throws {
        let (film, other) = (try films.film(), try films.part("other.mkv", 4...5))
        let runs = try ObservedPlayback.play([
            Setup(film), Setup("--hwdec", "auto", "--end", "2.6", film), Setup("--speed", "2", film),
            Setup("--loop-file", "1", "--end", "1.4", film),
            Setup("--loop-playlist", "1", "--end", "1.4", film, other),
        ])
        runs[0].expect(seconds: Array(0..<6), offset: -0.3...0.3)
        runs[1].expect(seconds: [0, 1, 2])
        runs[2].expect(seconds: Array(0..<6))
        let fast = try #require(runs[2].seen.last).to - runs[2].seen[0].from
        #expect(fast < 4.5, "six seconds in three")
        runs[3].expect(seconds: [0, 1, 0, 1])
        runs[4].expect(seconds: [0, 1, 4, 5, 0, 1, 4, 5])
    }

    // feature: --start, --ab-loop-a, --ab-loop-b
    @Test func aFilmBeginsElsewhereOrAPartOfItIsRepeated() throws {
        let film = try films.film()
        var section = Setup("--ab-loop-a", "1", "--ab-loop-b", "3", film)
        section.isOver = { playback in
            guard let last = playback.seen.last, playback.seen.count >= 5, last.second == 1 else { return false }
            return last.to - last.from > 0.5
        }
        let runs = try ObservedPlayback.play([Setup("--start", "3", film), section])
        runs[0].expect(seconds: [3, 4, 5])
        runs[1].expect(seconds: [0, 1, 2, 1, 2, 1], status: 143)
    }

    // feature: --media-controls
    @Test func anotherProgramOfTheDesktopOpensAFilmUnlessThatIsSwitchedOff() throws {
        let (film, other, folder) = (try films.film(), try films.part("other.mkv", 4...5), try Scratch())
        var buses: [ChildProcess] = []
        defer { for bus in buses { bus.end() } }
        let setups = try [Setup(film), Setup("--no-media-controls", film)].enumerated().map { number, setup in
            var setup = setup
            let (bus, address) = try SessionBus.start(at: folder.path("bus\(number)"))
            buses.append(bus)
            setup.environment["DBUS_SESSION_BUS_ADDRESS"] = address
            let isCalled = Lock(false)
            setup.isOver = { playback in
                // Late enough in the second that its tone is audible.
                guard let last = playback.seen.last, last.second == 1, last.to - last.from > 0.2 else { return false }
                if !isCalled.withLock({ $0 }) {
                    isCalled.withLock { $0 = true }
                    _ = try? Program.run(
                        "/usr/bin/gdbus",
                        [
                            "call", "--address", address, "--dest", "org.mpris.MediaPlayer2.talkie", "--object-path",
                            "/org/mpris/MediaPlayer2", "--method", "org.mpris.MediaPlayer2.Player.OpenUri",
                            "file://\(other)",
                        ], atMost: 5)
                }
                return false
            }
            return setup
        }
        let runs = try ObservedPlayback.play(setups)
        runs[0].expect(seconds: [0, 1, 4, 5])
        runs[1].expect(seconds: Array(0..<6))
    }

    // feature: --pause, --no-audio, --no-video
    @Test func oneOfBothOrNothingYetIsPlayed() throws {
        let film = try films.film()
        var paused = Setup("--pause", "--end", "2.6", film)
        paused.isOver = { playback in
            // Resumes one second after the first frame is shown.
            if let first = playback.seen.first, first.to - first.from > 1, playback.seen.count == 1 {
                playback.pressOnce("space")
            }
            return false
        }
        let runs = try ObservedPlayback.play([
            paused, Setup("--no-audio", "--end", "2.6", film), Setup("--no-video", "--end", "2.6", film),
        ])
        runs[0].expect(seconds: [0, 1, 2])
        let (seen, heard) = (try #require(runs[0].seen.first), try #require(runs[0].heard().first))
        #expect(heard.from - seen.from > 0.9, "silent while it waits")
        runs[1].expect(seconds: [0, 1, 2], heard: [])
        runs[2].expect(seconds: [], heard: [0, 1, 2])
    }

    // feature: --aid, --vid, --alang
    @Test func otherTracksArePlayed() throws {
        let film = try films.film()
        let runs = try ObservedPlayback.play([
            Setup("--aid", "2", "--vid", "2", "--end", "2.6", film), Setup("--alang", "fr,de", "--end", "2.6", film),
        ])
        runs[0].expect(seconds: [5, 4, 3], heard: [0, 1, 2], tones: FeatureFilms.secondTones)
        runs[1].expect(seconds: [0, 1, 2], tones: FeatureFilms.secondTones)
    }

    // feature: --resume-playback, --save-position-on-quit
    @Test func aFilmResumesAtItsLastPosition() throws {
        let (film, state) = (try films.film(), try Scratch())
        func evening(_ words: String..., until second: Int = 6) throws -> ObservedPlayback {
            var setup = Setup()
            (setup.words, setup.environment) = (words + [film], ["XDG_STATE_HOME": state.folder.path])
            setup.isOver = { ($0.seen.last?.second ?? 0) >= second }
            return try ObservedPlayback.play([setup])[0]
        }
        let first = try evening("--save-position-on-quit", until: 3)
        #expect(first.result.status == 143 && first.heard().first?.second == 0, "\(first.result.errors)")
        let again = try evening("--no-resume-playback", until: 1)
        #expect(again.seen.first?.second == 0 && again.heard().first?.second == 0, "\(again.result.errors)")
        let rest = try evening("--resume-playback")
        #expect(rest.seen.first?.second == 3 && rest.heard().map(\.second) == [3, 4, 5], "\(rest.result.errors)")
    }

    // MARK: Video output

    // feature: --fs, --screen, --size, --vo, --scale, --video-aspect-override, --video-rotate
    // feature: --tone-mapping, --target-peak
    @Test func theWindowAndItsColorsAreAsTheOptionsSay() throws {
        let (film, highDynamicRange) = (try films.film(), try films.bright())
        let runs = try ObservedPlayback.play([
            Setup(
                "--fs", "--screen", "0", "--video-aspect-override", "4:3", "--video-rotate", "180", "--end", "4", film),
            Setup("--size", "200x100", "--end", "4", film, screen: "400x300"),
            Setup("--fs", "--vo", "x11", "--scale", "nearest", "--end", "2.9", film, screen: "640x360"),
            Setup("--fs", "--tone-mapping", "clip", "--target-peak", "203", highDynamicRange),
            Setup("--fs", "--tone-mapping", "clip", "--target-peak", "1000", highDynamicRange),
        ])
        runs[0].expect(seconds: [0, 1, 2, 3])
        runs[1].expect(seconds: [0, 1, 2, 3])
        runs[2].expect(seconds: [0, 1, 2])
        let turned = try runs[0].picture()
        #expect(turned.lit == [40, 0, 280, 180])
        #expect(turned.color(275, 175).blue > 220 && turned.color(45, 5).blue < 60, "upside down")
        let small = try runs[1].picture().lit
        #expect(abs(small[2] - small[0] - 178) <= 1 && small[3] - small[1] == 100, "\(small)")
        let large = try runs[2].picture()
        #expect(large.lit == [0, 0, 640, 360])
        // Scaled by 2 without interpolation: the edge of the white block in the blue frame is sharp.
        #expect(large.color(159, 20).red > 220 && large.color(160, 20).red < 40)
        for run in runs[3...] { run.expect(seconds: [], heard: [0, 1, 2]) }
        let (bright, dim) = (try runs[3].picture().color(100, 90), try runs[4].picture().color(100, 90))
        #expect(bright.green > 235, "203 cd/m² is this screen's white: \(bright)")
        #expect((80..<190).contains(dim.green), "a fifth of this screen's light: \(dim)")
    }

    // feature: --video-zoom, --video-pan-x, --video-pan-y, --panscan, --deinterlace, guide: The picture
    @Test func thePicturesPlacementFollowsTheOptions() throws {
        let (film, combed) = (try films.film(), try films.combed())
        let runs = try ObservedPlayback.play([
            Setup("--fs", "--video-zoom", "-1", "--video-pan-x", "0.25", "--video-pan-y", "-0.5", "--end", "4", film),
            Setup("--fs", "--panscan", "1", "--end", "4", film, screen: "320x320"),
            Setup("--fs", "--deinterlace", "yes", combed), Setup("--fs", combed),
        ])
        runs[0].expect(seconds: [], heard: [0, 1, 2, 3])
        #expect(try runs[0].picture().lit == [120, 0, 280, 90])
        runs[1].expect(seconds: [0, 1, 2, 3])
        #expect(try runs[1].picture().lit == [0, 0, 320, 320])
        func combs(_ run: ObservedPlayback) throws -> Int {
            let picture = try run.picture()
            return (0..<320).count { abs(picture.color($0, 90).green - picture.color($0, 91).green) > 150 }
        }
        #expect(try combs(runs[2]) == 0, "each field is a picture of its own")
        #expect(try combs(runs[3]) > 40)
        for run in runs[2...] { run.expect(seconds: [], heard: [0, 1, 2]) }
    }

    // MARK: Audio output

    // feature: --audio-device, --volume, --mute, --audio-delay, guide: A television or an amplifier in between
    @Test func theSoundIsAsLoudAndAsLateAsTheOptionsSay() throws {
        let film = try films.film()
        let runs = try ObservedPlayback.play([
            Setup("--audio-device", "pulse", "--end", "2.6", film), Setup("--volume", "50", "--end", "2.6", film),
            Setup("--mute", "--end", "2.6", film), Setup("--audio-delay", "0.5", film),
        ])
        runs[0].expect(seconds: [0, 1, 2])
        runs[1].expect(seconds: [0, 1, 2])
        let share = runs[1].level(1) / runs[0].level(1)
        #expect((0.05...0.3).contains(share), "\(share) of full volume")
        runs[2].expect(seconds: [0, 1, 2], heard: [])
        runs[3].expect(seconds: Array(0..<6), offset: 0.3...0.8)
        let last = try #require(runs[3].heard().last)
        #expect(last.to - last.from > 0.9, "delayed sound is played to its end")
    }

    // feature: --replaygain, --replaygain-preamp, --replaygain-clip, --replaygain-fallback
    @Test func recordingsAreAsLoudAsTheirTagsSay() throws {
        let gains = [
            "-metadata:s:a:0", "REPLAYGAIN_TRACK_GAIN=-6 dB", "-metadata:s:a:0", "REPLAYGAIN_TRACK_PEAK=1",
            "-metadata:s:a:0",
            "REPLAYGAIN_ALBUM_GAIN=+12 dB", "-metadata:s:a:0", "REPLAYGAIN_ALBUM_PEAK=1",
        ]
        let (tagged, plain) = (try films.part("tagged.mkv", 0...1, gains), try films.part("plain.mkv", 0...1))
        let runs = try ObservedPlayback.play([
            Setup(plain), Setup("--replaygain", "track", "--replaygain-preamp", "-6", tagged),
            Setup("--replaygain", "album", "--replaygain-clip", "no", tagged),
            Setup("--replaygain", "track", "--replaygain-fallback", "-12", plain),
        ])
        for run in runs { run.expect(seconds: [0, 1]) }
        let shares = runs.map { $0.level(1) / runs[0].level(1) }
        #expect((0.22...0.28).contains(shares[1]), "-12 dB, not \(shares[1])")
        #expect((0.9...1.1).contains(shares[2]), "its peaks would clip: \(shares[2])")
        #expect((0.22...0.28).contains(shares[3]), "-12 dB, not \(shares[3])")
    }

    // feature: --dialog-level, --night-mode, --loudness, --loudness-target, --audio-channels
    @Test func voicesAndLoudnessAreAsTheOptionsSay() throws {
        let (surround, uneven, film) = (try films.surround(), try films.loudAndQuiet(), try films.film())
        var channels = Setup("--audio-channels", "5.1", surround)
        channels.channels = 6
        let runs = try ObservedPlayback.play([
            Setup(surround), Setup("--dialog-level", "12", surround), Setup(uneven), Setup("--night-mode", uneven),
            Setup("--loudness", "ebur128", "--loudness-target", "-35", film), channels,
        ])
        // Level of the centre channel's tone relative to that of the left channel.
        let voices = runs[0...1].map { $0.level(0, hertz: 1300) / $0.level(0) }
        #expect((3...5).contains(voices[1] / voices[0]), "12 dB, not \(voices)")
        let ranges = runs[2...3].map { $0.level(4) / $0.level(5) }
        #expect(ranges[1] < ranges[0] * 0.7, "loud and quiet are nearer to each other: \(ranges)")
        #expect(runs[4].level(5) < runs[4].level(0) * 0.9, "\(runs[4].level(5)) after \(runs[4].level(0))")
        #expect(runs[5].stream.contains("6ch"), "\(runs[5].stream)")
        for run in [runs[0], runs[1], runs[5]] { run.expect(seconds: [0, 1, 2, 3], heard: [0]) }
        for run in runs[2...4] { run.expect(seconds: Array(0..<6)) }
    }

    // feature: --speaker, --start-policy, --lost-route, guide: Sound on AirPlay speakers
    @Test func theSoundGoesToASpeakerAndComesBackWhenThatIsLost() throws {
        let film = try films.film()
        let (kept, lost) = (try ObservedPlayback.speaker(41), try ObservedPlayback.speaker(42))
        defer { kept.stop() }
        var switchedOff = Setup(
            "--speaker", "airplay://127.0.0.42:\(lost.port)", "--lost-route", "local", "--loop-file", "1", film)
        switchedOff.isOver = { playback in
            if playback.seen.contains(where: { $0.second == 2 }) { lost.stop() }
            return false
        }
        let runs = try [
            ObservedPlayback.play([
                Setup("--speaker", "airplay://127.0.0.41:\(kept.port)", "--start-policy", "picture", film)
            ]),
            ObservedPlayback.play([switchedOff]),
        ].joined().map(\.self)
        runs[0].expect(seconds: Array(0..<6), heard: [])
        let spans = kept.record.spans
        #expect(spans.reduce(0) { $0 + $1.frames } > 2 * 44100, "\(runs[0].result.errors)")
        #expect(runs[1].result.status == 0 && Set(runs[1].seen.map(\.second)) == Set(0..<6), "\(runs[1].result.errors)")
        #expect(runs[1].heard().last?.second == 5, "the card plays to the end: \(runs[1].result.errors)")
    }

    // feature: key 9, key 0, key m
    @Test(.repeatedWhenTheMachineStalls) func keysChangeTheVolume() throws {
        let film = try films.film()
        let steps = 20
        var (turned, muted) = (Setup(film), Setup(film))
        turned.keys = [0: .init(repeating: "9", count: steps), 3: .init(repeating: "0", count: steps)]
        muted.keys = [1: ["m"], 4: ["m"]]
        let runs = try ObservedPlayback.play([turned, muted])
        runs[0].expect(seconds: Array(0..<6))
        let shares = [2, 5].map { runs[0].level($0) / runs[1].level(0) }
        #expect((0.2...0.32).contains(shares[0]), "20 steps of 0.6 dB lower, not \(shares[0])")
        #expect((0.9...1.1).contains(shares[1]), "20 steps higher again, not \(shares[1])")
        #expect(runs[1].result.status == 0, "\(runs[1].result.errors)")
        let heard = Set(runs[1].heard().map(\.second))
        #expect(heard.isSuperset(of: [0, 5]) && heard.isDisjoint(with: [2, 3]), "muted in \(heard.sorted())")
    }

    // feature: key n, key C
    @Test(.repeatedWhenTheMachineStalls) func keysChangeTheDynamicsAndTheVoices() throws {
        var (night, voices) = (Setup(try films.loudAndQuiet()), Setup(try films.surround()))
        (night.keys, voices.keys) = ([0: ["n"]], [0: ["C", "C", "C"]])
        let runs = try ObservedPlayback.play([night, voices])
        runs[0].expect(seconds: Array(0..<6))
        runs[1].expect(seconds: [0, 1, 2, 3], heard: [0])
        // In the film they are 30 dB apart, and the centre's tone is not louder than that of the left channel.
        let range = runs[0].level(4) / runs[0].level(5)
        #expect(range < 22, "loud and quiet are nearer to each other: \(range)")
        let share = runs[1].level(0, hertz: 1300) / runs[1].level(0)
        #expect(share > 1.5, "9 dB louder: \(share)")
    }

    // feature: key #, key Ctrl++, key Ctrl+-
    @Test(.repeatedWhenTheMachineStalls) func keysChangeTheSoundTrackAndTheDelay() throws {
        let film = try films.film()
        var (other, moved) = (Setup(film), Setup(film))
        other.keys = [1: ["numbersign"]]
        moved.keys = [0: .init(repeating: "ctrl+plus", count: 3), 3: .init(repeating: "ctrl+minus", count: 6)]
        let runs = try ObservedPlayback.play([other, moved])
        #expect(runs.allSatisfy { $0.result.status == 0 }, "\(runs.map(\.result.errors))")
        #expect(runs[0].heard().allSatisfy { $0.second < 3 }, "the first sound track is left")
        #expect(runs[0].heard(FeatureFilms.secondTones).map(\.second).suffix(3) == [3, 4, 5])
        let offsets = [2, 5].map { runs[1].offset(of: $0) ?? .nan }
        #expect((0.15...0.45).contains(offsets[0]), "300 ms later: \(offsets)")
        #expect((-0.45 ... -0.15).contains(offsets[1]), "300 ms earlier: \(offsets)")
    }

    // feature: guide: To another room, in mid-film, key s, key Enter
    @Test(.repeatedWhenTheMachineStalls) func theSoundMovesToOneSpeakerInMidFilm() throws {
        let recording = films.scratch.path("speaker.wav")
        let speaker = try ObservedPlayback.speaker(43, output: .file(path: recording))
        defer { speaker.stop() }
        var moved = Setup(
            "--speaker", "local", "--speaker", "airplay://127.0.0.43:\(speaker.port)", "--loop-file", "1",
            "--fs", try films.film(), screen: "640x360")
        // On this screen the list does not cover the middle, where the colour is sampled.
        moved.keys = [1: ["s"], 2: ["End", "Return"]]
        let run = try ObservedPlayback.play([moved])[0]
        let both = Array(0..<6) + Array(0..<6)
        let card = run.heard().map(\.second)
        #expect(card.starts(with: [0, 1]) && card.count < 6, "the card falls silent: \(card)")
        speaker.stop()
        run.sound = try OutputCapture(file: URL(filePath: recording))
        run.expect(seconds: both, offset: -0.12...0.12)
    }

    // feature: guide: A language for each room
    @Test(.repeatedWhenTheMachineStalls) func eachRoomHearsItsLanguageAndAKeyChangesThatOfOne() throws {
        let recording = films.scratch.path("room.wav")
        let speaker = try ObservedPlayback.speaker(44, output: .file(path: recording))
        defer { speaker.stop() }
        var setup = Setup(
            "--speaker", "local;lang=en", "--speaker", "airplay://127.0.0.44:\(speaker.port);lang=de", "--loop-file",
            "1", "--fs", try films.film(), screen: "640x360")
        setup.keys = [2: ["s"], 3: ["End", "l"], 4: ["Escape"]]
        let run = try ObservedPlayback.play([setup])[0]
        run.expect(seconds: Array(0..<6) + Array(0..<6), offset: -0.12...0.12)
        let card = try #require(run.sound).stretches(of: FeatureFilms.tones, above: 0.002)
        let gaps = zip(card, card.dropFirst()).map { $1.start - $0.end }
        #expect(gaps.allSatisfy { $0 < 0.1 }, "the card is interrupted: \(card)")
        speaker.stop()
        run.sound = try OutputCapture(file: URL(filePath: recording))
        let german = run.heard(FeatureFilms.secondTones).map(\.second)
        #expect(german.starts(with: [0, 1, 2]) && german.count < 6, "\(german)")
        let english = run.heard().map(\.second)
        #expect(english.suffix(6) == Array(0..<6) && english.count < 12, "\(english)")
        #expect(run.offset.map { abs($0) < 0.12 } == true, "\(run.offset ?? .nan) s")
    }

    // feature: --audio-track, guide: Audio description
    @Test(.repeatedWhenTheMachineStalls) func oneOutputHearsTheDescriptionAndTheOthersTheFilm() throws {
        let recording = films.scratch.path("described.wav")
        let speaker = try ObservedPlayback.speaker(47, output: .file(path: recording))
        defer { speaker.stop() }
        // The description is the first track and marked as default.
        let film = try films.film(
            "described.mkv",
            ["-metadata:s:a:1", "language=eng", "-disposition:a:0", "default+visual_impaired", "-disposition:a:1", "0"])
        let runs = try ObservedPlayback.play([
            Setup(
                "--speaker", "local;track=description", "--speaker", "airplay://127.0.0.47:\(speaker.port)", film),
            Setup(film), Setup("--audio-track", "description", film), Setup("--audio-track", "commentary", film),
        ])
        runs[0].expect(seconds: Array(0..<6), offset: -0.12...0.12)
        for (run, tones) in zip(
            runs.dropFirst(), [FeatureFilms.secondTones, FeatureFilms.tones, FeatureFilms.secondTones])
        {
            run.expect(seconds: Array(0..<6), tones: tones)
        }
        let lack = "This film has no commentary; English plays instead."
        #expect(runs.map { $0.result.errors.contains(lack) } == [false, false, false, true])
        speaker.stop()
        let card = runs[0].heard()
        let room = runs[0].heard(FeatureFilms.secondTones, in: try OutputCapture(file: URL(filePath: recording)))
        #expect(room.map(\.second) == Array(0..<6), "the speaker plays the film")
        let apart = zip(card.dropFirst(), room.dropFirst()).map { $1.from - $0.from }
        #expect(apart.allSatisfy { abs($0) < 0.12 }, "\(apart)")
    }

    // feature: guide: Bluetooth and other outputs of the desktop
    @Test(.repeatedWhenTheMachineStalls) func aHeadsetIsNamedChosenInMidFilmAndHearsATrackOfItsOwn() throws {
        let described = try films.film(
            "headset.mkv",
            ["-metadata:s:a:1", "language=eng", "-disposition:a:0", "default", "-disposition:a:1", "visual_impaired"])
        var (named, chosen) = (
            Setup("--speaker", "local", "--speaker", "headset;track=description", described),
            Setup("--fs", try films.film(), screen: "640x360")
        )
        (named.hasHeadset, chosen.hasHeadset) = (true, true)
        // On this screen the list does not cover the middle, where the colour is sampled.
        chosen.keys = [1: ["s"], 2: ["End", "Return"]]
        let both = try ObservedPlayback.play([named])[0]
        both.expect(seconds: Array(0..<6), offset: -0.12...0.12)
        let description = both.heard(FeatureFilms.secondTones, in: both.headset)
        #expect(description.map(\.second) == Array(0..<6), "\(both.result.errors)")
        let apart = zip(both.heard().dropFirst(), description.dropFirst()).map { $1.from - $0.from }
        #expect(apart.allSatisfy { abs($0) < 0.02 }, "\(apart)")
        let moved = try ObservedPlayback.play([chosen])[0]
        let card = moved.heard().map(\.second)
        #expect(card.starts(with: [0, 1]) && card.count < 6, "the loudspeakers fall silent: \(card)")
        moved.sound = moved.headset
        let heard = moved.heard().map(\.second)
        #expect(heard.last == 5 && heard.count < 6, "\(heard)")
        #expect(moved.offset.map { abs($0) < 0.12 } == true, "\(moved.offset ?? .nan) s")
        #expect(moved.seen.map(\.second) == Array(0..<6), "\(moved.result.errors)")
    }

    // MARK: Covers and images

    // feature: --audio-display, --cover-art-auto, --cover-art-file, --image-display-duration, guide: Music and pictures
    @Test func songsShowTheirCoversAndPicturesFollowOneAnother() throws {
        let song = try films.song()
        _ = try films.image("cover.png", 1)
        let named = try films.image("elsewhere.png", 2)
        let runs = try ObservedPlayback.play([
            Setup(song), Setup("--audio-display", "external-first", song),
            Setup("--audio-display", "external-first", "--cover-art-auto", "no", song),
            Setup("--audio-display", "external-first", "--cover-art-file", named, song),
            Setup("--audio-display", "no", song),
            Setup("--image-display-duration", "1.5", try films.image("1.png", 3), try films.image("2.png", 4)),
        ])
        for (run, seen) in zip(runs, [[0], [1], [0], [2], []]) { run.expect(seconds: seen, heard: [0, 1, 2]) }
        runs[5].expect(seconds: [3, 4], heard: [])
        let slides = runs[5].seen
        #expect(slides.count == 2 && (1.0...2.2).contains(slides[1].from - slides[0].from), "\(slides)")
    }

    // MARK: Messages, recordings and settings

    // feature: --timeline, --timeline-max-age, --timeline-max-size, --timeline-keep, --log-file, --log-level
    // feature: --really-quiet
    // feature: --config-dir, --profile, --no-config
    @Test func whatHappensIsRecordedAndSettingsAreReadBefore() throws {
        let (film, folder, settings) = (try films.film(), try Scratch(), try Scratch())
        _ = try settings.file("talkie.conf", Data("fs\n[small]\nvideo-zoom=-1\n".utf8))
        let own = URL(filePath: settings.path("talkie"))
        try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
        try Data("mute\n".utf8).write(to: own.appending(path: "talkie.conf"))
        var (read, unread) = (Setup("--end", "1.6", film), Setup("--no-config", "--end", "1.6", film))
        read.environment = ["XDG_CONFIG_HOME": settings.folder.path]
        unread.environment = read.environment
        let (record, log) = (folder.path("t.jsonl"), folder.path("log"))
        let runs = try ObservedPlayback.play([
            Setup(
                "--timeline", record, "--timeline-max-age", "2", "--timeline-max-size", "1MiB", "--timeline-keep", "1",
                "--log-file",
                log, "--log-level", "error", "--sid", "9", film),
            Setup("--really-quiet", "--sid", "9", "--end", "1.6", film), Setup("--sid", "9", "--end", "1.6", film),
            Setup("--config-dir", settings.folder.path, "--profile", "small", "--end", "3.6", film), read, unread,
        ])
        runs[0].expect(seconds: Array(0..<6))
        for run in [runs[1], runs[2], runs[5]] { run.expect(seconds: [0, 1]) }
        runs[3].expect(seconds: [0, 1, 2, 3])
        #expect(try runs[3].picture().lit == [80, 45, 240, 135])
        runs[4].expect(seconds: [0, 1], heard: [])
        let words = "This film has no subtitles 9"
        #expect(runs[0].result.errors.isEmpty && runs[1].result.errors.isEmpty && runs[2].result.errors.contains(words))
        #expect(try String(contentsOfFile: log, encoding: .utf8).contains(words))
        let kept = try FileManager.default.contentsOfDirectory(atPath: folder.folder.path).filter {
            $0.hasPrefix("t.jsonl")
        }
        #expect(kept.sorted() == ["t.jsonl", "t.jsonl.1"])
        // A file begun at the end of the film has its last events only.
        #expect(
            try kept.contains { try String(contentsOfFile: folder.path($0), encoding: .utf8).contains("\"frame\"") })
    }

    // feature: talkie doctor
    @Test func theDoctorFindsTheScreenAndTheCard() throws {
        let (display, server) = (try VirtualDisplay("320x180"), try PulseServer())
        defer { server.stop() }
        let found = try Program.run(
            Program.talkie, ["doctor"],
            environment: [
                "DISPLAY": display.name, "WAYLAND_DISPLAY": nil, "SDL_VIDEODRIVER": nil,
                "ALSA_CONFIG_PATH": try server.folder.asoundConfiguration(), "PULSE_SERVER": server.address,
            ])
        #expect(found.status == 0, "\(found.errors)")
        #expect(found.output.contains("320x180 on x11"), "\(found.output)")
        #expect(found.output.contains("the default device opens at "), "\(found.output)")
    }

    // MARK: Network

    // feature: --user-agent, --referrer, --http-header-fields, --http-header-fields-append, --cookies, --cookies-file
    // feature: --ytdl, --ytdl-format, --ytdl-raw-options
    @Test func serversAndYouTubeDLGetWhatTheOptionsSay() throws {
        let (film, folder) = (try films.part("part.mkv", 0...2), try Scratch())
        let server = try TinyWebServer(serving: films.scratch.folder.path)
        defer { server.stop() }
        let cookies = try films.scratch.file("cookies.txt", Data("127.0.0.1\tFALSE\t/\tFALSE\t0\tkey\tvalue\n".utf8))
        _ = try films.scratch.file("page.html", Data("<html><body>A film</body></html>".utf8))
        let words = folder.path("words")
        let listing = "{\"title\": \"A page\", \"url\": \"\(server.url("part.mkv"))\"}"
        let program = try folder.file(
            "yt-dlp", Data("#!/bin/sh\ncat > '\(words)'\necho '\(listing)'\n".utf8))
        #expect(chmod(program, 0o755) == 0 && FileManager.default.fileExists(atPath: film))
        var (found, unasked) = (
            Setup("--ytdl-format", "worst", "--ytdl-raw-options", "retries=3", server.url("page.html")),
            Setup("--no-ytdl", server.url("page.html"))
        )
        found.environment = ["PATH": "\(folder.folder.path):/usr/bin:/bin"]
        unasked.environment = found.environment
        let runs = try ObservedPlayback.play([
            Setup(
                "--user-agent", "Test/1", "--referrer", "http://page.test/", "--http-header-fields", "X-One: 1",
                "--http-header-fields-append", "X-Two: 2", "--cookies", "--cookies-file", cookies,
                server.url("part.mkv")), found, unasked,
        ])
        runs[0].expect(seconds: [0, 1, 2])
        let head = try #require(server.requestHeads.first { $0.contains("Test/1") }).lowercased()
        for line in ["user-agent: test/1", "referer: http://page.test/", "x-one: 1", "x-two: 2", "cookie: key=value"] {
            #expect(head.contains(line), "\(head)")
        }
        runs[1].expect(seconds: [0, 1, 2])
        let text = try String(contentsOfFile: words, encoding: .utf8)
        // The options are passed as configuration lines on standard input.
        #expect(text.contains("format") && text.contains("worst") && text.contains("retries"), "\(text)")
        #expect(runs[2].result.status == 66, "\(runs[2].result.errors)")
    }

    // feature: --tls-verify, --tls-ca-file, --network-timeout, --hls-bitrate
    @Test func serversAreBelievedAndWaitedForAsTheOptionsSay() throws {
        _ = (try films.part("part.mkv", 0...2), try films.qualities())
        let folder = films.scratch.folder.path
        let server = try TinyWebServer(serving: folder)
        defer { server.stop() }
        let authority = try TestAuthority(in: folder)
        let front = try TLSFront(to: server.port, as: try authority.sign("localhost"))
        defer { front.stop() }
        let runs = try ObservedPlayback.play([
            Setup("--tls-ca-file", authority.certificate, front.url("part.mkv")),
            Setup("--tls-verify", "no", front.url("part.mkv")),
            Setup(front.url("part.mkv")), Setup("--network-timeout", "2", server.url("stall/part.mkv")),
            Setup("--hls-bitrate", "min", server.url("master.m3u8")), Setup(server.url("master.m3u8")),
        ])
        runs[0].expect(seconds: [0, 1, 2])
        runs[1].expect(seconds: [0, 1, 2])
        #expect(
            runs[2].result.status == 66 && runs[2].result.errors.contains("has no trusted certificate"),
            "\(runs[2].result.errors)")
        #expect(
            runs[3].result.status == 66 && runs[3].result.errors.contains("sends no data"), "\(runs[3].result.errors)")
        runs[4].expect(seconds: [1])
        runs[5].expect(seconds: [0])
    }
}
