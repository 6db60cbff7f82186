package import MediaCore
internal import SyncRendering
internal import Testing

/// The contract of the renderers as test bodies that run on every route: each opens the route, plays a signal in which
/// every moment is identifiable, and analyses the recording.
///
/// Each body opens a route of its own and records issues of the Testing library. `RoutePromises.factor` widens the
/// bounds, which are exact in virtual time.
public enum RouteContract {
    /// Runs all bodies in sequence, about half a minute of playback; in virtual time a second. Needs the program
    /// `ffmpeg`, which encodes the formats.
    ///
    /// - Throws: The first body's reason why it could not continue.
    public static func check(_ kind: some OpenableRoute) throws {
        try rendererRequestsDesiredDepth(kind)
        try startsSpeedsAndRemovalsFollowTimebase(kind)
        try flushedAudioIsSilentAndReplacementJoins(kind)
        try lateFlushIsRefused(kind)
        try formatsJoinWithoutGaps(kind)
    }

    /// Starts at film time 0 as soon as the route has enough data; returns the instant at which that is audible.
    package static func start(_ route: any RecordedRoute) throws -> HostInstant {
        let synchronizer = route.synchronizer
        synchronizer.setRate(1, time: .zero)
        try #require(
            route.wait(atMost: .seconds(20)) { synchronizer.pendingStart?.rate == nil },
            "\(route.name) never has enough for a start: \(route.renderer.progress)")
        return synchronizer.timebase.snapshot.upcoming.hostAnchor
    }

    /// Enqueues a tone in buffers of one second.
    package static func enqueue(_ tone: Tone, _ seconds: Range<Double>, on route: any RecordedRoute) {
        let (first, last) = (Int64(seconds.lowerBound * 48000), Int64(seconds.upperBound * 48000))
        for start in stride(from: first, to: last, by: 48000) {
            route.renderer.enqueue(tone.buffer(frames: start..<min(start + 48000, last)))
        }
    }

    /// Checks how late the first sound is.
    package static func checkStart(_ recording: OutputCapture, due: HostInstant, on route: any RecordedRoute) throws {
        let first = try #require(recording.onset(above: 0.02), "nothing was heard of \(route.name)")
        let late = (recording.instant(of: Double(first)) - Double(due.nanoseconds)) / 1e6
        print("\(route.name): begins \(rounded(late)) ms after its instant")
        #expect(abs(late) < route.promises.startError * route.promises.factor, "\(route.name)")
    }

    package static func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }

    /// Returns a film time; `seconds` is rounded to milliseconds.
    package static func time(_ seconds: Double) -> MediaTime {
        MediaTime(value: Int64((seconds * 1000).rounded()), timescale: 1000)
    }
}
