internal import MediaCore
internal import SyncRendering

/// Pictures from their source through the decoder to the display layer.
///
/// When the machine is too slow the decoder is told to do less, before whole pictures are lost at the screen.
final class VideoStage: TrackStage {
    private let source: any SampleSource
    private let decoder: any PictureDecoder
    private let layer: DisplayLayer
    private let timebase: Timebase
    private let events: EventLog
    private let progress: ProgressGate
    private var sourceHasEnded = false
    private var failuresInARow = 0
    private var lastEnd: MediaTime?
    private var policy = EffortPolicy()

    init(
        source: any SampleSource, decoder: any PictureDecoder, layer: DisplayLayer, timebase: Timebase,
        events: EventLog, progress: ProgressGate
    ) {
        self.source = source
        self.decoder = decoder
        self.layer = layer
        self.timebase = timebase
        self.events = events
        self.progress = progress
    }

    func seek(to time: MediaTime, exact: Bool) throws(MediaError) {
        layer.flush()
        do {
            try source.seek(to: time, mode: exact ? .exact : .syncBefore)
        } catch  where error.code == .unsupported {
            // Goes on from where it is.
        }
        decoder.flush()
        if exact { decoder.discardPictures(before: time) }
        lastEnd = nil
        sourceHasEnded = false
        policy.reset()
    }

    func step() throws(MediaError) -> TrackStep {
        guard layer.isReadyForMoreMediaData else { return .full }
        do {
            if let picture = decoder.receive() {
                adaptEffort(to: picture)
                layer.enqueue(picture)
                progress.report()
                return .moved
            }
            if sourceHasEnded {
                layer.finish()
                return .ended
            }
            if let buffer = try source.read() {
                failuresInARow = 0
                try decoder.send(buffer)
            } else {
                sourceHasEnded = true
                decoder.finish()
            }
            return .moved
        } catch {
            failuresInARow += 1
            if error.code == .damagedPacket, failuresInARow < 1000 { return .moved }
            if !sourceHasEnded, error.code != .cancelled {
                // What the decoder still holds is shown before the track is given up.
                sourceHasEnded = true
                decoder.finish()
                pendingFailure = error
                return .moved
            }
            layer.finish()
            throw error
        }
    }

    /// Why the source ended early, for whoever asks after `.ended`.
    private(set) var pendingFailure: MediaError?

    func cancel() { source.cancel() }

    /// Less effort is first no loop filter, then no pictures that no other needs, then key pictures only.
    private func adaptEffort(to picture: SampleBuffer) {
        noteSkipped(before: picture)
        guard timebase.rate > 0, let end = picture.end else { return }
        let step =
            switch policy.advice(end: end, now: timebase.currentTime) {
            case .same: 0
            case .less: -1
            case .more: 1
            }
        if step != 0, let effort = DecodingEffort(rawValue: decoder.effort.rawValue + step) { decoder.effort = effort }
    }

    /// What the decoder leaves out shows as a hole in film time.
    private func noteSkipped(before picture: SampleBuffer) {
        defer { lastEnd = picture.end }
        guard decoder.effort < .plain, let lastEnd, let time = picture.presentationTime,
            picture.duration > .zero, time > lastEnd
        else { return }
        let count = Int(((time - lastEnd).seconds / picture.duration.seconds).rounded())
        if count > 0 { events.note(.framesDropped(count: count, at: lastEnd, reason: .skippedDecoding)) }
    }
}
