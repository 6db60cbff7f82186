internal import Glibc
internal import MediaCore

/// Estimates period and phase of a display's flips, from counted flips or from presents blocked until a flip.
///
/// An estimate requires proof by the observations. A present that returns at once proves nothing, and frames presented
/// by our own timer form a grid of our own making.
struct RefreshEstimator {
    /// An observation: the number of the flip (from any origin), its time, and when present was called.
    private struct Flip {
        var number: Int64
        var at: Int64
        var calledAt: Int64?
    }

    private let nominal: Int64
    private var flips: [Flip] = []
    private var next = 0
    private static let window = 48
    /// The minimum number of observations.
    private static let needed = 12

    /// The proven period and phase; nil if unproven.
    private(set) var estimate: (period: Duration, phase: HostInstant)?

    /// - Parameter nominal: The period reported by the window system.
    init(nominal: Duration) {
        self.nominal = max(1_000_000, nominal.wholeNanoseconds)
        flips.reserveCapacity(Self.window)
    }

    /// Adds a flip counted by the window system.
    mutating func addFlip(number: Int64, at instant: HostInstant) {
        if let last, number <= last.number {
            // An equal number: read twice within one refresh. A lower one: the counter was reset.
            if number < last.number { forget() } else { return }
        }
        add(Flip(number: number, at: instant.nanoseconds, calledAt: nil))
    }

    /// Adds a present that may have waited for a flip.
    mutating func addPresent(called: HostInstant, returned: HostInstant) {
        var number: Int64 = 0
        if let last {
            let gap = returned.nanoseconds - last.at
            // After a long pause, the number of flips in between is uncertain.
            if gap > 40 * nominal { forget() }
            number = last.number + max(1, (gap + nominal / 2) / nominal)
        }
        add(Flip(number: number, at: returned.nanoseconds, calledAt: called.nanoseconds))
    }

    /// Discards all observations, after a change of display or mode.
    mutating func forget() {
        flips.removeAll(keepingCapacity: true)
        next = 0
        estimate = nil
    }

    private var last: Flip? {
        if flips.isEmpty { return nil }
        return flips.count < Self.window ? flips[flips.count - 1] : flips[(next + Self.window - 1) % Self.window]
    }

    private mutating func add(_ flip: Flip) {
        if flips.count < Self.window {
            flips.append(flip)
        } else {
            flips[next] = flip
            next = (next + 1) % Self.window
        }
        estimate = fitted()
    }

    /// Fits a line of flip times over flip numbers; nil unless it explains the observations.
    private func fitted() -> (period: Duration, phase: HostInstant)? {
        guard flips.count >= Self.needed, let last else { return nil }
        let count = Double(flips.count)
        var (meanX, meanY) = (0.0, 0.0)
        for flip in flips {
            meanX += Double(flip.number - last.number) / count
            meanY += Double(flip.at - last.at) / count
        }
        var (xx, xy) = (0.0, 0.0)
        for flip in flips {
            let x = Double(flip.number - last.number) - meanX
            xx += x * x
            xy += x * (Double(flip.at - last.at) - meanY)
        }
        guard xx > 0 else { return nil }
        let period = xy / xx
        guard abs(period / Double(nominal) - 1) < 0.05 else { return nil }
        var squares = 0.0
        // The concentration of call times within the refresh: the mean resultant length on the circle, 1 if all are
        // equal.
        var (cosine, sine, calls) = (0.0, 0.0, 0.0)
        for flip in flips {
            let expected = meanY + (Double(flip.number - last.number) - meanX) * period
            let error = Double(flip.at - last.at) - expected
            squares += error * error
            if let calledAt = flip.calledAt {
                let angle = (Double(calledAt - last.at) - expected) / period * 2 * Double.pi
                cosine += cos(angle)
                sine += sin(angle)
                calls += 1
            }
        }
        // The residual of the return times must be below 0.5 ms …
        guard (squares / count).squareRoot() < 500_000 else { return nil }
        // … although the calls were spread over the refresh. Once proven, pacing may concentrate the calls.
        if calls > 0, estimate == nil, (cosine * cosine + sine * sine).squareRoot() / calls > 0.7 { return nil }
        let phase = Double(last.at) + meanY - meanX * period
        let range = 0...InputLimit.maxTicks
        return (
            .nanoseconds(Int64(clamping: period, in: range)),
            HostInstant(nanoseconds: Int64(clamping: phase, in: range))
        )
    }
}
