import CardPlayout
import Glibc
import MediaCodecs
import MediaCore
import SyncRendering
import TalkieTestKit

/// Cost of the renderers' contract: time per call, allocations, and the exactness of gapless boundaries. Prints tables
/// for docs/performance.md.
@main struct RendererBench {
    static let rate = 48000

    static func main() async throws {
        let what = CommandLine.arguments.dropFirst()
        if what.isEmpty || what.contains("costs") {
            print(Measurement.head)
            print(enqueueAlone())
            print(try enqueueAndFeed(decoded: false))
            print(try enqueueAndFeed(decoded: true))
            print(try enqueueAndFeed(decoded: true, isProcessed: true))
            print(try await awaitEnqueue())
            for ppm in [0.0, 80] { print(renderCycle(ppm: ppm)) }
            print(pictureCycle())
        }
        if what.isEmpty || what.contains("joints") { try joints() }
    }

    /// Returns buffers with the duration of AAC packets; their bytes are not read.
    static func buffers(_ count: Int) -> [SampleBuffer] {
        let film = SyntheticFilm(duration: MediaTime(value: 100_000, timescale: 1))
        let source = film.source(for: film.summary.tracks[1])
        return (0..<count).compactMap { _ in try? source.read() }
    }

    // MARK: Costs

    static func enqueueAlone() -> String {
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        let material = buffers(1000)
        var result = Measurement(calls: 100_000)
        for round in 0..<101 {
            if round == 1 { result.begin() }
            for buffer in material {
                if round == 0 { renderer.enqueue(buffer) } else { result.time { renderer.enqueue(buffer) } }
            }
            renderer.flush()
        }
        result.end()
        return result.row("`enqueue`, no synchronizer")
    }

    /// Enqueues on this thread while the feeder runs; counts allocations of both.
    static func enqueueAndFeed(decoded: Bool, isProcessed: Bool = false) throws -> String {
        let synchronizer = RenderSynchronizer()
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        if isProcessed {
            renderer.volume = 2
            renderer.processing.isNight = true
        }
        synchronizer.addRenderer(renderer)
        renderer.setOutput(Sink(depth: .seconds(60), passesThrough: !decoded))
        let material = buffers(24_000)
        var result = Measurement(calls: material.count)
        // Film time advances as fast as audio is fed, so that the steady state is measured.
        for (number, buffer) in material.enumerated() {
            if number == 4000 { result.begin() }
            if number < 4000 { renderer.enqueue(buffer) } else { result.time { renderer.enqueue(buffer) } }
            if number % 16 == 15 {
                while renderer.progress.acceptedUntil.map({ $0 < buffer.presentationTime ?? .zero }) ?? true {
                    HostInstant.now.advanced(by: .microseconds(50)).sleep()
                }
                synchronizer.setRate(0, time: buffer.presentationTime)
            }
        }
        result.end()
        synchronizer.removeRenderer(renderer)
        let work = isProcessed ? "decoding, louder and at night" : decoded ? "decoding" : "passing packets on"
        return result.row("`enqueue`, feeder \(work) meanwhile")
    }

    static func awaitEnqueue() async throws -> String {
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        let receiver = renderer.sampleBufferReceiver()
        let material = buffers(10)
        var result = Measurement(calls: 50_000)
        for round in 0..<5001 {
            if round == 1 { result.begin() }
            for buffer in material {
                let before = HostInstant.now
                _ = try await receiver.enqueue(buffer)
                if round > 0 { result.add(HostInstant.now - before) }
            }
            receiver.flush()
        }
        result.end()
        return result.row("`await enqueue`, renderer ready")
    }

    /// Ten milliseconds of stereo at 48 kHz, the period of the sound card's pump.
    static func renderCycle(ppm: Double) -> String {
        let clock = ManualClock()
        let synchronizer = RenderSynchronizer(clock: clock)
        let format = PCMFormat(sampleRate: rate, layout: .stereo)
        let buffer = PlayoutBuffer(format: format, depth: .seconds(1), history: .milliseconds(300))
        let playout = SoundCardPlayout(
            buffer: buffer, timebase: synchronizer.timebase, events: EventLog(clock: clock), id: OutputID(0),
            history: .milliseconds(300))
        let block = PCMBlock(format: format, capacity: 480)
        block.frames = 480
        for index in 0..<960 { block.samples[index] = Float(index) / 960 }
        let output = UnsafeMutablePointer<Float>.allocate(capacity: 960)
        defer { output.deallocate() }
        synchronizer.setRate(1, time: .zero)
        var result = Measurement(calls: 100_000)
        var fed: Int64 = 0
        let perFrame = 1e9 / Double(rate) * (1 + ppm * 1e-6)
        for cycle in 0..<101_000 {
            while fed < Int64(cycle + 20) * 480 {
                block.start = MediaTime(value: fed, timescale: Int32(rate))
                guard buffer.accept(block, from: 0) == 480 else { break }
                fed += 480
            }
            if cycle == 1000 { result.begin() }
            let heard = HostInstant(
                nanoseconds: clock.now.nanoseconds + Int64((Double(cycle) * 480 * perFrame).rounded()))
            let render = {
                _ = playout.render(
                    into: output, frames: 480, firstAudibleAt: heard, nanosecondsPerFrame: perFrame, gain: 1)
            }
            if cycle < 1000 { render() } else { result.time(render) }
        }
        result.end()
        return result.row("render cycle of 10 ms, card \(ppm == 0 ? "exact" : "\(Int(ppm)) ppm off")")
    }

