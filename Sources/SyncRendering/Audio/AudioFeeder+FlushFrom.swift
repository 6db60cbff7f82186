internal import MediaCore

/// Flushes from a media time on: in the renderer's queue, in the converter and encoder, and in the output.
extension AudioFeeder {
    /// Starts the next pending partial flush, or completes the one that the output has decided.
    mutating func servePartialFlush() {
        if let request = partialFlush {
            guard let flushing = output as? any PartialFlushing, let result = flushing.partialFlushResult else {
                return
            }
            partialFlush = nil
            switch result {
            case .refused, .overtaken: answer(request, result)
            case .flushed where request.feedsAgain:
                feedAgain(from: request.time, severed: flushing.severedPacket)
                answer(request, result)
            case .flushed:
                cutEverythingHere(
                    at: request.time, keptUntil: flushing.acceptedUntil, severed: flushing.severedPacket)
                answer(request, .flushed(from: request.time))
            }
        }
        while partialFlush == nil, let request = nextPartialFlush() { begin(request) }
    }

    /// Cancels all partial flushes, because another operation discards the audio.
    mutating func overtakePartialFlush() {
        if let request = partialFlush {
            partialFlush = nil
            answer(request, .overtaken)
        }
        renderer.reportOvertakenFlushes()
    }

    private func nextPartialFlush() -> PartialFlushRequest? {
        renderer.state.withLock { state in
            guard !state.partialFlushes.isEmpty, !state.flushRequested, !state.outputChanged else { return nil }
            state.isCutting = true
            return state.partialFlushes.removeFirst()
        }
    }

    private mutating func answer(_ request: PartialFlushRequest, _ result: PartialFlushResult) {
        steps &+= 1
        let enqueuedUntil = renderer.state.withLock { state -> MediaTime? in
            state.isCutting = false
            return state.enqueuedUntil
        }
        var result = result
        // No audio was enqueued up to that time: playback ends where the queue ended.
        if case .flushed(let time) = result, let enqueuedUntil, enqueuedUntil < time {
            result = .flushed(from: enqueuedUntil)
        }
        request.completion(result)
        if request.feedsAgain { hear(result, of: request) }
        renderer.tell(.progress)
    }

    private mutating func begin(_ request: PartialFlushRequest) {
        let time = request.time
        guard let output, delivery != nil else {
            if request.feedsAgain { return answer(request, .overtaken) }
            cutQueue(at: time, isLast: false)
            return answer(request, .flushed(from: time))
        }
        let takesBuffers = if case .sampleBuffers? = delivery { true } else { false }
        if !takesBuffers, output.acceptedUntil.map({ $0 <= time }) ?? true {
            if request.feedsAgain { feedAgain(from: time, severed: nil) } else { cutInside(at: time) }
            return answer(request, .flushed(from: time))
        }
        guard let flushing = output as? any PartialFlushing, speed == 1 || !isEncoding else {
            return answer(request, .refused(leadNeeded: nil))
        }
        let lead = flushing.partialFlushLead
        let snapshot = renderer.timebase.snapshot
        let now = renderer.timebase.clock.now
        let due = snapshot.hostInstant(of: time, at: now)
        if time < snapshot.mediaTime(at: now) || due.map({ $0 - now < lead }) ?? false {
            return answer(request, .refused(leadNeeded: lead))
        }
        flushing.beginPartialFlush(from: time)
        partialFlush = request
        // Many outputs decide at once.
        if flushing.partialFlushResult != nil { servePartialFlush() }
    }

    var isEncoding: Bool { if case .encoded? = delivery { true } else { false } }

    // MARK: Audio that the output has not received

    /// Removes buffers that start at or after a time from the queue. A buffer that spans the time is trimmed to it.
    ///
    /// - Parameter isLast: Whether the audio taken by the feeder already ends at that time.
    private mutating func cutQueue(at time: MediaTime, isLast: Bool) {
        let isEmpty = renderer.state.withLock { state -> Bool in
            if let end = state.enqueuedUntil, end <= time, !isLast { return false }
            var end = takenUntil ?? time
            var kept = 0
            for buffer in state.queue {
                let start = buffer.presentationTime ?? end
                guard start < time, !isLast else { break }
                end = start + buffer.duration
                kept += 1
            }
            state.queue.removeLast(state.queue.count - kept)
            renderer.cutKept(&state, at: time)
            if kept > 0 {
                let before = state.queue[kept - 1].heardUntil
                state.queue[kept - 1].heardUntil = min(before ?? time, time)
            }
            state.enqueuedUntil = time
            state.finished = false
            state.status.isDrained = false
            state.wasFull = true
            return kept == 0
        }
        // The next buffer is different audio, even if it is contiguous.
        if isEmpty, converter != nil { limit = min(limit ?? time, time) }
        isFinishing = false
        isFinished = false
    }

