internal import MediaCore

/// Negotiation of the delivery with the output, and transitions between formats.
extension AudioFeeder {
    /// Negotiates how audio of a format is converted and delivered.
    ///
    /// Returns nil if `buffer` can be processed now. Otherwise the buffer is stored in `nextFormat`, and the result is
    /// true if the feeder can continue at once.
    mutating func agree(on incoming: AudioFormat, for buffer: SampleBuffer, output: any AudioOutput) -> Bool? {
        if !agreesAnew, format != nil, delivery != nil, let converter {
            if follow(incoming, with: converter) { return nil }
            // Drains the converter of the old format before the new one starts.
            converter.finish()
            format = nil
            nextFormat = buffer
            return true
        }
        guard let wanted = wantedDelivery(for: incoming, output: output) else {
            // Another delivery discards the output's buffer, so that buffer must play out first.
            nextFormat = buffer
            return false
        }
        if wanted == delivery, incoming == format, !isRefused {
            // After a seek the format and delivery are unchanged.
            agreesAnew = false
            return nil
        }
        format = incoming
        isRefused = !adopt(wanted, for: incoming, output: output)
        return nil
    }

    /// Switches the converter to another format without a discontinuity; returns false if another converter is
    /// required.
    private mutating func follow(_ format: AudioFormat, with converter: any PCMConverter) -> Bool {
        // ignored: a converter of its own is made for the format, whose failure is reported.
        guard (try? converter.follow(format)) == true else { return false }
        self.format = format
        return true
    }

    /// Returns the delivery for audio of a format; nil until the output has played its buffer.
    func wantedDelivery(for format: AudioFormat, output: any AudioOutput) -> AudioDelivery? {
        let mustDecode = speed != 1 || renderer.mustDecode
        guard let delivery else { return output.delivery(for: format, mustDecode: mustDecode) }
        // The device keeps its format and audio is converted to it, so that gapless boundaries have no gap.
        if case .pcm = delivery, case .pcm = output.delivery(for: format, mustDecode: mustDecode) { return delivery }
        if agreesAnew { return output.delivery(for: format, mustDecode: mustDecode) }
        if let same = output.continuation(of: delivery, with: format, mustDecode: mustDecode) { return same }
        if let until = output.acceptedUntil, until > renderer.timebase.currentTime { return nil }
        return output.delivery(for: format, mustDecode: mustDecode)
    }

    /// Prepares the output for a delivery and creates the converter; returns false on failure, which is reported.
    private mutating func adopt(_ wanted: AudioDelivery, for format: AudioFormat, output: any AudioOutput) -> Bool {
        agreesAnew = false
        if wanted != delivery {
            guard let context else { return false }
            do {
                try output.prepare(wanted, context: context)
            } catch {
                delivery = nil
                renderer.fail(.outputFailed(error))
                return false
            }
            encoder = nil
            delivery = wanted
            output.timebaseDidChange(renderer.timebase.snapshot)
        }
        converter = nil
        switch wanted {
        case .passThrough, .sampleBuffers: return true
        case .pcm, .encoded: return makeConverter(for: format)
        }
    }

    /// Creates the converter and, for encoded delivery, the encoder; returns false on failure, which is reported.
    mutating func makeConverter(for format: AudioFormat) -> Bool {
        let pcm: PCMFormat
        switch delivery {
        case .pcm(let format): pcm = format
        case .encoded(_, let format): pcm = format
        case .passThrough, .sampleBuffers, nil: return false
        }
        do {
            let natural = try renderer.codecs.converter(from: format, to: pcm, speed: speed)
            converter = TreatedConverter(natural, format: pcm, treatment: treatment, leveller: leveller)
            if case .encoded(let target, _) = delivery, encoder == nil {
                encoder = try renderer.codecs.encoder(from: pcm, to: target)
            }
        } catch {
            isRefused = true
            renderer.fail(.cannotDecode(error))
            return false
        }
        // About a fiftieth of a second: short enough for a quick start, long enough for little overhead.
        let frames = encoder?.framesPerPacket ?? 1024
        if block == nil || block?.format != pcm { block = PCMBlock(format: pcm, capacity: frames) }
        return true
    }

    // MARK: Resuming at a media time

    /// Returns the number of leading frames of a block that precede `resumesFrom`.
    mutating func framesBeforeResuming(in block: PCMBlock) -> Int {
        guard let moment = resumesFrom else { return 0 }
        if block.end <= moment { return block.frames }
        resumesFrom = nil
        return block.frames(before: moment)
    }

    /// Returns the number of leading packets that end before `resumesFrom`, except the last one, which decoders need as
    /// preroll.
    mutating func packetsBeforeResuming(in batch: PacketBatch) -> Int {
        guard let moment = resumesFrom else { return 0 }
        let count = batch.packets.prefix { packet in
            packet.presentationTime.map { $0 + packet.duration <= moment } ?? false
        }.count
        guard count < batch.packets.count else { return max(0, count - 1) }
        resumesFrom = nil
        return max(0, count - 1)
    }

    // MARK: Encoding

    /// A gap above this restarts the encoder. It exceeds any rounding error and is below the audible offset.
    private static let seam: Duration = .milliseconds(20)

    /// Encodes a block. Encoder packets are contiguous: a gap in the media finishes the current run, and overlapping
    /// blocks are dropped.
    mutating func encode(_ block: PCMBlock, with encoder: any PCMEncoder) throws(MediaError) {
        if let end = encodedUntil {
            let gap = (block.start - end).duration
            if gap < .zero - Self.seam { return }
            if gap > Self.seam {
                isBlockHeld = true
                return encoder.finish()
            }
        }
        encodedUntil = block.end
        try encoder.send(block)
    }
}
