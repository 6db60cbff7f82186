internal import MediaCore

/// How well the system's clock is kept, as chrony's report of that name says it (chronyc(1), `tracking`).
package struct ChronyTracking: Sendable, Hashable {
    /// Whom it is kept by: eight hexadecimal digits, and a name or an address where there is one. 7F7F0101 is chrony itself.
    package var reference = ""
    package var server = ""
    package var stratum = 0
    /// When the reference was last measured, in nanoseconds since 1970; it changes with each measurement.
    package var measured: Int64 = 0
    /// What must be added to the system's clock now for the true time: positive where the clock is slow.
    package var correction = Duration.zero
    /// Parts per million by which the clock would run slow if chrony let it.
    package var frequency = 0.0
    /// Parts per million: bound of the frequency's error.
    package var skew = 0.0
    package var rootDelay = Duration.zero
    package var rootDispersion = Duration.zero
    package var isSynchronised = false

    package init() {}

    /// Most that is ever looked at; the report is a line of some 150 bytes.
    package static let mostBytes = 4096

    /// Reads the report as `chronyc -c` writes it: 14 fields on one line, in the order of the report for people. Nil when it is another.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.mostBytes else { return nil }
        let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n", maxSplits: 1)
        let fields = (line.first ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 14, fields[0].utf8.count == 8, UInt32(fields[0], radix: 16) != nil,
            let stratum = DecimalNumber.whole(fields[2]), (0...16).contains(stratum),
            let measured = DecimalNumber.signedBillionths(fields[3]), let correction = Self.duration(fields[4]),
            let frequency = Self.number(fields[7]), let skew = Self.number(fields[9]),
            let rootDelay = Self.duration(fields[10]), let rootDispersion = Self.duration(fields[11])
        else { return nil }
        reference = fields[0].uppercased()
        server = PrintableText.of(String(fields[1].prefix(255)))
        (self.stratum, self.measured, self.correction) = (stratum, measured, correction)
        (self.frequency, self.skew) = (frequency, skew)
        (self.rootDelay, self.rootDispersion) = (rootDelay, rootDispersion)
        // The other words are "Insert second" and "Delete second", at the end of a month.
        isSynchronised = fields[13] != "Not synchronised" && stratum > 0
    }

    /// How far the corrected clock may be from the true time (RFC 5905, section 4: half the root delay and the root dispersion).
    package var uncertainty: Duration { max(.zero, rootDelay / 2 + rootDispersion) }

    /// A clock that is further away than this is no clock (136 years, an era of NTP).
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

/// What one look at chrony came to.
package enum ChronyAnswer: Sendable, Hashable {
    case report(ChronyTracking)
    /// chronyc is not installed, or nobody answers it; with why.
    case absent(String)
}

/// Asks the chronyd of this computer, through chronyc, which comes with it and speaks its language.
package struct ChronyReader: Sendable {
    private let host: String
    private let port: Int

    /// - Parameters:
    ///   - host: where chronyd listens for chronyc; an address, or the path of its socket.
    ///   - port: of UDP; 323 as a rule.
    package init(host: String = "127.0.0.1", port: Int = 323) { (self.host, self.port) = (host, port) }

    /// chronyc itself asks three times, a second apart and more, before it gives up.
    private static let patience = Duration.seconds(10)

    /// Blocks for some milliseconds, and for ten seconds at most.
    package func read(isCancelled: () -> Bool = { false }) -> ChronyAnswer {
        guard let program = BoundedProgram.find("chronyc") ?? BoundedProgram.find("chronyc", in: "/usr/bin:/usr/sbin")
        else {
            return .absent("chronyc is not installed; install chrony")
        }
        do throws(BoundedProgram.Failure) {
            let outcome = try BoundedProgram.run(
                program, ["-n", "-c", "-h", host, "-p", String(port), "tracking"], most: ChronyTracking.mostBytes,
                patience: Self.patience, isCancelled: isCancelled)
            if outcome.status == 0, let tracking = ChronyTracking(outcome.output) { return .report(tracking) }
            // "506 Cannot talk to daemon" is written as a report is.
            let said = String(decoding: outcome.output.prefix(200), as: UTF8.self) + outcome.complaint.prefix(200)
            let words = PrintableText.of(String(said.split(separator: "\n").first ?? "it said nothing"))
            return .absent("chronyc says “\(words)”; see that chronyd runs and may be asked from this computer")
        } catch {
            switch error {
            case .notStarted(let cause): return .absent("chronyc cannot be started (\(cause))")
            case .tooLong: return .absent("chronyc says more than a report; is it chrony's?")
            case .tooSlow: return .absent("chronyc does not answer; see that chronyd runs")
            case .cancelled: return .absent("nobody waited for chronyc")
            }
        }
    }
}
