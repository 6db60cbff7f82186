internal import MediaCore

/// A converter that applies audio processing to the output of another.
///
/// Without processing it passes the output through. Once processing is required, all audio passes the limiter until a
/// reset. The timestamps are corrected by its look-ahead, so that every frame keeps its media time.
///
/// Confined to one thread. Allocates only when processing starts.
final class ProcessingConverter: PCMConverter {
    private let inner: any PCMConverter
    private let format: PCMFormat
    private let leveller: LoudnessLeveller
    /// The current processing, and the next one with the media time at which it starts.
    private(set) var processing: AudioProcessing
    private var coming: (processing: AudioProcessing, from: MediaTime)?
    /// The gains of the items with the media time at which each starts. The first is current; each pending gapless
    /// boundary adds one.
    private var gains: [(gain: Float, from: MediaTime)] = [(1, .zero)]
    private var chain: ProcessingChain?
    /// Whether all audio passes the chain; set until the next reset.
    private var isEngaged = false

    /// The number of frames inside the chain, and the media time of the first of them.
    private var held = 0
    private var heldStart = MediaTime.zero
    /// The end of the input in media time, and its speed.
    private var end: MediaTime?
    private var speed = 1.0
    /// A block after a discontinuity, which waits until the audio before it is drained.
    private var waiting: PCMBlock?
    private var isWaiting = false
    private var isFinished = false

    /// Creates a converter around another one; the processing starts at once.
    init(
        _ inner: any PCMConverter, format: PCMFormat, processing: AudioProcessing,
        leveller: LoudnessLeveller = LoudnessLeveller()
    ) {
        (self.inner, self.format, self.leveller) = (inner, format, leveller)
        self.processing = processing
        inner.setDialogueLift(processing.dialogueLift)
        if processing != .none { engage() }
    }

    // MARK: Processing

    /// Sets the processing.
    ///
    /// - Parameter time: The media time from which it applies; nil: the next audio.
    func setProcessing(_ wanted: AudioProcessing, from time: MediaTime?) {
        if wanted != .none { engage() }
        // Frames decoded before the time are preroll, or at most a hundredth of a second of continuous audio.
        inner.setDialogueLift(wanted.dialogueLift)
        if let time {
            coming = (wanted, time)
        } else {
            (processing, coming) = (wanted, nil)
            chain?.setProcessing(wanted, gain: gains[0].gain)
        }
    }

    /// Routes all audio through the chain from now on.
    private func engage() {
        guard !isEngaged else { return }
        isEngaged = true
        if chain == nil { chain = ProcessingChain(format: format, leveller: leveller) }
        chain?.begin(with: processing, gain: gains[0].gain)
    }

    // MARK: PCMConverter

    var decodeErrorCount: Int { inner.decodeErrorCount }
    func consumeUndecodableAudio() -> UndecodableAudio? { inner.consumeUndecodableAudio() }

    func send(_ buffer: SampleBuffer) throws(MediaError) {
        isFinished = false
        if buffer.flags.contains(.gaplessBoundary) { leveller.beginPiece() }
        if buffer.gain != gains[gains.count - 1].gain {
            gains.append((buffer.gain, buffer.presentationTime ?? end ?? .zero))
            engage()
        }
        try inner.send(buffer)
    }

    func adopt(_ format: AudioFormat) throws(MediaError) -> Bool { try inner.adopt(format) }

    func finish() {
        isFinished = true
        inner.finish()
    }

    func reset() { reset(to: coming?.processing ?? processing) }

    /// Resets with a new processing, without a ramp.
    func reset(to wanted: AudioProcessing) {
        inner.reset()
        inner.setDialogueLift(wanted.dialogueLift)
        (processing, coming) = (wanted, nil)
        (held, end, isWaiting, isFinished, isEngaged) = (0, nil, false, false, false)
        gains = [(gains[gains.count - 1].gain, .zero)]
        if wanted != .none || gains[0].gain != 1 { engage() }
    }

