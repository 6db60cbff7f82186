internal import MediaCore

/// A converter whose sound is treated. As long as nothing is asked for, it hands on what the other gives; from then on, until it is
/// reset, everything passes the limiter, and its look-ahead is taken off the stamps: every frame keeps its film time.
///
/// Owned and called by one thread. Allocates when treatment begins, and then no more.
final class TreatedConverter: PCMConverter {
    private let inner: any PCMConverter
    private let format: PCMFormat
    private let leveller: LoudnessLeveller
    /// What is in force, and what comes into force at a film time.
    private(set) var treatment: SoundTreatment
    private var coming: (treatment: SoundTreatment, from: MediaTime)?
    /// What the samples of the pieces are multiplied with, from when on: the first is in force, and there is one more for each joint
    /// that is still inside.
    private var gains: [(gain: Float, from: MediaTime)] = [(1, .zero)]
    private var chain: TreatmentChain?
    /// Everything passes the chain, since the sound was last unbroken.
    private var isEngaged = false

    /// Frames inside the chain, and the film time of the first of them.
    private var held = 0
    private var heldStart = MediaTime.zero
    /// Where the sound that went in ends, and how fast it passes.
    private var end: MediaTime?
    private var speed = 1.0
    /// Sound that waits until what lies before a break is out.
    private var waiting: PCMBlock?
    private var isWaiting = false
    private var isFinished = false

    init(
        _ inner: any PCMConverter, format: PCMFormat, treatment: SoundTreatment,
        leveller: LoudnessLeveller = LoudnessLeveller()
    ) {
        (self.inner, self.format, self.leveller) = (inner, format, leveller)
        self.treatment = treatment
        inner.setDialogueLift(treatment.dialogueLift)
        if treatment != .none { engage() }
    }

    // MARK: Treatment

    /// Sound is treated so from now on.
    ///
    /// - Parameter time: from this film time on; nil is with what comes next.
    func treat(_ wanted: SoundTreatment, from time: MediaTime?) {
        if wanted != .none { engage() }
        // What it decodes before the time is there to settle, or a hundredth of a second of what goes on.
        inner.setDialogueLift(wanted.dialogueLift)
        if let time {
            coming = (wanted, time)
        } else {
            (treatment, coming) = (wanted, nil)
            chain?.treat(wanted, gain: gains[0].gain)
        }
    }

    private func engage() {
        guard !isEngaged else { return }
        isEngaged = true
        if chain == nil { chain = TreatmentChain(format: format, leveller: leveller) }
        chain?.begin(with: treatment, gain: gains[0].gain)
    }

    // MARK: PCMConverter

    var damagedPackets: Int { inner.damagedPackets }
    func takeUndecodableSound() -> UndecodableSound? { inner.takeUndecodableSound() }

    func send(_ buffer: SampleBuffer) throws(MediaError) {
        isFinished = false
        if buffer.flags.contains(.joint) { leveller.beginPiece() }
        if buffer.gain != gains[gains.count - 1].gain {
            gains.append((buffer.gain, buffer.presentationTime ?? end ?? .zero))
            engage()
        }
        try inner.send(buffer)
    }

    func follow(_ format: AudioFormat) throws(MediaError) -> Bool { try inner.follow(format) }

    func finish() {
        isFinished = true
        inner.finish()
    }

    func reset() { reset(to: coming?.treatment ?? treatment) }

    /// The same, and begins anew with a treatment, without a way there.
    func reset(to wanted: SoundTreatment) {
        inner.reset()
        inner.setDialogueLift(wanted.dialogueLift)
        (treatment, coming) = (wanted, nil)
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
                // What is held comes before the break; this waits.
                if waiting == nil { waiting = PCMBlock(format: format, capacity: block.capacity) }
                waiting?.copy(block)
                isWaiting = true
                if drain(into: block) { return true }
                continue
            }
            if push(block) { return true }
        }
    }

    /// Puts a block in, and as much of the film out of the chain; false when everything that came out lay before the film.
    private func push(_ block: PCMBlock) -> Bool {
        guard let chain else { return true }
        if end == nil {
            heldStart = block.start
            chain.breakOff()
            speed = block.speed
            beginGain(at: block, chain)
        }
        let blockEnd = block.end
        treatSamples(of: block, chain)
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

    /// What begins with the first sound needs no way there.
    private func beginGain(at block: PCMBlock, _ chain: TreatmentChain) {
        guard gains.count > 1, block.frames(before: gains[1].from) == 0 else { return }
        gains.removeFirst()
        chain.begin(with: treatment, gain: gains[0].gain)
    }

    private func treatSamples(of block: PCMBlock, _ chain: TreatmentChain) {
        var first = 0
        func process(upTo frame: Int) {
            chain.process(block.samples + first * format.channels, frames: max(0, frame - first))
            first = max(first, frame)
        }
        while true {
            let change = coming.map { block.frames(before: $0.from) } ?? block.frames
            let joint = gains.count > 1 ? block.frames(before: gains[1].from) : block.frames
            process(upTo: min(change, joint))
            guard first < block.frames else { return }
            if joint <= change {
                gains.removeFirst()
            } else if let coming {
                (treatment, self.coming) = (coming.treatment, nil)
            }
            chain.treat(treatment, gain: gains[0].gain)
        }
    }

    /// Gives out what the chain holds; false when it holds nothing.
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

    private func length(ofFrames count: Int) -> MediaTime {
        let natural = MediaTime(value: Int64(count), timescale: Int32(clamping: format.sampleRate))
        return speed == 1 ? natural : MediaTime(seconds: natural.seconds * speed)
    }
}

extension PCMBlock {
    /// Sound that begins this near to where the last ended follows on from it, in frames.
    private static let seam = 0.5

    fileprivate func follows(_ end: MediaTime, at speed: Double) -> Bool {
        speed == self.speed && abs((start - end).seconds) * Double(format.sampleRate) <= Self.seam * speed
    }

    /// Takes over another block's sound, as far as there is room.
    fileprivate func copy(_ other: PCMBlock) {
        frames = min(capacity, other.frames)
        (start, speed) = (other.start, other.speed)
        samples.update(from: other.samples, count: frames * format.channels)
    }
}
