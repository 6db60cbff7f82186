internal import MediaCore
internal import SyncRendering

/// Reads and decodes the pictures of one item. One thread at a time.
///
/// Times are the item's own. When pictures come out too late the decoder is told to do less, before whole pictures are lost at
/// the screen.
final class ItemPictures {
    private let source: (any SampleSource)?
    private let decoder: (any PictureDecoder)?
    private let isStill: Bool
    /// Decoded and not handed on.
    private(set) var waiting: [SampleBuffer] = []
    private(set) var hasEnded = false
    /// Why reading ended early.
    private(set) var failure: MediaError?
    private var hasPicture = false
    private var sourceHasEnded = false
    private var failuresInARow = 0
    private let first: MediaTime
    private var policy = EffortPolicy()
    private var lastEnd: MediaTime?

    /// Where pictures begin later than that, there is black first.
    private static let longestStart: Duration = .milliseconds(250)
    private static let mostFailures = 1000

    /// Nothing but black from a moment on.
    init(blankFrom first: MediaTime) {
        (source, decoder, isStill, self.first) = (nil, nil, true, first)
        waiting = [BlankPicture.buffer(at: first)]
        hasEnded = true
    }

    /// - Parameter first: the moment whose picture is the first to come out.
    init(
        _ source: any SampleSource, _ decoder: any PictureDecoder, isStill: Bool, from first: MediaTime
    ) throws(MediaError) {
        (self.source, self.decoder, self.isStill, self.first) = (source, decoder, isStill, first)
        guard first > .zero, !isStill else { return }
        do {
            try source.seek(to: first, mode: .exact)
        } catch  where error.code == .unsupported {
            // Read from where it is; what lies before is decoded and left out.
        }
        decoder.discardPictures(before: first)
    }

    func removeFirst() { waiting.removeFirst() }

    /// One step towards the next picture; blocks while reading.
    func step() {
        guard !hasEnded, let source, let decoder else { return }
        do throws(MediaError) {
            if let picture = decoder.receive() { return take(picture) }
            if sourceHasEnded {
                hasEnded = true
                return
            }
            if let buffer = try source.read() {
                failuresInARow = 0
                try decoder.send(buffer)
            } else {
                endSource()
            }
        } catch {
            failuresInARow += 1
            if error.code == .damagedPacket, failuresInARow < Self.mostFailures { return }
            if error.code == .cancelled {
                hasEnded = true
            } else if !sourceHasEnded {
                // What the decoder still holds is shown before the rest is given up.
                failure = error
                endSource()
            } else {
                failure = failure ?? error
                hasEnded = true
            }
        }
    }

    private func endSource() {
        sourceHasEnded = true
        decoder?.finish()
    }

    private func take(_ picture: SampleBuffer) {
        guard let time = picture.presentationTime else { return }
        if isStill {
            // Whatever its stamp says: it is there from the beginning to the end.
            var still = picture
            still.presentationTime = first
            still.duration = .zero
            waiting = [still]
            hasEnded = true
            return
        }
        if !hasPicture, (time - first).duration > Self.longestStart { waiting.append(BlankPicture.buffer(at: first)) }
        hasPicture = true
        waiting.append(picture)
    }

    /// Judges by a picture that was handed on whether the decoder keeps up; both times are the queue's.
    func adaptEffort(to picture: SampleBuffer, now: MediaTime, events: EventLog) {
        guard let decoder, let time = picture.presentationTime, let end = picture.end else { return }
        defer { lastEnd = end }
        if decoder.effort < .plain, let lastEnd, picture.duration > .zero, time > lastEnd {
            let count = Int(min(1e6, ((time - lastEnd).seconds / picture.duration.seconds).rounded()))
            if count > 0 { events.note(.framesDropped(count: count, at: lastEnd, reason: .skippedDecoding)) }
        }
        let step =
            switch policy.advice(end: end, now: now) {
            case .same: 0
            case .less: -1
            case .more: 1
            }
        if step != 0, let effort = DecodingEffort(rawValue: decoder.effort.rawValue + step) { decoder.effort = effort }
    }
}
