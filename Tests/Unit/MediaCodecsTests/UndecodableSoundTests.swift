import MediaCore
import MediaFiles
import SyncRendering
import TalkieTestKit
import Testing

@testable import MediaCodecs

/// The duration and position of undecodable packets are counted.
@Suite struct UndecodableSoundTests {
    @Test func theLengthAndThePlaceOfDamagedPacketsAreKnown() throws {
        let clip = try TestClips.flashAndBeep("undecodable.mp4", "-c:v libx264 -c:a flac -strict -2")
        let film = try MediaFile.open(clip)
        let reader = try film.reader(for: try #require(film.summary.track(.audio)))
        let format = try #require(reader.track.audioFormat)
        let converter = try FilmAudioCodecs().converter(
            from: format, to: PCMFormat(sampleRate: 48_000, layout: .stereo), speed: 1)
        let block = PCMBlock(format: PCMFormat(sampleRate: 48_000, layout: .stereo), capacity: 4096)
        #expect(converter.consumeUndecodableAudio() == nil)
        while let buffer = try reader.read() {
            guard case .encodedAudio(let format, let batch) = buffer.payload else { continue }
            let noisy = PacketBatch()
            for packet in batch.packets {
                let isNoise = packet.presentationTime.map { (1..<2).contains($0.seconds) } ?? false
                batch.withBytes(of: packet) { bytes in
                    let noise = bytes.indices.map { UInt8(truncatingIfNeeded: $0 &* 7919 >> 3) }
                    if isNoise {
                        noise.withUnsafeBytes { noisy.append($0, as: packet) }
                    } else {
                        noisy.append(bytes, as: packet)
                    }
                }
            }
            var copy = buffer
            copy.payload = .encodedAudio(format, noisy)
            try converter.send(copy)
            while try converter.receive(into: block) {}
        }
        converter.finish()
        while try converter.receive(into: block) {}
        let lost = try #require(converter.consumeUndecodableAudio())
        #expect(abs(lost.duration.seconds - 1) < 0.15, "\(lost)")
        #expect(abs(lost.start.seconds - 1) < 0.11 && abs(lost.end.seconds - 2) < 0.11)
        #expect(converter.consumeUndecodableAudio() == nil, "it is taken once")
    }
}
