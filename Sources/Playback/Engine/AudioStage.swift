internal import MediaCore
internal import SyncRendering

/// Sound from its sources to a renderer: one entry of the list after the other, each in its place on the timeline. Packets are
/// handed on as they are, unless the sound was asked for in one format (`SoundShaper`).
final class AudioStage: TrackStage {
    private let list: SharedPlaybackList
    private let walker: SharedPlaybackList.Walker
    private let renderer: AudioRenderer
    private var shaper: SoundShaper?
    private let replayGain: ReplayGainOptions
    /// What the samples of the track that is read are multiplied with.
    private var gain: Float
    /// The track of an entry that is played.
    private let choose: @Sendable (PlaybackList.Entry) -> Track?
    /// The entry that is read; nil before the first jump.
    private var entry: PlaybackList.Entry?
    /// Whose source is open.
    private var film: (any MediaSource)?
    private var track: Track?
    private let source: StageSource
    /// The entry's sound has been read to its end.
    private var isAtEnd = false
    /// The next buffer joins the film before.
    private var isJoint = false
    /// Film time just after what was read last.
    private var readUntil = MediaTime.zero
    /// Sound that is heard was read since the last jump, or since the entry began.
    private var hasRead = false
    /// Read before there was room for it, so that the end of the sound is known as soon as can be.
    private var next: SampleBuffer?
    private var mover = SoundMover()
    private var failuresInARow = 0
    let intake: TrackIntake?

    private static let mostFailures = 100

    /// - Parameter entry: the one that `source` belongs to.
    init(
        list: SharedPlaybackList, walker: SharedPlaybackList.Walker = .sound, renderer: AudioRenderer,
        shaper: SoundShaper? = nil, replayGain: ReplayGainOptions = ReplayGainOptions(), entry: PlaybackList.Entry,
        source: any SampleSource, intake: TrackIntake? = nil
    ) {
        self.intake = intake
        choose = { $0.audioTrack }
        (self.list, self.walker, self.renderer, self.shaper) = (list, walker, renderer, shaper)
        self.source = StageSource(source)
        (film, track) = (entry.film, entry.audioTrack)
        self.replayGain = replayGain
        gain = replayGain.gain(for: entry.audioTrack?.replayGain)
    }

    /// A stage that begins with what follows an entry without sound.
    init(
        list: SharedPlaybackList, walker: SharedPlaybackList.Walker = .sound, renderer: AudioRenderer,
        shaper: SoundShaper? = nil, replayGain: ReplayGainOptions = ReplayGainOptions(),
        choose: @escaping @Sendable (PlaybackList.Entry) -> Track? = { $0.audioTrack },
        behind entry: PlaybackList.Entry, intake: TrackIntake? = nil
    ) {
        self.intake = intake
        self.choose = choose
        (self.list, self.walker, self.renderer, self.shaper) = (list, walker, renderer, shaper)
        self.entry = entry
        self.replayGain = replayGain
        gain = 1
        source = StageSource()
        isAtEnd = true
        list.enter(entry.serial, walker)
    }

    // MARK: Jumping

    func seek(to time: MediaTime, aim: SeekAim) throws(MediaError) -> MediaTime? {
        renderer.flush()
        guard let entry = list.current else { return time }
        self.entry = entry
        let moment = time - (entry.offset ?? .zero)
        // Until its source is there, nothing of it is read.
        (isAtEnd, isJoint, readUntil, failuresInARow, next, hasRead) = (true, false, moment, 0, nil, false)
        shaper?.begin(at: time, of: entry.item)
        list.enter(entry.serial, walker)
        guard let wanted = choose(entry) else { return time }
        do throws(MediaError) {
            let reader: any SampleSource
            if film === entry.film, track == wanted, let open = source.reader {
                reader = open
            } else {
                reader = try entry.media.source(for: wanted)
                try take(reader, entry, wanted)
            }
            try reader.seek(to: moment, mode: .exact)
        } catch {
            if error.code == .cancelled { throw error }
            // A source that cannot jump goes on from where it is, which at the start is right; one that fails is over.
            if error.code != .unsupported {
                list.note(error, at: moment, walker, of: entry.serial)
                _ = reachEnd(of: entry)
                return time
            }
        }
        isAtEnd = false
        return time
    }

    /// What lies behind an entry was taken back, or behind its new end; what is to follow it comes next.
    func cut(after serial: Int) {
        guard let kept = list.entry(serial) else { return }
        if let end = kept.sectionEnd, kept.serial == entry?.serial, !isAtEnd, readUntil < end {
            // It reads on, to there.
            return entry = kept
        }
        (entry, isAtEnd, next) = (kept, true, nil)
        shaper?.drop()
        list.enter(serial, walker)
    }

    private func take(_ reader: any SampleSource, _ entry: PlaybackList.Entry, _ track: Track) throws(MediaError) {
        try source.take(reader)
        (film, self.track) = (entry.film, track)
        gain = replayGain.gain(for: track.replayGain)
    }

    // MARK: Steps

