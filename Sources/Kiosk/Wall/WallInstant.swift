internal import Glibc
import MediaCore

/// An instant of the time that the screens of a wall share: UTC according to chrony, in nanoseconds since 1970
/// (POSIX.1-2017, 4.16).
///
/// `WallTime` is this computer's calendar time; the two differ by chrony's correction of the system clock.
struct WallInstant: InstantProtocol, Hashable, Sendable, BitwiseCopyable {
    /// Nanoseconds since 1970.
    var nanoseconds: Int64

    init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Converts a calendar time; saturates at the range of `Int64`.
    init(_ time: WallTime) {
        let (nanoseconds, overflow) = Int64(time.seconds).multipliedReportingOverflow(by: 1_000_000_000)
        self.init(nanoseconds: overflow ? (time.seconds < 0 ? .min : .max) : nanoseconds)
    }

    package func advanced(by duration: Duration) -> WallInstant {
        WallInstant(nanoseconds: nanoseconds.addingClamped(duration.wholeNanoseconds))
    }

    package func duration(to other: WallInstant) -> Duration {
        .nanoseconds(other.nanoseconds.subtractingClamped(nanoseconds))
    }

    package static func < (left: WallInstant, right: WallInstant) -> Bool { left.nanoseconds < right.nanoseconds }
}

/// The reading of the system clock at a host instant.
struct SystemClockReading: Sendable, Hashable {
    var host: HostInstant
    var system: WallInstant
    /// The width of the uncertainty: the host instant is exact to half of this.
    var width: Duration

    init(host: HostInstant, system: WallInstant, width: Duration = .zero) {
        (self.host, self.system, self.width) = (host, system, width)
    }

    /// Reads CLOCK_REALTIME between two readings of the host clock. Several attempts are made; the one with the
    /// shortest interruption is returned.
    static func sample(by clock: any HostClock) -> SystemClockReading {
        var best: SystemClockReading?
        for _ in 0..<5 {
            var time = timespec()
            let before = clock.now
            clock_gettime(CLOCK_REALTIME, &time)
            let width = clock.now - before
            if let best, best.width <= width { continue }
            best = SystemClockReading(
                host: before.advanced(by: width / 2),
                system: WallInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)), width: width
            )
        }
        return best!
    }
}