    /// Flushes from a time after all audio that the output has accepted.
    private mutating func cutInside(at time: MediaTime) {
        if let waiting = nextFormat {
            let start = waiting.presentationTime ?? time
            if start >= time {
                nextFormat = nil
            } else {
                nextFormat?.heardUntil = min(waiting.heardUntil ?? time, time)
            }
        }
        if let tail { self.tail = tail.start < time ? tail.ending(at: time) : nil }
        // The next buffer follows a gapless boundary, even without the flag.
        isAtJoint = passesPackets
        guard let takenUntil, takenUntil > time else { return cutQueue(at: time, isLast: false) }
        cutQueue(at: time, isLast: true)
        self.takenUntil = time
        if isEncoding { return cutEncoder(at: time) }
        switch pending {
        case .block(let block, let offset):
            if !block.cut(at: time) || block.frames <= offset { pending = .nothing }
        case .packets(let packets, let offset): pending = .packets(packets.prefix(before: time, from: offset), 0)
        case .buffer, .nothing: break
        }
        if case .packets(let packets, _) = pending, packets.packets.isEmpty { pending = .nothing }
    }

    /// Drains the encoder. A packet that spans the time, or is not full, is decoded, trimmed and encoded again.
    private mutating func cutEncoder(at time: MediaTime) {
        if isBlockHeld {
            // The held block follows a gap, so the encoder is already finished.
            isBlockHeld = block?.cut(at: time) ?? false
            return
        }
        let rest = PacketBatch()
        if case .packets(let packets, let offset) = pending {
            for packet in packets.packets.dropFirst(offset) {
                packets.withBytes(of: packet) { rest.append($0, as: packet) }
            }
        }
        encoder?.finish()
        // ignored: packets that the encoder fails to return are dropped, as the flush requires.
        _ = try? encoder?.receive(into: rest)
        encoder?.reset()
        encodedUntil = nil
        encoderFinished = false
        let kept = PacketBatch()
        let severed = PacketBatch()
        let full = encoder.map { Int64($0.framesPerPacket) } ?? 0
        for packet in rest.packets {
            guard let start = packet.presentationTime, start < time else { break }
            let isWhole = start + packet.duration <= time && packet.duration.value >= full
            rest.withBytes(of: packet) { (isWhole ? kept : severed).append($0, as: packet) }
        }
        pending = kept.packets.isEmpty ? .nothing : .packets(kept, 0)
        if let end = rest.packets.last.flatMap({ packet in packet.presentationTime.map { $0 + packet.duration } }),
            end > time
        {
            // The converter holds only later audio.
            converter?.reset()
        }
        putBack(severed, until: time)
    }

    // MARK: Audio that the output had accepted

    /// Discards all audio from a time on in the feeder and the queue, after the output has flushed.
    private mutating func cutEverythingHere(at time: MediaTime, keptUntil end: MediaTime?, severed: PacketBatch?) {
        if case .sampleBuffers? = delivery {
            cutQueue(at: time, isLast: false)
        } else {
            forget()
            renderer.state.withLock { state in
                state.queue.removeAll(keepingCapacity: true)
                renderer.cutKept(&state, at: time)
            }
            agreesAnew = false
            if passesPackets { (line, isAtJoint) = (PacketLine(end: end), true) }
            if isEncoding, let severed { putBack(severed, until: time) }
        }
        renderer.state.withLock { state in
            state.enqueuedUntil = time
            state.finished = false
            state.status.isDrained = false
            state.status.acceptedUntil = end
            state.wasFull = true
        }
    }

    /// Decodes severed packets and encodes their part before `time` again.
    mutating func putBack(_ packets: PacketBatch, until time: MediaTime) {
        guard let encoder, case .encoded(let format, let pcm)? = delivery, let first = packets.packets.first,
            let start = first.presentationTime,
            // ignored: up to one packet before the cut is silent, as where packets cannot be cut.
            let decoder = try? renderer.codecs.converter(from: format, to: pcm, speed: 1)
        else { return }
        let buffer = SampleBuffer(
            payload: .encodedAudio(format, packets), presentationTime: start, duration: first.duration)
        let head = PCMBlock(format: pcm, capacity: max(encoder.framesPerPacket, 1))
        // ignored: up to one packet before the cut is silent, as on outputs whose packets cannot be cut.
        guard (try? decoder.send(buffer)) != nil else { return }
        decoder.finish()
        // ignored: the same.
        guard (try? decoder.receive(into: head)) == true, head.cut(at: time) else { return }
        // The encoder copies the frames only when a packet is full; it retains the block.
        // ignored: see above; the next block fails as well and is reported.
        try? encoder.send(head)
        encodedUntil = head.end
    }
}
