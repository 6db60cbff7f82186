internal import MediaCore

/// Conversion in common with other members of a group, until the outputs differ.
extension AudioFeeder {
    /// Whether the next audio starts a conversion that other members may share, if its delivery is encoded.
    ///
    /// An only member converts alone. So does normalization, whose measurement outlasts a flush.
    var maySharePackets: Bool {
        mayShare && supply == nil && renderer.group != nil && resume.isEmpty && change.processing.loudness == nil
    }

    /// Joins or starts a shared conversion with the first buffer after a full flush. Returns false if this feeder
    /// converts the buffer itself.
    mutating func beginSharing(_ buffer: SampleBuffer, of format: AudioFormat) -> Bool {
        defer { mayShare = false }
        guard maySharePackets, let group = renderer.group, case .encoded(let target, let pcm)? = delivery,
            buffer.heardUntil == nil, passed.end == nil
        else { return false }
        let key = SharedConversion.Key(
            format: format, target: target, pcm: pcm, speed: speed, processing: change.processing)
        do throws(MediaError) {
            shared = try group.conversions.cursor(key, after: buffer, codecs: renderer.codecs)
        } catch {
            isRefused = true
            renderer.report(.cannotDecode(error), isFailed: true)
            return true
        }
        converter = nil
        encoder.remove()
        return true
    }

    /// Sends a buffer to the shared conversion, or stops sharing if it differs from that of another member.
    mutating func send(_ buffer: SampleBuffer, to shared: SharedConversion.Cursor) -> Bool {
        if buffer.heardUntil == nil, buffer.audioFormat(after: format) == format, shared.send(.audio(buffer)) {
            takenUntil = buffer.soundEnd ?? takenUntil
        } else {
            // The buffer is among those that are put back into the queue.
            stopSharing()
        }
        return true
    }

    /// Receives packets from the shared conversion; returns false if it needs another buffer.
    mutating func receive(from shared: SharedConversion.Cursor) -> Bool {
        switch shared.next() {
        case .inputNeeded: return false
        case .evicted: stopSharing()
        case .step(let step):
            if let packets = step.packets { pending = .packets(packets, 0) }
            if let (count, lost) = step.damage {
                _ = reports.noteDamage(count)
                renderer.state.withLock { $0.noteDamage(count, lost) }
            }
            if let error = step.error {
                renderer.report(.cannotDecode(error))
                isRefused = true
                self.shared = nil
            }
        }
        return true
    }

    /// Continues with a separate converter and encoder, from the end of the packets that the output has accepted. The
    /// packets keep their times.
    mutating func stopSharing() {
        guard let shared else { return }
        var place = shared.end
        if case .packets(let packets, let offset) = pending {
            place = packets.packets[offset].presentationTime ?? place
        }
        let (start, processing) = (place ?? shared.start ?? .zero, shared.conversion.key.processing)
        forget()
        mustRenegotiate = false
        resume = ResumePoint(place)
        renderer.state.withLock { $0.putBackTaken(from: start) }
        if let format, makeConverter(for: format) { converter?.reset(to: processing) }
    }
}
