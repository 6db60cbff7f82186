internal import Glibc
internal import MediaCore

/// Checks the clock source and the cost of reading it.
enum ClockCheck {
    /// A system call takes longer than this; a reading through the vDSO takes a tenth of it (vdso(7)).
    private static let cheapReading = Duration.nanoseconds(500)

    static func findings() -> [Finding] {
        let source = TextFile.firstLine(of: "/sys/devices/system/clocksource/clocksource0/current_clocksource")
        return [finding(source: source ?? "unknown", reading: readingTime())]
    }

    static func finding(source: String, reading: Duration) -> Finding {
        let text = "\(source), \(reading.wholeNanoseconds) ns per reading"
        guard reading > cheapReading else { return Finding("clock", .good, text) }
        return Finding(
            "clock", .limited, text + ": every reading is a system call",
            remedy:
                "see /sys/devices/system/clocksource/clocksource0/available_clocksource; tsc is best if it is stable"
        )
    }

    /// Returns the duration of one reading: the minimum of several runs, because the machine may be busy.
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
