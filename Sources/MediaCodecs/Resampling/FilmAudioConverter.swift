internal import CFFmpeg
internal import MediaCore
internal import SyncRendering

/// Decodes, trims, mixes and resamples one track's sound into blocks whose times are counted in frames.
///
/// Holes up to two seconds become silence, double material is dropped, and longer jumps begin a new block. Owned and
/// called by one thread.
final class FilmAudioConverter: PCMConverter {
    private let decoder: AudioDecoder
    private let resampler: Resampler
    private var line: SoundLine?
    /// Frames handed out since the line began.
    private var given: Int64 = 0
    private var pending: AudioDecoder.Output?
    private var isDraining = false
    private var isFinished = false
    private var lastEnd: MediaTime?
    private let output: PCMFormat

    init(from format: AudioFormat, to output: PCMFormat) throws(MediaError) {
        decoder = try AudioDecoder(format)
        resampler = Resampler(output: output)
        self.output = output
    }

    var damagedPackets: Int { decoder.damagedPackets }

    func send(_ buffer: SampleBuffer) throws(MediaError) {
        isFinished = false
        decoder.send(buffer)
    }

    func finish() {
        isFinished = true
        decoder.finish()
    }

    func reset() {
        decoder.reset()
        line = nil
        pending = nil
        lastEnd = nil
        (isDraining, isFinished) = (false, false)
    }

    func receive(into block: PCMBlock) throws(MediaError) -> Bool {
        block.frames = 0
        block.speed = 1
        while block.frames < block.capacity {
            if isDraining {
                if take(into: block, { resampler.drain(into: $0, room: $1) }) { continue }
                endLine()
                if block.frames > 0 { return true }
            }
            if line != nil, take(into: block, { resampler.pull(into: $0, room: $1) }) { continue }
            if pending == nil { pending = try decoder.next() }
            if pending != nil {
                try place(into: block)
            } else if isFinished, line != nil {
                isDraining = true
            } else {
                break
            }
        }
        return block.frames > 0
    }

    /// Lets `body` write behind what the block holds; false when it had nothing.
    private func take(into block: PCMBlock, _ body: (UnsafeMutablePointer<Float>, Int) -> Int) -> Bool {
        let room = block.capacity - block.frames
        let got = body(block.samples + block.frames * output.channels, room)
        guard got > 0 else { return false }
        if block.frames == 0, let line {
            block.start = line.start + MediaTime(value: given, timescale: Int32(clamping: output.sampleRate))
        }
        block.frames += got
        given += Int64(got)
        return true
    }

    private func endLine() {
        lastEnd = line?.end
        line = nil
        isDraining = false
    }

    /// Puts the pending sound where it belongs, or first gets out of the way what was before it.
    private func place(into block: PCMBlock) throws(MediaError) {
        guard var sound = pending else { return }
        if line != nil, sound.isDiscontinuous || !resampler.accepts(decoder.frame) {
            isDraining = true
            pending?.isDiscontinuous = false
            return
        }
        if line == nil {
            if sound.isDiscontinuous { lastEnd = nil }
            try resampler.configure(for: decoder.frame)
            let rate = decoder.frame.pointee.sample_rate
            var start = sound.time ?? lastEnd ?? .zero
            if sound.time != nil,
                let error = decoder.roundingError(frames: Int(decoder.frame.pointee.nb_samples), rate: rate)
            {
                start += error
            }
            line = SoundLine(start: start, rate: rate)
            given = 0
        }
        switch line!.place(sound.time) {
        case .joins: break
        case .gap(let frames):
            resampler.insertSilence(frames)
            line!.count(frames)
        case .overlap(let frames):
            if frames >= sound.count {
                pending = nil
                return
            }
            sound.skip += frames
            sound.count -= frames
        case .jump:
            isDraining = true
            return
        }
        pending = nil
        line!.count(sound.count)
        _ = take(into: block) { target, room in
            resampler.convert(decoder.frame, skip: sound.skip, count: sound.count, into: target, room: room)
        }
    }
}
