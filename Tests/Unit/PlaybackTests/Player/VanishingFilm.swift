import MediaCore

@testable import TalkieTestKit

/// A film that can be moved, be on a removed drive, or contain nothing readable.
final class VanishingFilm: MediaSource {
    enum Presence: Sendable {
        case there
        /// Moved: what is open can be read, nothing can be opened.
        case moved
        /// On a removed drive.
        case gone
        /// Present but empty.
        case empty
    }

    let film: CountedFilm
    let presence: Lock<Presence>
    var summary: MediaSummary { film.summary }

    init(_ film: CountedFilm, _ presence: Presence = .there) {
        self.film = film
        self.presence = Lock(presence)
    }

    var canBeOpened: Bool { presence.withLock { $0 == .there || $0 == .empty } }

    func source(for track: Track) throws(MediaError) -> any SampleSource {
        guard canBeOpened else { throw MediaError(.cannotOpen, "there is no film \(film.number)") }
        return Reader(track: track, source: try film.source(for: track), film: self)
    }

    private final class Reader: SampleSource {
        let track: Track
        let source: any SampleSource
        let film: VanishingFilm

        init(track: Track, source: any SampleSource, film: VanishingFilm) {
            (self.track, self.source, self.film) = (track, source, film)
        }

        func read() throws(MediaError) -> SampleBuffer? {
            switch film.presence.withLock({ $0 }) {
            case .there, .moved: return try source.read()
            case .gone: throw MediaError(.readFailed, "the film is gone")
            case .empty: return nil
            }
        }

        func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
            switch film.presence.withLock({ $0 }) {
            case .there, .moved: return try source.seek(to: time, mode: mode)
            case .gone, .empty: throw MediaError(.readFailed, "nothing can be read")
            }
        }

        func cancel() { source.cancel() }
    }
}
