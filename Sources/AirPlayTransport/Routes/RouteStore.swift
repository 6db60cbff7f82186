internal import MediaCore
package import Storage

/// What sessions with each speaker have revealed, one file each in `routes/`.
///
/// A damaged file is moved aside, one of a newer version is left unchanged. Both count as missing, which costs the next
/// start a second. Methods block on the disk.
package struct RouteStore: Sendable {
    private static let kind = "route"
    private static let version = 1

    private let folder: StateFolder

    package init(_ folder: StateFolder) { self.folder = folder }

    /// Returns the knowledge about a speaker.
    ///
    /// - Returns: Nil if there is none or the file is unusable; then with a sentence for the user.
    package func memory(of speaker: SpeakerID) -> (memory: RouteMemory?, note: String?) {
        let (memory, note) = folder.contents(of: Self.name(speaker), kind: Self.kind, version: Self.version) {
            Self.memory(in: $0)
        }
        return (memory, note)
    }

    private static func memory(in record: StateRecord) -> RouteMemory {
        RouteMemory(
            route: record["heard"].flatMap { Route(word: $0) },
            role: record["clock"].flatMap { ClockRole(rawValue: $0) },
            isRoleOfGroup: record["clock-group"].map { $0 == "yes" }, hasProbed: record["probes"] == "yes",
            sourceVersion: record["source-version"], wanted: record["wanted"].flatMap { Route(word: $0) },
            stated: StatedLatency(
                arrivalToRender: microseconds(record["arrival-us"], upTo: 10_000_000),
                output: microseconds(record["output-latency-us"], upTo: 2_000_000)))
    }

    private static func microseconds(_ text: String?, upTo limit: Int64) -> Duration? {
        text.flatMap { Int64($0) }.flatMap { (0...limit).contains($0) ? .microseconds($0) : nil }
    }

    /// Stores the knowledge about a speaker.
    ///
    /// - Throws: `StateError`; the only effect is a slower next start.
    package func remember(_ memory: RouteMemory, of speaker: SpeakerID) throws(StateError) {
        var record = StateRecord(kind: Self.kind, version: Self.version)
        record["heard"] = memory.route?.rawValue
        record["clock"] = memory.role?.rawValue
        record["clock-group"] = memory.isRoleOfGroup.map { $0 ? "yes" : "no" }
        record["probes"] = memory.hasProbed ? "yes" : nil
        record["source-version"] = memory.sourceVersion
        record["wanted"] = memory.wanted?.rawValue
        record["arrival-us"] = memory.stated.arrivalToRender.map { "\($0.wholeNanoseconds / 1000)" }
        record["output-latency-us"] = memory.stated.output.map { "\($0.wholeNanoseconds / 1000)" }
        try folder.replace(Self.name(speaker), with: record)
    }

    private static func name(_ speaker: SpeakerID) -> String { "routes/\(speaker.digits)" }
}
