internal import MediaCore
internal import SyncRendering

/// Goes ahead of the player: opens the next film, looks up where pictures end, decodes first pictures. What it does may take
/// long, so each errand has a thread of its own; there are three at most.
final class FilmScout: Sendable {
    /// Does something that may take a while; tests do it by hand.
    typealias Run = @Sendable (_ name: String, _ body: @escaping @Sendable () -> Void) -> WorkerThread?

    private let parts: Player.Parts
    private let run: Run
    private let threads = Lock<[String: WorkerThread]>([:])
    private let isStopping = Lock(false)

    init(_ parts: Player.Parts, run: @escaping Run = { WorkerThread.start(name: $0, $1) }) {
        self.parts = parts
        self.run = run
    }

    private func go(_ name: String, _ body: @escaping @Sendable () -> Void) {
        guard !isStopping.withLock({ $0 }) else { return }
        // An errand of one kind is over before the next of its kind begins, but for the last breath of its thread.
        let worker = run(name, body)
        threads.withLock { $0[name] = worker }
    }

    /// Opens a film.
    ///
    /// - Parameter done: called on the errand's thread.
    func open(
        _ address: String, cancellation: OpenCancellation,
        done: @escaping @Sendable (Result<any MediaSource, MediaError>) -> Void
    ) {
        go("film scout") { [parts] in
            do throws(MediaError) { done(.success(try parts.open(address, cancellation))) } catch {
                done(.failure(error))
            }
        }
    }

    /// Looks up where a film's pictures end.
    ///
    /// - Parameter hint: a place not far from there, for films that do not say how long they last.
    func findPictureEnd(
        of film: any MediaSource, _ track: Track, near hint: MediaTime?, done: @escaping @Sendable (MediaTime?) -> Void
    ) {
        go("end scout") { done(PictureEnd.find(in: film, track, near: hint)) }
    }

    /// Opens a film's picture track and decodes the first picture.
    func makePictures(
        of film: any MediaSource, _ track: Track, from start: MediaTime,
        done: @escaping @Sendable (Result<PictureTrack, MediaError>) -> Void
    ) {
        go("picture scout") { [parts] in
            do throws(MediaError) {
                let pictures = try parts.pictures(of: film, track)
                try pictures.makeReady(from: start)
                done(.success(pictures))
            } catch {
                done(.failure(error))
            }
        }
    }

    /// No more errands; waits for those under way, which the caller has cancelled.
    func stop() {
        isStopping.withLock { $0 = true }
        let all = threads.withLock { threads in
            defer { threads = [:] }
            return Array(threads.values)
        }
        for thread in all { thread.join() }
    }
}

extension Player.Parts {
    /// A film's picture track with a decoder of its own.
    func pictures(of film: any MediaSource, _ track: Track) throws(MediaError) -> PictureTrack {
        guard let format = track.videoFormat else {
            throw MediaError(.unsupported, "This track holds no pictures; choose another one.")
        }
        return PictureTrack(film: film, source: try film.source(for: track), decoder: try makeDecoder(format))
    }

    /// Whether sound of a track can be decoded at all.
    func canDecode(_ track: Track) -> Bool {
        guard let format = track.audioFormat else { return false }
        let plain = PCMFormat(sampleRate: format.sampleRate, layout: .stereo)
        return (try? codecs.converter(from: format, to: plain, speed: 1)) != nil
    }
}
