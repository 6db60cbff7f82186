internal import MediaCore
internal import SyncRendering

/// Wakes the player when the synchronizer starts, stops or restarts the timeline. Any thread.
final class TimelineWatch: RenderSynchronizer.Follower {
    private let signal: Signal

    init(_ signal: Signal) { self.signal = signal }

    func timebaseDidChange(_ snapshot: TimebaseSnapshot) { signal.raise() }
    var startLead: Duration { .zero }
    var stopLead: Duration { .zero }
}
