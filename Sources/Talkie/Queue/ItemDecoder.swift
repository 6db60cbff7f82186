internal import MediaCore
internal import SyncRendering

/// Reads and decodes the sound of one item into blocks that follow one another without a gap. One thread at a time.
///
/// Frame 0 is the item's film time 0. Where its sound begins later, or has a hole, there is silence; what is there twice is
/// left out. Encoder delay and padding are cut off by the decoder. Where pictures are shown, silence follows until the last of
/// them ends, and an item without sound is nothing but silence.
final class ItemDecoder {
    private let source: (any SampleSource)?
    private let converter: (any PCMConverter)?
    private var pictures: PictureExtent?
    private let format: PCMFormat
    private let scratch: PCMBlock
    /// Frames given out, counted from the item's beginning, and those at its head that are not wanted.
    private(set) var position: Int64
    private var scratchUsed = 0
    private var silence: Int64 = 0
    private var hasEnded = false
    private var failuresInARow = 0

    /// Less than this is rounding of a container's times, not a hole.
    private static let seam: Double = 0.002
    /// A hole that claims to be longer is a damaged time, not silence.
    private static let longestSilence: Double = 600
    private static let mostFailures = 100

    /// - Parameters:
    ///   - start: the item's frame to begin with.
    ///   - showsPictures: whether the item lasts as long as its pictures do.
    init(
        _ media: any MediaSource, codecs: any AudioCodecs, format: PCMFormat, from start: Int64,
        showsPictures: Bool = false
    ) throws(MediaError) {
        let extent = showsPictures ? PictureExtent(media) : nil
        if let track = media.summary.track(.audio), let sound = track.audioFormat {
            source = try media.source(for: track)
            converter = try codecs.converter(from: sound, to: format, speed: 1)
        } else {
            guard extent != nil else { throw Self.nothingToPlay(media.summary, showsPictures) }
            (source, converter) = (nil, nil)
        }
        pictures = extent
        self.format = format
        scratch = PCMBlock(format: format, capacity: 8192)
        position = start
        if start > 0, let source {
            try source.seek(to: MediaTime(value: start, timescale: Int32(clamping: format.sampleRate)), mode: .exact)
        }
    }

    /// Adds frames to a block until it is full; false when nothing was added because the item is over.
    func fill(_ block: PCMBlock) throws(MediaError) -> Bool {
        while block.frames < block.capacity {
            if silence > 0 {
                let count = min(Int(silence), block.capacity - block.frames)
                append(nil, count, to: block)
                silence -= Int64(count)
            } else if scratchUsed < scratch.frames {
                let count = min(scratch.frames - scratchUsed, block.capacity - block.frames)
                append(scratch.samples + scratchUsed * format.channels, count, to: block)
                scratchUsed += count
            } else if let converter, try converter.receive(into: scratch) {
                scratchUsed = 0
                place()
            } else if hasEnded || source == nil {
                guard try lengthen() else { break }
            } else {
                try read()
            }
        }
        return block.frames > 0
    }

    /// The sound is over: silence until the pictures are; false when they are, too.
    private func lengthen() throws(MediaError) -> Bool {
        let end = try pictures?.end(after: position, rate: Int32(clamping: format.sampleRate))
        silence = end.map { $0 - position } ?? 0
        return silence > 0
    }

    private static func nothingToPlay(_ summary: MediaSummary, _ showsPictures: Bool) -> MediaError {
        guard showsPictures, summary.track(.video) != nil else {
            return MediaError(.notMedia, "it holds no sound; take it out of the queue")
        }
        return MediaError(
            .unsupported, "it holds no sound, and nobody says how long its pictures last; save it to a file first")
    }

    private func append(_ samples: UnsafePointer<Float>?, _ count: Int, to block: PCMBlock) {
        let target = block.samples + block.frames * format.channels
        if let samples {
            target.update(from: samples, count: count * format.channels)
        } else {
            target.update(repeating: 0, count: count * format.channels)
        }
        block.frames += count
        position += Int64(count)
    }

    private func place() {
        let rate = Double(format.sampleRate)
        let away = (scratch.start.seconds * rate).rounded() - Double(position)
        if away < -Self.seam * rate || (away < 0 && position <= 0) {
            scratchUsed = min(scratch.frames, Int(min(-away, 1e9)))
        } else if away > Self.seam * rate, away < Self.longestSilence * rate {
            silence = Int64(away)
        }
    }

    private func read() throws(MediaError) {
        guard let source, let converter else { return }
        do {
            guard let buffer = try source.read() else {
                hasEnded = true
                return converter.finish()
            }
            failuresInARow = 0
            try converter.send(buffer)
        } catch {
            failuresInARow += 1
            // One bad packet is skipped; a source that only fails is over.
            guard error.code == .damagedPacket, failuresInARow < Self.mostFailures else { throw error }
        }
    }
}
