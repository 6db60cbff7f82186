internal import Glibc
internal import MediaCore

/// What stands behind the monotonic clock, and is reading it cheap?
enum ClockCheck {
    /// A reading that needs the kernel takes longer than this; one through the vDSO a tenth of it (vdso(7)).
    private static let cheapReading = Duration.nanoseconds(500)

    static func findings() -> [Finding] {
        let source = TextFile.firstLine(of: "/sys/devices/system/clocksource/clocksource0/current_clocksource")
        return [finding(source: source ?? "unknown", reading: readingTime())]
    }

    static func finding(source: String, reading: Duration) -> Finding {
        let text = "\(source), \(reading.wholeNanoseconds) ns a reading"
        guard reading > cheapReading else { return Finding("clock", .good, text) }
        return Finding(
            "clock", .limited, text + ": every look at it goes through the kernel",
            remedy:
                "see /sys/devices/system/clocksource/clocksource0/available_clocksource; tsc is best where it is stable"
        )
    }

    /// The fastest of a few rounds: the machine may be busy with something else.
    private static func readingTime() -> Duration {
        var best = Duration.seconds(1)
        for _ in 0..<8 {
            let start = HostInstant.now
            for _ in 0..<1000 { _ = HostInstant.now }
            best = min(best, (HostInstant.now - start) / 1000)
        }
        return best
    }
}
