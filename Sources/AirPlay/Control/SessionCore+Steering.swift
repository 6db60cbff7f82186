internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Sockets

extension SessionCore {
    /// Sets the loudness; speakers that refuse it are left as they are.
    func setVolume(decibels: Double) throws(AirPlayError) {
        _ = try exchange(
            "SET_PARAMETER", headers: ["Content-Type": "text/parameters"],
            body: TextParameters.volume(decibels: decibels), timeout: Deadline.request)
    }

    /// More characters no display has, and a file may call itself anything.
    private static let longestTitle = 250

    /// Titles; some speakers are silent until they have seen any.
    func setMetadata(title: String, at timestamp: RTPTimestamp) throws(AirPlayError) {
        _ = try exchange(
            "SET_PARAMETER",
            headers: ["Content-Type": "application/x-dmap-tagged", "RTP-Info": "rtptime=\(timestamp.rawValue)"],
            body: TrackMetadata.body(title: String(title.prefix(Self.longestTitle)), artist: "", album: ""),
            timeout: Deadline.metadata)
    }

    /// Why the speaker can never be started: it insists on its clock while another speaker's is followed.
    var isTurnedAway: Bool {
        guard let ptp, let remote else { return false }
        return ptp.isTurnedAway(remote)
    }

    /// The speaker takes no start on our clock: it is left to its own. False when that was tried already.
    func yieldClock() -> Bool {
        guard let ptp, let remote else { return false }
        return ptp.yield(to: remote)
    }

    /// The frame `position` is heard at `instant`, and the others before and after it.
    ///
    /// - Returns: the moment as the speaker was told it, and on what.
    func play(
        _ position: RTPTimestamp, at instant: HostInstant
    ) throws(AirPlayError) -> (moment: PTPInstant, timeline: PTPTimeline) {
        guard let remote, let writer = shared.writer, stream != nil else {
            throw AirPlayError(.outOfOrder, "There is no stream to start.")
        }
        guard let timeline = shared.clock?.timeline else {
            throw AirPlayError(.clockNotReady, "The speaker's own clock is not known yet; try again.")
        }
        let moment = timeline.mapping.target(at: instant)
        let onWire = writer.store.onWire(position)
        isPlaying = true
        if let sender = writer as? RealtimeSender {
            sender.play(.init(position: onWire, moment: moment, grandmaster: timeline.grandmaster))
            configuration.lessons.learn(.played)
            ptp?.setPlaying(true, for: remote)
            return (moment, timeline)
        }
        guard let ptp, let grandmaster = timeline.grandmaster else {
            throw AirPlayError(.outOfOrder, "A buffered stream needs PTP timing.")
        }
        try allowPlaying()
        try anchor(onWire, at: moment, clock: grandmaster)
        configuration.lessons.learn(.played)
        ptp.setPlaying(true, for: remote)
        return (moment, timeline)
    }

    /// The line that a buffered speaker plays by, told by another frame of it.
    func renew(
        _ position: RTPTimestamp, at moment: PTPInstant, on timeline: PTPTimeline
    ) throws(AirPlayError) {
        guard let writer = shared.writer, let grandmaster = timeline.grandmaster, isPlaying else {
            throw AirPlayError(.outOfOrder, "There is no line that could go on.")
        }
        try anchor(writer.store.onWire(position), at: moment, clock: grandmaster)
    }

    private func anchor(
        _ position: RTPTimestamp, at moment: PTPInstant, clock: ClockIdentity
    ) throws(AirPlayError) {
        let body = SessionRequests.play(position: position, at: moment, clock: clock.rawValue)
        let response = try request("SETRATEANCHORTIME", body, timeout: Deadline.request)
        if response.status == 400 {
            throw AirPlayError(
                .clockNotReady, "The speaker has not measured this computer's clock yet; try again.", status: 400)
        }
        _ = try response.accepted("start")
    }

    /// Shairport Sync (git 20260518 and before 6003f8f9 of 30 May 2026) sets the anchor of a first start and only then
    /// its flag that playing is allowed. A thread that looks every millisecond whether there is an anchor divides by the
    /// stream's rate, which it does not know yet, when it finds the one without the other: in one start of ten the
    /// process ends (SIGFPE). With the flag set before, it reads its first packet instead, and the rate with it.
    private func allowPlaying() throws(AirPlayError) {
        guard traits.isShairportSync, !hasAllowedPlaying else { return }
        hasAllowedPlaying = true
        // Whatever it answers: the start itself follows.
        _ = try request("SETRATEANCHORTIME", SessionRequests.allowPlaying(), timeout: Deadline.request)
    }

    /// Silence at once; the sound already sent is kept.
    func pause() throws(AirPlayError) {
        if let ptp, let remote { ptp.setPlaying(false, for: remote) }
        isPlaying = false
        hasAllowedPlaying = false
        if let sender = shared.writer as? RealtimeSender { return try stop(sender) }
        _ = try request("SETRATEANCHORTIME", SessionRequests.pause(), timeout: Deadline.request).accepted("pause")
    }

    /// A speaker that does not measure the path takes our time to be as old as it was when it left; half the
    /// shortest round trip of the TCP connections puts that right as far as the way there is like the way back. The
    /// kernel's figure and not one of `/feedback`: it holds no process's time, and every segment of sound renews it.
    func measurePath() {
        guard let ptp, let remote, let connection else { return }
        let trips = [connection.socket.shortestRoundTrip, shared.writer?.shortestRoundTrip].compactMap { $0 }
        guard let shortest = trips.min() else { return }
        ptp.setPathCorrection(shortest / 2, for: remote)
    }

    /// A realtime stream has no pause: what the speaker holds is taken back, and sent again for the next start.
    func stop(_ sender: RealtimeSender, timeout: Duration = Deadline.request) throws(AirPlayError) {
        sender.halt()
        isPlaying = false
        let next = sender.next
        guard let timestamp = next.timestamp else { return }
        _ = try exchange(
            "FLUSH", headers: ["RTP-Info": "seq=\(next.sequence);rtptime=\(timestamp.rawValue)"], timeout: timeout
        ).accepted("forget its queue")
    }

    /// Everything before this packet is forgotten; a new `play` is needed.
    func flush(until position: PacketStore.Position) throws(AirPlayError) {
        if let sender = shared.writer as? RealtimeSender { return try stop(sender) }
        isPlaying = false
        _ = try request(
            "FLUSHBUFFERED", SessionRequests.flush(untilSequence: position.sequence, timestamp: position.timestamp),
            timeout: Deadline.request
        ).accepted("forget its queue")
    }

    /// The packets between two numbers are left out when they come up; what lies before plays on.
    func forget(from first: PacketStore.Position, until next: PacketStore.Position) throws(AirPlayError) {
        let body = SessionRequests.flush(
            fromSequence: first.sequence, fromTimestamp: first.timestamp, untilSequence: next.sequence,
            untilTimestamp: next.timestamp)
        _ = try request("FLUSHBUFFERED", body, timeout: Deadline.request).accepted("leave out what was queued")
    }

    /// Sends again from the packet that holds `timestamp`; the speaker forgets what it has. False when that packet
    /// is no longer kept, nor any later one.
    func rewind(to timestamp: RTPTimestamp, gap: Int64) throws(AirPlayError) -> Bool {
        guard let writer = shared.writer else { return false }
        writer.halt()
        guard let position = writer.store.rewind(to: timestamp, gap: gap) else { return false }
        writer.wake()
        try flush(until: position)
        return true
    }
}
