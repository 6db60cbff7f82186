internal import MediaCore
internal import SyncRendering
internal import Testing

extension RouteContract {
    /// These are audible where the timebase says: a scheduled start, another rate with preserved pitch, a renderer that
    /// is removed at a film time, and the same renderer added again during playback.
    public static func startsSpeedsAndRemovalsFollowTimebase(_ kind: some OpenableRoute) throws {
        let route = try kind.open(seconds: 9, isExact: false)
        // A route whose speed changes late plays more film meanwhile.
        let extra: Double = route.promises.restart > .seconds(1) ? 2 : 0
        let (renderer, synchronizer) = (route.renderer, route.synchronizer)
        // A different tone per part of the film identifies the film time in the recording; at a wrong pitch none would
        // match.
        let film: [(hertz: Int, seconds: Range<Double>)] = [
            (500, 0..<1), (1000, 1..<3 + extra), (2000, 3 + extra..<5 + extra),
        ]
        for part in film {
            renderer.enqueue(
                Tone.buffer(
                    hertz: part.hertz,
                    frames: Int64(part.seconds.lowerBound * 48000)..<Int64(part.seconds.upperBound * 48000)))
        }
        try #require(
            route.wait(atMost: .seconds(20)) { renderer.hasSufficientMediaDataForReliablePlaybackStart },
            "\(route.name): \(renderer.progress)")
        let start = route.now.advanced(by: synchronizer.startLead + .milliseconds(200))
        let first = synchronizer.setRate(1, time: .zero, atHostTime: start).upcoming
        route.run(untilHeard: time(0.5))
        let asked = route.now
        let second = synchronizer.setRate(1.5).upcoming
        #expect(second.hostAnchor - asked <= route.promises.restart, "\(route.name): a change of speed takes too long")
        // Audio enqueued beyond the removal must not be audible.
        let left = Lock<HostInstant?>(nil)
        let clock = synchronizer.clock
        synchronizer.removeRenderer(renderer, at: time(4 + extra)) { isRemoved in
            if isRemoved { left.withLock { $0 = clock.now } }
        }
        let due = try #require(second.hostInstant(of: time(4 + extra)))
        #expect(route.wait(atMost: .seconds(8)) { left.withLock { $0 } != nil }, "\(route.name) was not removed")
        #expect(synchronizer.renderers.isEmpty)
        // Film time continues; the re-added renderer joins at the current position.
        renderer.enqueue(Tone.buffer(hertz: 1200, frames: Int64((4 + extra) * 48000)..<Int64((9 + extra) * 48000)))
        route.addAgain()
        let end = try #require(second.hostInstant(of: time(9 + extra)))
        route.run(until: end.advanced(by: .milliseconds(400)))
        let recording = try route.finish()
        try checkStart(recording, due: start, on: route)

        let all = recording.stretches(of: [500, 750, 1000, 1200, 1500, 1800, 2000, 3000])
        var stretches: [OutputCapture.Stretch] = []
        for stretch in all where stretch.end - stretch.start > 0.05 {
            // A change of rate leaves a hole in a tone.
            if stretch.hertz == stretches.last?.hertz {
                stretches[stretches.count - 1].end = stretch.end
            } else {
                stretches.append(stretch)
            }
        }
        print("\(route.name): \(stretches)")
        #expect(stretches.map(\.hertz) == [500, 1000, 2000, 1200], "\(route.name)")
        /// Returns the deviation of a moment of the recording from its due instant, in milliseconds.
        func error(_ seconds: Double, _ due: HostInstant) -> Double {
            (recording.instant(of: seconds * recording.rate) - Double(due.nanoseconds)) / 1e6
        }
        let bound = 45 * route.promises.factor
        if let boundary = stretches.first(where: { $0.hertz == 2000 }) {
            let begins = error(boundary.start, try #require(second.hostInstant(of: time(3 + extra))))
            let ends = error(boundary.end, due)
            print(
                "\(route.name): at speed 1.5 \(rounded(begins)) ms late, silent \(rounded(ends)) ms after the removal")
            #expect(abs(begins) < bound)
            // The removal takes effect when film time reaches it; the output then discards what it still buffers.
            #expect(ends > -bound && ends < 250, "\(route.name)")
        } else {
            Issue.record("\(route.name): nothing was heard between change and removal: \(stretches)")
        }
        let back = try #require(stretches.last { $0.hertz == 1200 }, "\(route.name) did not come back: \(stretches)")
        let late = error(back.end, end)
        let took = error(back.start, due)
        print("\(route.name): back \(rounded(took)) ms after the removal, ends \(rounded(late)) ms from its instant")
        #expect(abs(late) < bound)
        // Rates of the two timeline segments.
        #expect(first.rate == 1 && second.rate == 1.5)
    }
}
