internal import MediaCore
package import Storage

/// What playing to each speaker has taught, one file each in `routes/`.
///
/// A file that is damaged is set aside and one that a newer Talkie wrote is left alone; both count as knowing nothing,
/// which costs a second at the next start. Methods block on the disk.
package struct RouteStore: Sendable {
    private static let kind = "route"
    private static let version = 1

    private let folder: StateFolder

    package init(_ folder: StateFolder) { self.folder = folder }

    /// What is known of a speaker.
    ///
    /// - Returns: nil when there is nothing, with a sentence for the user when there was something.
    package func memory(of speaker: SpeakerID) -> (memory: RouteMemory?, note: String?) {
        do {
            switch try folder.readRecord(Self.name(speaker), kind: Self.kind, version: Self.version) {
            case .absent: return (nil, nil)
            case .damaged(let sentence), .newer(let sentence): return (nil, sentence)
            case .record(let record): return (Self.memory(in: record), nil)
            }
        } catch {
            return (nil, error.message)
        }
    }

    private static func memory(in record: StateRecord) -> RouteMemory {
        func routes(_ key: String) -> [Route] {
            (record[key] ?? "").split(separator: " ").compactMap { Route(word: String($0)) }
        }
        return RouteMemory(
            route: routes("heard").first, failed: Set(routes("failed")),
            role: record["clock"].flatMap { ClockRole(rawValue: $0) },
            hasProbed: record["probes"] == "yes", sourceVersion: record["source-version"])
    }

    /// - Throws: `StateError` when it cannot be kept; nothing depends on it but the next start's speed.
    package func remember(_ memory: RouteMemory, of speaker: SpeakerID) throws(StateError) {
        var record = StateRecord(kind: Self.kind, version: Self.version)
        record["heard"] = memory.route?.rawValue
        record["failed"] = memory.failed.isEmpty ? nil : memory.failed.map(\.rawValue).sorted().joined(separator: " ")
        record["clock"] = memory.role?.rawValue
        record["probes"] = memory.hasProbed ? "yes" : nil
        record["source-version"] = memory.sourceVersion
        try folder.replace(Self.name(speaker), with: record)
    }

    @discardableResult
    package func forget(_ speaker: SpeakerID) throws(StateError) -> Bool { try folder.remove(Self.name(speaker)) }

    private static func name(_ speaker: SpeakerID) -> String { "routes/\(speaker.digits)" }
}
