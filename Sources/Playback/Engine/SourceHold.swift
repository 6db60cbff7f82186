internal import MediaCore
internal import SyncRendering

/// Decides when the timeline is held because the source of a track delivers too slowly (`BufferingPolicy`), and reports
/// the reason. Confined to the player's thread.
final class SourceHold {
    private var policy = BufferingPolicy()
    /// Host time until a track may underrun, as of the last check.
    private var untilDry: Duration?
    private let context: PlayerContext
    private let tracks: PlaybackTracks
    private let supply: TrackSupply

    init(_ context: PlayerContext, _ tracks: PlaybackTracks, _ supply: TrackSupply) {
        (self.context, self.tracks, self.supply) = (context, tracks, supply)
    }

    /// Whether the timeline is held, or must not start without a reserve.
    var isActive: Bool { policy.isHolding }

    /// How long the player's thread may wait before a track could underrun.
    var timeUntilCheck: Duration {
        guard let untilDry else { return .seconds(1) }
        return untilDry > .zero ? max(.milliseconds(5), untilDry) : .milliseconds(50)
    }

    /// Returns true if a track is about to underrun because its source delivers nothing.
    ///
    /// - Parameter time: The playhead; nil if the timeline is stopped.
    func isDue(at time: MediaTime?) -> Bool {
        untilDry = nil
        guard let time else { return false }
        let supply = reserves(at: time)
        untilDry = supply.untilDry
        return supply.isStarved
    }

    /// Starts a hold, unless one is in progress.
    func begin() { policy.hold(at: context.clock.now) }

    /// Requests the reserve of a hold from a position on and reports its progress.
    func collect(from time: MediaTime) {
        setReserve(from: time)
        report(share: reserves(at: time).share)
    }

    /// Requests every track to read ahead as the hold requires, from a position; nil: only as the renderers require.
    func setReserve(from time: MediaTime?) {
        // A margin, so that the last packet need not end exactly there.
        tracks.setReserve(until: time?.advanced(by: policy.reserve * (context.status.state.speed * 1.01)))
    }

    /// Returns true if a start after a seek may proceed. If the source has proved slow, a reserve is required.
    func permitsStart(of seek: PendingSeek) -> Bool {
        if !policy.isHolding {
            guard isSlow(seek) else { return true }
            policy.hold(at: context.clock.now)
            setReserve(from: seek.target)
        }
        return hasCollected(from: seek.target)
    }

    /// Ends the hold if the tracks have their reserve; otherwise reports the progress.
    func hasCollected(from time: MediaTime) -> Bool {
        let reserves = reserves(at: time)
        var share = reserves.share
        if share < 1, let others = reserves.shareOfOthers, others >= 1, context.list.current?.film.lostServer == nil {
            supply.excuseSilentTracks()
            share = others
        }
        guard policy.release(share: share, at: context.clock.now) else {
            report(share: share)
            return false
        }
        setReserve(from: nil)
        return true
    }

    /// Cancels the hold because of a seek, another item or the end.
    func abandon() {
        guard policy.isHolding else { return }
        policy.abandon(at: context.clock.now)
        setReserve(from: nil)
    }

    /// Returns true if a seek is reported as slow because a source delivers nothing.
    private func isSlow(_ seek: PendingSeek) -> Bool {
        guard !seek.resumes, seek.appointment == nil, context.list.current?.film.summary.isLive == false,
            context.clock.now - seek.began >= BufferingPolicy.slowJump
        else { return false }
        return reserves(at: seek.target).isWaitingForSource
    }

    /// Reports that a seek waits for its source; returns false if it does not.
    func reportIfSlow(_ seek: PendingSeek) -> Bool {
        guard !seek.isCommanded, isSlow(seek) else { return false }
        let isThere = tracks.video.map { !seek.movesVideo || $0.status.seekSerial == seek.serial } ?? true
        report(share: isThere ? reserves(at: seek.target).share : 0)
        return true
    }

    /// Reports the progress: “Waiting for the network: 34 %”.
    private func report(share: Double) {
        let entry = context.list.current
        let percent = min(99, max(0, Int(share * 100)))
        let isFromNetwork = entry.map { Self.isFromNetwork($0.listPosition.opened.address) } ?? false
        var reason = "Waiting for the \(isFromNetwork ? "network" : "file"): \(percent) %"
        if let server = entry?.film.lostServer { reason = "Reconnecting to \(PrintableText.of(server))" }
        context.status.setWait(reason: reason, progress: Double(percent) / 100)
    }

    static func isFromNetwork(_ address: String) -> Bool {
        address.contains("://") && !address.lowercased().hasPrefix("file:")
    }

    private func reserves(at time: MediaTime) -> BufferedSupply {
        supply.reserves(at: time, speed: context.status.state.speed, reserve: policy.reserve)
    }
}
