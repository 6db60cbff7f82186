import CardOutput
import Foundation
import MediaCore
import SyncRendering
import Testing

@testable import RouteTestSupport

/// Audio through ALSA's PulseAudio plugin into a null sink, recorded with the instants at which it was audible.
@Suite(
    .serialized, .enabled(if: PulseServer.isWanted, "needs pulseaudio, python3 and ALSA's pulse plugin"),
    .repeatedWhenTheMachineStalls)
struct SoundCardTests {
    static func report(_ title: String, _ all: [(seconds: Double, late: Double)], _ recording: OutputCapture) {
        func line(_ name: String, _ part: [Double]) {
            guard !part.isEmpty else { return }
            let sorted = part.sorted()
            func at(_ share: Double) -> String {
                String(format: "%+.3f", sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))])
            }
            print(
                "  \(name): n \(sorted.count) median \(at(0.5)) p5 \(at(0.05)) p95 \(at(0.95)) min \(at(0)) max \(at(1)) ms"
            )
        }
        print("\(title) (anchors ±\(String(format: "%.3f", recording.residual)) ms)")
        line("first 2 s", all.filter { $0.seconds < 2 }.map(\.late))
        line("after 2 s", all.filter { $0.seconds >= 2 }.map(\.late))
        let steady = all.filter { $0.seconds >= 2 }
        if steady.count > 20 {
            let n = Double(steady.count)
            let mx = steady.reduce(0) { $0 + $1.seconds } / n
            let my = steady.reduce(0) { $0 + $1.late } / n
            let slope =
                steady.reduce(0) { $0 + ($1.seconds - mx) * ($1.late - my) }
                / steady.reduce(0) { $0 + ($1.seconds - mx) * ($1.seconds - mx) }
            print("  trend \(String(format: "%+.3f", slope * 60)) ms a minute")
        }
        if ProcessInfo.processInfo.environment["TALKIE_TEST_TRACE"] != nil {
            for (seconds, late) in all { print("  t", seconds, late) }
        }
    }

    static var seconds: Double {
        ProcessInfo.processInfo.environment["TALKIE_TEST_SECONDS"].flatMap(Double.init) ?? 6
    }

    @Test(arguments: [
        ("rate=48000 channels=2 norewinds=1", 48000), ("rate=44100 channels=2 norewinds=1", 48000),
        ("rate=48000 channels=2 norewinds=1", 44100),
    ])
    func soundIsHeardWhenTheTimebaseSays(sink: String, rate: Int) async throws {
        // The server's resampler is up to 1.2 ms away from its reported delay, by a different amount each time.
        let bound = sink.contains("rate=\(rate) ") ? 1.0 : 2
        var runs = [try play(sink, rate)]
        func isGood(_ run: (first: Double, median: Double)) -> Bool { abs(run.first) < 5 && abs(run.median) < bound }
        // A stall of the machine while the card's position is read displaces the start or a whole run: two of three
        // count.
        if !isGood(runs[0]) { for _ in 0..<2 { runs.append(try play(sink, rate)) } }
        #expect(runs.count(where: isGood) * 2 > runs.count, "first pulse and median, ms: \(runs)")
    }

    /// Plays into a null sink and records it. Returns the lateness of the first pulse, and the median of those after
    /// two seconds, in milliseconds.
    private func play(_ sink: String, _ rate: Int) throws -> (first: Double, median: Double) {
        let server = try PulseServer(sink: sink)
        defer { server.stop() }
        return try Self.play("\(sink), film \(rate) Hz", device: "pulse", rate, into: try server.record())
    }

    /// - Parameter bound: The lateness, in milliseconds, below which nearly all pulses are.
    static func play(
        _ title: String, device: String, _ rate: Int, into recorder: PulseServer.Recorder, bound: Double = 3
    ) throws -> (first: Double, median: Double) {
        let begun = HostInstant.now
        let player = try CardPlayer(device: device, sampleRate: rate)
        let prepared = HostInstant.now
        player.start()
        // Starts as early as a player may: the card must have measured its position, and the start needs a lead.
        #expect(player.waitUntilSettled())
        let start = HostInstant.now.advanced(by: player.card.latency.startLead)
        let line = TimebaseSegment(mediaAnchor: .zero, hostAnchor: start, rate: 1)
        player.setRate(1, time: .zero, at: start)
        start.advanced(by: .nanoseconds(Int64(Self.seconds * 1e9))).sleep()
        let latency = player.card.latency
        player.stop()
        let recording = try recorder.finish()
        let all = PulsedTone.lateness(recording, line)
        print(
            "prepared after \((prepared - begun).inMilliseconds) ms, lead \((start - prepared).inMilliseconds) ms, "
                + "now \(latency)")
        let events = player.taken()
        for event in events { if case .underrun(let missing, _) = event { print("  underrun \(missing)") } }
        Self.report(title, all, recording)
        #expect(all.count >= Int(Self.seconds * 10) - 2)
        // Medians and shares, because a busy machine makes single readings late.
        let first = all.filter { $0.seconds < 2 }.map { abs($0.late) }.sorted()
        let steady = all.filter { $0.seconds >= 2 }.map(\.late).sorted()
        #expect(first[first.count / 2] < bound)
        #expect(try #require(all.first).seconds < 0.15)
        try #require(!steady.isEmpty, "nothing was heard after two seconds")
        #expect(Double(steady.filter { abs($0) < bound }.count) >= 0.9 * Double(steady.count))
        // The first complete pulse: it reveals a misplaced start.
        return (try #require(all.first).late, steady[steady.count / 2])
    }

    /// Plays, moves the stream to another sink after three seconds, and returns for how long after the move its audio
    /// was early or late there.
    ///
    /// - Parameters:
    ///   - bound: In milliseconds.
    ///   - recorder: Of the sink that the stream is moved to.
    static func move(
        _ title: String, device: String, bound: Double = 3, into recorder: PulseServer.Recorder,
        _ move: () throws -> Void
    ) throws -> Duration {
        let player = try CardPlayer(device: device)
        player.start()
        #expect(player.waitUntilSettled())
        let start = HostInstant.now.advanced(by: player.card.latency.startLead)
        player.setRate(1, time: .zero, at: start)
        start.advanced(by: .seconds(3)).sleep()
        try move()
        let moved = HostInstant.now - start
        start.advanced(by: .seconds(9)).sleep()
        player.stop()
        let line = TimebaseSegment(mediaAnchor: .zero, hostAnchor: start, rate: 1)
        let recording = try recorder.finish()
        let all = PulsedTone.lateness(recording, line).filter { $0.seconds > 2.5 }
        report("\(title), after a move", all, recording)
        try #require(all.count > 40)
        let last = all.last { abs($0.late) > bound }?.seconds ?? 0
        let took = max(.zero, Duration.nanoseconds(Int64(last * 1e9)) - moved)
        print("  moved after \(moved.inMilliseconds) ms; followed after \(took.inMilliseconds) ms")
        return took
    }
}
