internal import MediaCore

/// Which of the kept profiles hold for the speakers of one film, and by how much each speaker's sound is moved.
package struct ProfileChoice: Equatable {
    /// A speaker in use.
    package struct Member: Sendable, Equatable {
        /// Empty for a card of which nobody says where it is heard: no profile holds for it.
        package var speaker: String
        package var route: String

        package init(speaker: String, route: String) {
            self.speaker = speaker
            self.route = route
        }
    }

    /// What one speaker gets.
    package struct Use: Equatable {
        /// Nil when nothing was measured for it.
        package var profile: LatencyProfile?
        /// Measured with just this screen and mode.
        package var isExact = false
        /// How much later than uncalibrated its sound is to be; negative is earlier.
        package var correction: Duration = .zero
    }

    package var uses: [Use]

    /// - Parameters:
    ///   - screen: nil while it is not known which screen there will be.
    ///   - profiles: everything that is kept.
    package init(for members: [Member], screen: String?, mode: String?, among profiles: [LatencyProfile]) {
        uses = members.map { member in
            let fitting = profiles.filter {
                !member.speaker.isEmpty && $0.key.speaker == member.speaker && $0.key.route == member.route
                    && !$0.key.isOfUnknownSink
            }
            // Of equally fitting ones the newest; what knows the picture before what knows rooms only.
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
        alignRooms()
    }

    /// Speakers that were aligned in one run stand to each other as found there, whenever each met the picture.
    private mutating func alignRooms() {
        let rooms = uses.map { $0.profile?.room }
        guard uses.count > 1, let run = rooms[0]?.run, rooms.allSatisfy({ $0?.run == run }) else { return }
        // The newest measurement against the picture moves them all; without any, the run's first speaker stays.
        let newest = uses.indices.filter { uses[$0].profile?.offset != nil }.max {
            (uses[$0].profile?.measuredAt ?? 0) < (uses[$1].profile?.measuredAt ?? 0)
        }
        var base = 0.0
        if let newest { base = (uses[newest].profile?.offset ?? 0) - (rooms[newest]?.behindFirst ?? 0) }
        for index in uses.indices {
            uses[index].correction = .zero - Self.duration(base + (rooms[index]?.behindFirst ?? 0))
        }
    }

    private static func duration(_ milliseconds: Double) -> Duration {
        .nanoseconds(Int64(clamping: milliseconds * 1e6, in: .min ... .max))
    }
}
