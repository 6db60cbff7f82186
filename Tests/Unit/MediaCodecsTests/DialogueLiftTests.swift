import Foundation
import MediaCore
import MediaFiles
import Testing

@testable import MediaCodecs
@testable import SyncRendering
@testable import TalkieTestKit

@Suite struct DialogueLiftTests {
    /// Returns the level of the left channel in the last half second, relative to the first, if only one of six
    /// channels has a signal.
    private func left(
        when channel: Int, lift: Double, layout: ChannelLayout = .stereo, channels count: Int = 6
    ) throws -> Double {
        let channels = (0..<count).map { $0 == channel ? "0.3*sin(2*PI*440*t)" : "0" }.joined(separator: "|")
        let name = count == 6 ? "5.1" : "stereo"
        let clip = try TestClips.make(
            "lift.flac", ["-f", "lavfi", "-i", "aevalsrc='\(channels)':c=\(name):s=48000:d=1", "-c:a", "flac"])
        let film = try MediaFile.open(clip)
        let track = try #require(film.summary.track(.audio))
        let output = PCMFormat(sampleRate: 48_000, layout: layout)
        let converter = try FilmAudioCodecs().converter(from: try #require(track.audioFormat), to: output, speed: 1)
        converter.setDialogueLift(lift)
        let reader = try film.reader(for: track)
        while let buffer = try reader.read() { try converter.send(buffer) }
        converter.finish()
        let block = PCMBlock(format: output, capacity: 4096)
        var (highest, frames) = (Float(0), 0)
        while try converter.receive(into: block) {
            frames += block.frames
            for index in 0..<block.frames * output.channels { highest = max(highest, abs(block.samples[index])) }
        }
        #expect(frames == 48_000)
        return Double(highest) / 0.3
    }

    @Test(arguments: [3.0, 6, 12]) func voicesAreLiftedAndEverythingElseKeepsItsLevel(lift: Double) throws {
        let factor = pow(10, lift / 20)
        #expect(abs(try left(when: 2, lift: lift) / (try left(when: 2, lift: 0)) - factor) < 0.01)
        #expect(abs(try left(when: 0, lift: lift) / (try left(when: 0, lift: 0)) - 1) < 0.001)
        #expect(abs(try left(when: 4, lift: lift) / (try left(when: 4, lift: 0)) - 1) < 0.001)
    }

    @Test func aLoudspeakerOfItsOwnIsLiftedToo() throws {
        #expect(abs(try left(when: 2, lift: 6, layout: .surround51) - pow(10, 0.3)) < 0.01)
        #expect(abs(try left(when: 0, lift: 6, layout: .surround51) - 1) < 0.001)
    }

    @Test func stereoHasNoCentreToLift() throws {
        #expect(abs(try left(when: 0, lift: 6, channels: 2) - 1) < 0.001)
    }
}
