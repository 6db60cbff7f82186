internal import MediaCore
internal import SyncRendering

/// Sound from its source to the renderer, still encoded.
final class AudioStage: TrackStage {
    private let source: any SampleSource
    private let renderer: AudioRenderer
    private var failuresInARow = 0

    init(source: any SampleSource, renderer: AudioRenderer) {
        self.source = source
        self.renderer = renderer
    }

    func seek(to time: MediaTime, exact: Bool) throws(MediaError) {
        renderer.flush()
        do {
            try source.seek(to: time, mode: .exact)
        } catch  where error.code == .unsupported {
            // A source that cannot jump goes on from where it is, which at the start is right.
        }
    }

    func step() throws(MediaError) -> TrackStep {
        guard renderer.isReadyForMoreMediaData else { return .full }
        do {
            guard let buffer = try source.read() else {
                renderer.finish()
                return .ended
            }
            failuresInARow = 0
            renderer.enqueue(buffer)
            return .moved
        } catch {
            // One bad packet is skipped; a source that only fails is over.
            failuresInARow += 1
            if error.code == .damagedPacket, failuresInARow < 100 { return .moved }
            renderer.finish()
            throw error
        }
    }

    func cancel() { source.cancel() }
}
