internal import MediaCore

/// Determines the end of a video track from its last packets, long before they are decoded: the audio of the next item
/// may be required minutes ahead.
enum VideoEndFinder {
    /// The distance from a sync frame to the end is rarely larger; beyond that the container's duration is used.
    private static let maxPackets = 20_000

    /// Returns the end of the last frame in media time; nil if it cannot be determined. Blocks on the disk or the
    /// network.
    static func find(in film: any MediaSource, _ track: Track, near hint: MediaTime?) -> MediaTime? {
        guard let likely = stated(track) ?? film.summary.duration ?? hint,
            // ignored: the container's word is taken; playing the track reports the failure.
            let source = try? film.source(for: track)
        else { return stated(track) }
        var last: (time: MediaTime, length: MediaTime)?
        do throws(MediaError) {
            try source.seek(to: likely, mode: .syncBefore)
            for _ in 0..<maxPackets {
                guard let buffer = try next(source) else {
                    return last.map { $0.time + $0.length } ?? stated(track)
                }
                guard !buffer.flags.contains(.decodeOnly), let time = buffer.presentationTime else { continue }
                if last.map({ time > $0.time }) ?? true {
                    let before = last?.time
                    last = (time, length(of: buffer, after: before, track))
                }
            }
        } catch {
            // An incomplete file plays as far as its data.
            return error.isIncomplete ? last.map { $0.time + $0.length } ?? stated(track) : stated(track)
        }
        return stated(track)
    }

    private static func next(_ source: any SampleSource) throws(MediaError) -> SampleBuffer? {
        for _ in 0..<100 {
            do throws(MediaError) { return try source.read() } catch {
                if !error.isRecoverable { throw error }
            }
        }
        throw MediaError(.readFailed, "the end of the film is damaged; its duration is taken from the container")
    }

    /// Returns the duration of a frame as the decoder will: that of the packet, otherwise one frame at the nominal
    /// rate.
    private static func length(of buffer: SampleBuffer, after before: MediaTime?, _ track: Track) -> MediaTime {
        if buffer.duration > .zero { return buffer.duration }
        if let rate = track.videoFormat?.frameRate, let time = buffer.presentationTime {
            let ticks = Int64(clamping: Double(time.timescale) / rate.value, in: 1...Int64(Int32.max) * 10)
            return MediaTime(value: ticks, timescale: time.timescale)
        }
        if let before, let time = buffer.presentationTime { return time - before }
        return MediaTime(value: 1, timescale: 25)
    }

    private static func stated(_ track: Track) -> MediaTime? { track.duration.map { (track.start ?? .zero) + $0 } }
}
