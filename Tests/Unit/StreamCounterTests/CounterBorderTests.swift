import AirPlayWire
import Foundation
import MediaCore
import Testing

@testable import AirPlay
@testable import AirPlayTransport
@testable import VirtualSpeaker

/// Every counter of a stream starts just before it wraps, or before a value at which an implementation might wrap it:
/// no packet is skipped or played twice, and each frame keeps its time.
@Suite struct CounterBorderTests {
    private static let borders = [16, 23, 24, 31, 32]
    private static let kinds = [StreamKind.realtime, .buffered]

    private func expectPerfect(_ rig: StreamRig, _ comment: Comment) {
        #expect(rig.heard.faults == [], comment)
        #expect(rig.heard.frames == rig.placed, comment)
        #expect(rig.leftOut == 0, comment)
        #expect(rig.complaints == [], comment)
    }

    /// Returns the offset of the played frames, which must stay that of the first stream.
    private func offset(_ rig: StreamRig) -> Int64 { rig.heard.offset ?? .min }

    @Test(arguments: kinds, borders)
    func countersPassTheirBorders(_ kind: StreamKind, _ bits: Int) throws {
        let border: UInt64 = 1 << UInt64(bits)
        // The border is a second of frames, 60 packets of the sequence and 90 of the nonce ahead.
        let counters = StreamCounters(
            timestamp: RTPTimestamp(rawValue: UInt32(truncatingIfNeeded: border &- 44100)),
            sequence: UInt32(truncatingIfNeeded: border &- 60), nonce: border - 90)
        var rig = try StreamRig(kind, counters)
        rig.loses = 7
        try rig.run(for: .seconds(3))
        try rig.drain()
        expectPerfect(rig, "\(kind), 2^\(bits)")
        if kind == .realtime { #expect(rig.resent > 20) }
        var plain = try StreamRig(kind, StreamCounters(timestamp: RTPTimestamp(rawValue: 1000), sequence: 1000))
        try plain.run(for: .milliseconds(100))
        try plain.drain()
        #expect(offset(rig) == offset(plain))
    }

    /// The timeline spans half the range of timestamps, 13.5 hours at 44.1 kHz, and the whole range.
    @Test(arguments: kinds, [false, true])
    func aLinePassesHalfTheCircleAndAllOfIt(_ kind: StreamKind, _ renews: Bool) throws {
        var rig = try StreamRig(kind, StreamCounters(timestamp: RTPTimestamp(rawValue: 0xFFFF_0000), sequence: 7))
        rig.renews = renews
        try rig.run(for: .seconds(2))
        let before = offset(rig)
        for turns in 1...4 as ClosedRange<Int64> {
            try rig.skip(to: turns << 31 - 352 * 150)
            try rig.run(for: .seconds(3))
            try rig.drain()
        }
        expectPerfect(rig, "\(kind)")
        #expect(offset(rig) == before)
        // Anchors are at most a quarter of the range apart; this rig checks every half hour.
        if kind == .buffered { #expect(renews ? (6...8).contains(rig.renewals) : rig.renewals == 0) }
    }

    /// Three days with one or two packets every ten minutes.
    @Test(arguments: kinds) func threeDaysAreNoLongerThanAMinute(_ kind: StreamKind) throws {
        var rig = try StreamRig(kind, StreamCounters(timestamp: RTPTimestamp(rawValue: 0x7FFF_0000), sequence: 65_500))
        try rig.run(for: .seconds(1))
        try rig.drain()
        let before = offset(rig)
        (rig.ahead, rig.pace) = (.milliseconds(700), .milliseconds(20))
        var frame: Int64 = 0
        while frame < 72 * 3600 * 44100 {
            frame += 601 * 44100 + 7
            try rig.skip(to: frame)
            try rig.run(for: .milliseconds(20))
        }
        try rig.drain()
        expectPerfect(rig, "\(kind)")
        #expect(offset(rig) == before)
    }

    /// Hours of which every packet is sent; the default is six seconds, in which all counters wrap. A debug build takes
    /// minutes per hour:
    /// `TALKIE_VIRTUAL_HOURS=72 swift test -c release -Xswiftc -enable-testing --filter StreamCounterTests`.
    private static let hours = Int64(ProcessInfo.processInfo.environment["TALKIE_VIRTUAL_HOURS"] ?? "")

    @Test(arguments: kinds) func everyPacketOfAsManyHoursAsAreAskedForIsHeardAtItsMoment(_ kind: StreamKind) throws {
        let counters = StreamCounters(
            timestamp: RTPTimestamp(rawValue: 0x7FFF_0000), sequence: 65_500, nonce: (1 << 32) - 500)
        var rig = try StreamRig(kind, counters)
        rig.loses = 101
        let began = HostInstant.now
        try rig.run(for: .seconds(2))
        let before = offset(rig)
        try rig.run(for: Self.hours.map { .seconds($0 * 3600) } ?? .seconds(4))
        try rig.drain()
        expectPerfect(rig, "\(kind)")
        #expect(offset(rig) == before)
        guard let hours = Self.hours else { return }
        print(
            "\(kind): \(rig.heard.frames) frames in \(hours) h of virtual time, \(rig.resent) packets sent again,",
            "\(rig.renewals) anchors given anew, \((HostInstant.now - began).inSeconds) s")
    }
}
