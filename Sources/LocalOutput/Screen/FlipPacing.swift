internal import CSDL
internal import MediaCore

/// When what a graphics processor was handed becomes light. Made, asked and used on the thread where its context is current.
struct FlipPacing {
    private let isPaced: Bool
    private let window: OpaquePointer
    private var nominalPeriod: Duration
    private let flips: FlipCounter?
    private var estimator: RefreshEstimator
    private var lastCount = HostInstant(nanoseconds: 0)

    /// - Parameter waitsForFlips: the exchange of buffers waits for the display.
    init(window: OpaquePointer, waitsForFlips: Bool) {
        let period = Self.nominalPeriod(of: window)
        self.window = window
        // 60 Hz where nobody says; it is not used then.
        nominalPeriod = period ?? .nanoseconds(1_000_000_000 / 60)
        isPaced = waitsForFlips && period != nil
        estimator = RefreshEstimator(nominal: nominalPeriod)
        flips = isPaced ? FlipCounter() : nil
    }

    /// As the window's display states it; nil where it does not.
    private static func nominalPeriod(of window: OpaquePointer) -> Duration? {
        var mode = SDL_DisplayMode()
        guard SDL_GetCurrentDisplayMode(SDL_GetWindowDisplayIndex(window), &mode) == 0, mode.refresh_rate > 0 else {
            return nil
        }
        return .nanoseconds(1_000_000_000 / Int64(mode.refresh_rate))
    }

    /// The window may be on another display now, or the display in another mode.
    mutating func forget() {
        guard isPaced, let period = Self.nominalPeriod(of: window), period != nominalPeriod else {
            return estimator.forget()
        }
        nominalPeriod = period
        estimator = RefreshEstimator(nominal: period)
    }

    var refresh: RefreshEvidence {
        guard isPaced else { return .immediate }
        if let estimate = estimator.estimate { return .observed(period: estimate.period, phase: estimate.phase) }
        return .someTime(period: nominalPeriod)
    }

    /// Exchanges the buffers by `swap`; returns the moment of the flip as near as it can be known.
    mutating func present(_ swap: () -> Void) -> HostInstant {
        let called = HostInstant.now
        swap()
        let returned = HostInstant.now
        guard isPaced else { return returned }
        if let flips {
            // A refresh counter is asked a few times a second; that is a round trip to the server.
            if returned - lastCount > .milliseconds(200) || estimator.estimate == nil, let flip = flips.read() {
                estimator.addFlip(number: flip.number, at: flip.at)
                lastCount = returned
            }
        } else {
            estimator.addPresent(called: called, returned: returned)
        }
        guard let estimate = estimator.estimate else { return returned }
        // What was handed over becomes light at the first flip after the call.
        let period = max(1, estimate.period.wholeNanoseconds)
        let since = called.nanoseconds - estimate.phase.nanoseconds
        let count = since / period + (since >= 0 ? 1 : 0)
        return HostInstant(nanoseconds: estimate.phase.nanoseconds + count * period)
    }
}
