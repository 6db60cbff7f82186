package import MediaCore

/// A computer's clock as another computer's would be: it began elsewhere and runs a little fast or slow against the
/// machine's. Time passes by itself.
package struct SkewedClock: HostClock {
    private let machineOrigin: HostInstant
    private let origin: HostInstant
    private let rate: Double

    /// - Parameters:
    ///   - partsPerMillion: positive: it gains on the machine's clock.
    ///   - offset: its time minus the machine's, now.
    package init(partsPerMillion: Double, offset: Duration) {
        machineOrigin = .now
        origin = machineOrigin.advanced(by: offset)
        rate = 1 + partsPerMillion * 1e-6
    }

    package var now: HostInstant { instant(ofMachine: .now) }

    package func instant(ofMachine instant: HostInstant) -> HostInstant {
        Self.along(instant, from: machineOrigin, to: origin, rate: rate)
    }

    package func machineInstant(of instant: HostInstant) -> HostInstant {
        Self.along(instant, from: origin, to: machineOrigin, rate: 1 / rate)
    }

    /// “Never”, the last instant there is, is never on every clock.
    private static func along(
        _ instant: HostInstant, from: HostInstant, to: HostInstant, rate: Double
    ) -> HostInstant {
        guard instant.nanoseconds < .max else { return instant }
        let elapsed = (Double(instant.nanoseconds - from.nanoseconds) * rate).rounded()
        return HostInstant(nanoseconds: to.nanoseconds + Int64(elapsed))
    }
}
