internal import AirPlayWire
internal import MediaCore

extension SpeakerSession {
    // MARK: Anchors and flushes

    func setAnchor(_ request: RTSPRequest) throws(SessionRefusal) -> Reply {
        guard let body = try? PropertyList(binary: request.body), let rate = body["rate"]?.int64 else {
            throw .badRequest
        }
        guard backend.stream?.kind == .buffered else { throw .wrongState }
        // Only the lowest bit counts, as in shairport-sync.
        guard rate & 1 == 1 else {
            backend.pause()
            return Reply(response: RTSPResponse(status: 200))
        }
        guard let position = body["rtpTime"]?.int64, let seconds = body["networkTimeSecs"]?.int64,
            let fraction = body["networkTimeFrac"]?.uint64,
            let instant = NetworkTime(seconds: seconds, fraction: fraction).instant
        else { throw .badRequest }
        if backend.configuration.quirks.refusesAnchorBeforeLock, !backend.isClockLocked { throw .badRequest }
        backend.play(
            PlayoutAnchor(
                position: RTPTimestamp(rawValue: UInt32(truncatingIfNeeded: position)), instant: instant,
                clock: body["networkTimeTimelineID"]?.uint64))
        return Reply(response: RTSPResponse(status: 200))
    }

    func flushBuffered(_ request: RTSPRequest) throws(SessionRefusal) -> Reply {
        guard let body = try? PropertyList(binary: request.body), let until = body["flushUntilSeq"]?.uint64 else {
            throw .badRequest
        }
        guard backend.stream?.kind == .buffered else { throw .wrongState }
        func sequence(_ value: UInt64) -> UInt32 { UInt32(value % UInt64(BufferedPacketizer.sequenceModulus)) }
        backend.flushBuffered(from: body["flushFromSeq"]?.uint64.map(sequence), until: sequence(until))
        return Reply(response: RTSPResponse(status: 200))
    }

    func flush(_ request: RTSPRequest) throws(SessionRefusal) -> Reply {
        guard backend.stream?.kind == .realtime else { throw .wrongState }
        let fields = (request.headers["RTP-Info"] ?? "").split(separator: ";").map { $0.filter { $0 != " " } }
        guard let field = fields.first(where: { $0.hasPrefix("rtptime=") }), let time = UInt32(field.dropFirst(8))
        else { throw .badRequest }
        backend.flushRealtime(until: RTPTimestamp(rawValue: time))
        return Reply(response: RTSPResponse(status: 200))
    }

    // MARK: Parameters

    func setParameter(_ request: RTSPRequest) -> Reply {
        let type = (request.headers["Content-Type"] ?? "").prefix { $0 != ";" }
        if type == "text/parameters" {
            for line in String(decoding: request.body.prefix(4096), as: UTF8.self).split(whereSeparator: \.isNewline) {
                let parts = line.split(separator: ":", maxSplits: 1).map { $0.filter { $0 != " " } }
                guard parts.count == 2 else { continue }
                switch parts[0] {
                case "volume":
                    guard let decibels = Double(parts[1]), decibels.isFinite else {
                        return Reply(response: RTSPResponse(status: 400, reason: Self.reason(400)))
                    }
                    backend.volume = max(-144, min(0, decibels))
                default: backend.note(.metadata(kind: String(parts[0].prefix(32)), bytes: line.utf8.count))
                }
            }
        } else {
            backend.note(.metadata(kind: String(type.prefix(64)), bytes: request.body.count))
        }
        return Reply(response: RTSPResponse(status: 200))
    }

    func getParameter(_ request: RTSPRequest) -> Reply {
        guard String(decoding: request.body.prefix(64), as: UTF8.self).hasPrefix("volume") else {
            return Reply(response: RTSPResponse(status: 200))
        }
        let body = TextParameters.volume(decibels: backend.volume)
        return Reply(
            response: RTSPResponse(status: 200, headers: ["Content-Type": "text/parameters"], body: body))
    }
}

/// What a speaker says about itself, at `/info` and by mDNS.
struct SpeakerDescription {
    let propertyList: PropertyList
    /// `_airplay._tcp` strings, `key=value`.
    let strings: [String]

    init(_ backend: any SessionBackend) {
        let configuration = backend.configuration
        let identity = backend.identity
        let features = SpeakerIdentity.features(offersPTP: backend.offersPTP, admission: configuration.admission)
        var flags: StatusFlags = [.cableAttached]
        if backend.isBusy { flags.insert(.busy) }
        switch configuration.admission {
        case .open: break
        case .password: flags.insert(.passwordRequired)
        case .pin: flags.insert(.pairingRequired)
        }
        func hex(_ value: UInt64, digits: Int = 1) -> String {
            let text = String(value, radix: 16, uppercase: true)
            return "0x" + String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        let key = identity.pairing.publicKey
        let keyText = key.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        strings = [
            "deviceid=\(identity.deviceID)", "srcvers=\(SpeakerIdentity.sourceVersion)", "model=TalkieSpeaker",
            "manufacturer=Talkie", "protovers=1.1", "acl=0", "pi=\(identity.publicID)", "gid=\(identity.publicID)",
            "gcgl=0", "pk=\(keyText)", "flags=\(hex(flags.rawValue))",
            // Eight digits in the lower half: pyatv joins the halves as text.
            "features=\(hex(features.rawValue & 0xFFFF_FFFF, digits: 8)),\(hex(features.rawValue >> 32))",
        ]
        var record: [UInt8] = []
        for string in strings {
            record.append(UInt8(min(255, string.utf8.count)))
            record += Array(string.utf8.prefix(255))
        }
        let realtime = StreamFormat.lossless44100.mask | 1 << 11
        let buffered = StreamFormat.all.reduce(0) { $0 | $1.mask }
        propertyList = [
            "name": .string(configuration.name), "deviceID": .string(identity.deviceID),
            "pi": .string(identity.publicID), "pk": .data(key), "model": "TalkieSpeaker", "manufacturer": "Talkie",
            "sourceVersion": .string(SpeakerIdentity.sourceVersion), "protocolVersion": "1.1",
            "features": PropertyList(features.rawValue), "statusFlags": PropertyList(flags.rawValue),
            "initialVolume": .real(backend.volume), "volumeControlType": 3,
            "senderAddress": .string(backend.senderAddress), "txtAirPlay": .data(record),
            "supportedFormats": [
                "audioStream": .integer(realtime), "bufferStream": .integer(backend.offersPTP ? buffered : 0),
            ],
            "keepAliveLowPower": true, "keepAliveSendStatsAsBody": true,
        ]
    }
}
