internal import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import SyncRendering

/// The requests of a session that a flush of the end of a stream needs. Used on the control thread.
protocol CuttableStream: AnyObject {
    /// Whether the speaker has an anchor and was not stopped since.
    var isPlaying: Bool { get }
    var isLost: Bool { get }
    var startLeads: StartLeads { get }
    /// Makes the speaker skip the packets between two sequence numbers; earlier ones are played.
    func forget(from first: PacketStore.Position, until next: PacketStore.Position) throws(AirPlayError)
    /// Sends again from the packet that contains `timestamp`. Returns false if none is kept from there on.
    func rewind(to timestamp: RTPTimestamp, gap: Int64) throws(AirPlayError) -> Bool
}

/// A flush of the end of a stream: in the store, and at the speaker.
///
/// A buffered speaker is asked to skip packets by sequence number (FLUSHBUFFERED with a start). The replacement packets
/// carry the same timestamps, so that the anchor stays valid and the boundary is exact to the sample. A realtime stream
/// is cut in its unsent part.
struct StreamCut {
    /// Audio that the speaker has already decoded and will play.
    ///
    /// That of shairport-sync is due within its desired buffer length (0.75 s) plus a tenth of a second. The value is
    /// unknown for others.
    private static let decodeAhead: Duration = .milliseconds(850)
    /// Maximum clock difference between both ends while the speaker's clock settles.
    private static let clockSlack: Duration = .milliseconds(20)
    /// Covers request and response, so that the response proves that the speaker received it in time.
    private static let requestLead: Duration = .seconds(1)
    /// How far the sending thread can be ahead of the nominal queue depth.
    private static let realtimeSlack: Duration = .milliseconds(20)

    /// The outcome: what was dropped, or the lead that would have sufficed.
    struct Outcome: Equatable {
        /// The lead needed, if nothing was dropped.
        var refusal: Duration?
        /// The first dropped packet; nil if there was none.
        var truncated: PacketStore.DroppedPacket?
        /// Until when the speaker holds the request; nil without one.
        var heldUntil: HostInstant?
        /// Whether the speaker needs all remaining packets and another anchor.
        var voidsAnchor = false
    }

    /// The timestamp of the requested media time.
    let timestamp: RTPTimestamp
    let input: StreamInput
    let timebase: Timebase
    let host: any HostClock
    let route: Route
    /// Determines the queue depth of a realtime stream.
    let stated: StatedLatency
    /// Whether the speaker is known to skip packets and has space for another request.
    let skipsPackets: Bool

    /// Returns the time ahead of the playhead at which a flush must begin: the queue depth of a realtime stream,
    /// otherwise 1 s.
    static func lead(_ route: Route, _ stated: StatedLatency) -> Duration {
        guard route != .buffered else { return requestLead }
        return RealtimeSender.depth(arrivalToRender: stated.arrivalToRender) + stated.subtracted + realtimeSlack
    }

    /// Performs the flush. The store may be left held.
    ///
    /// - Parameter stream: Nil without a session: a speaker that rejoins receives only the remaining packets.
    func run(on stream: (any CuttableStream)?) -> Outcome {
        let store = input.store
        if let stream, stream.isPlaying, route != .buffered {
            guard let truncated = store.dropUnsent(from: timestamp, frames: input.format.framesPerPacket) else {
                return Outcome(refusal: Self.lead(route, stated))
            }
            return Outcome(truncated: truncated)
        }
        store.setHeld(true)
        let cut = store.cut(at: timestamp, frames: input.format.framesPerPacket)
        switch cut {
        case .nothing, .unsent: return Outcome(truncated: store.drop(cut))
        case .sent(let sent):
            guard let stream, stream.isPlaying else {
                // The speaker holds packets without playing: it discards all and receives the remaining ones.
                let truncated = store.drop(cut)
                // ignored: the next session starts from the store.
                if let stream { try? startAgain(stream, from: timebase.currentTime) }
                return Outcome(truncated: truncated)
            }
            return recall(sent, cut, stream)
        }
    }

    /// Flushes packets that a playing speaker has already received.
    private func recall(_ sent: PacketCut.Sent, _ cut: PacketCut, _ stream: any CuttableStream) -> Outcome {
        let snapshot = timebase.snapshot
        let segment = snapshot.upcoming.rate > 0 ? snapshot.upcoming : snapshot.current
        let began = host.now
        let reach = Self.decodeAhead + Self.clockSlack
        guard let media = input.timestamps.media(of: sent.timestamp), let due = segment.hostInstant(of: media),
            due - began > reach
        else { return Outcome(refusal: Self.requestLead) }
        guard skipsPackets else {
            // Skipping is untested on this model. A restart is audible as a short gap.
            let truncated = input.store.drop(cut)
            // ignored: a lost connection is replaced, and the new session sends the remaining packets.
            try? startAgain(stream, from: segment.mediaTime(at: began.advanced(by: stream.startLeads.request)))
            return Outcome(truncated: truncated, voidsAnchor: true)
        }
        do throws(AirPlayError) {
            try stream.forget(from: sent.from, until: sent.until)
            if due - host.now > reach { return Outcome(truncated: input.store.drop(cut), heldUntil: due) }
        } catch {
            if stream.isLost { return Outcome(truncated: input.store.drop(cut)) }
        }
        // Unknown whether the speaker skipped the packets. It receives everything again, unchanged.
        return Outcome(refusal: Self.requestLead + (host.now - began), voidsAnchor: true)
    }

    private func startAgain(_ stream: any CuttableStream, from time: MediaTime) throws(AirPlayError) {
        input.store.setHeld(false)
        guard let position = input.timestamps.bound(of: time, rate: 1) else { return }
        _ = try stream.rewind(to: position, gap: input.timestamps.rewindGap)
    }
}

/// The state of the last flush of the end of a stream, and the requests that the speaker holds.
struct StreamCutRecord: Sendable {
    /// shairport-sync keeps ten such requests and silently drops further ones.
    private static let maxHeld = 8

    /// The result of the last flush; nil while it is undecided.
    private(set) var result: PartialFlushResult?
    /// After `flushed`: the packet that spans the requested time; nil if none does.
    private(set) var truncated: PacketBatch?
    /// The due instants of packets to skip, one per request.
    private var held: [HostInstant] = []

    /// Begins another flush.
    mutating func begin() { (result, truncated) = (nil, nil) }

    mutating func decide(_ result: PartialFlushResult, truncated: PacketBatch? = nil) {
        (self.result, self.truncated) = (result, truncated)
    }

    /// Records a request that the speaker holds until an instant.
    mutating func hold(until due: HostInstant) { held.append(due) }

    /// Forgets the requests, which the speaker drops at a full flush.
    mutating func releaseAll() { held.removeAll() }

    /// Returns whether the speaker has space for another request.
    mutating func hasSpace(at now: HostInstant) -> Bool {
        held.removeAll { $0 < now }
        return held.count < Self.maxHeld
    }
}

extension SessionCore: CuttableStream {}
