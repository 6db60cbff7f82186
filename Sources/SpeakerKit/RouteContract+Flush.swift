internal import MediaCore
internal import SyncRendering
internal import Testing

extension RouteContract {
    /// Waits until the lead before a film time remains, then flushes from that time. Returns the result and how long it
    /// took.
    private static func flush(
        _ route: any RecordedRoute, from second: Double, lead: Duration
    ) throws -> (result: PartialFlushResult, took: Duration) {
        let due = try #require(route.synchronizer.timebase.snapshot.upcoming.hostInstant(of: time(second)))
        route.run(until: due.advanced(by: .zero - lead))
        let answer = Lock<PartialFlushResult?>(nil)
        let asked = route.now
        route.renderer.requestFlush(fromSourceTime: time(second)) { result in answer.withLock { $0 = result } }
        let isAnswered = route.wait(atMost: .seconds(5)) { answer.withLock { $0 } != nil }
        try #require(isAnswered, "\(route.name): no answer")
        return (try #require(answer.withLock { $0 }), route.now - asked)
    }

    /// Flushed audio of a playing route is not audible, and its replacement joins without a gap.
    ///
    /// - Parameter lead: nil is the minimum that the route guarantees.
    public static func flushedAudioIsSilentAndReplacementJoins(_ kind: some OpenableRoute, lead: Duration? = nil) throws
    {
        let route = try kind.open(seconds: 6, isExact: true)
        let lead = lead ?? route.promises.flushLead
        let end = lead > .milliseconds(800) ? 3.0 : 2
        enqueue(.kept, 0..<end, on: route)
        enqueue(.removed, end..<(end + 4), on: route)
        let start = try start(route)
        let (result, took) = try flush(route, from: end, lead: lead)
        print("\(route.name), lead \(lead.inMilliseconds) ms: \(result) after \(took.inMilliseconds) ms")
        #expect(result == .flushed(from: time(end)))
        enqueue(.following, end..<(end + 2), on: route)
        route.renderer.finish()
        route.run(until: start.advanced(by: .milliseconds(Int64(end * 1000) + 2500)))
        let recording = try route.finish()
        try checkJoint(recording, kept: end, following: 2, factor: route.promises.factor, route.name)
    }

    /// Checks the boundary between kept and replacement audio.
    ///
    /// - Parameters:
    ///   - kept: seconds of the tone before the boundary.
    ///   - following: seconds of the tone after the boundary.
    ///   - factor: for the bounds, 1 where they are exact.
    package static func checkJoint(
        _ recording: OutputCapture, kept: Double, following: Double, factor: Double, _ name: String
    ) throws {
        let stretches = recording.stretches(of: Tone.allCases.map(\.rawValue))
        print("\(name): \(stretches)")
        #expect(!stretches.contains { $0.hertz == Tone.removed.rawValue }, "\(stretches)")
        let after = stretches.filter { $0.hertz == Tone.following.rawValue }.reduce(0) { $0 + $1.end - $1.start }
        #expect(after > following - 0.05 * factor && after < following + 0.05, "\(stretches)")
        try #require(stretches.map(\.hertz) == [Tone.kept.rawValue, Tone.following.rawValue], "\(stretches)")
        #expect(abs(stretches[1].start - stretches[0].end) < 0.045)
        #expect(abs(stretches[0].end - stretches[0].start - kept) < 0.05 * factor)
        let error = recording.jointError(stretches[0], stretches[1])
        print("\(name): joint error \(error) samples")
        #expect(abs(error) < 1.5 * factor)
    }

    /// A flush that is too late changes nothing, and the result reports the required lead.
    public static func lateFlushIsRefused(_ kind: some OpenableRoute) throws {
        let route = try kind.open(seconds: 4, isExact: false)
        let end = 2.0
        enqueue(.kept, 0..<end, on: route)
        enqueue(.removed, end..<(end + 1.5), on: route)
        route.renderer.finish()
        let start = try start(route)
        let lead = route.promises.refusedFlushLead
        let (result, took) = try flush(route, from: end, lead: lead)
        print("\(route.name), lead \(lead.inMilliseconds) ms: \(result) after \(took.inMilliseconds) ms")
        guard case .refused(let needed?) = result else {
            Issue.record("\(route.name): \(result)")
            return
        }
        #expect(needed <= route.promises.maxFlushLead)
        #expect(took < .milliseconds(300))
        route.run(until: start.advanced(by: .milliseconds(4000)))
        let stretches = try route.finish().stretches(of: Tone.allCases.map(\.rawValue))
        #expect(stretches.last?.hertz == Tone.removed.rawValue, "\(stretches)")
        let heard = stretches.filter { $0.hertz == Tone.removed.rawValue }.reduce(0) { $0 + $1.end - $1.start }
        #expect(heard > 1.5 - 0.05 * route.promises.factor, "\(stretches)")
        #expect(stretches.count == 2, "\(stretches)")
    }
}
