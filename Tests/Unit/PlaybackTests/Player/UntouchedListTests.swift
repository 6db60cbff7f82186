import MediaCore
import MediaFiles
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// Playlists on a speaker that accepts packets unchanged.
@Suite struct UntouchedListTests {
    @Test func filmsOfOneCodecPassUntouchedOverTheirJointAndNoPictureMoves() throws {
        let (one, two) = (
            CountedFilm(1, frameCount: 100, audioFrameCount: 192_000),
            CountedFilm(2, frameCount: 75, audioFrameCount: 144_000)
        )
        let tape = PacketTape(codec: "pcm_f32le", desiredDepth: .seconds(2))
        let programme = VirtualProgramme(["one": one, "two": two], first: "one", speaker: tape)
        programme.core.setNext([QueueItem("two")])
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.began == ["two"])
        #expect(tape.slots.allSatisfy { $0.isUntouched })
        #expect(tape.maxError == 0)
        let heard = tape.audio(in: 0..<336_000)
        #expect(heard[..<192_000].enumerated().allSatisfy { $1?.sound == 1 && $1?.frame == Int64($0) })
        #expect(heard[192_000...].enumerated().allSatisfy { $1?.sound == 2 && $1?.frame == Int64($0) })
        #expect(programme.numbers == (0..<100).map { 1_000_000 + $0 } + (0..<75).map { 2_000_000 + $0 })
        #expect(programme.shown.dropFirst().allSatisfy { abs(($0.presented - $0.target).inMilliseconds) < 0.001 })
    }

    /// Encoders add delay and pad the last packet; the boundary is not at a packet's edge.
    @Test(arguments: ["mp4", "mkv"])
    func filesOfAnEncoderPassUntouchedAndLoseAPacketAtMost(container: String) throws {
        func film(_ hertz: Int, _ seconds: String, _ rate: String) throws -> MediaFile {
            let path = try TestClips.make(
                "untouched.\(container)",
                TestClips.arguments(
                    "-f lavfi -i sine=f=\(hertz):r=48000:d=\(seconds) -f lavfi -i color=s=64x64:r=25:d=\(seconds) -ac 2 -c:v libx264 -c:a aac -b:a \(rate)"
                ))
            return try MediaFile.open(path)
        }
        let films = [try film(500, "2.72", "128k"), try film(800, "3.16", "192k"), try film(900, "1.92", "96k")]
        let tape = PacketTape(desiredDepth: .seconds(2))
        let programme = VirtualProgramme(
            ["one": films[0], "two": films[1], "three": films[2]], first: "one", speaker: tape)
        programme.core.setNext([QueueItem("two"), QueueItem("three")])
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.began == ["two", "three"])
        #expect(tape.slots.count > 360)
        #expect(tape.slots.allSatisfy { $0.isUntouched })
        // Matroska's timestamps are in milliseconds.
        #expect(tape.maxError <= 144 + 48, "\(tape.maxError) frames from its place")
        // A packet that would start more than 3 ms early is dropped.
        #expect(tape.longestHole <= 1024 + 144, "a hole of \(tape.longestHole) frames")
    }

    @Test func songsInARowAreDecodedSoThatTheyAreHeardAsOne() {
        let songs = [
            "one": CountedFilm(1, frameCount: 0, audioFrameCount: 96_000),
            "two": CountedFilm(2, frameCount: 0, audioFrameCount: 96_000),
        ]
        func passes(_ options: PlayerOptions, follows: Bool) -> Bool? {
            let programme = VirtualProgramme(
                songs, first: "one", options: options, speaker: PacketTape(codec: "pcm_f32le"))
            if follows { programme.core.setNext([QueueItem("two")]) }
            programme.run(for: .milliseconds(100))
            return programme.core.renderer?.allowsPassThrough
        }
        #expect(passes(PlayerOptions(), follows: false) == true)
        #expect(passes(PlayerOptions(), follows: true) == false)
        var options = PlayerOptions()
        options.expectsMore = true
        #expect(passes(options, follows: false) == false)
    }

    @Test func aFilmThatFollowsItselfIsDecodedSoThatItIsHeardAsOne() {
        let film = CountedFilm(1, frameCount: 0, audioFrameCount: 96_000)
        var options = PlayerOptions()
        options.loopFile = .times(1)
        let tape = PacketTape(codec: "pcm_f32le")
        let loop = VirtualProgramme(["one": film], first: "one", options: options, speaker: tape)
        loop.run(for: .milliseconds(200))
        #expect(loop.core.renderer?.allowsPassThrough == false)
        #expect(!tape.slots.contains { $0.isUntouched })
        let once = VirtualProgramme(["one": film], first: "one", speaker: PacketTape(codec: "pcm_f32le"))
        once.run(for: .milliseconds(200))
        #expect(once.core.renderer?.allowsPassThrough == true)
        once.core.setLoop(.times(1))
        #expect(once.core.renderer?.allowsPassThrough == false)
    }

    @Test func aListThatWillHoldMoreIsNoLoopOfItsFirstFilm() {
        var options = PlayerOptions()
        options.loopPlaylist = .forever
        let film = CountedFilm(1, frameCount: 50, audioFrameCount: 96_000)
        func passes(_ options: PlayerOptions) -> Bool? {
            let programme = VirtualProgramme(
                ["one": film], first: "one", options: options, speaker: PacketTape(codec: "pcm_f32le"))
            programme.run(for: .milliseconds(100))
            return programme.core.renderer?.allowsPassThrough
        }
        #expect(passes(options) == false)
        options.expectsMore = true
        #expect(passes(options) == true)
    }
}
