internal import MediaCore
internal import SyncRendering

/// The pictures of one film on their way from its source through its decoder.
///
/// `@unchecked Sendable`: made and made ready by one thread, then handed over under the chain's lock to the pipeline, the
/// only one who uses it from then on; `cancel` is the source's, which any thread may call.
final class PictureTrack: @unchecked Sendable {
    let film: any MediaSource
    let source: any SampleSource
    let decoder: any PictureDecoder
    private var ready: [SampleBuffer] = []
    private var sourceHasEnded = false
    private var failuresInARow = 0

    /// Packets that may be read for a first picture.
    private static let mostPackets = 500
    private static let mostFailures = 1000

    init(film: any MediaSource, source: any SampleSource, decoder: any PictureDecoder) {
        self.film = film
        self.source = source
        self.decoder = decoder
    }

    /// Goes to a film time; a source that cannot stays where it is.
    func seek(to time: MediaTime, exact: Bool) throws(MediaError) {
        ready.removeAll(keepingCapacity: true)
        do {
            try source.seek(to: time, mode: exact ? .exact : .syncBefore)
        } catch  where error.code == .unsupported {
            // At the start that is right.
        }
        decoder.flush()
        if exact { decoder.discardPictures(before: time) }
        (sourceHasEnded, failuresInARow) = (false, 0)
    }

    /// Reads and decodes up to the first picture, so that it is there at once.
    func makeReady(from start: MediaTime) throws(MediaError) {
        if start > .zero { try seek(to: start, exact: true) }
        for _ in 0..<Self.mostPackets {
            switch try step() {
            case .picture(let picture):
                ready.append(picture)
                return
            case .moved: continue
            case .ended: return
            }
        }
    }

    enum Step {
        case picture(SampleBuffer)
        case moved
        /// Everything is out.
        case ended
    }

    /// The next picture, or one packet more. A damaged packet is passed over; a source that fails ends here.
    ///
    /// - Throws: `cancelled`.
    func step() throws(MediaError) -> Step {
        if !ready.isEmpty { return .picture(ready.removeFirst()) }
        if let picture = decoder.receive() { return .picture(picture) }
        if sourceHasEnded { return .ended }
        do {
            if let buffer = try source.read() {
                failuresInARow = 0
                try decoder.send(buffer)
            } else {
                finish()
            }
        } catch {
            if error.code == .cancelled { throw error }
            failuresInARow += 1
            // What the decoder still holds is shown before the track is given up.
            if error.code != .damagedPacket || failuresInARow >= Self.mostFailures { finish() }
        }
        return .moved
    }

    private func finish() {
        sourceHasEnded = true
        decoder.finish()
    }

    func cancel() { source.cancel() }
}
