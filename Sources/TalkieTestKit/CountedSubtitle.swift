package import MediaCore
package import SyncRendering

/// A subtitle that carries a number.
package struct CountedSubtitle: Sendable {
    /// The number.
    package var number: Int
    /// Media time at which it appears.
    package var start: MediaTime
    /// The duration of its display.
    package var duration: MediaTime
    /// Whether it is drawn for every frame.
    package var isAnimated: Bool

    /// Creates a subtitle; times in seconds.
    package init(_ number: Int, at start: Double, for duration: Double, isAnimated: Bool = false) {
        self.number = number
        self.start = MediaTime(seconds: start, preferredTimescale: 1000)
        self.duration = MediaTime(seconds: duration, preferredTimescale: 1000)
        self.isAnimated = isAnimated
    }

    /// The subtitle as a decoded cue.
    package var cue: SampleBuffer {
        let bytes = Array("\(number)".utf8)
        return SampleBuffer(
            payload: .subtitle(SubtitleCue(.script(bytes, Self.sheet), isAnimated: isAnimated)),
            presentationTime: start, duration: duration)
    }

    private static let sheet = SubtitleStyleSheet(header: [], isAuthored: false)
}

/// Reads the subtitles of a `CountedFilm` in order, with an empty buffer for each second of progress.
final class CountedSubtitles: SampleSource {
    let track: Track
    private let subtitles: [CountedSubtitle]
    private let end: MediaTime
    private let state = Lock((next: 0, place: MediaTime.zero))
    private static let second = MediaTime(value: 1, timescale: 1)

    init(_ track: Track, _ subtitles: [CountedSubtitle], until end: MediaTime) {
        (self.track, self.subtitles, self.end) = (track, subtitles, end)
    }

    func read() throws(MediaError) -> SampleBuffer? {
        state.withLock { state in
            if state.next < subtitles.count, subtitles[state.next].start <= state.place + Self.second {
                defer { state.next += 1 }
                state.place = max(state.place, subtitles[state.next].start)
                return subtitles[state.next].cue
            }
            guard state.place < end, let format = track.subtitleFormat else { return nil }
            state.place = state.place + Self.second
            return SampleBuffer(payload: .encodedSubtitle(format, PacketBatch()), presentationTime: state.place)
        }
    }

    func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        state.withLock { state in
            state.place = max(.zero, time - Self.second * 10)
            state.next = subtitles.firstIndex { $0.start >= state.place } ?? subtitles.count
            return state.place
        }
    }

    func cancel() {}
}

/// Draws a pixel per subtitle: x is its number; y is the media time in milliseconds if it is animated, else 0.
package final class CountedDrawing: SubtitleDrawing {
    /// The number of calls of `draw`.
    package let draws = Lock(0)
    package init() {}
    package func consumeProblem() -> String? { nil }

    package func draw(_ cues: [ActiveCue], at time: MediaTime, on canvas: SubtitleCanvas) -> [OverlayImage] {
        draws.withLock { $0 += 1 }
        return cues.compactMap { cue in
            guard case .script(let bytes, _) = cue.cue.content, let number = Int(String(decoding: bytes, as: UTF8.self))
            else { return nil }
            let row = cue.cue.isAnimated ? Int(time.rescaled(to: 1000)) : 0
            return OverlayImage(
                rect: PixelRect(x: number, y: row, width: 1, height: 1), pixels: [0, 0, 0, 255])
        }
    }
}

extension VirtualScreen.Shown {
    /// The numbers of the subtitles over the frame.
    package var numbers: [Int] { (overlay?.images ?? []).map(\.rect.x) }
}
