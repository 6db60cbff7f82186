/// A tone curve from the film's peak to the display's: the EETF of Report ITU-R BT.2390-11, section 5.4.1.
///
/// Light below a knee is unchanged. Above it a Hermite spline leads to the display's peak, in PQ, which is perceptually
/// uniform. The report's step for the display's black level is omitted: it is assumed to be zero.
struct ToneCurve: Equatable {
    /// Peaks of the film and of the display, in cd/m².
    let source: Double
    let target: Double
    private let sourceSignal: Double
    /// The display's peak and the knee, relative to the film's peak in PQ.
    private let limit: Double
    private let knee: Double
    /// Whether light is unchanged up to the display's peak, then clipped.
    private let clips: Bool

    init(from source: Double, to target: Double, clips: Bool = false) {
        self.clips = clips
        (self.source, self.target) = (source, target)
        sourceSignal = FilmLight.PQ.signal(source)
        limit = min(1, FilmLight.PQ.signal(target) / sourceSignal)
        knee = 1.5 * limit - 0.5
    }

    /// Maps cd/m² to cd/m², at most `target`.
    func callAsFunction(_ light: Double) -> Double {
        if clips { return min(light, target) }
        let signal = min(1, FilmLight.PQ.signal(light) / sourceSignal)
        guard signal > knee, limit < 1 else { return min(light, source, target) }
        let t = (signal - knee) / (1 - knee)
        let (square, cube) = (t * t, t * t * t)
        let curved =
            (2 * cube - 3 * square + 1) * knee + (cube - 2 * square + t) * (1 - knee)
            + (-2 * cube + 3 * square) * limit
        return min(target, FilmLight.PQ.light(curved * sourceSignal))
    }
}
