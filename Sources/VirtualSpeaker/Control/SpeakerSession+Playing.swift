internal import AirPlayWire
internal import MediaCore

extension SpeakerSession {
    // MARK: Anchors and flushes

    mutating func setAnchor(_ request: RTSPRequest) throws(SessionRefusal) -> Reply {
        // ignored: the response reports a bad request.
        guard let body = try? PropertyList(binary: request.body), let rate = body["rate"]?.int64 else {
            throw .badRequest
        }
        guard backend.stream?.kind == .buffered else { throw .wrongState }
        // shairport-sync evaluates only the lowest bit.
        guard rate & 1 == 1 else {
            isPlayingAllowed = false
            backend.pause()
            return Reply(response: RTSPResponse(status: 200))
        }
        if body["networkTimeSecs"] == nil {
            isPlayingAllowed = true
            return Reply(response: RTSPResponse(status: 200))
        }
        if backend.configuration.quirks.endsUnlessAllowed, !isPlayingAllowed {
            backend.record(.died)
            return Reply(response: RTSPResponse(status: 500), closes: true)
        }
        guard let position = body["rtpTime"]?.int64, let seconds = body["networkTimeSecs"]?.int64,
            let fraction = body["networkTimeFrac"]?.uint64,
            let instant = NetworkTime(seconds: seconds, fraction: fraction).instant
        else { throw .badRequest }
        let clock = body["networkTimeTimelineID"]?.uint64
        if backend.configuration.quirks.ownClock != nil, clock != backend.identity.clock { throw .badRequest }
        if backend.configuration.quirks.refusesAnchorBeforeLock, !backend.isClockLocked { throw .badRequest }
        let anchor = PlayoutAnchor(
            position: RTPTimestamp(rawValue: UInt32(truncatingIfNeeded: position)), instant: instant, clock: clock)
        // Status 400 as for an unknown clock; the sender may retry with another anchor.
        guard backend.play(anchor) else { throw .badRequest }
        return Reply(response: RTSPResponse(status: 200))
    }

    func flushBuffered(_ request: RTSPRequest) throws(SessionRefusal) -> Reply {
        // ignored: the response reports a bad request.
        guard let body = try? PropertyList(binary: request.body), let until = body["flushUntilSeq"]?.uint64 else {
            throw .badRequest
        }
        guard backend.stream?.kind == .buffered else { throw .wrongState }
        func sequence(_ value: UInt64) -> UInt32 { SequenceCircle.buffered.number(value) }
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
                let fields = line.split(separator: ":", maxSplits: 1).map { $0.filter { $0 != " " } }
                guard fields.count == 2 else { continue }
                switch fields[0] {
                case "volume":
                    guard let decibels = Double(fields[1]), decibels.isFinite else {
                        return Reply(response: RTSPResponse(status: 400, reason: Self.reason(400)))
                    }
                    backend.volume = max(-144, min(0, decibels))
                case "progress":
                    guard let (start, now, end) = TextParameters.progress(in: fields[1]) else {
                        return Reply(response: RTSPResponse(status: 400, reason: Self.reason(400)))
                    }
                    backend.record(.progress(start: start, now: now, end: end))
                default: backend.record(.metadata(kind: String(fields[0].prefix(32)), bytes: line.utf8.count))
                }
            }
        } else {
            backend.record(.metadata(kind: String(type.prefix(64)), bytes: request.body.count))
            if type == "application/x-dmap-tagged", let track = TrackMetadata(body: request.body) {
                backend.record(
                    .track(title: track.title, artist: track.artist, album: track.album, duration: track.duration))
            }
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
