package import MediaCore

/// A clock that takes part in timing, as described in SETUP.
package struct TimingPeer: Hashable, Sendable {
    /// An upper-case UUID.
    var identifier: String
    /// The PTP clock identity.
    var clock: UInt64
    var addresses: [String]

    package init(identifier: String, clock: UInt64, addresses: [String]) {
        self.identifier = identifier
        self.clock = clock
        self.addresses = addresses
    }

    /// The dictionary in SETUP.
    var propertyList: PropertyList {
        [
            "ID": .string(identifier), "DeviceType": 0, "ClockID": .integer(Int64(bitPattern: clock)),
            "SupportsClockPortMatchingOverride": false, "Addresses": .array(addresses.map { .string($0) }),
        ]
    }
}

/// Builds the bodies of the session requests; each is a binary property list.
package enum SessionRequests {
    /// The timing protocol of a session.
    package enum Timing: Hashable, Sendable {
        case ptp(TimingPeer)
        /// The receiver sends timing requests to this UDP port of the sender.
        case ntp(port: UInt16)
    }

    /// Returns the first SETUP.
    ///
    /// - Parameters:
    ///   - deviceID: eight bytes as `A1:B2:…`, equal to `clock` of the timing peer.
    ///   - session: an upper-case UUID, new for each connection.
    ///   - group: an upper-case UUID, shared by all receivers that play in sync.
    package static func setUp(
        deviceID: String, macAddress: String, session: String, group: String, name: String, timing: Timing
    ) -> PropertyList {
        var members: [String: PropertyList] = [
            "deviceID": .string(deviceID), "macAddress": .string(macAddress),
            "sessionUUID": .string(session), "groupUUID": .string(group), "groupContainsGroupLeader": false,
            "isMultiSelectAirPlay": true, "name": .string(name),
        ]
        switch timing {
        case .ptp(let peer):
            members["timingProtocol"] = "PTP"
            members["timingPeerInfo"] = peer.propertyList
            members["timingPeerList"] = .array([peer.propertyList])
        case .ntp(let port):
            members["timingProtocol"] = "NTP"
            members["timingPort"] = .integer(Int64(port))
        }
        return .dictionary(members)
    }

    /// Returns the second SETUP for a buffered stream. `latencyMin` and `latencyMax` are omitted: Sonos adds the latter
    /// to every anchor.
    package static func setUpBufferedStream(
        format: StreamFormat, key: SecretBytes, controlPort: UInt16, connection: UInt32
    ) -> PropertyList {
        stream(type: 103, format: format, key: key, controlPort: controlPort, connection: connection, extra: [:])
    }

    /// Returns the second SETUP for a realtime stream; the receiver chooses a latency of 0.25 to 2 s.
    package static func setUpRealtimeStream(
        format: StreamFormat, key: SecretBytes, controlPort: UInt16, connection: UInt32
    ) -> PropertyList {
        stream(
            type: 96, format: format, key: key, controlPort: controlPort, connection: connection,
            extra: ["latencyMin": 11025, "latencyMax": 88200])
    }

    private static func stream(
        type: Int64, format: StreamFormat, key: SecretBytes, controlPort: UInt16, connection: UInt32,
        extra: [String: PropertyList]
    ) -> PropertyList {
        var members: [String: PropertyList] = [
            "type": .integer(type), "audioFormat": .integer(format.mask), "ct": .integer(format.compressionType),
            "spf": .integer(Int64(format.framesPerPacket)), "sr": .integer(Int64(format.sampleRate)),
            "shk": .data(key.withBytes { Array($0) }), "controlPort": .integer(Int64(controlPort)),
            "audioMode": "default", "isMedia": true, "supportsDynamicStreamID": false,
            "streamConnectionID": .integer(Int64(connection)),
        ]
        members.merge(extra) { _, new in new }
        return ["streams": [.dictionary(members)]]
    }

    /// SETPEERS: the addresses of all participants, receivers first.
    package static func peers(_ addresses: [String]) -> PropertyList { .array(addresses.map { .string($0) }) }

    /// SETRATEANCHORTIME with rate 1: frame `position` is audible at `instant` on the timeline of `clock`.
    package static func play(position: RTPTimestamp, at instant: PTPInstant, clock: UInt64) -> PropertyList {
        let time = NetworkTime(instant)
        // Receivers parse the two 64-bit numbers as signed.
        return [
            "rate": 1, "rtpTime": .integer(Int64(position.rawValue)), "networkTimeSecs": .integer(time.seconds),
            "networkTimeFrac": .integer(Int64(bitPattern: time.fraction)),
            "networkTimeTimelineID": .integer(Int64(bitPattern: clock)), "networkTimeFlags": 0,
        ]
    }

    /// SETRATEANCHORTIME with rate 1 and no anchor: playback starts when the anchor follows.
    package static func allowPlaying() -> PropertyList { ["rate": 1] }

    /// SETRATEANCHORTIME with rate 0: silence immediately; the receiver discards its anchor.
    package static func pause() -> PropertyList { ["rate": 0] }

    /// FLUSHBUFFERED, immediate: discards everything before this packet.
    package static func flush(untilSequence sequence: UInt32, timestamp: RTPTimestamp) -> PropertyList {
        [
            "flushUntilSeq": .integer(Int64(sequence)), "flushUntilTS": .integer(Int64(timestamp.rawValue)),
        ]
    }

    /// FLUSHBUFFERED, deferred: keeps packets before `fromSequence`, discards from there up to `untilSequence`.
    package static func flush(
        fromSequence: UInt32, fromTimestamp: RTPTimestamp, untilSequence: UInt32, untilTimestamp: RTPTimestamp
    ) -> PropertyList {
        [
            "flushFromSeq": .integer(Int64(fromSequence)), "flushFromTS": .integer(Int64(fromTimestamp.rawValue)),
            "flushUntilSeq": .integer(Int64(untilSequence)), "flushUntilTS": .integer(Int64(untilTimestamp.rawValue)),
        ]
    }

    /// TEARDOWN of the session. The body must be a property list: shairport-sync ignores the request otherwise.
    package static func tearDown() -> PropertyList { [:] }

    /// TEARDOWN of one stream.
    package static func tearDown(type: Int64, stream: Int64?) -> PropertyList {
        var members: [String: PropertyList] = ["type": .integer(type)]
        if let stream { members["streamID"] = .integer(stream) }
        return ["streams": [.dictionary(members)]]
    }
}
