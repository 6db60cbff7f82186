internal import CFFmpeg
internal import MediaCore

/// Seeking in the data of a server without range requests: packets before the target are read and dropped.
extension SharedDemuxer {
    /// The audio kept before the sync frame: decoders need preroll, and containers store audio slightly before its
    /// frame.
    private static let audioPreroll = MediaTime(value: 1, timescale: 1)

    /// Reads to the last position from which the target can be decoded; reopens the input if it is already past.
    ///
    /// Called on the thread that has set `isReading`, after the lanes were reset.
    func readOn(to time: MediaTime, mode: SeekMode, leader: Track) throws(MediaError) -> MediaTime? {
        let fronts = state.withLock { state in
            state.lanes.filter { $0.isActive && $0.track.kind != .subtitle }.compactMap(\.front)
        }
        let isFresh = fronts.isEmpty
        if fronts.allSatisfy({ $0 < time - Self.audioPreroll }) {
            if let landed = try collect(to: time, mode: mode, leader: leader, takesAny: isFresh) { return landed }
            if isFresh { return nil }
        }
        try reopen(for: time, mode: mode)
        return try collect(to: time, mode: mode, leader: leader, takesAny: true)
    }

    /// Returns the film time of the packet at which decoding starts; nil if none was found.
    ///
    /// - Parameter takesAny: Starts with the packets read if no sync frame precedes the target.
    private func collect(to time: MediaTime, mode: SeekMode, leader: Track, takesAny: Bool) throws(MediaError)
        -> MediaTime?
    {
        var landed: MediaTime?
        while let packet = try context.nextPacket() {
            let isThere = state.withLock { state -> Bool in
                let stream = packet.pointee.stream_index
                guard let lane = state.lanes.firstIndex(where: { $0.stream == stream && $0.isActive }) else {
                    return false
                }
                var isThere = false
                if state.lanes[lane].track.id == leader.id,
                    let packetTime = state.lanes[lane].packager.filmTime(of: packet, shift: context.shift)
                {
                    let isSync = leader.kind == .audio || packet.pointee.flags & AV_PKT_FLAG_KEY != 0
                    if isSync, mode == .syncAfter ? packetTime >= time : packetTime <= time {
                        landed = packetTime
                        begin(at: packetTime, lane, &state)
                        isThere = mode == .syncAfter
                    } else if packetTime > time, mode != .syncAfter {
                        if landed == nil, takesAny { landed = packetTime }
                        isThere = true
                    }
                }
                for lane in lane..<state.lanes.count
                where state.lanes[lane].stream == stream && state.lanes[lane].isActive {
                    state.lanes[lane].add(
                        packet, shift: context.shift, isNewRecording: context.gaps == nil,
                        of: context.parameters(of: packet))
                    // A film with a single sync frame would otherwise be buffered completely.
                    if state.lanes[lane].bytes > windowBytes * 2 { state.lanes[lane].loseOldest(downTo: windowBytes) }
                }
                return isThere
            }
            if isThere { return landed }
        }
        let shortfall = context.shortfall()
        state.withLock { state in
            for lane in state.lanes.indices { state.lanes[lane].close() }
            (state.isAtEnd, state.failure) = (shortfall == nil, shortfall)
        }
        return landed
    }

    /// Drops everything before this sync sample of the leading track.
    private func begin(at packetTime: MediaTime, _ leader: Int, _ state: inout State) {
        for lane in state.lanes.indices {
            switch state.lanes[lane].track.kind {
            case .audio: state.lanes[lane].forget(before: packetTime - Self.audioPreroll)
            case .video: state.lanes[lane].forget(before: nil)
            case .subtitle: state.lanes[lane].forget(before: packetTime - SubtitleReader.preroll)
            }
        }
    }
}
