internal import CFFmpeg
internal import MediaCore

/// The origin of film time in the timestamps of each track.
struct FilmOrigin {
    var common: MediaTime
    /// The origins of tracks that begin so late that their timestamps have another time origin.
    var own: [Int32: MediaTime] = [:]

    subscript(track: Int32) -> MediaTime { own[track] ?? common }
}

/// Converts the raw timestamps of a stream to film time and back.
///
/// Film time 0 is the origin found while probing; all readers share it. Timestamps that wrap (33 bits of 90 kHz in MPEG
/// systems: every 26.5 h) are unwrapped to the value nearest to the reading position. Readers thus agree, whichever
/// wraparound libavformat chose for each of them.
struct TrackClock {
    private let numerator: Int32
    private let timescale: Int32
    private let origin: MediaTime
    /// The origin in ticks of this stream, if exact.
    private let originTicks: Int64?
    /// The wraparound period in ticks; nil: timestamps do not wrap.
    private let period: Int64?
    /// The raw timestamp near which the next one is expected.
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

    /// Returns the film time of a raw timestamp; nil if it is more than ten years from the film's origin.
    func filmTime(_ raw: Int64) -> MediaTime? {
        guard let raw = raw.boundedTicks else { return nil }
        if let originTicks {
            return MediaTime(boundedTicks: raw - originTicks, numerator: numerator, timescale: timescale)
        }
        return (MediaTime(value: raw, timescale: timescale) * Int64(numerator) - origin).bounded
    }

    /// Returns a raw timestamp as time of the stream, which may count from 1970; nil if out of bounds.
    func ownTime(_ raw: Int64) -> MediaTime? {
        raw.boundedTicks.map { MediaTime(value: $0, timescale: timescale) * Int64(numerator) }
    }

    /// Converts ticks to a duration; zero for a negative one and for more than ten years.
    func length(_ ticks: Int64) -> MediaTime {
        MediaTime(boundedTicks: max(0, ticks), numerator: numerator, timescale: timescale)
            ?? MediaTime(value: 0, timescale: timescale)
    }

    /// Returns the raw timestamp of a film time, rounded down so that a seek never lands after it.
    func raw(_ time: MediaTime) -> Int64 {
        let absolute = time + origin
        let ticks = Int128(absolute.value) * Int128(timescale)
        let unit = Int128(absolute.timescale) * Int128(numerator)
        return Int64(clamping: ticks >= 0 ? ticks / unit : -((-ticks + unit - 1) / unit))
    }

    /// Unwraps a timestamp to the value nearest to the reading position; nil if there is none, or if it exceeds
    /// `InputLimit.maxTicks`.
    func unwrapped(_ raw: Int64) -> Int64? {
        guard let raw = raw.boundedTicks else { return nil }
        guard let period, let reference else { return raw }
        let distance = Int128(raw) - Int128(reference)
        let half = Int128(period / 2)
        let turns = (distance >= 0 ? distance + half : distance - half) / Int128(period)
        return Int64(clamping: Int128(raw) - turns * Int128(period)).boundedTicks
    }

    /// Sets the reading position, after each timestamp and each seek.
    mutating func setReference(_ raw: Int64) { reference = raw }
}
