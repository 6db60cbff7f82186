import MediaCore
internal import SyncRendering

/// Opens the next item, determines the end of video tracks and decodes first frames ahead of the playhead. Each task
/// may block and has its own thread; usually there are at most three.
final class Prefetcher: Sendable {
    /// Runs blocking work; returns its thread, or nil if a test runs it.
    typealias Run =
        @Sendable (_ name: String, _ body: @escaping @Sendable () -> Void) throws(ExhaustionError) -> WorkerThread?

    static let onThreads: Run = { (name, body) throws(ExhaustionError) in try WorkerThread.start(name: name, body) }

    /// Guarded by the lock `state`.
    private struct State {
        var isStopping = false
        var errands = 0
        /// The threads by task number; a task removes its thread when it ends.
        var threads: [Int: WorkerThread] = [:]
        var finished: Set<Int> = []
    }

    private let components: Player.Components
    private let run: Run
    private let state = Lock(State())

    init(_ components: Player.Components, run: @escaping Run = Prefetcher.onThreads) {
        self.components = components
        self.run = run
    }

    /// Runs a task on a thread, unless stopped.
    ///
    /// - Throws: If the system provides no thread; nothing was done.
    private func runTask(_ name: String, _ body: @escaping @Sendable () -> Void) throws(ExhaustionError) {
        let number = state.withLock { state -> Int? in
            guard !state.isStopping else { return nil }
            state.errands += 1
            return state.errands
        }
        guard let number else { return }
        let worker = try run(name) { [self] in
            body()
            state.withLock { if $0.threads.removeValue(forKey: number) == nil { $0.finished.insert(number) } }
        }
        state.withLock { if $0.finished.remove(number) == nil { $0.threads[number] = worker } }
    }

    /// Opens an item.
    ///
    /// - Parameter done: Called on the task's thread with the result in the item; on the caller's if no thread is
    ///   available.
    func open(_ item: PrefetchedItem, done: @escaping @Sendable () -> Void) {
        do throws(ExhaustionError) {
            try runTask("prefetch") { [components] in
                do throws(MediaError) {
                    // The item may have become obsolete before the thread runs.
                    if item.cancellation.isCancelled { throw MediaError(.cancelled, "opening was cancelled") }
                    let address = item.item.address
                    if let film = item.film {
                        let media = try components.openInterstitial(address, film, item.cancellation)
                        item.finish(.success(media))
                    } else {
                        let open = item.item.isListed ? components.openListed : components.open
                        let film = try open(address, item.cancellation)
                        let finder = InterstitialFinder(
                            components: components, film: address, cancellation: item.cancellation)
                        item.finish(.success(film), item.looksForBreaks ? finder.schedule(of: film.summary) : nil)
                    }
                } catch {
                    item.finish(.failure(error))
                }
                done()
            }
        } catch {
            item.finish(.failure(MediaError(.exhausted, "“\(item.item.name)” cannot be opened: \(error.message)")))
            done()
        }
    }

    /// Determines the end of a video track.
    ///
    /// - Parameter hint: An approximate end, for media without a duration.
    func findVideoEnd(
        of film: any MediaSource, _ track: Track, near hint: MediaTime?, done: @escaping @Sendable (MediaTime?) -> Void
    ) {
        do throws(ExhaustionError) {
            try runTask("prefetch end") { done(VideoEndFinder.find(in: film, track, near: hint)) }
        } catch {
            done(nil)
        }
    }

    /// Opens a video track and decodes its first frame.
    func prepareVideo(
        of media: PrefetchedMedia, _ track: Track, from start: MediaTime,
        done: @escaping @Sendable (Result<VideoReader, MediaError>) -> Void
    ) {
        do throws(ExhaustionError) {
            try runTask("prefetch pictures") { [components] in
                do throws(MediaError) {
                    let decoder = try components.videoDecoder(of: media, track)
                    try decoder.makeReady(from: start)
                    done(.success(decoder))
                } catch {
                    done(.failure(error))
                }
            }
        } catch {
            done(.failure(MediaError(error)))
        }
    }

    /// Finds the image of an item.
    func findArtwork(
        of media: PrefetchedMedia, allowsFrame: Bool, done: @escaping @Sendable (NowPlaying.Artwork?) -> Void
    ) {
        do throws(ExhaustionError) {
            try runTask("prefetch artwork") { [components] in
                done(ArtworkFinder.find(in: media, parts: components, allowsFrame: allowsFrame))
            }
        } catch {
            done(nil)
        }
    }

    /// Rejects further tasks and waits for the running ones, which the caller has cancelled.
    func stop() {
        let threads = state.withLock { state in
            state.isStopping = true
            return Array(state.threads.values)
        }
        for thread in threads { thread.join() }
    }
}

extension Player.Components {
    /// Creates a video track with its own decoder.
    func videoDecoder(of media: PrefetchedMedia, _ track: Track) throws(MediaError) -> VideoReader {
        guard let format = track.videoFormat else {
            throw MediaError(.unsupported, "This track is not a video track; choose another one.")
        }
        return VideoReader(
            film: media.film, source: try media.source(for: track), decoder: try makeDecoder(format))
    }

    /// Returns true if audio of a track can be decoded.
    func canDecode(_ track: Track) -> Bool {
        guard let format = track.audioFormat else { return false }
        let plain = PCMFormat(sampleRate: format.sampleRate, layout: .stereo)
        // ignored: only whether there is a decoder counts.
        return (try? codecs.converter(from: format, to: plain, speed: 1)) != nil
    }
}
