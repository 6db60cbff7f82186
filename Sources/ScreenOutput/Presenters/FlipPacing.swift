internal import CSDL
internal import MediaCore

/// Determines when frames submitted to a graphics processor become visible. Used on the thread where the OpenGL context
/// is current.
struct FlipPacing {
    private let isPaced: Bool
    private let window: OpaquePointer
    private var nominalPeriod: Duration
    private let flips: FlipCounter?
    private var estimator: RefreshEstimator
    private var lastCount = HostInstant(nanoseconds: 0)

    /// - Parameter waitsForFlips: Whether swapping buffers waits for the display (vsync).
    init(window: OpaquePointer, waitsForFlips: Bool) {
        let period = Self.nominalPeriod(of: window)
        self.window = window
        // 60 Hz if unknown; the value is unused then, since `isPaced` is false.
        nominalPeriod = period ?? .nanoseconds(1_000_000_000 / 60)
        isPaced = waitsForFlips && period != nil
        estimator = RefreshEstimator(nominal: nominalPeriod)
        flips = isPaced ? FlipCounter() : nil
    }

    /// Returns the nominal period of the window's display; nil if unknown.
    private static func nominalPeriod(of window: OpaquePointer) -> Duration? {
        var mode = SDL_DisplayMode()
        guard SDL_GetCurrentDisplayMode(SDL_GetWindowDisplayIndex(window), &mode) == 0, mode.refresh_rate > 0 else {
            return nil
        }
        return .nanoseconds(1_000_000_000 / Int64(mode.refresh_rate))
    }

    /// Restarts the estimation after a change of display or mode.
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

    /// Calls `swap` to exchange the buffers. Returns the estimated instant of the flip.
    mutating func present(_ swap: () -> Void) -> HostInstant {
        let called = HostInstant.now
        swap()
        let returned = HostInstant.now
        guard isPaced else { return returned }
        if let flips {
            // The counter is read at most five times per second once settled, because it takes a round trip to the
            // server.
            if returned - lastCount > .milliseconds(200) || estimator.estimate == nil, let flip = flips.read() {
                estimator.addFlip(number: flip.number, at: flip.at)
                lastCount = returned
            }
        } else {
            estimator.addPresent(called: called, returned: returned)
        }
        guard let estimate = estimator.estimate else { return returned }
        // The frame becomes visible at the first flip after the call.
        let period = max(1, estimate.period.wholeNanoseconds)
        let since = called.nanoseconds - estimate.phase.nanoseconds
        let count = since / period + (since >= 0 ? 1 : 0)
        return HostInstant(nanoseconds: estimate.phase.nanoseconds + count * period)
    }
}
