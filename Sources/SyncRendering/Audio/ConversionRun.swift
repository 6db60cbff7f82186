internal import MediaCore

/// A converter with audio processing and, if packets are required, an encoder. Without a converter nothing is
/// converted.
///
/// Confined to one thread at a time.
struct ConversionRun {
    var converter: ProcessingConverter?
    var encoder = EncoderRun()
    private var block: PCMBlock?
    /// The audio of which an output plays a part, and how the part results; nil: the whole is converted to `block`.
    private var part: (mix: ChannelMix, whole: PCMBlock)?
    /// The setup of `converter`; its format may have changed since.
    private var setup: Setup?

    /// What determines the result of a conversion.
    struct Setup: Equatable {
        var format: AudioFormat
        /// The format of the packets, and the input format of their encoder; without one, that of the blocks.
        var target: AudioFormat?
        var pcm: PCMFormat
        var speed: Double
        var processing: AudioProcessing
        /// The channels that the output plays.
        var channels = ChannelSelection.whole

        fileprivate var mix: ChannelMix? { ChannelMix(channels, of: format, to: pcm) }
    }

    /// Creates the converter, and the encoder unless there is one.
    mutating func begin(
        _ setup: Setup, leveller: LoudnessLeveller = LoudnessLeveller(), codecs: any AudioCodecs
    ) throws(MediaError) {
        let mix = setup.mix
        let whole = mix?.whole ?? setup.pcm
        let natural = try codecs.converter(from: setup.format, to: whole, speed: setup.speed)
        converter = ProcessingConverter(natural, format: whole, processing: setup.processing, leveller: leveller)
        if let target = setup.target, !encoder.isPresent {
            encoder.use(try codecs.encoder(from: setup.pcm, to: target))
        }
        // About a fiftieth of a second: short enough for a quick start, long enough for little overhead.
        let frames = encoder.framesPerPacket ?? 1024
        if block?.format != setup.pcm { block = PCMBlock(format: setup.pcm, capacity: frames) }
        part = mix.flatMap { mix in
            block.map { (mix, PCMBlock(format: mix.whole, capacity: $0.capacity)) }
        }
        self.setup = setup
    }

    // MARK: Converting

    /// Switches to another format without a discontinuity; returns false if another converter is required.
    func adopt(_ format: AudioFormat) -> Bool {
        guard var next = setup else { return false }
        next.format = format
        // The part may result from other channels.
        guard next.mix == part?.mix else { return false }
        // ignored: a converter of its own is made for the format, whose failure is reported.
        return (try? converter?.adopt(format)) == true
    }

    /// Converts at most one block.
    ///
    /// - Parameters:
    ///   - batch: The batch to which packets are appended.
    ///   - limit: The media time at which the audio is cut; nil: not cut.
    ///   - resume: The start of the audio that is not only preroll.
    /// - Returns: The result, which is empty if nothing is to be delivered yet; nil if another input is required.
    mutating func receive(
        into batch: PacketBatch, until limit: MediaTime?, from resume: inout ResumePoint
    ) throws(MediaError) -> PendingAudio? {
        #if DEBUG
            // Not `assert`, which is absent from optimized modules of a debug build. Encoders may retain their input.
            if block != nil, !encoder.isPresent, !isKnownUniquelyReferenced(&block) {
                fatalError("an output retained a lent block")
            }
        #endif
        guard let converter, let block else { return nil }
        if try encoder.receive(into: batch) { return .packets(batch, 0) }
        if try encoder.sendHeld(block) { return .nothing }
        guard try converter.receive(into: part?.whole ?? block) else { return nil }
        if let part { part.mix.write(part.whole, to: block) }
        if let limit, !block.cut(at: limit) { return .nothing }
        let unwanted = resume.frames(before: block)
        guard encoder.isPresent else { return unwanted < block.frames ? .block(block, unwanted) : .nothing }
        block.dropFirst(unwanted)
        if block.frames > 0 { try encoder.send(block) }
        return .nothing
    }

    /// The number of undecodable packets of the converter.
    var decodeErrorCount: Int { converter?.decodeErrorCount ?? 0 }

    // MARK: Changes

    /// Accepts input again after all audio was received. A finished decoder accepts none until it is reset, and more
    /// media may follow (a loop, a next item).
    mutating func restart() {
        converter?.reset()
        encoder.restart()
    }

    /// Discards all audio; later audio is processed as given.
    mutating func reset(to processing: AudioProcessing) {
        converter?.reset(to: processing)
        encoder.reset()
    }

    /// Discards the audio inside the converter, and changes the processing with a ramp.
    ///
    /// - Parameters:
    ///   - before: The processing of the audio before `time`.
    ///   - time: The media time at which the new processing starts.
    func resetConverter(from before: AudioProcessing, to processing: AudioProcessing, at time: MediaTime) {
        converter?.reset(to: before)
        converter?.setProcessing(processing, from: time)
    }

    /// Drains the encoder up to a time. A packet that spans it, or is not full, is decoded, trimmed and encoded again.
    ///
    /// - Parameters:
    ///   - waiting: Packets received before, and the offset of the first that was not delivered.
    ///   - delivery: The formats of packets and of the encoder's input.
    /// - Returns: The complete packets; nil if the last block waits, because it follows a gap.
    mutating func cut(
        at time: MediaTime, waiting: (packets: PacketBatch, offset: Int)?, delivery: AudioDelivery?,
        codecs: any AudioCodecs
    ) -> PacketBatch? {
        guard let cut = encoder.cut(at: time, waiting: waiting, held: block) else { return nil }
        // The converter holds only later audio.
        if cut.passesCut { converter?.reset() }
        putBack(cut.truncated, until: time, delivery: delivery, codecs: codecs)
        return cut.kept
    }

    /// Encodes the part of severed packets before `time` again, on encoded delivery.
    mutating func putBack(
        _ packets: PacketBatch, until time: MediaTime, delivery: AudioDelivery?, codecs: any AudioCodecs
    ) {
        guard case .encoded(let format, let pcm)? = delivery else { return }
        encoder.putBack(packets, until: time, format: format, pcm: pcm, codecs: codecs)
    }
}
