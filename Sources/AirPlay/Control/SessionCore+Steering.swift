package import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Sockets

extension SessionCore {
    /// Sets the volume in dB. Throws the refusal of a speaker that keeps its own volume.
    package func setVolume(decibels: Double) throws(AirPlayError) {
        _ = try exchange(
            "SET_PARAMETER", headers: ["Content-Type": "text/parameters"],
            body: TextParameters.volume(decibels: decibels), timeout: Deadline.request
        ).accepted("set its volume")
    }

    /// Sends what the speaker displays. Returns false if it refuses.
    ///
    /// Some speakers are silent until they receive a text.
    package func show(_ request: NowPlayingUpdates.Request) throws(AirPlayError) -> Bool {
        let message = request.message
        let response = try exchange(
            message.method, headers: message.headers, body: message.body, timeout: message.timeout,
            target: message.target)
        return (200..<300).contains(response.status)
    }

    /// Starts playback so that the frame `position` is heard at `instant`.
    ///
    /// - Returns: The anchor instant as sent to the speaker, and its timeline.
    func play(
        _ position: RTPTimestamp, at instant: HostInstant
    ) throws(AirPlayError) -> (moment: PTPInstant, timeline: PTPTimeline) {
        guard let remote, let writer = shared.writer, stream != nil else {
            throw AirPlayError(.outOfOrder, "There is no stream to start.")
        }
        guard let timeline = shared.clock?.timeline else {
            throw AirPlayError(.clockNotReady, "The speaker's own clock is not known yet; try again.")
        }
        let time = timeline.mapping.target(at: instant)
        let onWire = writer.store.onWire(position)
        isPlaying = true
        if writer.play(.init(position: onWire, instant: time, grandmaster: timeline.grandmaster)) {
            configuration.observations.record(.played)
            ptp?.setPlaying(true, for: remote)
            return (time, timeline)
        }
        guard let ptp, let grandmaster = timeline.grandmaster else {
            throw AirPlayError(.outOfOrder, "A buffered stream needs PTP timing.")
        }
        try allowPlaying()
        do throws(AirPlayError) { try anchor(onWire, at: time, clock: grandmaster) } catch {
            // It may play nevertheless.
            if error.code == .timedOut { ptp.setPlaying(true, for: remote) }
            throw error
        }
        configuration.observations.record(.played)
        ptp.setPlaying(true, for: remote)
        return (time, timeline)
    }

    /// Renews the anchor of a buffered stream by another frame of the same timeline.
    func renew(
        _ position: RTPTimestamp, at time: PTPInstant, on timeline: PTPTimeline
    ) throws(AirPlayError) {
        guard let writer = shared.writer, let grandmaster = timeline.grandmaster, isPlaying else {
            throw AirPlayError(.outOfOrder, "There is no timeline to continue.")
        }
        try anchor(writer.store.onWire(position), at: time, clock: grandmaster)
    }

    private func anchor(
        _ position: RTPTimestamp, at time: PTPInstant, clock: ClockIdentity
    ) throws(AirPlayError) {
        let body = SessionRequests.play(position: position, at: time, clock: clock.rawValue)
        let response = try request("SETRATEANCHORTIME", body, timeout: Deadline.request)
        if response.status == 400 {
            throw AirPlayError(
                .clockNotReady, "The speaker has not measured this computer's clock yet; try again.", status: 400)
        }
        _ = try response.accepted("start")
    }

    /// Sets the speaker's playing flag before the first anchor, a workaround for a crash of Shairport Sync.
    ///
    /// Affected: git 20260518 and all before 6003f8f9 of 30 May 2026. They set the anchor of a first start before the
    /// flag that allows playing. A thread that polls for the anchor every millisecond then divides by the stream's
    /// rate, which is still unknown. One start in ten ends the process (SIGFPE). With the flag set first, the thread
    /// reads a packet and thereby the rate.
    private func allowPlaying() throws(AirPlayError) {
        guard traits.isShairportSync, !hasAllowedPlaying else { return }
        hasAllowedPlaying = true
        // The response is ignored: the start follows in any case.
        _ = try request("SETRATEANCHORTIME", SessionRequests.allowPlaying(), timeout: Deadline.request)
    }

    /// Pauses at once; sent packets are kept.
    func pause() throws(AirPlayError) {
        if let ptp, let remote { ptp.setPlaying(false, for: remote) }
        isPlaying = false
        hasAllowedPlaying = false
        if try stopPacing() { return }
        _ = try request("SETRATEANCHORTIME", SessionRequests.pause(), timeout: Deadline.request).accepted("pause")
    }

    /// Sets the path delay for speakers that do not measure it: half the shortest TCP round trip.
    ///
    /// Without it such a speaker assumes that our time arrives without delay. The value is exact if both directions
    /// have equal delay. The kernel's figure is used instead of that of `/feedback`: it excludes scheduling, and every
    /// audio segment updates it.
    func measurePath() {
        guard let ptp, let remote, let connection else { return }
        let trips = [connection.socket.shortestRoundTrip, shared.writer?.shortestRoundTrip].compactMap { $0 }
        guard let shortest = trips.min() else { return }
        ptp.setPathCorrection(shortest / 2, for: remote)
    }

    /// Stops a realtime stream, which has no pause: buffered packets are flushed and sent again at the next start.
    ///
    /// - Returns: False for another stream.
    func stopPacing(timeout: Duration = Deadline.request) throws(AirPlayError) -> Bool {
        guard let next = shared.writer?.stop() else { return false }
        isPlaying = false
        guard let timestamp = next.timestamp else { return true }
        _ = try exchange(
            "FLUSH", headers: ["RTP-Info": "seq=\(next.sequence);rtptime=\(timestamp.rawValue)"], timeout: timeout
        ).accepted("clear its queue")
        return true
    }

    /// Discards all packets before this one; a new `play` is required.
    func flush(until position: PacketStore.Position) throws(AirPlayError) {
        if try stopPacing() { return }
        isPlaying = false
        _ = try request(
            "FLUSHBUFFERED", SessionRequests.flush(untilSequence: position.sequence, timestamp: position.timestamp),
            timeout: Deadline.request
        ).accepted("clear its queue")
    }

    /// Makes the speaker skip the packets between two sequence numbers; earlier ones are played.
    func forget(from first: PacketStore.Position, until next: PacketStore.Position) throws(AirPlayError) {
        let body = SessionRequests.flush(
            fromSequence: first.sequence, fromTimestamp: first.timestamp, untilSequence: next.sequence,
            untilTimestamp: next.timestamp)
        _ = try request("FLUSHBUFFERED", body, timeout: Deadline.request).accepted("discard queued audio")
    }

    /// Sends again from the packet that contains `timestamp`; the speaker discards its buffer.
    ///
    /// Returns false if neither that packet nor a later one is kept.
    func rewind(to timestamp: RTPTimestamp, gap: Int64) throws(AirPlayError) -> Bool {
        guard let writer = shared.writer else { return false }
        writer.halt()
        guard let position = writer.store.rewind(to: timestamp, gap: gap) else { return false }
        writer.wake()
        try flush(until: position)
        return true
    }
}
