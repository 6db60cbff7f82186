internal import AirPlayWire
internal import MediaCore
internal import SyncRendering

/// What a speaker displays in a session. Used on the session's control thread.
package final class SpeakerDisplay: Sendable {
    /// What is displayed, and the number of anchors sent so far.
    private let state: Lock<(updates: NowPlayingUpdates, anchors: Int)>

    package init(_ updates: NowPlayingUpdates) { state = Lock((updates, 0)) }

    /// Counts an anchor, with which a speaker shows another position.
    package func countAnchor() { state.withLock { $0.anchors += 1 } }

    /// Sends one due request about the displayed item. Returns whether one was sent; others may be due then.
    ///
    /// Nothing is sent before a pending start, which it would delay, nor to an unresponsive speaker: requests wait for
    /// seconds each, and the first answer to a keep-alive request would be noticed late.
    ///
    /// - Parameter isPlaying: Whether the speaker has an anchor.
    package func update(_ speaker: some SpeakerOutput, with core: some SenderSessionCore, isPlaying: Bool) -> Bool {
        let (context, input) = speaker.state.withLock { ($0.context, $0.input) }
        guard core.isResponsive, let context, let input else { return false }
        // The start that the anchor names may be ahead.
        let segment = context.timebase.snapshot.upcoming
        guard isPlaying == (segment.rate != 0) else { return false }
        let position = segment.mediaTime(at: max(core.host.now, segment.hostAnchor))
        let request = state.withLock { state in
            state.updates.next(
                speaker.nowPlaying,
                on: isPlaying ? .playing(anchor: state.anchors) : .stopped(at: segment.mediaAnchor),
                position: position, rate: segment.rate, timestamp: input.timestampOnWire(audibleAt: position),
                sampleRate: input.format.sampleRate)
        }
        guard let request else { return false }
        do throws(AirPlayError) {
            if try !core.show(request) { state.withLock { $0.updates.recordRefusal(of: request) } }
        } catch {
            // Not repeated: a lost session is reported by its events, and a late response counts.
        }
        return true
    }
}
