package import MediaCore

/// Tells whether a kiosk does what it is for: pictures reach the screen and sound reaches its outputs. A value; whoever feeds it
/// brings the time.
package struct Liveness: Sendable {
    /// What was seen at one moment.
    package struct Beat: Sendable {
        /// A film is to be seen and heard: neither a pause, nor quiet hours, nor a slate.
        package var isExpected = false
        /// The engine's thread has turned so many times.
        package var turns = 0
        package var hasPicture = false
        /// Pictures presented since the window was opened.
        package var shown = 0
        /// The next picture's time has passed by so much; nil where none is due.
        package var pictureOverdue: Duration?
        /// Pictures are to come and none is decoded.
        package var isStarved = false
        package var hasSound = false
        /// How far sound was accepted by its outputs, ahead of what is heard; nil where no more is to come.
        package var soundAhead: Duration?
        /// The film stands because it is being opened or collects.
        package var isCollecting = false

        package init() {}
    }

    package enum Cause: String, Sendable, CaseIterable {
        case engine = "the player's thread stands still"
        case collecting = "the film does not begin"
        case picture = "no picture reaches the screen"
        case decoder = "no picture is decoded"
        case sound = "no output accepts sound"
    }

    package enum Verdict: Sendable, Equatable {
        /// A picture was presented and sound accepted lately, each where the film has it.
        case alive
        /// Nothing is to be seen or heard, and that is right.
        case offOnPurpose
        case stalled(Cause, since: HostInstant)
    }

    /// Nobody looks at a still picture as long and takes it for a film.
    package static let patience = Duration.seconds(5)
    /// A server may take so long to send the head of a film, and a speaker to answer.
    package static let collectingPatience = Duration.seconds(30)

    private var lastTurns: (count: Int, at: HostInstant)?
    private var troubles: [Cause: HostInstant] = [:]
    package private(set) var verdict = Verdict.offOnPurpose

    package init() {}

    package mutating func note(_ beat: Beat, at now: HostInstant) {
        guard beat.isExpected else {
            (lastTurns, troubles, verdict) = (nil, [:], .offOnPurpose)
            return
        }
        if lastTurns?.count != beat.turns { lastTurns = (beat.turns, now) }
        let present: [Cause: Bool] = [
            .engine: lastTurns.map { now > $0.at } ?? false,
            .collecting: beat.isCollecting,
            .picture: !beat.isCollecting && beat.hasPicture && (beat.pictureOverdue ?? .zero) > .seconds(1),
            .decoder: !beat.isCollecting && beat.hasPicture && beat.isStarved,
            .sound: !beat.isCollecting && beat.hasSound && (beat.soundAhead.map { $0 < .zero } ?? false),
        ]
        for (cause, isPresent) in present { troubles[cause] = isPresent ? troubles[cause] ?? now : nil }
        let stalled = Cause.allCases.first { cause in
            let patience = cause == .collecting ? Self.collectingPatience : Self.patience
            return troubles[cause].map { now - $0 >= patience } ?? false
        }
        verdict = stalled.map { .stalled($0, since: troubles[$0]!) } ?? .alive
    }

    /// Something was repaired: what was seen before says nothing any more.
    package mutating func forgive(at now: HostInstant) {
        troubles = [:]
        lastTurns = nil
    }
}
