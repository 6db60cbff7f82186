package import MediaCore

/// The clock of a simulated second computer: an offset and a constant rate error relative to the host clock.
package struct SkewedClock: HostClock {
    private let machineOrigin: HostInstant
    private let origin: HostInstant
    private let rate: Double

    /// Creates a clock.
    ///
    /// - Parameters:
    ///   - partsPerMillion: The rate error in ppm; positive: it is fast.
    ///   - offset: Its time minus the host clock's at creation.
    package init(partsPerMillion: Double, offset: Duration) {
        machineOrigin = .now
        origin = machineOrigin.advanced(by: offset)
        rate = 1 + partsPerMillion * 1e-6
    }

    package var now: HostInstant { instant(ofMachine: .now) }

    /// Returns this clock's instant for a host instant.
    package func instant(ofMachine instant: HostInstant) -> HostInstant {
        Self.along(instant, from: machineOrigin, to: origin, rate: rate)
    }

    /// Returns the host instant of an instant on this clock.
    package func machineInstant(of instant: HostInstant) -> HostInstant {
        Self.along(instant, from: origin, to: machineOrigin, rate: 1 / rate)
    }

    /// The maximum instant means "never" and is not converted.
    private static func along(
        _ instant: HostInstant, from: HostInstant, to: HostInstant, rate: Double
    ) -> HostInstant {
        guard instant.nanoseconds < .max else { return instant }
        let elapsed = (Double(instant.nanoseconds - from.nanoseconds) * rate).rounded()
        return HostInstant(nanoseconds: to.nanoseconds + Int64(elapsed))
    }
}
