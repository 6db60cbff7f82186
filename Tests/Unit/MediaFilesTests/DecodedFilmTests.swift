import MediaCodecs
import MediaCore
import MediaFiles
import SyncRendering
import TalkieTestKit
import Testing

/// Decoding of a film without a player: audio samples, and a layer with frames.
@Suite(.timeLimit(.minutes(10))) struct DecodedFilmTests {
    private func clip() throws -> MediaFile {
        try MediaFile.open(try TestClips.flashAndBeep("a.mp4", "-c:v libx264 -bf 2 -g 25 -c:a aac"))
    }

    // MARK: Audio

    private func sound(of film: MediaFile, as format: PCMFormat? = nil) throws -> DecodedAudioSource {
        let track = try #require(film.summary.track(.audio))
        return try DecodedAudioSource(film.reader(for: track), as: format)
    }

    private func block(_ buffer: SampleBuffer?) throws -> PCMBlock {
        guard case .pcm(let block) = try #require(buffer).payload else {
            throw MediaError(.unsupported, "not decoded")
        }
        return block
    }

    @Test func aTrackIsReadAsDecodedSoundWithoutAHole() throws {
        let sound = try sound(of: clip())
        #expect(sound.format.sampleRate == 48_000 && sound.format.channels == 1)
        var (frames, next) = (0, MediaTime?.none)
        while let buffer = try sound.read() {
            let block = try block(buffer)
            #expect(block.frames <= 4096)
            if let next { #expect(buffer.presentationTime == next) }
            next = buffer.end
            frames += block.frames
        }
        #expect(abs(frames - 4 * 48_000) <= 1024)
        #expect(try sound.read() == nil)
    }

    @Test func aJumpLandsOnTheFrameAndConvertsAsAsked() throws {
        let sound = try sound(of: clip(), as: PCMFormat(sampleRate: 44_100, layout: .stereo))
        _ = try sound.read()
        for moment in [MediaTime(value: 2, timescale: 1), MediaTime(value: 1_050, timescale: 1000)] {
            try sound.seek(to: moment, mode: .exact)
            let first = try #require(try sound.read())
            let block = try block(first)
            #expect(abs((try #require(first.presentationTime) - moment).seconds) < 1.0 / 44_100)
            #expect(first.flags.contains(.discontinuity))
            #expect(block.format.channels == 2)
            // Both positions are within a beep, of which 20 ms are at least 20 of its 50 ms.
            let peak = (0..<882).map { abs(block.samples[$0 * 2]) }.max() ?? 0
            #expect(peak > 0.2)
        }
    }

    @Test func picturesAreNoSound() throws {
        let film = try clip()
        let track = try #require(film.summary.track(.video))
        #expect(throws: MediaError.self) { try DecodedAudioSource(film.reader(for: track)) }
    }

    // MARK: Video

    private func wait(for layer: DisplayLayer, _ isSo: () -> Bool) throws {
        let limit = HostInstant.now.advanced(by: .seconds(20))
        while !isSo() { try #require(layer.arrival.wait(until: limit) || isSo(), "\(layer.status)") }
    }

    private func feed(_ layer: DisplayLayer, from source: any SampleSource) throws {
        while layer.isReadyForMoreMediaData {
            guard let buffer = try source.read() else { return layer.finish() }
            layer.enqueue(buffer)
        }
    }

    @Test func aLayerShowsEveryPictureOfAnEncodedTrack() throws {
        let film = try clip()
        let source = try film.reader(for: try #require(film.summary.track(.video)))
        let layer = DisplayLayer()
        var shown: [MediaTime] = []
        while !layer.isDrained {
            try feed(layer, from: source)
            try wait(for: layer) { layer.count > 0 || layer.isDrained }
            if let next = layer.nextTime, layer.dequeueFrame(upTo: next).frame != nil { shown.append(next) }
        }
        #expect(layer.status == .rendering)
        #expect(shown == (0..<100).map { MediaTime(value: $0, timescale: 25) })
    }

    @Test func afterAnExactJumpTheFirstPictureIsTheOneAtThatPlace() throws {
        let film = try clip()
        let source = try film.reader(for: try #require(film.summary.track(.video)))
        let layer = DisplayLayer()
        try feed(layer, from: source)
        layer.flush()
        try source.seek(to: MediaTime(value: 3, timescale: 2), mode: .exact)
        try feed(layer, from: source)
        try wait(for: layer) { layer.count > 0 }
        // Frames are 40 ms long.
        #expect(layer.nextTime == MediaTime(value: 37, timescale: 25))
    }
}
