internal import MediaCore
internal import SyncRendering

/// Sound from its sources to the renderer, still encoded: one film of the chain after the other, each in its place on the line.
final class AudioStage: TrackStage {
    private let chain: FilmChain
    private let renderer: AudioRenderer
    /// The film that is read; nil before the first jump.
    private var link: FilmLink?
    private var film: (any MediaSource)?
    private var track: Track?
    private let source: Lock<(reader: (any SampleSource)?, isCancelled: Bool)>
    /// The film's sound has been read to its end.
    private var isAtEnd = false
    /// The next buffer joins the film before.
    private var isJoint = false
    /// Film time just after what was read last.
    private var readUntil = MediaTime.zero
    private var mover = SoundMover()
    private var failuresInARow = 0

    private static let mostFailures = 100

    /// - Parameter link: the film that `source` belongs to.
    init(chain: FilmChain, renderer: AudioRenderer, link: FilmLink, source: any SampleSource) {
        self.chain = chain
        self.renderer = renderer
        self.source = Lock((source, false))
        (film, track) = (link.film, link.audioTrack)
    }

    /// A stage that begins with what follows a film without sound.
    init(chain: FilmChain, renderer: AudioRenderer, behind link: FilmLink) {
        self.chain = chain
        self.renderer = renderer
        self.link = link
        source = Lock((nil, false))
        isAtEnd = true
        chain.enter(link.serial, .sound)
    }

    // MARK: Jumping

    func seek(to time: MediaTime, aim: SeekAim) throws(MediaError) -> MediaTime? {
        renderer.flush()
        guard let link = chain.current else { return time }
        self.link = link
        let moment = time - (link.offset ?? .zero)
        // Until its source is there, nothing of it is read.
        (isAtEnd, isJoint, readUntil, failuresInARow) = (true, false, moment, 0)
        chain.enter(link.serial, .sound)
        guard let wanted = link.audioTrack else { return time }
        do throws(MediaError) {
            let reader: any SampleSource
            if film === link.film, track == wanted, let open = source.withLock({ $0.reader }) {
                reader = open
            } else {
                reader = try open(link, wanted)
            }
            try reader.seek(to: moment, mode: .exact)
        } catch {
            if error.code == .cancelled { throw error }
            // A source that cannot jump goes on from where it is, which at the start is right; one that fails is over.
            if error.code != .unsupported {
                _ = reachEnd(of: link)
                return time
            }
        }
        isAtEnd = false
        return time
    }

    /// What followed a film was taken back; what is to follow it now comes next.
    func cut(after serial: Int) {
        guard let kept = chain.link(serial) else { return }
        (link, isAtEnd) = (kept, true)
        chain.enter(serial, .sound)
    }

    private func open(_ link: FilmLink, _ track: Track) throws(MediaError) -> any SampleSource {
        let reader = try link.film.source(for: track)
        try take(reader, link, track)
        return reader
    }

    private func take(_ reader: any SampleSource, _ link: FilmLink, _ track: Track) throws(MediaError) {
        let isCancelled = source.withLock { source in
            if !source.isCancelled { source.reader = reader }
            return source.isCancelled
        }
        if isCancelled { throw MediaError(.cancelled, "reading was cancelled") }
        (film, self.track) = (link.film, track)
    }

    // MARK: Steps

    func step() throws(MediaError) -> TrackStep {
        guard let link else { return .full }
        if isAtEnd { return goOn(behind: link) }
        guard renderer.isReadyForMoreMediaData else { return .full }
        guard let reader = source.withLock({ $0.reader }) else { return reachEnd(of: link) }
        do {
            guard let buffer = try reader.read() else { return reachEnd(of: link) }
            failuresInARow = 0
            return hand(buffer, of: link)
        } catch {
            // One bad packet is skipped; a source that only fails is over.
            failuresInARow += 1
            if error.code == .damagedPacket, failuresInARow < Self.mostFailures { return .moved }
            if error.code != .cancelled { return reachEnd(of: link) }
            renderer.finish()
            throw error
        }
    }

    private func hand(_ buffer: SampleBuffer, of link: FilmLink) -> TrackStep {
        let offset = link.offset ?? .zero
        var buffer = buffer
        let start = buffer.presentationTime ?? readUntil
        let isHeard = !buffer.flags.contains(.decodeOnly)
        // Nothing of a film lies behind its end.
        let settled = chain.settledEnd(of: link.serial).map { $0 - offset }
        let limit = [link.end, settled].compactMap { $0 }.min()
        if let limit, isHeard, start >= limit {
            readUntil = max(readUntil, limit)
            return reachEnd(of: link)
        }
        if isHeard { readUntil = max(readUntil, start + buffer.soundLength) }
        if isJoint || offset.value != 0 {
            buffer = mover.moved(buffer, by: TimeShift(offset), from: isJoint || link.start > .zero ? link.start : nil)
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
        renderer.enqueue(buffer)
        return .moved
    }

    private func reachEnd(of link: FilmLink) -> TrackStep {
        isAtEnd = true
        chain.note(.at(readUntil), .sound, of: link.serial)
        return .moved
    }

    private func goOn(behind link: FilmLink) -> TrackStep {
        switch chain.successor(of: link.serial, .sound) {
        case .wait: return .full
        case .finish:
            renderer.finish()
            return .full
        case .end:
            renderer.finish()
            return .ended
        case .link(let next):
            begin(next)
            return .moved
        }
    }

    private func begin(_ next: FilmLink) {
        // Opened before it counts as begun: whoever waits for the joint waits for this.
        if let track = next.audioTrack {
            do throws(MediaError) {
                let reader = try next.film.source(for: track)
                if next.start > .zero { try reader.seek(to: next.start, mode: .exact) }
                try take(reader, next, track)
            } catch {
                // Its picture alone is not played either.
                return chain.lose(next.serial, error)
            }
        }
        link = next
        (isAtEnd, isJoint, readUntil, failuresInARow) = (next.audioTrack == nil, true, next.start, 0)
        chain.enter(next.serial, .sound)
    }

    func cancel() {
        let reader = source.withLock { source -> (any SampleSource)? in
            source.isCancelled = true
            return source.reader
        }
        reader?.cancel()
    }
}

extension SampleBuffer {
    /// How long the sound lasts; decoded sound knows it even where the buffer does not say.
    fileprivate var soundLength: MediaTime {
        if duration == .zero, case .pcm(let block) = payload { return block.end - block.start }
        return duration
    }
}
