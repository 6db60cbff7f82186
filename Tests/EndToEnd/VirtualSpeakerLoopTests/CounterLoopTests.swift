import AirPlayWire
import MediaCodecs
import MediaCore
import PTP
import Sockets
import SyncRendering
import Testing
import VirtualSpeaker

@testable import AirPlay
@testable import RouteTestSupport

extension LoopTests {
    /// A whole sender whose counters start just before they wrap, with a new anchor every second.
    @Suite(.serialized, .timeLimit(.minutes(2))) struct CounterLoopTests {
        private static let ports = ClockPorts.pair(0)

        private static let cases: [(Route, Int)] =
            [16, 24, 31, 32].flatMap { [(.buffered, $0), (.realtime, $0)] } + [(.realtimeNTP, 32)]

        /// All of four seconds of film is audible in one piece, whichever counter wraps.
        @Test(arguments: cases)
        func nothingIsHeardOfACounterThatGoesRound(route: Route, bits: Int) throws {
            let receiver = try SoftwareSpeaker(
                SpeakerConfiguration(
                    name: "Counters", address: IPv4Address("127.0.0.2")!, port: 0,
                    clock: route == .realtimeNTP ? .never : .required, ptpPorts: Self.ports, quirks: SpeakerQuirks()))
            defer { receiver.stop() }
            let identity = SenderIdentity.random(name: "Talkie test")
            let clocks = PTPDirectory(
                identity: identity.clock, eventPort: Self.ports.event, generalPort: Self.ports.general)
            var configuration = AirPlaySession.Configuration(
                address: SpeakerAddress(host: receiver.configuration.address.description, port: receiver.port),
                identity: identity)
            let border: UInt64 = 1 << UInt64(bits)
            // The wrap is 1.5 s of frames, 200 packets of the 16-bit or 23-bit sequence number, and 300 packets of the
            // nonce ahead.
            let sequence = UInt32(truncatingIfNeeded: bits == 16 || route != .buffered ? 1 << 16 : 1 << 23) &- 200
            configuration.firstCounters = StreamCounters(
                timestamp: RTPTimestamp(rawValue: UInt32(truncatingIfNeeded: border &- 66150)), sequence: sequence,
                nonce: border - 300)
            configuration.longestAnchor = .seconds(1)
            let speaker = AirPlaySpeaker(
                name: "Counters", configuration: configuration, clocks: clocks, route: route)
            let events = EventLog(clock: MonotonicClock())
            let synchronizer = RenderSynchronizer(events: events)
            let renderer = AudioRenderer(codecs: FilmAudioCodecs(), events: events)
            synchronizer.addRenderer(renderer)
            defer { renderer.invalidate() }
            renderer.setOutput(speaker)
            for second in 0..<Int64(5) { renderer.enqueue(QuietTone.second(from: second * 44100)) }
            synchronizer.setRate(1, time: .zero)
            let record = receiver.record
            let limit = HostInstant.now.advanced(by: .seconds(25))
            let first = configuration.firstCounters!.timestamp
            let last = first.advanced(byFrames: 4 * 44100)
            try #require(
                record.wait(until: limit) { $0.instant(of: last) != nil },
                "\(synchronizer.pendingStart?.waits ?? []), \(record.events.suffix(8))")
            let (begin, end) = (
                try #require(record.instant(of: first.advanced(byFrames: 4410))), record.instant(of: last)
            )
            let drift = (try #require(end) - begin) - HeardSpan.length(4 * 44100 - 4410)
            let anchors = record.events.filter { if case .anchor = $0 { true } else { false } }.count
            let complaints = record.events.filter {
                switch $0 {
                case .late, .lost, .damaged, .underrun, .paused, .flushed: true
                default: false
                }
            }
            print("counters, \(route), 2^\(bits): \(anchors) anchors, moved by \(drift.inMilliseconds) ms in 4 s")
            // On a busy machine the clock may move a speaker by a frame; a packet has 352.
            let spans = record.spans
            let seams = zip(spans, spans.dropFirst()).map { earlier, later in
                (
                    frames: earlier.position.advanced(byFrames: Int64(earlier.frames)).distance(to: later.position),
                    time: (later.instant - earlier.end).inMilliseconds
                )
            }
            #expect(seams.allSatisfy { abs($0.frames) <= 1 && abs($0.time) < 0.1 }, "\(seams)")
            #expect(abs(drift.inMilliseconds) < 0.6)
            #expect(complaints == [])
            #expect(anchors >= 2)
        }
    }
}

extension HeardSpan {
    /// Duration of a number of frames.
    fileprivate static func length(_ frames: Int64) -> Duration { .nanoseconds(frames * 1_000_000_000 / 44100) }
}
