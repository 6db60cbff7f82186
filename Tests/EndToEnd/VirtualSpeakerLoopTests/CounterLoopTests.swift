import AirPlayWire
import MediaCodecs
import MediaCore
import PTP
import Sockets
import SyncRendering
import Testing
import VirtualSpeaker

@testable import AirPlay
@testable import AirPlayTransport
@testable import RouteTestSupport

extension LoopTests {
    /// A whole sender whose counters start just before they wrap, with a new anchor every second.
    @Suite(.serialized, .timeLimit(.minutes(2))) struct CounterLoopTests {
        private static let cases: [(Route, Int)] =
            [16, 24, 31, 32].flatMap { [(.buffered, $0), (.realtime, $0)] } + [(.realtimeNTP, 32)]

        /// All of four seconds of film is audible in one piece, whichever counter wraps. The sessions wait most of the
        /// time and run side by side.
        @Test func nothingIsHeardOfACounterThatGoesRound() throws {
            let sessions = try Self.cases.map { route, bits in
                let result = Lock<Result<Heard, any Error>?>(nil)
                let thread = try WorkerThread.start(name: "session") {
                    let heard = Result { try Self.play(route, bits, ports: ClockPorts.unusedPair()) }
                    result.withLock { $0 = heard }
                }
                return (name: "\(route), 2^\(bits)", thread: thread, result: result)
            }
            for session in sessions {
                session.thread.join()
                let heard = try #require(session.result.withLock { $0 }).get()
                let drift = heard.drift.inMilliseconds
                print("counters, \(session.name): \(heard.anchors) anchors, moved by \(drift) ms in 4 s")
                // On a busy machine the clock may move a speaker by a frame; a packet has 352.
                let seams = heard.seams
                #expect(seams.allSatisfy { abs($0.frames) <= 1 && abs($0.time) < 0.1 }, "\(session.name): \(seams)")
                #expect(abs(drift) < 0.6, "\(session.name)")
                #expect(heard.complaints == [], "\(session.name)")
                #expect(heard.anchors >= 2, "\(session.name)")
            }
        }

        /// What a speaker recorded of a session. Times in ms.
        private struct Heard {
            var anchors: Int
            var drift: Duration
            var complaints: [SpeakerEvent]
            var seams: [(frames: Int32, time: Double)]
        }

        private struct Failure: Error { var description: String }

        private static func play(_ route: Route, _ bits: Int, ports: (event: UInt16, general: UInt16)) throws -> Heard {
            let receiver = try SoftwareSpeaker(
                SpeakerConfiguration(
                    name: "Counters", address: NetworkAddress("127.0.0.2")!, port: 0,
                    clock: route == .realtimeNTP ? .never : .required, ptpPorts: ports, quirks: SpeakerQuirks()))
            defer { receiver.stop() }
            let identity = SenderIdentity.random(name: "Talkie test")
            let clocks = PTPDirectory(
                identity: identity.clock, eventPort: ports.event, generalPort: ports.general)
            var configuration = AirPlaySession.Configuration(
                address: SpeakerAddress(host: receiver.configuration.address.description, port: receiver.port),
                identity: identity)
            let border: UInt64 = 1 << UInt64(bits)
            // The wrap is 1.5 s of frames, 200 packets of the 16-bit or 23-bit sequence number, and 300 packets of the
            // nonce ahead.
            let sequence = UInt32(truncatingIfNeeded: bits == 16 || route != .buffered ? 1 << 16 : 1 << 23) &- 200
            let first = RTPTimestamp(rawValue: UInt32(truncatingIfNeeded: border &- 66150))
            configuration.firstCounters = StreamCounters(timestamp: first, sequence: sequence, nonce: border - 300)
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
            let last = first.advanced(byFrames: 4 * 44100)
            guard record.wait(until: limit, for: { $0.instant(of: last) != nil }),
                let begin = record.instant(of: first.advanced(byFrames: 4410)), let end = record.instant(of: last)
            else { throw Failure(description: "\(synchronizer.pendingStart?.waits ?? []), \(record.events.suffix(8))") }
            let spans = record.spans
            return Heard(
                anchors: record.events.count { if case .anchor = $0 { true } else { false } },
                drift: (end - begin) - HeardSpan.length(4 * 44100 - 4410),
                complaints: record.events.filter {
                    switch $0 {
                    case .late, .lost, .damaged, .underrun, .paused, .flushed: true
                    default: false
                    }
                },
                seams: zip(spans, spans.dropFirst()).map { earlier, later in
                    (
                        frames: earlier.position.advanced(byFrames: Int64(earlier.frames)).distance(to: later.position),
                        time: (later.instant - earlier.end).inMilliseconds
                    )
                })
        }
    }
}

extension HeardSpan {
    /// Duration of a number of frames.
    fileprivate static func length(_ frames: Int64) -> Duration { .nanoseconds(frames * 1_000_000_000 / 44100) }
}
