internal import CFFmpeg
internal import MediaCore

/// Seeks to a film time, independent of the quality of the container's own seeking.
///
/// Containers with an index seek correctly at once. In MPEG systems timestamps are searched in the bytes, and some
/// containers index only one track. There the first packet after the seek is checked, and the seek is repeated further
/// back until it is early enough.
struct SeekPlan {
    let stream: Int32
    let target: MediaTime
    let mode: SeekMode
    let isVideo: Bool
    /// The start of the track.
    private let start: MediaTime
    /// The audio that the decoder needs before the target.
    let preroll: MediaTime

    init(track: Track, stream: Int32, target: MediaTime, mode: SeekMode) {
        self.stream = stream
        self.target = target
        self.mode = mode
        isVideo = track.kind == .video
        start = track.start ?? .zero
        preroll = mode == .syncAfter ? .zero : Self.preroll(for: track.audioFormat)
    }

    /// Returns the audio preroll. Overlapped transforms need the previous block (AAC, AC-3, Vorbis), Opus 80 ms (RFC
    /// 7845, 4.6). MP3 needs up to nine frames for its bit reservoir (ISO 11172-3, 2.4.2.7: main_data_begin reaches 511
    /// bytes back).
    private static func preroll(for format: AudioFormat?) -> MediaTime {
        guard let format else { return .zero }
        let parameters = format.parameters
        if parameters.codec.hasPrefix("pcm_") || parameters.codec == "flac" || parameters.codec == "alac" {
            return .zero
        }
        let stated = MediaTime(
            value: Int64(max(0, parameters.seekPreroll)), timescale: Int32(clamping: format.sampleRate))
        let usual = MediaTime(value: parameters.codec == "mp3" ? 250 : 100, timescale: 1000)
        return max(stated, usual)
    }

    /// Seeks and puts back the first packet to decode. Returns its film time; nil if none was found.
    func run(
        on context: DemuxContext, packager: PacketBatcher, epoch: Int64, jumps: TimestampDiscontinuities
    ) throws(MediaError) -> MediaTime? {
        var back = MediaTime.zero
        for attempt in 0..<8 {
            let isLast = attempt == 7 || target - preroll - back < .zero
            let wanted = isLast && attempt > 0 ? MediaTime(value: -10, timescale: 1) : target - preroll - back
            try position(context, at: wanted, packager: packager, epoch: epoch, jumps: jumps)
            var landed = try readToStart(context, packager)
            if isLast, attempt > 0, try findJumps(in: context, packager, jumps) {
                try position(context, at: target - preroll, packager: packager, epoch: epoch, jumps: jumps)
                landed = try readToStart(context, packager)
                // Otherwise the last sync sample is before the discontinuity.
                if landed.map({ $0 <= target }) ?? false { return landed }
                try context.seek(toByte: 0, at: .zero)
                landed = try readToStart(context, packager)
            }
            if isLast, landed == nil, isVideo, mode != .syncAfter {
                // No sync sample, as where the media was overwritten: the decoder reports the damage.
                try position(context, at: wanted, packager: packager, epoch: epoch, jumps: jumps)
                return try readToStart(context, packager, needsSync: false)
            }
            // Timestamps before the film's start belong to a part after an unknown discontinuity.
            if !isLast, mode != .syncAfter, let reached = landed, reached < start - Self.slack, context.mayJump(jumps) {
                back = back.value == 0 ? MediaTime(value: 1, timescale: 1) : back * 3
                continue
            }
            if mode == .syncAfter || isLast || context.isAtFirstPiece { return landed }
            // No packet: the last sync sample is further back.
            if let landed, landed <= target - preroll { return landed }
            back = back.value == 0 ? MediaTime(value: 1, timescale: 1) : back * 3
        }
        return nil
    }

    /// Reads from the start of a film to the target to find the discontinuities up to there, where a search by
    /// timestamps has failed. Returns true if there are any.
    private func findJumps(
        in context: DemuxContext, _ packager: PacketBatcher, _ jumps: TimestampDiscontinuities
    ) throws(MediaError) -> Bool {
        guard context.mayJump(jumps), target > start + Self.slack else { return false }
        try context.seek(toByte: 0, at: .zero)
        while let packet = try context.nextPacket() {
            guard packet.pointee.stream_index == stream,
                let time = packager.filmTime(of: packet, shift: context.shift)
            else { continue }
            if time >= target { break }
        }
        if jumps.count > 1 { return true }
        try context.seek(toByte: 0, at: .zero)
        _ = try readToStart(context, packager)
        return false
    }