    /// A frame is enqueued, selected and presented.
    static func pictureCycle() -> String {
        let clock = ManualClock()
        let synchronizer = RenderSynchronizer(clock: clock)
        let layer = DisplayLayer(depth: 8)
        let presenter = FramePresenter(
            layer: layer, timebase: synchronizer.timebase, output: Blank(), events: EventLog(clock: clock))
        let frame = MediaTime(value: 1, timescale: 1000)
        let pictures = (0..<101_000).map { NumberedFrame.buffer($0, every: frame) }
        synchronizer.setRate(1, time: .zero)
        var result = Measurement(calls: 100_000)
        for (number, picture) in pictures.enumerated() {
            if number == 1000 { result.begin() }
            let cycle = {
                layer.enqueue(picture)
                _ = presenter.step()
            }
            if number < 1000 { cycle() } else { result.time(cycle) }
            clock.advance(by: .milliseconds(1))
        }
        result.end()
        return result.row("picture enqueued, chosen, shown")
    }

    // MARK: Gapless boundaries

    static func joints() throws {
        print(
            """

            | pieces of one tone, cut at arbitrary samples | to | joints | frames missing (−) or double | worst place, frames | \
            worst click, dB |
            | --- | --- | --- | --- | --- | --- |
            """)
        func row(_ name: String, _ pieces: [SinePieces.Piece], rate: Int = 48000) throws {
            let sound = try SinePieces(pieces, to: PCMFormat(sampleRate: rate, layout: .stereo))
            let joints = sound.joints
            let place = joints.map { abs($0.lateness) }.max() ?? 0
            let click = joints.map(\.click).max() ?? 0
            let count = sound.samples.count - Int(sound.expected.rounded())
            print(
                "| \(name) | \(rate) | \(joints.count) | \(count) | \(rounded(place, 4)) | "
                    + "\(rounded(20 * log10(max(click, 1e-9)), 0)) |")
        }
        try row(
            "PCM, ALAC, FLAC at 48 kHz",
            [.pcm(48000, 12_345), .alac(48000, 7_001), .flac(48000, 9_999), .pcm(48000, 333), .alac(48000, 20_011)])
        try row("AAC at 48 kHz", [.aac(48000, 31_337), .aac(48000, 24_001), .aac(48000, 17_171), .aac(48000, 29_009)])
        try row("MP3 at 48 kHz", [.mp3(48000, 29_999), .mp3(48000, 33_333), .mp3(48000, 12_347), .mp3(48000, 40_001)])
        try row(
            "PCM, ALAC, FLAC at 44.1 kHz", [.pcm(44100, 12_345), .alac(44100, 11_111), .flac(44100, 20_003)])
        let mixed: [SinePieces.Piece] = [.aac(44100, 44_101), .mp3(48000, 40_009), .alac(48000, 37_003)]
        try row("AAC 44.1, MP3 48, ALAC 48", mixed)
        try row("AAC 44.1, MP3 48, ALAC 48", mixed, rate: 44100)
        try row(
            "PCM at 44.1 and 48 kHz in turn", (0..<50).flatMap { _ in [.pcm(44100, 4_411), .pcm(48000, 4_799)] })
        try row(
            "PCM at 44.1, 48, 32, 96, 22.05, 192, 8, 88.2, 11.025, 48 kHz",
            [
                .pcm(44100, 12_345), .pcm(48000, 7_001), .pcm(32000, 9_999), .pcm(96000, 33_337), .pcm(22050, 5_003),
                .pcm(192000, 65_537), .pcm(8000, 4_001), .pcm(88200, 30_011), .pcm(11025, 4_999), .pcm(48000, 10_007),
            ])
    }

    static func rounded(_ value: Double, _ digits: Int) -> Double {
        let scale = pow(10, Double(digits))
        return (value * scale).rounded() / scale
    }
}