    func step() throws(MediaError) -> TrackStep {
        guard let entry else { return .full }
        if isAtEnd { return goOn(behind: entry) }
        // In this order: a renderer that was full asks for more only after it was asked.
        let hasRoom = renderer.isReadyForMoreMediaData || intake?.wantsMore ?? false
        if let buffer = next {
            guard hasRoom else { return .full }
            next = nil
            return hand(buffer, of: entry)
        }
        guard let reader = source.reader else { return reachEnd(of: entry) }
        do {
            intake?.beginReading()
            let read = Result { () throws(MediaError) in try reader.read() }
            intake?.endReading()
            guard let buffer = try read.get() else {
                if walker == .sound { list.noteRead(soundUntil: readUntil, of: entry.serial) }
                return reachEnd(of: entry)
            }
            failuresInARow = 0
            if let start = buffer.presentationTime {
                intake?.note(readUntil: start + buffer.soundLength + (entry.offset ?? .zero))
            }
            if hasRoom { return hand(buffer, of: entry) }
            next = buffer
            return .full
        } catch {
            // One bad packet is skipped; a source that only fails is over.
            failuresInARow += 1
            if error.code == .damagedPacket, failuresInARow == 1 { list.noteDamage(of: entry.serial) }
            if error.code == .lostSegment {
                list.note(lostSegment: error, at: readUntil, walker, of: entry.serial)
            }
            if error.isRecoverable, failuresInARow < Self.mostFailures { return .moved }
            if error.code != .cancelled {
                list.note(error, at: readUntil, walker, of: entry.serial)
                return reachEnd(of: entry)
            }
            renderer.finish()
            throw error
        }
    }

    private func hand(_ buffer: SampleBuffer, of entry: PlaybackList.Entry) -> TrackStep {
        let offset = entry.offset ?? .zero
        var buffer = buffer
        let start = buffer.presentationTime ?? readUntil
        let isHeard = !buffer.flags.contains(.decodeOnly)
        // Nothing of a film lies behind its end.
        let settled = list.settledEnd(of: entry.serial).map { $0 - offset }
        let limit = [entry.limit, settled].compactMap { $0 }.min()
        if let limit, isHeard, start >= limit {
            readUntil = max(readUntil, limit)
            return reachEnd(of: entry)
        }
        if isHeard {
            if walker == .sound, hasRead, start - readUntil > EntryLosses.shortestHole {
                list.note(hole: readUntil, until: start, of: entry.serial)
            }
            hasRead = true
            readUntil = max(readUntil, start + buffer.soundLength)
        }
        // The rest of a film behind a section is on the film's own time, and begins inside a packet all the same.
        if isJoint || entry.isPart || offset.value != 0 {
            buffer = mover.moved(
                buffer, by: TimeShift(offset), from: isJoint || entry.start > .zero ? entry.start : nil)
        }
        if let limit, isHeard, readUntil > limit {
            buffer.heardUntil = limit + offset
            readUntil = limit
        }
        if isJoint {
            buffer.flags.remove(.discontinuity)
            buffer.flags.insert(.joint)
            isJoint = false
        }
        buffer.gain = gain
        guard shaper != nil else {
            renderer.enqueue(buffer)
            return .moved
        }
        do throws(MediaError) {
            try shaper?.send(buffer, enqueue)
            return .moved
        } catch {
            // This track cannot be decoded: the film goes on without it.
            list.note(error, at: readUntil, walker, of: entry.serial)
            return reachEnd(of: entry)
        }
    }

    private func enqueue(_ stretch: SampleBuffer) {
        var stretch = stretch
        stretch.gain = gain
        renderer.enqueue(stretch)
    }

    private func reachEnd(of entry: PlaybackList.Entry) -> TrackStep {
        isAtEnd = true
        shaper?.finish(enqueue)
        list.note(.at(readUntil), walker, of: entry.serial)
        return .moved
    }

    private func goOn(behind entry: PlaybackList.Entry) -> TrackStep {
        switch list.successor(of: entry.serial, walker) {
        case .wait: return .full
        case .finish:
            renderer.finish()
            return .full
        case .end:
            renderer.finish()
            return .ended
        case .entry(let next):
            begin(next)
            return .moved
        }
    }

    private func begin(_ next: PlaybackList.Entry) {
        // Opened before it counts as begun: whoever waits for the joint waits for this.
        var wanted = choose(next)
        if let track = wanted {
            intake?.beginReading()
            defer { intake?.endReading() }
            do throws(MediaError) {
                let reader = try next.media.source(for: track)
                if next.start > .zero { try reader.seek(to: next.start, mode: .exact) }
                try take(reader, next, track)
            } catch {
                // Its picture alone is not played either. A further sound is nothing that a film is given up for.
                guard walker != .sound else { return list.lose(next.serial, error) }
                wanted = nil
            }
        }
        entry = next
        self.next = nil
        (isAtEnd, isJoint, readUntil, failuresInARow, hasRead) = (wanted == nil, true, next.start, 0, false)
        shaper?.begin(at: next.begin ?? .zero, of: next.item, isJoint: true)
        list.enter(next.serial, walker)
    }

    func askForRoom(raising signal: Signal) { renderer.requestMediaData(raising: signal) }

    func cancel() { source.cancel() }
}
