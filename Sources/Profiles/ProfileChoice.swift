internal import MediaCore
package import SyncRendering

/// Selects the stored profiles for the outputs in use, and computes their audio delays.
package struct ProfileChoice: Equatable {
    /// An output in use.
    package struct Member: Sendable, Equatable {
        /// Empty for a sound card without a known sink; no profile applies to it.
        var speaker: String
        var route: String
        /// The present delay of a sound server's port, in milliseconds, which the output compensates; nil if unknown.
        var portOffset: Double?

        /// - Parameter latency: What the output states now, if it is open.
        package init(speaker: String, route: String, latency: OutputLatency? = nil) {
            self.speaker = speaker
            self.route = route
            portOffset = latency?.shares.first { $0.name == "port offset" }?.duration.inMilliseconds
        }
    }

    /// The profile and delay of one output.
    package struct Use: Equatable {
        /// Nil if there is no measurement for it.
        package var profile: LatencyProfile?
        /// True if measured with the current screen and mode.
        package var isExact = false
        /// Delay to add to its audio; negative values advance it.
        package var correction: Duration = .zero
    }

    /// One element per member, in order.
    package var uses: [Use]

    /// Selects profiles.
    ///
    /// - Parameters:
    ///   - screen: nil while the screen is unknown.
    ///   - profiles: all stored profiles.
    package init(for members: [Member], screen: String?, mode: String?, among profiles: [LatencyProfile]) {
        let fitting = members.map { member in
            profiles.filter {
                !member.speaker.isEmpty && $0.key.speaker == member.speaker && $0.key.route == member.route
                    && !$0.key.isOfUnknownSink
            }.map { $0.adjusted(toPortOffset: member.portOffset) }
        }
        uses = fitting.map { fitting in
            // Prefers profiles with a video offset over room differences, then the best match, then the newest.
            let best = fitting.max { one, other in
                func rank(_ profile: LatencyProfile) -> (Int, Int, Int64) {
                    (profile.offset == nil ? 0 : 1, profile.key.likeness(to: screen, mode: mode), profile.measuredAt)
                }
                return rank(one) < rank(other)
            }
            return Use(profile: best, isExact: best?.key.screen == screen && best?.key.mode == mode)
        }
        for index in uses.indices {
            if let offset = uses[index].profile?.offset { uses[index].correction = .zero - Self.duration(offset) }
        }
        alignRooms(fitting)
    }

    /// Outputs aligned in one run keep the differences of that run, whenever and with whatever display each was
    /// measured against video. The newest run that all have counts.
    ///
    /// - Parameter fitting: the profiles of each output's speaker and route.
    private mutating func alignRooms(_ fitting: [[LatencyProfile]]) {
        guard uses.count > 1 else { return }
        let runs = fitting[0].compactMap(\.datedRoom).sorted { $0.measuredAt ?? 0 > $1.measuredAt ?? 0 }.map(\.run)
        guard let run = runs.first(where: { run in fitting.allSatisfy { $0.contains { $0.room?.run == run } } }) else {
            return
        }
        let behindFirst = fitting.map { $0.first { $0.room?.run == run }?.room?.behindFirst ?? 0 }
        // The newest measurement against video applies to all. Without any, the run's first speaker is the reference.
        let newest = uses.indices.filter { uses[$0].profile?.offset != nil }.max {
            (uses[$0].profile?.measuredAt ?? 0) < (uses[$1].profile?.measuredAt ?? 0)
        }
        let base = newest.map { (uses[$0].profile?.offset ?? 0) - behindFirst[$0] } ?? 0
        for index in uses.indices { uses[index].correction = .zero - Self.duration(base + behindFirst[index]) }
    }

    private static func duration(_ milliseconds: Double) -> Duration {
        .nanoseconds(Int64(clamping: milliseconds * 1e6, in: .min ... .max))
    }
}

extension LatencyProfile {
    /// Returns the profile for an output whose port's offset the desktop's user may have changed since: the output
    /// compensates the present one, and the profile contains the rest beyond the former. Unchanged if one is unknown.
    fileprivate func adjusted(toPortOffset now: Double?) -> LatencyProfile {
        guard let now, let then = shares.first(where: { $0.name == LatencyLedger.portOffset })?.milliseconds else {
            return self
        }
        var profile = self
        profile.offset = offset.map { $0 - (now - then) }
        profile.audioRest -= now - then
        profile.room?.behindFirst -= now - then
        return profile
    }
}
