internal import MediaCore

/// How the part of the channels that an output plays results from the whole, after the audio processing. All parts thus
/// have the level and the gain that they have in the whole.
struct ChannelMix: Equatable {
    /// The format of the whole.
    let whole: PCMFormat
    /// The channels of the whole whose mean is the part; the same one twice for one channel.
    private let sources: (first: Int, second: Int)

    /// Returns nil if an output plays the whole.
    init?(_ selection: ChannelSelection, of format: AudioFormat, to output: PCMFormat) {
        let layout = format.layout.usual
        let resolved = selection.resolved(in: layout)
        switch resolved {
        case .whole: return nil
        case .left: sources = (0, 0)
        case .right: sources = (1, 1)
        case .mono: sources = (0, 1)
        case .position(let position):
            let index = layout.index(of: position) ?? 0
            sources = (index, index)
        }
        let isPosition = if case .position = resolved { true } else { false }
        whole = PCMFormat(sampleRate: output.sampleRate, layout: isPosition ? layout : .stereo)
    }

    static func == (left: ChannelMix, right: ChannelMix) -> Bool {
        left.whole == right.whole && left.sources == right.sources
    }

    /// Writes the part to the first two channels of a block with the capacity of the whole. Allocates nothing.
    func write(_ block: PCMBlock, to part: PCMBlock) {
        (part.frames, part.start, part.speed) = (block.frames, block.start, block.speed)
        let (from, to) = (block.format.channels, part.format.channels)
        var (source, target) = (block.samples, part.samples)
        // Loops without iterators: they run per frame, and debug builds do not inline them.
        var frame = 0
        while frame < block.frames {
            // Exact if both are the same channel.
            let sample = 0.5 * source[sources.first] + 0.5 * source[sources.second]
            var channel = 0
            while channel < to {
                target[channel] = channel < 2 ? sample : 0
                channel += 1
            }
            source += from
            target += to
            frame += 1
        }
    }
}

extension ChannelSelection {
    /// Returns the format for which an output chooses its delivery: a part needs no more than stereo.
    func presented(_ format: AudioFormat) -> AudioFormat {
        guard self != .whole, format.layout != .stereo else { return format }
        return AudioFormat(parameters: format.parameters, sampleRate: format.sampleRate, layout: .stereo)
    }
}
