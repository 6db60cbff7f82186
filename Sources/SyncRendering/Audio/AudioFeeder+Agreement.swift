internal import MediaCore

/// Negotiation of the delivery with the output, and transitions between formats.
extension AudioFeeder {
    /// Negotiates how audio of a format is converted and delivered.
    ///
    /// Returns nil if `buffer` can be processed now. Otherwise the buffer is stored in `nextFormat`, and the result is
    /// true if the feeder can continue at once.
    mutating func agree(on incoming: AudioFormat, for buffer: SampleBuffer, output: any AudioOutput) -> Bool? {
        if !mustRenegotiate, format != nil, delivery != nil, let converter {
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
            mustRenegotiate = false
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
        if mustRenegotiate { return output.delivery(for: format, mustDecode: mustDecode) }
        if let same = output.continuation(of: delivery, with: format, mustDecode: mustDecode) { return same }
        if let until = output.acceptedUntil, until > renderer.timebase.currentTime { return nil }
        return output.delivery(for: format, mustDecode: mustDecode)
    }

    /// Prepares the output for a delivery and creates the converter; returns false on failure, which is reported.
    private mutating func adopt(_ wanted: AudioDelivery, for format: AudioFormat, output: any AudioOutput) -> Bool {
        mustRenegotiate = false
        if wanted != delivery {
            guard let context else { return false }
            do {
                try output.prepare(wanted, context: context)
            } catch {
                delivery = nil
                renderer.report(.outputFailed(error), isFailed: true)
                return false
            }
            encoder.remove()
            delivery = wanted
            output.timebaseDidChange(renderer.timebase.snapshot)
        }
        converter = nil
        switch wanted {
        case .passThrough, .sampleBuffers: return true
        case .encoded where maySharePackets: return true
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
            converter = TreatedConverter(natural, format: pcm, processing: change.processing, leveller: leveller)
            if case .encoded(let target, _) = delivery, !encoder.isPresent {
                encoder.use(try renderer.codecs.encoder(from: pcm, to: target))
            }
        } catch {
            isRefused = true
            renderer.report(.cannotDecode(error), isFailed: true)
            return false
        }
        // About a fiftieth of a second: short enough for a quick start, long enough for little overhead.
        let frames = encoder.framesPerPacket ?? 1024
        if block == nil || block?.format != pcm { block = PCMBlock(format: pcm, capacity: frames) }
        return true
    }

    // MARK: Gapless boundaries

    var passesPackets: Bool { if case .passThrough? = delivery { true } else { false } }

    /// Decides whether to deliver or drop the retained tail packet before `buffer`; returns true if the tail is
    /// delivered first.
    mutating func settleTail(before buffer: SampleBuffer, output: any AudioOutput) -> Bool {
        if buffer.flags.contains(.gaplessBoundary) { passed.markGaplessBoundary() }
        guard passed.hasTail else { return false }
        if passed.isAtGaplessBoundary,
            let wanted = wantedDelivery(for: buffer.audioFormat(after: format), output: output)
        {
            let passesThrough = if case .passThrough = wanted { true } else { false }
            guard passed.decideTail(before: buffer, passesThrough: passesThrough) == .delivered else { return false }
        }
        guard let tail = passed.takeTail() else { return false }
        pending = .packets(tail, 0)
        nextFormat = buffer
        return true
    }

    /// Aligns encoded audio with preceding pass-through packets.
    ///
    /// The first encoded packet starts at the end of the last one, so that every frame plays at its time.
    mutating func joinEncoder(at beginning: MediaTime?, after end: MediaTime) {
        defer { passed.endLine() }
        guard case .encoded(_, let pcm)? = delivery, encoder.isPresent, let beginning else { return }
        let hole = Int(clamping: (beginning - end).rescaled(to: Int32(clamping: pcm.sampleRate)))
        if hole <= 0 { resume.raise(to: end) } else { encoder.fill(hole, from: end, pcm) }
    }
}
