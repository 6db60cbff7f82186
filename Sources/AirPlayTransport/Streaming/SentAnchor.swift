package import MediaCore
package import PTP
package import SyncRendering

/// An anchor sent to a speaker: media time `media`, which is frame `position`, is heard at `instant` of its clock. From
/// there media time advances by `speed`.
///
/// It is never modified; its place on this computer's clock follows from the current timeline.
package struct SentAnchor: Hashable, Sendable {
    package var media: MediaTime
    /// The timestamp of `media`, without rewind shifts.
    package var position: RTPTimestamp
    package var instant: PTPInstant
    package var speed: Double
    /// The epoch of the timeline when it was sent.
    package var epoch: UInt64
    /// The generation of the timebase and the requested delay that it was last compared with.
    package var generation: UInt64
    package var delay: Duration

    package init(
        media: MediaTime, position: RTPTimestamp, instant: PTPInstant, speed: Double, epoch: UInt64, generation: UInt64,
        delay: Duration
    ) {
        (self.media, self.position, self.instant, self.speed) = (media, position, instant, speed)
        (self.epoch, self.generation, self.delay) = (epoch, generation, delay)
    }

    /// Returns the segment in host time; nil if the speaker's clock has been replaced since.
    package func segment(on timeline: PTPTimeline, at now: HostInstant) -> TimebaseSegment? {
        guard epoch == timeline.epoch else { return nil }
        let elapsed = instant.duration(to: timeline.mapping.target(at: now)).wholeNanoseconds
        let film = speed == 1 ? elapsed : Int64(clamping: Double(elapsed) * speed, in: .min ... .max)
        return TimebaseSegment(
            mediaAnchor: media + MediaTime(nanoseconds: film), hostAnchor: now,
            rate: speed * (1 + timeline.mapping.rateOffset), speed: speed)
    }

    /// Returns the default maximum age of an anchor: a quarter of the timestamp range, 6.2 h at 48 kHz. Receivers
    /// extrapolate up to half of it.
    package static func longestReach(sampleRate: Int) -> Duration { .seconds((1 << 30) / max(1, sampleRate)) }

    /// Returns the same timeline with an anchor within the next second; nil unless this one is older than `reach`.
    ///
    /// Whole seconds are whole frames, so the timeline is identical to the nanosecond.
    package func renewed(at now: PTPInstant, sampleRate: Int, reach: Duration) -> SentAnchor? {
        let age = instant.duration(to: now)
        guard age > reach else { return nil }
        let seconds = age.components.seconds + 1
        var anchor = self
        anchor.position = position.advanced(byFrames: seconds * Int64(sampleRate))
        anchor.instant = instant.advanced(by: .seconds(seconds))
        let film =
            speed == 1
            ? MediaTime(value: seconds, timescale: 1)
            : MediaTime(nanoseconds: Int64(clamping: Double(seconds) * speed * 1e9, in: .min ... .max))
        anchor.media = media + film
        return anchor
    }

    /// Returns the time difference to another segment; 3600 s if the speeds differ or it cannot be computed.
    package func distance(to line: TimebaseSegment, on timeline: PTPTimeline, at now: HostInstant) -> Duration {
        guard speed == line.speed, let own = segment(on: timeline, at: now) else { return .seconds(3600) }
        let instant = max(line.hostAnchor, now)
        guard let expected = own.hostInstant(of: line.mediaTime(at: instant)) else { return .seconds(3600) }
        let difference = instant - expected
        return max(difference, .zero - difference)
    }
}
