internal import Glibc
internal import MediaCore

/// Finds out when a display flips, from flips that were counted or from presents that were held up until a flip.
///
/// A period is only believed when the observations prove it: a present that returns at once says nothing, and pictures
/// shown by our own timer lie on a grid of our own making.
struct RefreshEstimator {
    /// One observation: number of the flip (from any origin) and its moment, and when the present was called.
    private struct Flip {
        var number: Int64
        var at: Int64
        var calledAt: Int64?
    }

    private let nominal: Int64
    private var flips: [Flip] = []
    private var next = 0
    private static let window = 48
    /// Fewer say too little.
    private static let needed = 12

    /// What has been proven so far.
    private(set) var estimate: (period: Duration, phase: HostInstant)?

    /// - Parameter nominal: the period that the window system states.
    init(nominal: Duration) {
        self.nominal = max(1_000_000, nominal.wholeNanoseconds)
        flips.reserveCapacity(Self.window)
    }

    /// Notes a flip whose number the window system counted.
    mutating func addFlip(number: Int64, at instant: HostInstant) {
        if let last, number <= last.number {
            // Asked twice within one refresh; or the count began anew.
            if number < last.number { forget() } else { return }
        }
        add(Flip(number: number, at: instant.nanoseconds, calledAt: nil))
    }

    /// Notes a present that may have waited for a flip.
    mutating func addPresent(called: HostInstant, returned: HostInstant) {
        var number: Int64 = 0
        if let last {
            let gap = returned.nanoseconds - last.at
            // After a long pause the count between is uncertain.
            if gap > 40 * nominal { forget() }
            number = last.number + max(1, (gap + nominal / 2) / nominal)
        }
        add(Flip(number: number, at: returned.nanoseconds, calledAt: called.nanoseconds))
    }

    /// Starts anew: another display, another mode.
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

    /// A straight line of moments over flip numbers; nil unless it explains the observations.
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
        // Where calls lie within the refresh, as the length of their mean on the circle: 1 when all at one place.
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
        // Returns within half a millisecond of the line …
        guard (squares / count).squareRoot() < 500_000 else { return nil }
        // … though the calls lay all over the refresh; once proven, pacing by it may put all calls at one place.
        if calls > 0, estimate == nil, (cosine * cosine + sine * sine).squareRoot() / calls > 0.7 { return nil }
        let phase = Double(last.at) + meanY - meanX * period
        return (.nanoseconds(Int64(period.rounded())), HostInstant(nanoseconds: Int64(phase.rounded())))
    }
}
