package import MediaCore

/// One clock that takes part in timing, as SETUP describes it.
package struct TimingPeer: Hashable, Sendable {
    /// An upper-case UUID.
    package var identifier: String
    /// The PTP clock identity.
    package var clock: UInt64
    package var addresses: [String]

    package init(identifier: String, clock: UInt64, addresses: [String]) {
        self.identifier = identifier
        self.clock = clock
        self.addresses = addresses
    }

    var propertyList: PropertyList {
        [
            "ID": .string(identifier), "DeviceType": 0, "ClockID": .integer(Int64(bitPattern: clock)),
            "SupportsClockPortMatchingOverride": false, "Addresses": .array(addresses.map { .string($0) }),
        ]
    }
}

/// The bodies of the requests that make, steer and end a session. Each is a binary property list.
package enum SessionRequests {
    /// Whose time a session runs on.
    package enum Timing: Hashable, Sendable {
        case ptp(TimingPeer)
        /// The receiver asks at this UDP port of ours.
        case ntp(port: UInt16)
    }

    /// The first SETUP.
    ///
    /// - Parameters:
    ///   - deviceID: eight bytes as `A1:B2:…`, the identity that `clock` of the peer also has.
    ///   - session: an upper-case UUID, new for each connection.
    ///   - group: an upper-case UUID, one for all speakers that play together.
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

    /// The second SETUP, for a buffered stream. `latencyMin` and `latencyMax` are left out: Sonos adds the latter to
    /// every anchor.
    package static func setUpBufferedStream(
        format: StreamFormat, key: SecretBytes, controlPort: UInt16, connection: UInt32
    ) -> PropertyList {
        stream(type: 103, format: format, key: key, controlPort: controlPort, connection: connection, extra: [:])
    }

    /// The second SETUP, for a realtime stream whose depth the receiver may choose between 0.25 and 2 s.
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

    /// SETPEERS: every address that takes part, receivers first.
    package static func peers(_ addresses: [String]) -> PropertyList { .array(addresses.map { .string($0) }) }

    /// SETRATEANCHORTIME with rate 1: the frame `position` is heard at `instant` on the timeline of `clock`.
    package static func play(position: RTPTimestamp, at instant: PTPInstant, clock: UInt64) -> PropertyList {
        let time = NetworkTime(instant)
        // Receivers read the two 64-bit numbers as signed ones.
        return [
            "rate": 1, "rtpTime": .integer(Int64(position.rawValue)), "networkTimeSecs": .integer(time.seconds),
            "networkTimeFrac": .integer(Int64(bitPattern: time.fraction)),
            "networkTimeTimelineID": .integer(Int64(bitPattern: clock)), "networkTimeFlags": 0,
        ]
    }

    /// SETRATEANCHORTIME with rate 1 and no anchor: playing is allowed from now on, and begins with the anchor.
    package static func allowPlaying() -> PropertyList { ["rate": 1] }

    /// SETRATEANCHORTIME with rate 0: silence at once; the receiver forgets its anchor.
    package static func pause() -> PropertyList { ["rate": 0] }

    /// FLUSHBUFFERED at once: forget everything before this packet.
    package static func flush(untilSequence sequence: UInt32, timestamp: RTPTimestamp) -> PropertyList {
        [
            "flushUntilSeq": .integer(Int64(sequence)), "flushUntilTS": .integer(Int64(timestamp.rawValue)),
        ]
    }

    /// FLUSHBUFFERED later: keep what lies before `fromSequence`, forget from there up to `untilSequence`.
    package static func flush(
        fromSequence: UInt32, fromTimestamp: RTPTimestamp, untilSequence: UInt32, untilTimestamp: RTPTimestamp
    ) -> PropertyList {
        [
            "flushFromSeq": .integer(Int64(fromSequence)), "flushFromTS": .integer(Int64(fromTimestamp.rawValue)),
            "flushUntilSeq": .integer(Int64(untilSequence)), "flushUntilTS": .integer(Int64(untilTimestamp.rawValue)),
        ]
    }

    /// TEARDOWN of everything. The body must be a property list: without one shairport-sync does nothing.
    package static func tearDown() -> PropertyList { [:] }

    /// TEARDOWN of one stream.
    package static func tearDown(type: Int64, stream: Int64?) -> PropertyList {
        var members: [String: PropertyList] = ["type": .integer(type)]
        if let stream { members["streamID"] = .integer(stream) }
        return ["streams": [.dictionary(members)]]
    }
}
