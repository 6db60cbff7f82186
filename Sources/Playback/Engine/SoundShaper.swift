internal import MediaCore
internal import SyncRendering

/// Decodes sound to one format in stretches of one length, for whoever wants to see or change it before it is heard. Used by one
/// thread.
struct SoundShaper {
    private let codecs: any AudioCodecs
    private let format: PCMFormat
    /// Frames of each stretch.
    private let length: Int
    private let tap: PlayerOptions.Tap?
    private var converter: (input: AudioFormat, converter: any PCMConverter)?
    private var block: PCMBlock?
    private let scratch: PCMBlock
    /// Whose sound it is, and from which moment of the timeline on it is heard.
    private var item: QueueItem?
    private var heardFrom = MediaTime.zero
    private var heardUntil: MediaTime?
    /// Where the sound before ends, while this one joins it.
    private var lastEnd: MediaTime?
    /// The next stretch joins another item's.
    private var isJoint = false
    private var isDiscontinuous = false

    /// Nil where nobody wants that.
    init?(_ options: PlayerOptions, codecs: any AudioCodecs) {
        guard options.tap != nil || options.soundFormat != nil else { return nil }
        self.codecs = codecs
        format = options.soundFormat ?? PCMFormat(sampleRate: 48_000, layout: .stereo)
        length = max(1024, min(1 << 20, Int(options.bufferLength.inSeconds * Double(format.sampleRate))))
        tap = options.tap
        scratch = PCMBlock(format: format, capacity: 4096)
    }

    /// Other sound comes, to be heard from a moment of the timeline on.
    mutating func begin(at time: MediaTime, of item: QueueItem, isJoint joins: Bool = false) {
        let end = joins ? lastEnd : nil
        drop()
        lastEnd = end
        (self.item, heardFrom, heardUntil) = (item, time, nil)
        (isJoint, isDiscontinuous) = (false, true)
    }

    /// Forgets what is inside.
    mutating func drop() {
        converter?.converter.reset()
        (block, lastEnd) = (nil, nil)
    }

    /// - Parameter hand: takes each stretch that is full.
    mutating func send(_ buffer: SampleBuffer, _ hand: (SampleBuffer) -> Void) throws(MediaError) {
        let input = buffer.soundFormat
        if buffer.flags.contains(.joint) { (isJoint, isDiscontinuous) = (true, false) }
        if let limit = buffer.heardUntil { heardUntil = limit }
        if let input, converter?.input != input {
            drain(hand)
            converter = (input, try codecs.converter(from: input, to: format, speed: 1))
        }
        try converter?.converter.send(buffer)
        receive(hand)
    }

    /// No more of this item's sound comes.
    mutating func finish(_ hand: (SampleBuffer) -> Void) {
        drain(hand)
        give(hand)
    }

    private mutating func drain(_ hand: (SampleBuffer) -> Void) {
        converter?.converter.finish()
        receive(hand)
        converter?.converter.reset()
    }

    private mutating func receive(_ hand: (SampleBuffer) -> Void) {
        // What cannot be decoded is left out; the next packets may be better.
        // ignored: what cannot be decoded is counted by the converter.
        while (try? converter?.converter.receive(into: scratch)) == true { take(hand) }
    }

    /// Adds what was decoded to the stretch that is under way.
    private mutating func take(_ hand: (SampleBuffer) -> Void) {
        if let heardUntil, !scratch.cut(at: heardUntil) { return }
        scratch.dropFirst(scratch.frames(before: heardFrom))
        var used = 0
        while used < scratch.frames {
            let start = scratch.start + MediaTime(value: Int64(used), timescale: Int32(clamping: format.sampleRate))
            if let block, (start - block.end).nanoseconds.magnitude > Self.seam { give(hand) }
            let target = block ?? PCMBlock(format: format, capacity: length)
            if block == nil { target.start = start }
            block = target
            let count = min(scratch.frames - used, target.capacity - target.frames)
            let channels = format.channels
            (target.samples + target.frames * channels)
                .update(from: scratch.samples + used * channels, count: count * channels)
            target.frames += count
            used += count
            if target.frames == target.capacity { give(hand) }
        }
    }

    /// Sound that begins this near to where the last ended follows on from it, in nanoseconds.
    private static let seam: UInt64 = 10_000

    private mutating func give(_ hand: (SampleBuffer) -> Void) {
        guard let full = block, full.frames > 0 else { return }
        block = nil
        if isJoint, let lastEnd { fill(from: lastEnd, to: full.start, hand) }
        lastEnd = full.end
        if let item { tap?(full, item) }
        var flags: SampleBuffer.Flags = .sync
        if isJoint { flags.insert(.joint) } else if isDiscontinuous { flags.insert(.discontinuity) }
        (isJoint, isDiscontinuous) = (false, false)
        hand(
            SampleBuffer(
                payload: .pcm(full), presentationTime: full.start, duration: full.end - full.start, flags: flags))
    }
}

extension SoundShaper {
    /// A hole up to this long is filled; a longer one is the film's own.
    private static let longestFill: Duration = .seconds(2)

    /// Frame by frame, so that joints too short for a decoder to notice do not add up.
    private mutating func fill(from end: MediaTime, to start: MediaTime, _ hand: (SampleBuffer) -> Void) {
        let frames = Int(clamping: (start - end).rescaled(to: Int32(clamping: format.sampleRate)))
        guard frames > 0, (start - end).duration < Self.longestFill else { return }
        let silence = PCMBlock(format: format, capacity: frames)
        (silence.frames, silence.start) = (frames, end)
        hand(
            SampleBuffer(
                payload: .pcm(silence), presentationTime: end, duration: silence.end - end, flags: [.sync, .joint]))
    }
}

extension SampleBuffer {
    /// What the sound inside is; nil for pictures.
    fileprivate var soundFormat: AudioFormat? {
        switch payload {
        case .encodedAudio(let format, _): format
        case .pcm(let block):
            AudioFormat(LinearPCM(.float32), sampleRate: block.format.sampleRate, layout: block.format.layout)
        case .encodedVideo, .picture, .encodedSubtitle, .subtitle: nil
        }
    }
}
