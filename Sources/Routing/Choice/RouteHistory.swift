internal import Glibc
internal import MediaCore
package import Storage

/// The recent destinations of audio, used to suggest one: a small file with the newest 64 entries.
///
/// Folders are stored as hashes, which only allow comparison. A damaged file is moved aside, one of a newer version is
/// left unchanged; both count as empty. Methods block on the disk.
public struct RouteHistory: Sendable {
    /// One film and its destinations.
    public struct Entry: Hashable, Sendable {
        /// The hash of the film's folder or host; see `folder(of:)`.
        public var folder: UInt64
        /// The local hour, 0…23.
        public var hour: Int
        /// The film's duration in minutes; nil for live streams.
        public var minutes: Int?
        /// The destination identifiers (`OutputDestination.id`).
        public var routes: [String]

        package init(folder: UInt64, hour: Int, minutes: Int?, routes: [String]) {
            self.folder = folder
            self.hour = hour
            self.minutes = minutes
            self.routes = routes
        }
    }

    // The file and its keys keep the names of version 1.
    private static let file = "route-habits"
    private static let kind = "route-habits"
    private static let version = 1
    /// The maximum number of entries.
    package static let maxEntries = 64
    /// A stereo pair and three rooms are plausible; more indicates a damaged file.
    private static let maxRoutes = 16

    private let folder: StateFolder

    package init(_ folder: StateFolder = .standard()) { self.folder = folder }

    /// Returns the entries, oldest first.
    ///
    /// - Returns: Empty if there are none or the file is unusable; then with a sentence for the user.
    public func read() -> (entries: [Entry], note: String?) {
        let (entries, note) = folder.contents(of: Self.file, kind: Self.kind, version: Self.version) { record in
            (0..<Self.maxEntries).compactMap { record[Self.key($0)].flatMap(Self.entry) }
        }
        return (entries ?? [], note)
    }

    /// Appends an entry; the oldest one is dropped beyond the limit.
    ///
    /// - Returns: A sentence for the user if the file was damaged.
    /// - Throws: `StateError` if it cannot be stored; playback is unaffected.
    @discardableResult
    package func append(_ entry: Entry) throws(StateError) -> String? {
        try folder.exclusively { () throws(StateError) in
            let (entries, note) = read()
            if case .newer(let sentence) = try folder.readRecord(Self.file, kind: Self.kind, version: Self.version) {
                throw StateError(.newer, sentence)
            }
            var kept = (entries + [entry]).suffix(Self.maxEntries)
            var bytes = Self.record(kept).encoded()
            // Entries with many destinations are long, and the file size is limited.
            while bytes.count > StateFolder.fileLimit, kept.count > 1 {
                kept = kept.dropFirst()
                bytes = Self.record(kept).encoded()
            }
            try folder.write(Self.file, bytes)
            return note
        }
    }

    private static func record(_ entries: ArraySlice<Entry>) -> StateRecord {
        var record = StateRecord(kind: kind, version: version)
        for (number, entry) in entries.enumerated() { record[key(number)] = text(entry) }
        return record
    }

    private static func key(_ number: Int) -> String { "evening-\(number)" }

    /// Returns the most likely destinations for a film; nil if too little is known.
    ///
    /// Entries are weighted by folder, then hour, then duration, and less with age.
    ///
    /// - Returns: Also a sentence for the user if the file is unusable.
    public func likely(folder: UInt64, hour: Int, minutes: Int?) -> (routes: [String]?, note: String?) {
        let (entries, note) = read()
        var votes: [[String]: Double] = [:]
        for (age, entry) in entries.reversed().enumerated() {
            var likeness = 0.0
            if entry.folder == folder { likeness += 4 }
            let apart = abs(entry.hour - hour) % 24
            if min(apart, 24 - apart) <= 2 { likeness += 2 }
            if Self.length(entry.minutes) == Self.length(minutes) { likeness += 1 }
            guard likeness >= 3 else { continue }
            votes[entry.routes.sorted(), default: 0] += likeness / (1 + 0.15 * Double(age))
        }
        // Ties are resolved by name, so that the result is stable.
        return (votes.max { ($0.value, $1.key.joined()) < ($1.value, $0.key.joined()) }?.key, note)
    }

    /// Returns a hash (FNV-1a, RFC 9923) of a film's folder, or of the host of an address.
    public static func folder(of address: String) -> UInt64 {
        var components = address.split(separator: "/", omittingEmptySubsequences: false)
        if components.count > 1 { components.removeLast() } else { components = ["."] }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in components.joined(separator: "/").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return hash
    }

    /// The current local hour, 0…23.
    public static var hour: Int {
        var now = time(nil)
        var components = tm()
        localtime_r(&now, &components)
        return Int(components.tm_hour)
    }

    /// The class of a duration: short, episode, film, or live.
    private static func length(_ minutes: Int?) -> Int {
        guard let minutes else { return 3 }
        return minutes < 15 ? 0 : minutes < 70 ? 1 : 2
    }

    private static func text(_ entry: Entry) -> String {
        let minutes = entry.minutes.map { "\($0)" } ?? "live"
        return "\(entry.folder) \(entry.hour) \(minutes) "
            + entry.routes.map { Hexadecimal.text($0.utf8) }.joined(separator: ",")
    }

    private static func entry(_ text: String) -> Entry? {
        let components = text.split(separator: " ", omittingEmptySubsequences: false)
        guard components.count == 4, let folder = UInt64(components[0]), let hour = Int(components[1]),
            (0..<24).contains(hour)
        else {
            return nil
        }
        let minutes = Int(components[2])
        guard minutes != nil || components[2] == "live" else { return nil }
        let routes = components[3].split(separator: ",").compactMap { hex in
            Hexadecimal.bytes(String(hex)).map { String(decoding: $0, as: UTF8.self) }
        }
        guard !routes.isEmpty, routes.count <= maxRoutes else { return nil }
        return Entry(folder: folder, hour: hour, minutes: minutes, routes: routes)
    }
}
