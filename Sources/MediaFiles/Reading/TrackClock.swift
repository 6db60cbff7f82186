internal import CFFmpeg
internal import MediaCore

/// Where film time begins in the timestamps of each track.
struct FilmOrigin {
    var common: MediaTime
    /// Of tracks that begin so long after the others that their timestamps count from elsewhere.
    var own: [Int32: MediaTime] = [:]

    subscript(track: Int32) -> MediaTime { own[track] ?? common }
}

/// Turns a stream's own time stamps into film time and back.
///
/// Film time 0 is the origin that the first probe found; every reader of the film gets the same one. Stamps that
/// wrap (33 bits of 90 kHz in MPEG systems: every 26.5 h) are brought to the turn nearest to where reading is, so that
/// readers agree whatever turn libavformat chose for each of them.
struct TrackClock {
    private let numerator: Int32
    private let timescale: Int32
    private let origin: MediaTime
    /// The origin in whole ticks of this stream, where that is exact.
    private let originTicks: Int64?
    /// Ticks after which stamps wrap, or nil.
    private let period: Int64?
    /// Raw stamp near which the next one is expected.
    private var reference: Int64?

    init(stream: UnsafeMutablePointer<AVStream>, origin: MediaTime) {
        let base = stream.pointee.time_base
        numerator = max(1, base.num)
        timescale = max(1, base.den)
        self.origin = origin
        let bits = stream.pointee.pts_wrap_bits
        period = bits > 0 && bits < 60 ? Int64(1) << Int64(bits) : nil
        let exact = Int128(origin.value) * Int128(timescale)
        let tick = Int128(origin.timescale) * Int128(numerator)
        originTicks = exact % tick == 0 ? Int64(exactly: exact / tick)?.boundedTicks : nil
        reference = originTicks ?? Int64(clamping: exact / tick)
    }

    var wraps: Bool { period != nil }

    /// Returns the film time of a raw timestamp; nil for more than ten years before or after the film's origin.
    func filmTime(_ raw: Int64) -> MediaTime? {
        guard let raw = raw.boundedTicks else { return nil }
        // Both are within `InputLimit.maxTicks`.
        if let originTicks {
            return MediaTime(boundedTicks: raw - originTicks, numerator: numerator, timescale: timescale)
        }
        return (MediaTime(value: raw, timescale: timescale) * Int64(numerator) - origin).bounded
    }

    /// Returns a raw timestamp as a time of the stream's own, which may count from 1970; nil where it has none.
    func ownTime(_ raw: Int64) -> MediaTime? {
        raw.boundedTicks.map { MediaTime(value: $0, timescale: timescale) * Int64(numerator) }
    }

    /// Returns a length in ticks of the stream; zero for a negative one and for more than ten years.
    func length(_ ticks: Int64) -> MediaTime {
        MediaTime(boundedTicks: max(0, ticks), numerator: numerator, timescale: timescale)
            ?? MediaTime(value: 0, timescale: timescale)
    }

    /// The raw stamp of a film time, rounded down so that a seek never lands behind it.
    func raw(_ time: MediaTime) -> Int64 {
        let absolute = time + origin
        let ticks = Int128(absolute.value) * Int128(timescale)
        let unit = Int128(absolute.timescale) * Int128(numerator)
        return Int64(clamping: ticks >= 0 ? ticks / unit : -((-ticks + unit - 1) / unit))
    }

    /// Removes whole turns, so that the stamp lies nearest to where reading is; nil for "no stamp" and for one beyond
    /// `InputLimit.maxTicks`.
    func unwrapped(_ raw: Int64) -> Int64? {
        guard let raw = raw.boundedTicks else { return nil }
        guard let period, let reference else { return raw }
        let distance = Int128(raw) - Int128(reference)
        let half = Int128(period / 2)
        let turns = (distance >= 0 ? distance + half : distance - half) / Int128(period)
        return Int64(clamping: Int128(raw) - turns * Int128(period)).boundedTicks
    }

    /// Where reading is now: after each stamp and after each seek.
    mutating func follow(_ raw: Int64) { reference = raw }
}
