internal import MediaCore

/// Tells how far an item's pictures reach, so that its sound can be made as long.
///
/// Where the container says how long the track of pictures lasts, that is believed; MPEG streams only estimate it, and some
/// containers do not say. There the track's packets are read once more, without decoding, as far as somebody asks.
/// One thread at a time.
struct PictureExtent {
    private let media: any MediaSource
    private let track: Track
    private let stated: MediaTime?
    private var source: (any SampleSource)?
    private var failuresInARow = 0

    /// Containers whose lengths are libavformat's estimates.
    private static let estimating = ["mpegts", "mpeg"]
    /// A picture whose length nobody says, as the decoder takes it.
    private static let usualPicture = MediaTime(value: 1, timescale: 25)
    private static let mostFailures = 1000

    /// Nil when the film has no pictures, or when they cannot be asked: an input that can be read once only is not read for
    /// that.
    init?(_ media: any MediaSource) {
        let summary = media.summary
        guard let track = summary.track(.video) else { return nil }
        self.media = media
        self.track = track
        if let duration = track.duration, summary.sharesReader || !Self.estimating.contains(summary.container) {
            stated = (track.start ?? .zero) + duration
        } else if summary.sharesReader {
            guard summary.track(.audio) == nil, let duration = summary.duration else { return nil }
            stated = duration
        } else {
            stated = nil
        }
    }

    /// An end of pictures that lies behind a frame of sound; nil when there are none behind it. A later call may find
    /// another. Blocks while reading.
    mutating func end(after frame: Int64, rate: Int32) throws(MediaError) -> Int64? {
        if let stated {
            let end = stated.rescaled(to: rate)
            return end > frame ? end : nil
        }
        let source = try opened(at: MediaTime(value: max(0, frame), timescale: rate))
        while true {
            do {
                guard let buffer = try source.read() else { return nil }
                failuresInARow = 0
                guard let end = Self.end(of: buffer)?.rescaled(to: rate), end > frame else { continue }
                return end
            } catch {
                failuresInARow += 1
                if error.code == .damagedPacket, failuresInARow < Self.mostFailures { continue }
                if error.code == .cancelled { throw error }
                // What cannot be read is not seen either.
                return nil
            }
        }
    }

    private mutating func opened(at time: MediaTime) throws(MediaError) -> any SampleSource {
        if let source { return source }
        let fresh = try media.source(for: track)
        if time > .zero {
            do {
                try fresh.seek(to: time, mode: .syncBefore)
            } catch  where error.code == .unsupported {
                // Then it is read from its beginning.
            }
        }
        source = fresh
        return fresh
    }

    private static func end(of buffer: SampleBuffer) -> MediaTime? {
        guard case .encodedVideo(let format, let batch) = buffer.payload else { return nil }
        var latest: MediaTime?
        for packet in batch.packets {
            guard let time = packet.presentationTime ?? packet.decodeTime else { continue }
            var length = packet.duration
            if length <= .zero {
                length =
                    format.frameRate.map {
                        MediaTime(value: Int64($0.denominator), timescale: Int32(clamping: $0.numerator))
                    } ?? usualPicture
            }
            latest = latest.map { max($0, time + length) } ?? (time + length)
        }
        return latest
    }
}
