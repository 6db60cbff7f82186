import AirPlayWire
import MediaCore
import SpeakerTestSupport
import TalkieTestKit
import Testing

@testable import VirtualSpeaker

/// The engine on a manually advanced clock, and a sender with a known clock.
@Suite struct PlayoutEngineTests {
    private static let master: UInt64 = 0xA1
    private let host = ManualClock()
    private let record = SpeakerRecord()

    private func clock(locked: Bool = true) -> TurnedClock {
        let clock = TurnedClock(host)
        clock.announce(Self.master)
        clock.observe(origin: PTPInstant(nanoseconds: host.now.nanoseconds))
        if locked { host.advance(by: OffsetFilter.lockTime) }
        return clock
    }

    private func engine(_ kind: StreamKind, _ clock: TurnedClock) throws -> PlayoutEngine {
        try PlayoutEngine(
            setup: .init(
                kind: kind, format: kind == .buffered ? .wire(.lossless44100) : .pcm44100, capacity: 1 << 20,
                output: .none),
            clock: clock, gain: 1, codecs: nil, record: record, host: host)
    }

    private func packet(_ sequence: UInt32, _ position: UInt32) -> StoredPacket {
        StoredPacket(
            sequence: sequence, timestamp: RTPTimestamp(rawValue: position),
            source: StreamFormat.lossless44100.synchronizationSource,
            audio: LosslessEscape.frame([Int16](repeating: 7, count: 704)))
    }

    private func anchor(_ instant: PTPInstant, position: UInt32 = 0) -> PlayoutAnchor {
        PlayoutAnchor(position: RTPTimestamp(rawValue: position), instant: instant, clock: Self.master)
    }

    @Test func soundIsPlacedAtTheMomentThatTheAnchorNames() throws {
        let engine = try engine(.buffered, clock())
        var playing = try #require(engine.beginPlaying())
        engine.insert((0..<4).map { packet($0, $0 * 352) })
        let start = PTPInstant(nanoseconds: host.now.nanoseconds).advanced(by: .seconds(1))
        #expect(engine.setAnchor(anchor(start)))
        for _ in 0..<20 {
            host.advance(by: .milliseconds(50))
            _ = playing.round(at: host.now, of: engine)
        }
        let heard = try #require(record.instant(of: RTPTimestamp(rawValue: 352)))
        let due = HostInstant(nanoseconds: start.nanoseconds).advanced(by: HeardSpan.length(of: 352, 44100))
        #expect((heard - due).wholeNanoseconds.magnitude < 30_000)
    }

    @Test(arguments: [-9_223_372_036, 9_223_372_036, -86_500, 86_500] as [Int64])
    func anAnchorFurtherThanADayIsRefusedAndTheOneBeforeItStays(_ seconds: Int64) throws {
        let engine = try engine(.buffered, clock())
        let now = PTPInstant(nanoseconds: host.now.nanoseconds)
        #expect(engine.setAnchor(anchor(now)))
        let distant =
            abs(seconds) > 100_000
            ? try #require(NetworkTime(seconds: seconds, fraction: 0).instant) : now.advanced(by: .seconds(seconds))
        #expect(!engine.setAnchor(anchor(distant)))
        #expect(engine.state.withLock { $0.anchor } == anchor(now))
    }

    @Test(arguments: [Int64.min, Int64.min + 1, -1, Int64.max], [StreamKind.buffered, .realtime])
    func anAnchorFromBeforeTheClockWasKnownSoundsNothingWhenItIsAbsurd(_ nanoseconds: Int64, _ kind: StreamKind) throws
    {
        let clock = clock(locked: false)
        let engine = try engine(kind, clock)
        var playing = try #require(engine.beginPlaying())
        #expect(engine.setAnchor(anchor(PTPInstant(nanoseconds: nanoseconds), position: 1 << 31)))
        engine.insert((0..<4).map { packet($0, $0 &* 0x4000_0000) })
        for _ in 0..<20 {
            host.advance(by: .milliseconds(50))
            _ = playing.round(at: host.now, of: engine)
        }
        #expect(record.spans.isEmpty)
        // A restarted stream plays as soon as it has a usable anchor.
        engine.flushBuffered(until: 2000)
        engine.insert([packet(2000, 5000)])
        #expect(engine.setAnchor(anchor(PTPInstant(nanoseconds: host.now.nanoseconds), position: 5000)))
        _ = playing.round(at: host.now, of: engine)
        #expect(record.instant(of: RTPTimestamp(rawValue: 5000)) != nil)
    }

    @Test func aClockThatIsYearsOffIsOnlyASlowStart() throws {
        let clock = TurnedClock(host, partsPerMillion: 200)
        clock.announce(Self.master)
        for origin in [Int64.max, .min, 0, .min, .max] {
            clock.observe(origin: PTPInstant(nanoseconds: origin))
            host.advance(by: .milliseconds(700))
        }
        let engine = try engine(.buffered, clock)
        var playing = try #require(engine.beginPlaying())
        for instant in [Int64.max, .min, 0] { engine.setAnchor(anchor(PTPInstant(nanoseconds: instant))) }
        engine.insert([packet(0, 0)])
        _ = playing.round(at: host.now, of: engine)
        playing.finish(at: host.now)
    }
}
