internal import MediaCore

/// Finds out where a film's pictures end, from the last packets of its track, long before they are decoded: the sound of the
/// next film may be wanted minutes ahead.
enum VideoEndFinder {
    /// From a sync picture to the end is seldom more; what is larger is left to the container's word.
    private static let mostPackets = 20_000

    /// Film time just after the last picture; nil when nobody can say. Blocks while a disk or a network answers.
    static func find(in film: any MediaSource, _ track: Track, near hint: MediaTime?) -> MediaTime? {
        guard let likely = stated(track) ?? film.summary.duration ?? hint, let source = try? film.source(for: track)
        else { return stated(track) }
        var last: (time: MediaTime, length: MediaTime)?
        do throws(MediaError) {
            try source.seek(to: likely, mode: .syncBefore)
            for _ in 0..<mostPackets {
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
            // What is there of an incomplete file is played.
            return error.code == .incomplete ? last.map { $0.time + $0.length } ?? stated(track) : stated(track)
        }
        return stated(track)
    }

    private static func next(_ source: any SampleSource) throws(MediaError) -> SampleBuffer? {
        for _ in 0..<100 {
            do throws(MediaError) { return try source.read() } catch {
                if !error.isRecoverable { throw error }
            }
        }
        throw MediaError(.readFailed, "the end of the film is damaged; its length is what the container says")
    }

    /// As the decoder will say it: what the packet says, else one picture at the nominal rate.
    private static func length(of buffer: SampleBuffer, after before: MediaTime?, _ track: Track) -> MediaTime {
        if buffer.duration > .zero { return buffer.duration }
        if let rate = track.videoFormat?.frameRate, let time = buffer.presentationTime {
            let ticks = Int64((Double(time.timescale) / rate.value).rounded())
            return MediaTime(value: max(1, ticks), timescale: time.timescale)
        }
        if let before, let time = buffer.presentationTime { return time - before }
        return MediaTime(value: 1, timescale: 25)
    }

    private static func stated(_ track: Track) -> MediaTime? { track.duration.map { (track.start ?? .zero) + $0 } }
}
