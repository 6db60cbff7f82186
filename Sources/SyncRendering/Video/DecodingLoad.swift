package import MediaCore

/// Keeps decoding in time on a slow machine: the conversion becomes less precise, the skip policy changes, and frames
/// that come too late are dropped before the screen would have to. Confined to the decoding thread.
package struct DecodingLoad {
    /// The shortest and the longest distance of a skip from the playhead.
    private static let skips = Duration.milliseconds(100)...Duration.seconds(1)
    /// The decoder returns sync frames only if its frames are later than this: they may be ten seconds apart.
    private static let longestDelay = Duration.seconds(1)
    /// The frames that wait at the screen, below which the conversion is fast, and from which it is precise again.
    private static let waiting = (few: 2, enough: 4)

    /// The timeline of the layer at the last step; no frame is late without one.
    private var timebase: Timebase?
    /// The log for dropped frames.
    private var events: EventLog?
    /// The end of the last decoded frame on the timeline; nil after a discontinuity.
    package var lastEnd: MediaTime?
    private var policy = SkipPolicySelector()
    /// Whether the decoder returned sync frames only before the last step.
    private var wasSyncOnly = false
    /// The skip policy before fast playback exceeded the screen's frame rate; nil otherwise.
    private var unhurried: SkipPolicy?
    /// Frames that the decoder skipped before one that is not due yet: reported as dropped when it is.
    private var skipped: [(count: Int, from: MediaTime, until: MediaTime)] = []
    /// Whether the decoder skips to a frame that can be in time.
    private var isSkipping = false
    /// The distance of the last skip from the playhead; doubled by each frame that is late in spite of it.
    private var skipDistance = DecodingLoad.skips.lowerBound

    package init() {}

    /// Forgets all observations, for a seek.
    package mutating func reset() {
        (lastEnd, skipped, isSkipping, skipDistance) = (nil, [], false, Self.skips.lowerBound)
        (policy, wasSyncOnly) = (SkipPolicySelector(), false)
    }

    /// Prepares the next step of a decoder: reduces the quality of the conversion while few frames wait at the screen,
    /// before any is late. The step may end the skip policy `syncOnly` at a sync frame that is not late.
    ///
    /// - Parameter offset: The timeline minus the media time of the frames.
    package mutating func prepare(_ frames: FrameDecoder, for layer: DisplayLayer, offset: MediaTime = .zero) {
        (timebase, events) = layer.timeline
        let (decoder, rate) = (frames.decoder, timebase?.rate ?? 0)
        let limit = decoder.prefersFastConversion ? Self.waiting.enough : Self.waiting.few
        decoder.prefersFastConversion = rate > 0 && layer.count < limit
        endSyncOnly(decoder)
        if wasSyncOnly { frames.playhead = rate > 0 ? timebase.map { $0.currentTime - offset } : nil }
        reportSkipped()
    }

    private mutating func endSyncOnly(_ decoder: any VideoFrameDecoder) {
        if wasSyncOnly, decoder.skipPolicy > .syncOnly { policy.reset() }
        wasSyncOnly = decoder.skipPolicy == .syncOnly
    }

    /// Adapts the skip policy to a decoded frame on the timeline, and returns true if it can be shown in time.
    package mutating func admits(
        _ frame: SampleBuffer, of frames: FrameDecoder, to layer: DisplayLayer, offset: MediaTime = .zero
    ) -> Bool {
        let delay = delay(of: frame)
        let followsSkip = isSkipping
        endSyncOnly(frames.decoder)
        adaptPolicy(to: frame, delay, of: frames.decoder)
        wasSyncOnly = frames.decoder.skipPolicy == .syncOnly
        guard let delay, frame.isExpired(after: delay.host, delay.media), !layer.awaitsFirst else { return true }
        drop(frame, delay, frames, offset: offset, again: followsSkip)
        return false
    }

    /// Returns how late a decoded frame is, in host and media time; nil while the timeline is stopped.
    private func delay(of frame: SampleBuffer) -> (host: Duration, media: Duration)? {
        guard let timebase, timebase.rate > 0, let start = frame.presentationTime else { return nil }
        let media = (timebase.currentTime - start).duration
        return (media / timebase.rate, media)
    }

    /// Drops a frame that cannot be shown in time, and lets the decoder skip those that would be late as well: they are
    /// neither converted nor, if no other frame needs them, decoded.
    private mutating func drop(
        _ frame: SampleBuffer, _ delay: (host: Duration, media: Duration), _ frames: FrameDecoder,
        offset: MediaTime, again: Bool
    ) {
        guard let start = frame.presentationTime else { return }
        events?.append(.framesDropped(count: 1, at: start, reason: .late))
        guard frames.decoder.skipPolicy > .syncOnly else { return }
        // As far ahead as the decoder is behind: enough for one that skips twice as fast as the film is played. Farther
        // if that was not enough, also where the conversion of one frame lasts longer than several frames.
        skipDistance = min(max(delay.media, again ? skipDistance * 2 : skipDistance), Self.skips.upperBound)
        isSkipping = frames.decoder.skipForward(to: (start - offset).advanced(by: delay.media + skipDistance))
    }

    // MARK: Skip policy

    /// Adapts the skip policy: first no deblocking, then no non-reference frames, then sync frames only.
    private mutating func adaptPolicy(
        to frame: SampleBuffer, _ delay: (host: Duration, media: Duration)?, of decoder: any VideoFrameDecoder
    ) {
        recordSkipped(before: frame, decoder)
        let followsSkip = isSkipping
        isSkipping = false
        guard let timebase, let delay, let end = frame.end else { return }
        let step =
            switch policy.advice(end: end, now: timebase.currentTime, followsSkip: followsSkip) {
            case .same: 0
            case .less: decoder.skipPolicy > .referencesOnly || delay.host > Self.longestDelay ? -1 : 0
            case .more: 1
            }
        if step > 0 { skipDistance = Self.skips.lowerBound }
        if step != 0, let skipPolicy = SkipPolicy(rawValue: decoder.skipPolicy.rawValue + step) {
            decoder.skipPolicy = skipPolicy
        }
        hurry(decoder, with: frame, at: timebase.rate)
    }

    /// Skips non-reference frames in fast playback whose frame rate exceeds that of screens, before the machine is
    /// overloaded.
    private mutating func hurry(_ decoder: any VideoFrameDecoder, with frame: SampleBuffer, at rate: Double) {
        if SkipPolicySelector.isHurried(frame.duration, at: rate) {
            unhurried = unhurried ?? decoder.skipPolicy
            decoder.skipPolicy = min(decoder.skipPolicy, .referencesOnly)
        } else if let before = unhurried.take() {
            decoder.skipPolicy = before
        }
    }

    /// Records skipped frames, which are visible as gaps in media time.
    private mutating func recordSkipped(before frame: SampleBuffer, _ decoder: any VideoFrameDecoder) {
        defer { lastEnd = frame.end }
        guard isSkipping || decoder.skipPolicy < .plain, let lastEnd, let time = frame.presentationTime else { return }
        let count = SkipPolicySelector.missing(from: lastEnd, to: time, each: frame.duration)
        if count > 0 { skipped.append((count, lastEnd, time)) }
        reportSkipped()
    }

    /// Reports the skipped frames whose time has passed. With sync frames only, seconds are skipped in advance.
    package mutating func reportSkipped() {
        guard !skipped.isEmpty, let now = timebase?.currentTime else { return }
        while let first = skipped.first, first.until <= now {
            skipped.removeFirst()
            events?.append(.framesDropped(count: first.count, at: first.from, reason: .skippedDecoding))
        }
    }
}