    /// The accepted delay after the target: a track may start slightly after the one used for seeking.
    private static let slack = MediaTime(value: 1, timescale: 1)

    /// Seeks to a position at most about one second after the target, without losing the packets from there on.
    ///
    /// - Parameter packetTime: Returns the film time of a packet that identifies the position; nil for other packets.
    /// - Returns: The film time of the first such packet.
    func runKeeping(
        on context: DemuxContext, packager: PacketBatcher, epoch: Int64, jumps: TimestampDiscontinuities,
        packetTime: (UnsafeMutablePointer<AVPacket>) -> MediaTime?
    ) throws(MediaError) -> MediaTime? {
        var back = MediaTime.zero
        for attempt in 0..<8 {
            let isLast = attempt == 7 || target - back <= .zero
            let wanted = isLast && attempt > 0 ? MediaTime(value: -10, timescale: 1) : target - back
            try position(context, at: wanted, packager: packager, epoch: epoch, jumps: jumps)
            var landed: MediaTime?
            try context.prime { packet in
                landed = packetTime(packet)
                return landed != nil
            }
            if isLast { return landed }
            if let landed, landed <= target + Self.slack { return landed }
            back = back.value == 0 ? MediaTime(value: 1, timescale: 1) : back * 3
        }
        return nil
    }

    private func position(
        _ context: DemuxContext, at time: MediaTime, packager: PacketBatcher, epoch: Int64,
        jumps: TimestampDiscontinuities
    ) throws(MediaError) {
        if jumps.count > 1, context.follower != nil, !context.managesOwnInputs, let size = context.byteCount {
            let search = ByteSearch(stream: stream, packager: packager, jumps: jumps, size: size)
            try search.run(on: context, for: time)
        } else {
            try jump(context, to: time) { packager.clock.raw($0 - context.shift(at: $0)) &- epoch }
        }
    }

    func jump(
        _ context: DemuxContext, to time: MediaTime, raw: (MediaTime) -> Int64
    ) throws(MediaError) {
        do {
            try context.seek(
                stream: stream, to: raw(time), at: time, streamStart: start, flags: AVSEEK_FLAG_BACKWARD)
        } catch {
            if error.code == .cancelled || error.code == .timedOut { throw error }
            do {
                // Some containers cannot seek before their first entry, only forward to it.
                try context.seek(
                    stream: stream, to: raw(time), at: time, streamStart: start, flags: AVSEEK_FLAG_ANY)
            } catch {
                guard context.managesOwnInputs, let start = Self.starts.last, time < start else { throw error }
                try jumpToStart(context, behind: time, error, raw: raw)
            }
        }
    }

    /// Start times to try: libavformat's HLS rejects targets before the first timestamp it has read, which may be
    /// slightly after film time 0.
    private static let starts = [0, 20, 50, 100, 200, 500].map { MediaTime(value: $0, timescale: 1000) }

    private func jumpToStart(
        _ context: DemuxContext, behind time: MediaTime, _ refusal: MediaError, raw: (MediaTime) -> Int64
    ) throws(MediaError) {
        for start in Self.starts where start > time {
            do {
                return try context.seek(stream: stream, to: raw(start), at: start, flags: AVSEEK_FLAG_BACKWARD)
            } catch {
                if error.code == .cancelled || error.code == .timedOut { throw error }
            }
        }
        throw refusal
    }

    /// Reads to the first packet at which decoding can start and puts it back.
    ///
    /// - Parameter needsSync: False: any packet of the track will do.
    private func readToStart(
        _ context: DemuxContext, _ packager: PacketBatcher, needsSync: Bool = true
    ) throws(MediaError) -> MediaTime? {
        // If only some packets have timestamps, libavformat's guesses for the others are unreliable after a seek. Start
        // at a packet with a timestamp.
        let needsStamp = isVideo && packager.clock.wraps
        var passed = 0
        while let packet = try context.nextPacket() {
            guard packet.pointee.stream_index == stream else { continue }
            let time = packager.filmTime(of: packet, shift: context.shift)
            // Streams with gradual refresh have no sync sample: start anywhere after 600 packets.
            let isStamped = !needsStamp || packet.pointee.pts != cff_nopts_value
            let isKey = packet.pointee.flags & AV_PKT_FLAG_KEY != 0 && isStamped
            let isSync = !isVideo || !needsSync || isKey || passed > 600
            let isLateEnough = mode != .syncAfter || time.map { $0 >= target } ?? true
            passed += 1
            if isSync, isLateEnough {
                context.putBack(packet)
                return time
            }
        }
        return nil
    }
}
