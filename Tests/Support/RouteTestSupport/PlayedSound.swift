import Foundation
import MediaCodecs
import MediaCore
import SyncRendering
import Testing

/// A source of beeps, one at each whole second, as AAC packets.
final class BeepSource {
    static let format = AudioFormat(
        parameters: CodecParameters(codec: "aac", configuration: [0x11, 0x90], framesPerPacket: 1024),
        sampleRate: 48000, layout: .stereo)
    private let units: [[UInt8]]
    private var next = 0

    init(_ lab: Lab, seconds: Int) throws { units = try lab.aacBeeps(seconds: seconds, rate: 48000) }

    /// Returns the next 12 access units (256 ms); nil at the end.
    func read() -> SampleBuffer? {
        guard next < units.count else { return nil }
        let batch = PacketBatch()
        let unit = MediaTime(value: 1024, timescale: 48000)
        // FFmpeg's encoder has a delay of one access unit.
        let start = unit * Int64(next - 1)
        for bytes in units[next..<min(next + 12, units.count)] {
            bytes.withUnsafeBytes {
                batch.append($0, as: .init(presentationTime: unit * Int64(next - 1), duration: unit))
            }
            next += 1
        }
        return SampleBuffer(
            payload: .encodedAudio(Self.format, batch), presentationTime: start,
            duration: unit * Int64(batch.packets.count), flags: .sync)
    }
}

/// One output with a real renderer and synchronizer, connected as in the player.
final class PlayedSound {
    let synchronizer = RenderSynchronizer()
    let events = EventLog(clock: MonotonicClock())
    let renderer: AudioRenderer
    private(set) var start = HostInstant.now

    init(_ output: any AudioDestination) {
        renderer = AudioRenderer(codecs: FilmAudioCodecs(), events: events)
        renderer.setOutput(output)
        synchronizer.addRenderer(renderer)
    }

    func end() { renderer.invalidate() }

    /// Enqueues the source and starts it as soon as the output has enough data.
    func play(_ source: BeepSource) throws {
        while let buffer = source.read() { renderer.enqueue(buffer) }
        renderer.finish()
        try startWhenReady()
    }

    /// Starts what was enqueued as soon as the output has enough data. Fails after 20 s.
    func startWhenReady() throws {
        let limit = HostInstant.now.advanced(by: .seconds(20))
        synchronizer.setRate(1, time: .zero)
        while let waits = synchronizer.pendingStart?.waits {
            try #require(HostInstant.now < limit, "\(waits); \(renderer.progress)")
            HostInstant.now.advanced(by: .milliseconds(5)).sleep()
        }
        start = try #require(synchronizer.timebase.snapshot.upcoming.hostInstant(of: .zero))
    }

    /// Pauses the timebase and returns the instant of the pause.
    func pause() -> HostInstant {
        let now = HostInstant.now
        synchronizer.setRate(0, atHostTime: now)
        return now
    }

    /// Resumes playback after the output's start lead and returns the instant of the resume.
    func resume() -> HostInstant {
        let line = synchronizer.setRate(1, atHostTime: .now.advanced(by: synchronizer.startLead)).upcoming
        // Instant at which film time 0 would have been audible on the new timeline.
        start = line.hostInstant(of: .zero) ?? line.hostAnchor
        return line.hostAnchor
    }

    /// Returns the offset of each beep from its whole second, in milliseconds; positive is late.
    func errors(_ beeps: [Int64], from origin: HostInstant? = nil) -> [Double] {
        Lab.errors(beeps, from: origin ?? start)
    }
}
