internal import AirPlayWire
internal import MediaCore

extension PlayoutEngine {
    /// The packets and state taken from the store in one iteration.
    private struct Round {
        var packets: [StoredPacket] = []
        var anchor: PlayoutAnchor?
        var isCut = false
        var gain: Float = 1
        var lost = 0
        /// The number of packets whose time had passed before they were decoded.
        var late = 0
        /// When the next stored packet is due; nil if the store is empty or the iteration was full.
        var nextDecode: HostInstant?
    }

    /// Returns when a position is audible; nil while the clock is unknown, and beyond `reach`.
    private func audibleInstant(of position: RTPTimestamp, _ anchor: PlayoutAnchor, at now: HostInstant) -> HostInstant?
    {
        guard knows(anchor) else { return nil }
        let frames = Int64(anchor.position.distance(to: position))
        // 31 bits of frames times 10⁹ fit in 63 bits.
        let elapsed = frames * 1_000_000_000 / Int64(setup.format.sampleRate)
        let instant = anchor.instant.advanced(by: .nanoseconds(elapsed) + setup.outputLatency)
        guard let due = clock.hostInstant(of: instant), isWithinReach(due, from: now)
        else { return nil }
        return due
    }

    private func beginRound(at now: HostInstant) -> Round {
        let horizon = now.advanced(by: decodeAhead)
        // Late packets are not decoded: that would delay those still due. The packet just before is
        // kept, because AAC overlaps by one.
        let past = now.advanced(by: .zero - HeardSpan.length(of: 2 * 1024, setup.format.sampleRate))
        return state.withLock { state in
            state.anchor = state.anchor.map { followed($0, at: now) }
            var round = Round(anchor: state.anchor, isCut: state.isCut, gain: state.gain)
            state.isCut = false
            guard let anchor = state.anchor else { return round }
            switch state.store {
            case .buffered(var store):
                // Moves the store out of the enum to avoid copying its queue on mutation.
                state.store = .buffered(.init())
                while round.packets.count < Self.packetsPerRound, let next = store.first {
                    guard let due = audibleInstant(of: next.timestamp, anchor, at: now) else { break }
                    guard due < horizon else {
                        round.nextDecode = due
                        break
                    }
                    guard let packet = store.popFirst() else { break }
                    if due < past { round.late += 1 } else { round.packets.append(packet) }
                }
                state.store = .buffered(store)
            case .realtime(var store):
                state.store = .realtime(.init())
                while round.packets.count < Self.packetsPerRound, let next = store.first {
                    guard let due = audibleInstant(of: next.packet.timestamp, anchor, at: now) else { break }
                    guard due < horizon else {
                        round.nextDecode = due
                        break
                    }
                    guard let taken = store.popFirst() else { break }
                    round.lost += taken.gap
                    if due < past { round.late += 1 } else { round.packets.append(taken.packet) }
                }
                state.store = .realtime(store)
            }
            return round
        }
    }

    /// The playback state: decoder, device and decoded audio. Used by the playout thread only.
    struct Playing {
        var device: VirtualDevice
        let decoder: StreamAudioDecoder
        private var decoded = Queue<DecodedAudio>()
        private var isDry = true

        init(device: VirtualDevice, decoder: StreamAudioDecoder) {
            self.device = device
            self.decoder = decoder
        }

        /// Decodes and places the packets that are due.
        ///
        /// - Returns: When to call again unless new input arrives; at once if not later than `now`.
        mutating func round(at now: HostInstant, of engine: PlayoutEngine) -> HostInstant {
            let round = engine.beginRound(at: now)
            if round.isCut {
                device.cut(at: now)
                decoded.removeAll()
                decoder.reset()
                isDry = true
            }
            if !round.packets.isEmpty || round.late > 0 { engine.room.raise() }
            if round.lost > 0 { engine.record.record(.lost(packets: round.lost)) }
            for packet in round.packets {
                for audio in engine.decode(packet, decoder) { decoded.append(audio) }
            }
            var late = round.late
            var next: HostInstant?
            if let anchor = round.anchor {
                while let audio = decoded.first {
                    guard let due = engine.audibleInstant(of: audio.position, anchor, at: now) else { break }
                    guard due < now.advanced(by: engine.scheduleAhead) else {
                        next = due.advanced(by: .zero - engine.scheduleAhead)
                        break
                    }
                    decoded.popFirst()
                    if schedule(audio, due: due, now: now, gain: round.gain, engine) {
                        isDry = false
                    } else {
                        late += 1
                    }
                }
            }
            if late > 0 { engine.record.record(.late(packets: late)) }
            if !isDry, decoded.isEmpty, let end = device.endInstant, end < now {
                isDry = true
                engine.record.record(.underrun)
            }
            if let decode = round.nextDecode?.advanced(by: .zero - engine.decodeAhead) {
                next = min(next ?? decode, decode)
            }
            if round.packets.count == PlayoutEngine.packetsPerRound { return now }
            return max(next ?? HostInstant(nanoseconds: .max), now.advanced(by: .nanoseconds(1)))
        }

        /// Places decoded audio. Returns false if all of it is late.
        private mutating func schedule(
            _ audio: DecodedAudio, due: HostInstant, now: HostInstant, gain: Float, _ engine: PlayoutEngine
        ) -> Bool {
            let rate = engine.setup.format.sampleRate
            var skipped = 0
            if due < now {
                skipped = Int(clamping: ((now - due).inSeconds * Double(rate)).rounded(.up), in: 0...audio.frames)
                // Drops the late part only.
                guard skipped < audio.frames else { return false }
            }
            var samples = audio.samples[(skipped * 2)...]
            if gain != 1 { samples = ArraySlice(samples.map { $0 * gain }) }
            let start = due.advanced(by: HeardSpan.length(of: skipped, rate))
            device.schedule(samples, position: audio.position.advanced(byFrames: Int64(skipped)), at: start)
            engine.firstAudio.withLock { if $0 == nil { $0 = start } }
            return true
        }

        /// Ends the stream: removes audio placed after `now` and completes the recording.
        mutating func finish(at now: HostInstant) {
            device.cut(at: now)
            device.finish(at: now)
        }
    }

    private func decode(_ packet: StoredPacket, _ decoder: StreamAudioDecoder) -> [DecodedAudio] {
        var format = setup.format
        if setup.kind == .buffered {
            guard let named = StreamFormat.all.first(where: { $0.synchronizationSource == packet.source })
            else {
                record.record(.damaged(reason: "unknown format \(String(packet.source, radix: 16))"))
                return []
            }
            format = .wire(named)
        }
        do {
            return try decoder.decode(packet, format: format)
        } catch {
            record.record(.damaged(reason: error.message))
            return []
        }
    }
}
