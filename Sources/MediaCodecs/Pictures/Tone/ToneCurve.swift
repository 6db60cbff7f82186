/// Brings the light of a film down to what a screen has: the EETF of Report ITU-R BT.2390-11, section 5.4.1.
///
/// Below a knee light stays what it is; above it a Hermite spline leads to the screen's peak, in the scale of PQ, which is
/// that of the eye. The report's step for the screen's black is left out: it is taken for black.
struct ToneCurve: Equatable {
    /// cd/m² of the film's brightest white, and of the screen's.
    let source: Double
    let target: Double
    private let sourceSignal: Double
    /// The screen's peak, and where the spline begins, in parts of the film's.
    private let limit: Double
    private let knee: Double
    /// Light stays what it is, up to the screen's peak.
    private let clips: Bool

    init(from source: Double, to target: Double, clips: Bool = false) {
        self.clips = clips
        (self.source, self.target) = (source, target)
        sourceSignal = FilmLight.PQ.signal(source)
        limit = min(1, FilmLight.PQ.signal(target) / sourceSignal)
        knee = 1.5 * limit - 0.5
    }

    /// cd/m² to cd/m², never more than `target`.
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
