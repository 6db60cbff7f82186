import AirPlay
import AirPlayTransport
import AirPlayWire
import MediaCore
import PTP
import Testing
import VirtualSpeaker

@testable import RouteTestSupport

/// The sender and the software speaker on one computer; their session logic is independent.
@Suite(.serialized, .timeLimit(.minutes(2)), .repeatedWhenTheMachineStalls) struct LoopTests {
    private static let ports = ClockPorts.pair(0)
    private let identity = SenderIdentity.random(name: "Talkie test")

    private func speaker(
        _ quirks: SpeakerQuirks = SpeakerQuirks(), clock: SpeakerConfiguration.ClockPolicy = .required
    ) throws -> SoftwareSpeaker {
        try SoftwareSpeaker(SpeakerConfiguration(port: 0, clock: clock, ptpPorts: Self.ports, quirks: quirks))
    }

    private func session(_ speaker: SoftwareSpeaker, route: Route = .buffered) -> AirPlaySession {
        var configuration = AirPlaySession.Configuration(
            address: SpeakerAddress(host: "127.0.0.2", port: speaker.port), identity: identity)
        configuration.route = route
        return AirPlaySession(
            configuration,
            clocks: PTPDirectory(identity: identity.clock, eventPort: Self.ports.event, generalPort: Self.ports.general)
        )
    }

    /// Writes seconds of uncompressed ALAC 44.1/16, starting at a position.
    private func write(_ seconds: Int, from start: RTPTimestamp, to session: AirPlaySession) {
        let packet = LosslessEscape.frame((0..<704).map { Int16(truncatingIfNeeded: $0 &* 31) })
        for index in 0..<Int64(seconds * 44100 / 352) {
            let timestamp = start.advanced(byFrames: index * 352)
            while session.write(packet, timestamp: timestamp) == .full {
                HostInstant.now.advanced(by: .milliseconds(1)).sleep()
            }
        }
    }

    private func play(_ start: RTPTimestamp, on session: AirPlaySession) throws -> HostInstant {
        let limit = HostInstant.now.advanced(by: .seconds(8))
        while session.clock.readiness != .ready, HostInstant.now < limit {
            HostInstant.now.advanced(by: .milliseconds(10)).sleep()
        }
        while HostInstant.now < limit {
            let anchor = HostInstant.now.advanced(by: .milliseconds(300))
            if try isAccepted(start, at: anchor, on: session) { return anchor }
            HostInstant.now.advanced(by: .milliseconds(200)).sleep()
        }
        throw AirPlayError(.timedOut, "The speaker took no anchor.")
    }

    /// Starts a session that plays a number of seconds from a position; returns it and the instant at which that
    /// position is audible.
    private func playing(
        _ seconds: Int, from start: RTPTimestamp, on speaker: SoftwareSpeaker, route: Route = .buffered
    ) throws -> (session: AirPlaySession, anchor: HostInstant) {
        let session = session(speaker, route: route)
        _ = try session.connect()
        _ = try session.startStream(.lossless44100)
        write(seconds, from: start, to: session)
        return (session, try play(start, on: session))
    }

    /// Returns false if the speaker requests a retry because its clock is not ready.
    private func isAccepted(_ start: RTPTimestamp, at anchor: HostInstant, on session: AirPlaySession) throws -> Bool {
        do {
            try session.play(start, at: anchor)
            return true
        } catch {
            guard error.code == .clockNotReady else { throw error }
            return false
        }
    }

    /// Returns how far a frame was audible from its due instant, in milliseconds; positive is late.
    private func error(_ speaker: SoftwareSpeaker, _ frame: RTPTimestamp, due: HostInstant) throws -> Double {
        let record = speaker.record
        let arrived = record.wait(until: due.advanced(by: .seconds(3))) { $0.instant(of: frame) != nil }
        try #require(arrived, "the frame was not heard; \(record.events.suffix(8))")
        return (try #require(record.instant(of: frame)) - due).inMilliseconds
    }

    @Test func theAnchoredFrameIsHeardAtItsInstant() throws {
        let speaker = try speaker()
        defer { speaker.stop() }
        let start = RTPTimestamp(rawValue: 0xFFFF_F000)
        let (session, anchor) = try playing(4, from: start, on: speaker)
        defer { session.end() }
        let first = try error(speaker, start, due: anchor)
        let later = try error(speaker, start.advanced(byFrames: 88200), due: anchor.advanced(by: .seconds(2)))
        print("loop: first frame \(first) ms, two seconds later \(later) ms from its moment")
        #expect(abs(first) < 1)
        let played = speaker.record.spans.reduce(0) { $0 + $1.frames }
        #expect(played >= 88200, "a hole in the sound")
        #expect(abs(later) < 1)
    }

    @Test(arguments: [Route.realtime, .realtimeNTP])
    func aRealtimeStreamIsHeardAtItsInstantOnEitherClock(route: Route) throws {
        let speaker = try speaker(clock: route == .realtime ? .required : .never)
        defer { speaker.stop() }
        let start = RTPTimestamp(rawValue: 0xFFFF_F000)
        let (session, anchor) = try playing(4, from: start, on: speaker, route: route)
        defer { session.end() }
        let first = try error(speaker, start, due: anchor)
        let later = try error(speaker, start.advanced(byFrames: 88200), due: anchor.advanced(by: .seconds(2)))
        print("loop, \(route): first frame \(first) ms, two seconds later \(later) ms from its moment")
        #expect(abs(first) < 1)
        #expect(abs(later) < 1)
        #expect(speaker.record.spans.reduce(0) { $0 + $1.frames } >= 80_000, "holes in the sound")
    }

    /// With PTP the speaker subtracts its own delay. With NTP this sender subtracts what the speaker states, true or
    /// not: the rest is for a calibration.
    @Test(arguments: [
        (Route.buffered, "0.25:0"), (.realtime, "0.085:0"), (.realtimeNTP, "0.085:0.085"), (.realtimeNTP, "0.25:0.25"),
        (.realtimeNTP, "0.085:0"),
    ])
    func theStatedOutputLatencyIsSubtractedOnceByOneOfBothEnds(_ route: Route, _ latency: String) throws {
        var quirks = SpeakerQuirks()
        try quirks.set("output-latency=\(latency)")
        try quirks.set("arrival=0.1")
        let isNTP = route == .realtimeNTP
        let speaker = try speaker(quirks, clock: isNTP ? .never : .required)
        defer { speaker.stop() }
        let start = RTPTimestamp(rawValue: 7000)
        let (session, anchor) = try playing(3, from: start, on: speaker, route: route)
        defer { session.end() }
        let numbers = latency.split(separator: ":").map { Double($0)! * 1000 }
        let wrong = isNTP ? numbers[1] - numbers[0] : 0
        let late = try error(speaker, start.advanced(byFrames: 44100), due: anchor.advanced(by: .seconds(1)))
        print("loop, \(route) with \(latency) s: \(late) ms from its moment")
        #expect(abs(late - wrong) < 1)
    }

    @Test func packetsThatGotLostAreSentAgainInTime() throws {
        var quirks = SpeakerQuirks()
        quirks.packetLoss = 0.1
        let speaker = try speaker(quirks)
        defer { speaker.stop() }
        let start = RTPTimestamp(rawValue: 0)
        let (session, anchor) = try playing(4, from: start, on: speaker, route: .realtime)
        defer { session.end() }
        _ = try error(speaker, start.advanced(byFrames: 132_300), due: anchor.advanced(by: .seconds(3)))
        print("loop: \(session.resentPackets) packets were sent again")
        #expect(session.resentPackets > 20)
        let missing = speaker.record.events.filter { if case .lost = $0 { true } else { false } }
        #expect(missing.isEmpty, "\(missing)")
    }

    @Test func aPausedRealtimeStreamIsSilentAndResumesAtItsPosition() throws {
        let speaker = try speaker()
        defer { speaker.stop() }
        let (session, anchor) = try playing(6, from: RTPTimestamp(rawValue: 0), on: speaker, route: .realtime)
        defer { session.end() }
        _ = try error(speaker, RTPTimestamp(rawValue: 22050), due: anchor.advanced(by: .milliseconds(500)))
        let asked = HostInstant.now
        try session.pause()
        #expect(
            speaker.record.wait(until: asked.advanced(by: .seconds(2))) {
                ($0.spans.last?.end ?? asked) - asked < .milliseconds(150)
            })
        let resumed = RTPTimestamp(rawValue: 132_000)
        let again = try play(resumed, on: session)
        #expect(abs(try error(speaker, resumed, due: again)) < 1)
    }

    @Test func anAnchorRefusedBeforeTheLockIsGivenAgain() throws {
        var quirks = SpeakerQuirks()
        quirks.refusesAnchorBeforeLock = true
        quirks.lateClock = .seconds(2)
        let speaker = try speaker(quirks)
        defer { speaker.stop() }
        let (session, anchor) = try playing(2, from: RTPTimestamp(rawValue: 0), on: speaker)
        defer { session.end() }
        #expect(abs(try error(speaker, RTPTimestamp(rawValue: 0), due: anchor)) < 1)
        let refused = speaker.record.events.contains {
            if case .request(method: "SETRATEANCHORTIME", target: _, status: 400) = $0 { true } else { false }
        }
        #expect(refused)
    }

    @Test func theSpeakerHoldsNoMoreThanItSaid() throws {
        var quirks = SpeakerQuirks()
        quirks.bufferSize = 256 << 10
        let speaker = try speaker(quirks)
        defer { speaker.stop() }
        let session = session(speaker)
        defer { session.end() }
        _ = try session.connect()
        #expect(try session.startStream(.lossless44100).bufferSize == 256 << 10)
        // Until playback starts nothing leaves the buffer: the sender fills it and the socket buffers of both ends.
        let packet = LosslessEscape.frame([Int16](repeating: 1, count: 704))
        var written = 0
        let timeout = HostInstant.now.advanced(by: .seconds(2))
        while HostInstant.now < timeout {
            switch session.write(packet, timestamp: RTPTimestamp(rawValue: UInt32(written * 352))) {
            case .accepted: written += 1
            case .full: HostInstant.now.advanced(by: .milliseconds(5)).sleep()
            case .closed: Issue.record("the speaker closed the stream")
            }
        }
        #expect(session.sentBytes > 256 << 10)
        #expect(session.sentBytes < 16 << 20)
        #expect(session.queuedPackets > 0)
    }

    @Test func aPauseIsImmediateAndKeepsTheSession() throws {
        let speaker = try speaker()
        defer { speaker.stop() }
        let (session, anchor) = try playing(6, from: RTPTimestamp(rawValue: 0), on: speaker)
        defer { session.end() }
        _ = try error(speaker, RTPTimestamp(rawValue: 22050), due: anchor.advanced(by: .milliseconds(500)))
        let asked = HostInstant.now
        try session.pause()
        #expect(
            speaker.record.wait(until: asked.advanced(by: .seconds(2))) {
                ($0.spans.last?.end ?? asked) - asked < .milliseconds(150)
            })
        let end = try #require(speaker.record.spans.last?.end)
        #expect((end - asked).inMilliseconds < 150, "silent \((end - asked).inMilliseconds) ms after it was asked for")
        // Decoded audio was discarded; playback resumes at a frame beyond it.
        let resumed = RTPTimestamp(rawValue: 132_000)
        let again = try play(resumed, on: session)
        #expect(abs(try error(speaker, resumed, due: again)) < 1)
    }

    @Test func anotherSenderMayTakeTheSpeakerAndTheFirstIsNotified() throws {
        let speaker = try speaker()
        defer { speaker.stop() }
        let first = session(speaker)
        defer { first.end() }
        _ = try first.connect()
        let clocks = PTPDirectory(
            identity: identity.clock, eventPort: ClockPorts.pair(1).event, generalPort: ClockPorts.pair(1).general)
        let second = AirPlaySession(
            .init(
                address: SpeakerAddress(host: "127.0.0.2", port: speaker.port),
                identity: SenderIdentity.random(name: "Other")), clocks: clocks)
        defer { second.end() }
        _ = try second.connect()
        #expect(speaker.record.events.contains(.takenOver))
        let limit = HostInstant.now.advanced(by: .seconds(5))
        while !first.isLost, HostInstant.now < limit { HostInstant.now.advanced(by: .milliseconds(10)).sleep() }
        #expect(first.isLost)
    }
}
