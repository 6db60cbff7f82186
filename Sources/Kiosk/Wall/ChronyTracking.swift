internal import MediaCore

/// The state of the system clock, from chrony's tracking report (chronyc(1), `tracking`).
package struct ChronyTracking: Sendable, Hashable {
    /// The reference ID: eight hexadecimal digits. 7F7F0101 is chrony's local reference.
    var reference = ""
    /// The name or address of the reference; empty if it has none.
    var server = ""
    /// The NTP stratum, 0…16.
    package var stratum = 0
    /// The time of the last measurement of the reference, in nanoseconds since 1970; it changes with each measurement.
    var measured: Int64 = 0
    /// The offset to add to the system clock for true time; positive if the clock is slow.
    package var correction = Duration.zero
    /// The rate by which the clock would be slow without chrony's correction, in parts per million.
    package var frequency = 0.0
    /// The error bound of `frequency`, in parts per million.
    var skew = 0.0
    /// The round-trip delay to the primary reference (RFC 5905).
    var rootDelay = Duration.zero
    /// The error accumulated since the primary reference (RFC 5905).
    var rootDispersion = Duration.zero
    package var isSynchronised = false

    init() {}

    /// The maximum size of a report in bytes; a report is one line of about 150 bytes.
    static let maxBytes = 4096

    /// Parses the output of `chronyc -c`: 14 comma-separated fields on one line, in the order of the readable report.
    /// Nil for any other format.
    init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.maxBytes else { return nil }
        let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n", maxSplits: 1)
        let fields = (line.first ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 14, fields[0].utf8.count == 8, UInt32(fields[0], radix: 16) != nil,
            let stratum = DecimalNumber.integer(fields[2]), (0...16).contains(stratum),
            let measured = DecimalNumber.signedBillionths(fields[3]), let correction = Self.duration(fields[4]),
            let frequency = Self.number(fields[7]), let skew = Self.number(fields[9]),
            let rootDelay = Self.duration(fields[10]), let rootDispersion = Self.duration(fields[11])
        else { return nil }
        reference = fields[0].uppercased()
        server = PrintableText.of(String(fields[1].prefix(255)))
        (self.stratum, self.measured, self.correction) = (stratum, measured, correction)
        (self.frequency, self.skew) = (frequency, skew)
        (self.rootDelay, self.rootDispersion) = (rootDelay, rootDispersion)
        // "Insert second" and "Delete second" announce a leap second at the end of a month.
        isSynchronised = fields[13] != "Not synchronised" && stratum > 0
    }

    /// The error bound of the corrected clock (RFC 5905, section 4: half the root delay plus the root dispersion).
    package var uncertainty: Duration { max(.zero, rootDelay / 2 + rootDispersion) }

    /// The maximum offset in seconds: one NTP era, 136 years.
    private static let farthest: Int64 = 1 << 32

    private static func duration(_ field: String) -> Duration? {
        guard let billionths = DecimalNumber.signedBillionths(field),
            billionths.magnitude < UInt64(farthest) * 1_000_000_000
        else { return nil }
        return .nanoseconds(billionths)
    }

    private static func number(_ field: String) -> Double? {
        DecimalNumber.signedBillionths(field).map { Double($0) / 1e9 }
    }
}

/// The result of one query of chrony.
package enum ChronyAnswer: Sendable, Hashable {
    case report(ChronyTracking)
    /// chronyc is not installed or chronyd does not respond, with the reason.
    case absent(String)
}

/// Queries chronyd of this computer through chronyc, which is part of chrony and implements its protocol.
package struct ChronyReader: Sendable {
    private let host: String
    private let port: Int

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - host: The address or the socket path at which chronyd accepts commands.
    ///   - port: The UDP port; 323 by default.
    package init(host: String = "127.0.0.1", port: Int = 323) { (self.host, self.port) = (host, port) }

    /// chronyc itself sends three requests, at least a second apart, before it fails.
    private static let timeout = Duration.seconds(10)

    /// Queries chronyd. Blocks for some milliseconds, at most ten seconds.
    package func read(isCancelled: () -> Bool = { false }) -> ChronyAnswer {
        guard let program = BoundedProgram.find("chronyc") ?? BoundedProgram.find("chronyc", in: "/usr/bin:/usr/sbin")
        else {
            return .absent("chronyc is not installed; install chrony")
        }
        do throws(BoundedProgram.Failure) {
            let outcome = try BoundedProgram.run(
                program, ["-n", "-c", "-h", host, "-p", String(port), "tracking"], maxBytes: ChronyTracking.maxBytes,
                timeout: Self.timeout, isCancelled: isCancelled)
            if outcome.status == 0, let tracking = ChronyTracking(outcome.output) { return .report(tracking) }
            // "506 Cannot talk to daemon" is written to standard output, like a report.
            let said = String(decoding: outcome.output.prefix(200), as: UTF8.self) + outcome.complaint.prefix(200)
            let complaint = PrintableText.of(String(said.split(separator: "\n").first ?? "no output"))
            return .absent(
                "chronyc says “\(complaint)”; check that chronyd runs and accepts requests from this computer")
        } catch {
            switch error {
            case .notStarted(let cause): return .absent("chronyc cannot be started (\(cause))")
            case .tooLong: return .absent("chronyc prints unexpected output; check that it is chrony's")
            case .tooSlow: return .absent("chronyc does not respond; check that chronyd runs")
            case .cancelled: return .absent("the query of chronyc was cancelled")
            }
        }
    }
}
