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

/// Small files of the kernel's and of programs'.
enum TextFile {
    /// Without its newline, printable; nil when there is none.
    static func firstLine(of path: String) -> String? {
        let text = whole(path, limit: 256)
        guard !text.isEmpty else { return nil }
        return PrintableText.of(String(text.prefix { $0 != "\n" }))
    }

    /// As it is, up to so many bytes; empty when there is none or it may not be read.
    static func whole(_ path: String, limit: Int) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: min(limit, 65_536))
        while bytes.count < limit {
            let count = read(descriptor, &buffer, min(buffer.count, limit - bytes.count))
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