    func receive(into block: PCMBlock) throws(MediaError) -> Bool {
        guard isEngaged else { return try inner.receive(into: block) }
        while true {
            if isWaiting, let waiting {
                isWaiting = false
                block.copy(waiting)
            } else if try !inner.receive(into: block) {
                return isFinished && drain(into: block)
            }
            guard block.frames > 0 else { continue }
            if let end, !block.follows(end, at: speed) {
                // The chain is drained before the discontinuity; this block waits.
                if waiting == nil { waiting = PCMBlock(format: format, capacity: block.capacity) }
                waiting?.copy(block)
                isWaiting = true
                if drain(into: block) { return true }
                continue
            }
            if push(block) { return true }
        }
    }

    /// Processes a block in place, delayed by the chain; returns false if all of its output precedes the media.
    private func push(_ block: PCMBlock) -> Bool {
        guard let chain else { return true }
        if end == nil {
            heldStart = block.start
            chain.breakOff()
            speed = block.speed
            beginGain(at: block, chain)
        }
        let blockEnd = block.end
        processSamples(of: block, chain)
        let silence = min(block.frames, chain.delay - held)
        held += silence
        end = blockEnd
        block.start = heldStart
        if silence > 0 {
            block.frames -= silence
            let channels = format.channels
            block.samples.update(from: block.samples + silence * channels, count: block.frames * channels)
        }
        heldStart = blockEnd - length(ofFrames: held)
        return block.frames > 0
    }

    /// Applies the gain that starts with the first audio, without a ramp.
    private func beginGain(at block: PCMBlock, _ chain: ProcessingChain) {
        guard gains.count > 1, block.frames(before: gains[1].from) == 0 else { return }
        gains.removeFirst()
        chain.begin(with: processing, gain: gains[0].gain)
    }

    /// Processes the samples in parts, split at changes of processing and gain.
    private func processSamples(of block: PCMBlock, _ chain: ProcessingChain) {
        var first = 0
        func process(upTo frame: Int) {
            chain.process(block.samples + first * format.channels, frames: max(0, frame - first))
            first = max(first, frame)
        }
        while true {
            let change = coming.map { block.frames(before: $0.from) } ?? block.frames
            let boundary = gains.count > 1 ? block.frames(before: gains[1].from) : block.frames
            process(upTo: min(change, boundary))
            guard first < block.frames else { return }
            if boundary <= change {
                gains.removeFirst()
            } else if let coming {
                (processing, self.coming) = (coming.processing, nil)
            }
            chain.setProcessing(processing, gain: gains[0].gain)
        }
    }

    /// Outputs the frames inside the chain; returns false if there are none.
    private func drain(into block: PCMBlock) -> Bool {
        guard held > 0, let chain else {
            end = nil
            return false
        }
        let count = min(held, block.capacity)
        block.samples.update(repeating: 0, count: count * format.channels)
        chain.process(block.samples, frames: count)
        (block.frames, block.start, block.speed) = (count, heldStart, speed)
        held -= count
        heldStart += length(ofFrames: count)
        if held == 0 { end = nil }
        return true
    }

    /// Returns the media duration of frames at the current speed.
    private func length(ofFrames count: Int) -> MediaTime {
        let natural = MediaTime(value: Int64(count), timescale: Int32(clamping: format.sampleRate))
        return speed == 1 ? natural : MediaTime(seconds: natural.seconds * speed)
    }
}

extension PCMBlock {
    /// The maximum distance from the preceding end of contiguous audio, in frames.
    private static let seam = 0.5

    fileprivate func follows(_ end: MediaTime, at speed: Double) -> Bool {
        speed == self.speed && abs((start - end).seconds) * Double(format.sampleRate) <= Self.seam * speed
    }

    /// Copies another block up to the capacity.
    fileprivate func copy(_ other: PCMBlock) {
        frames = min(capacity, other.frames)
        (start, speed) = (other.start, other.speed)
        samples.update(from: other.samples, count: frames * format.channels)
    }
}
