internal import MediaCore

/// How sound of a format is converted and handed over, and how one format follows another.
extension AudioFeeder {
    /// Settles how sound of this format is converted and handed over. Nil when `buffer` can go on; otherwise it waits in
    /// `nextFormat`, and the result says whether there is something else to do now.
    mutating func agree(on incoming: AudioFormat, for buffer: SampleBuffer, output: any AudioOutput) -> Bool? {
        if !agreesAnew, format != nil, delivery != nil, let converter {
            if follow(incoming, with: converter) { return nil }
            // Let the old format's last sound out before the new one begins.
            converter.finish()
            format = nil
            nextFormat = buffer
            return true
        }
        guard let wanted = wantedDelivery(for: incoming, output: output) else {
            // Another way of handing over ends what the output holds: first all of that is heard.
            nextFormat = buffer
            return false
        }
        if wanted == delivery, incoming == format, !isRefused {
            // After a jump: as before it.
            agreesAnew = false
            return nil
        }
        format = incoming
        isRefused = !adopt(wanted, for: incoming, output: output)
        return nil
    }

    /// Lets the converter go on with another format, so that the joint is no edge; false when it has to be another one.
    private mutating func follow(_ format: AudioFormat, with converter: any PCMConverter) -> Bool {
        // ignored: a converter of its own is made for the format, whose failure is reported.
        guard (try? converter.follow(format)) == true else { return false }
        self.format = format
        return true
    }

    /// How sound of this format is handed over; nil while that has to wait until what the output holds has been heard.
    func wantedDelivery(for format: AudioFormat, output: any AudioOutput) -> AudioDelivery? {
        let mustDecode = speed != 1 || renderer.mustDecode
        guard let delivery else { return output.delivery(for: format, mustDecode: mustDecode) }
        // The device keeps its format; the film is brought to it, so that joints have no gap.
        if case .pcm = delivery, case .pcm = output.delivery(for: format, mustDecode: mustDecode) { return delivery }
        if agreesAnew { return output.delivery(for: format, mustDecode: mustDecode) }
        if let same = output.continuation(of: delivery, with: format, mustDecode: mustDecode) { return same }
        if let until = output.acceptedUntil, until > renderer.timebase.currentTime { return nil }
        return output.delivery(for: format, mustDecode: mustDecode)
    }

    /// Agrees with the output on how sound of this format is handed over; false when that fails.
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
        // A fiftieth of a second or so: short enough that a start needs little, long enough to cost nothing.
        let frames = encoder?.framesPerPacket ?? 1024
        if block == nil || block?.format != pcm { block = PCMBlock(format: pcm, capacity: frames) }
        return true
    }

    // MARK: Beginning in the middle

    /// Frames of a block that lie before the place where the sound begins anew.
    mutating func framesBeforeResuming(in block: PCMBlock) -> Int {
        guard let moment = resumesFrom else { return 0 }
        if block.end <= moment { return block.frames }
        resumesFrom = nil
        return block.frames(before: moment)
    }

    /// Packets of a batch that end before it, but the last: decoders want that one for the next one's sake.
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

    /// Where sound does not follow on by more than this, an encoder begins anew. Above any rounding, below what is heard
    /// as early or late.
    private static let seam: Duration = .milliseconds(20)

    /// An encoder's packets follow on from each other: a hole in the film ends one line of them, and what overlaps the
    /// line is left out.
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
