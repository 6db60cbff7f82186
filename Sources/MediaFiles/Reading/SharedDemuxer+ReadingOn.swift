internal import CFFmpeg
internal import MediaCore

/// Winding where a server sends a film from its start only: what lies before the target is read and given up.
extension SharedDemuxer {
    /// Sound that is kept before the sync picture: decoders want some, and containers put it a little before its picture.
    private static let soundKept = MediaTime(value: 1, timescale: 1)

    /// Reads on to the last place from which the target can be decoded; to one that was passed, from the start once more.
    ///
    /// Called by the thread that reads, with lanes that were reset.
    func readOn(to time: MediaTime, mode: SeekMode, leader: Track) throws(MediaError) -> MediaTime? {
        let fronts = state.withLock { state in
            state.lanes.filter { $0.isActive && $0.track.kind != .subtitle }.compactMap(\.front)
        }
        let isFresh = fronts.isEmpty
        if fronts.allSatisfy({ $0 < time - Self.soundKept }) {
            if let landed = try collect(to: time, mode: mode, leader: leader, takesAny: isFresh) { return landed }
            if isFresh { return nil }
        }
        try reopen(for: time, mode: mode)
        return try collect(to: time, mode: mode, leader: leader, takesAny: true)
    }

    /// - Parameter takesAny: begins with what was read where no sync picture lies before the target.
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
                    let moment = state.lanes[lane].packager.filmTime(of: packet, shift: context.shift)
                {
                    let isSync = leader.kind == .audio || packet.pointee.flags & AV_PKT_FLAG_KEY != 0
                    if isSync, mode == .syncAfter ? moment >= time : moment <= time {
                        landed = moment
                        begin(at: moment, lane, &state)
                        isThere = mode == .syncAfter
                    } else if moment > time, mode != .syncAfter {
                        if landed == nil, takesAny { landed = moment }
                        isThere = true
                    }
                }
                state.lanes[lane].add(packet, shift: context.shift, isNewRecording: context.gaps == nil)
                // A film with a single sync picture would be kept whole.
                if state.lanes[lane].bytes > windowBytes * 2 { state.lanes[lane].loseOldest(downTo: windowBytes) }
                return isThere
            }
            if isThere { return landed }
        }
        state.withLock { state in
            for lane in state.lanes.indices { state.lanes[lane].close() }
            state.isAtEnd = true
        }
        return landed
    }

    /// Everything before this sync sample of the leading track is of no use.
    private func begin(at moment: MediaTime, _ leader: Int, _ state: inout State) {
        for lane in state.lanes.indices {
            switch state.lanes[lane].track.kind {
            case .audio: state.lanes[lane].forget(before: moment - Self.soundKept)
            case .video: state.lanes[lane].forget(before: nil)
            case .subtitle: state.lanes[lane].forget(before: moment - SubtitleReader.preroll)
            }
        }
    }
}
