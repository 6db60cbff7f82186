package import MediaCore

/// Decides whether a kiosk shows what it should: media time advances, and pictures are presented or sound is accepted. A value; the caller
/// provides the time.
package struct Liveness: Sendable {
    /// One observation.
    package struct Beat: Sendable {
        /// An item is to be seen and heard: neither a pause, nor quiet hours, nor a slate.
        package var isExpected = false
        /// The number of iterations of the player's thread.
        package var turns = 0
        /// The position in the item, as it is reported.
        package var position = MediaTime.zero
        /// The item is a picture file: nothing but its position changes.
        package var isStill = false
        /// The item has moving pictures, and there is a visible window for them.
        package var hasPicture = false
        /// The number of pictures presented since the window was opened.
        package var shown = 0
        /// The time between two pictures of the item; nil where it does not say.
        package var picturePeriod: Duration?
        /// The next picture's time has passed by so much; nil where none is due.
        package var pictureOverdue: Duration?
        /// Pictures are to come and none is decoded.
        package var isStarved = false
        package var hasSound = false
        /// How far sound was accepted by its outputs, ahead of what is heard; nil where no more is to come.
        package var soundAhead: Duration?
        /// The end of the last sound that was read. A hole is crossed by one packet, although its silence is accepted bit by bit.
        package var soundRead: MediaTime?
        /// Sound was read to its end and is not heard to its end yet.
        package var isSoundPlayingOut = false
        /// Playback waits: the item is being opened, or data is missing.
        package var isWaiting = false
        /// The film is read up to here; nil before anything was read.
        package var readUntil: MediaTime?
        /// How long it may wait; longer for a wall, which has appointments ahead.
        package var waitingTimeout = Liveness.waitingTimeout

        package init() {}
    }

    package enum Cause: String, Sendable, CaseIterable {
        case engine = "the player's thread does not run"
        case waiting = "the film does not arrive"
        case frozen = "the position in the film does not advance"
        case picture = "no picture reaches the screen"
        case decoder = "no picture is decoded"
        case sound = "no output accepts sound"
        case hole = "neither picture nor sound comes"
    }

    package enum Verdict: Sendable, Equatable {
        /// Media time advances, and pictures or sound with it.
        case alive
        /// Nothing is to be seen or heard, and that is right.
        case offOnPurpose
        case stalled(Cause, since: HostInstant)
    }

    /// How long playback may make no progress.
    package static let timeout = Duration.seconds(5)
    /// The same after a first repair: two repairs that do not help leave an item `waitingTimeout`.
    package static let repairTimeout = Duration.seconds(4)
    /// How long an item may wait for its data before the next one is played.
    package static let waitingTimeout = Duration.seconds(15)
    /// The longest time without a picture that a low frame rate allows: twice the period of one picture a minute.
    private static let maxPictureTimeout = Duration.seconds(120)
    /// A repair has helped when the position advances in so many observations in a row: a seek alone presents one picture.
    private static let provingBeats = 3

    private var lastTurns: (count: Int, at: HostInstant)?
    private var lastPosition: (position: MediaTime, at: HostInstant)?
    private var lastMedia: (shown: Int, soundRead: MediaTime?, at: HostInstant)?
    private var lastArrival: (readUntil: MediaTime?, at: HostInstant)?
    private var troubles: [Cause: HostInstant] = [:]
    private var advances = 0
    package private(set) var verdict = Verdict.offOnPurpose
    /// What is wrong, until a repair has proved that it helped.
    package private(set) var fault: (cause: Cause, since: HostInstant)?

    package init() {}

    package mutating func note(_ beat: Beat, at now: HostInstant) {
        guard beat.isExpected else {
            startOver()
            return
        }
        if lastTurns?.count != beat.turns { lastTurns = (beat.turns, now) }
        if lastArrival.map({ !beat.isWaiting || $0.readUntil != beat.readUntil }) ?? true {
            lastArrival = (beat.readUntil, now)
        }
        let isPlaying = !beat.isWaiting
        let hasAdvanced = lastPosition?.position != beat.position
        if hasAdvanced || beat.isWaiting { lastPosition = (beat.position, now) }
        let hasMedia =
            !beat.hasPicture || beat.isStill || beat.isSoundPlayingOut || lastMedia?.shown != beat.shown
            || lastMedia?.soundRead != beat.soundRead
        let isOverdue = isPlaying && beat.hasPicture && (beat.pictureOverdue ?? .zero) > .milliseconds(500)
        // Pictures that are due and not presented are the screen's fault, not a hole in the film.
        if hasMedia || beat.isWaiting || isOverdue { lastMedia = (beat.shown, beat.soundRead, now) }
        troubles[.engine] = lastTurns.flatMap { now > $0.at ? $0.at : nil }
        troubles[.waiting] = beat.isWaiting ? troubles[.waiting] ?? now : nil
        troubles[.frozen] = lastPosition.flatMap { isPlaying && now > $0.at ? $0.at : nil }
        troubles[.hole] = lastMedia.flatMap { isPlaying && now > $0.at ? $0.at : nil }
        let present: [Cause: Bool] = [
            .picture: isOverdue,
            .decoder: isPlaying && beat.hasPicture && beat.isStarved,
            .sound: isPlaying && beat.hasSound && (beat.soundAhead.map { $0 < .zero } ?? false),
        ]
        for (cause, isPresent) in present { troubles[cause] = isPresent ? troubles[cause] ?? now : nil }
        let stalled = Cause.allCases.first { cause in
            troubles[cause].map { now - $0 >= timeout(of: cause, beat) } ?? false
        }
        verdict = stalled.map { .stalled($0, since: troubles[$0]!) } ?? .alive
        advances = hasAdvanced && hasMedia && isPlaying && !isOverdue ? advances + 1 : 0
        if let stalled {
            if fault?.cause != stalled { fault = (stalled, fault?.since ?? troubles[stalled]!) }
            advances = 0
        } else if advances >= Self.provingBeats {
            fault = nil
        }
    }

    private func timeout(of cause: Cause, _ beat: Beat) -> Duration {
        let timeout = fault == nil ? Self.timeout : Self.repairTimeout
        return switch cause {
        case .waiting: beat.waitingTimeout
        // A second has passed before the observation that notices it.
        case .picture: Self.repairTimeout
        // A film of one picture in ten seconds is no frozen one. The file states the period, which may be weeks.
        case .hole, .decoder: max(timeout, min((beat.picturePeriod ?? .zero) * 2, Self.maxPictureTimeout))
        default: timeout
        }
    }

    /// Since when playback has been waiting for its data; nil while it does not.
    package var waitingSince: HostInstant? { troubles[.waiting] }

    /// Returns true when no repair has helped for as long as one item may hold the screen.
    package func isOverdue(at now: HostInstant) -> Bool { fault.map { now - $0.since >= Self.waitingTimeout } ?? false }

    /// Returns true when data of the item has arrived, or was not waited for, within `span`.
    package func hasArrived(within span: Duration, at now: HostInstant) -> Bool {
        lastArrival.map { now - $0.at < span } ?? true
    }

    /// Something was repaired: what was observed before does not count any more. `fault` stays until the repair has helped.
    package mutating func forgive(at now: HostInstant) {
        troubles = [:]
        lastTurns?.at = now
        lastPosition?.at = now
        lastMedia?.at = now
    }

    /// Another item is played.
    package mutating func startOver() { self = Liveness() }
}
