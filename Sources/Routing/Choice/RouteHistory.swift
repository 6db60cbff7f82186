internal import Glibc
internal import MediaCore
package import Storage

/// Where sound went lately, so that the likely place can be offered: a small file, the newest 64 evenings. Folders of films
/// are kept as a number that tells only whether two are the same.
public struct RouteHistory: Sendable {
    /// One film, and where its sound went.
    public struct Evening: Hashable, Sendable {
        /// Of the film's folder or address.
        public var folder: UInt64
        /// 0…23 by the clock on the wall.
        public var hour: Int
        /// The film's length; nil for live streams.
        public var minutes: Int?
        /// As `OutputPlace.id` calls them.
        public var routes: [String]

        package init(folder: UInt64, hour: Int, minutes: Int?, routes: [String]) {
            self.folder = folder
            self.hour = hour
            self.minutes = minutes
            self.routes = routes
        }
    }

    private static let file = "route-habits"
    private static let kind = "route-habits"
    private static let version = 1
    package static let mostEvenings = 64
    /// A stereo pair and three rooms; more would be a mistake in the file.
    private static let mostRoutes = 16

    private let folder: StateFolder

    package init(_ folder: StateFolder = .standard()) { self.folder = folder }

    /// Oldest first; empty when there are none or they cannot be read.
    public var evenings: [Evening] {
        guard case .record(let record)? = try? folder.readRecord(Self.file, kind: Self.kind, version: Self.version)
        else {
            return []
        }
        return (0..<Self.mostEvenings).compactMap { record["evening-\($0)"].flatMap(Self.evening) }
    }

    /// Adds one, in place of the oldest when there are many.
    /// - Throws: `StateError` when it cannot be kept; nothing depends on it.
    package func note(_ evening: Evening) throws(StateError) {
        if case .newer(let sentence) = try folder.readRecord(Self.file, kind: Self.kind, version: Self.version) {
            throw StateError(.newer, sentence)
        }
        var record = StateRecord(kind: Self.kind, version: Self.version)
        for (number, one) in (evenings + [evening]).suffix(Self.mostEvenings).enumerated() {
            record["evening-\(number)"] = Self.text(one)
        }
        try folder.write(Self.file, record.encoded())
    }

    /// Where the sound of a film most likely goes; nil when too little is known.
    ///
    /// The same folder speaks loudest, then the hour, then the length; what is longer ago speaks more softly.
    public func likely(folder: UInt64, hour: Int, minutes: Int?) -> [String]? {
        var votes: [[String]: Double] = [:]
        for (age, evening) in evenings.reversed().enumerated() {
            var likeness = 0.0
            if evening.folder == folder { likeness += 4 }
            let apart = abs(evening.hour - hour) % 24
            if min(apart, 24 - apart) <= 2 { likeness += 2 }
            if Self.length(evening.minutes) == Self.length(minutes) { likeness += 1 }
            guard likeness >= 3 else { continue }
            votes[evening.routes.sorted(), default: 0] += likeness / (1 + 0.15 * Double(age))
        }
        // Ties are broken by name, so that the answer does not change from one look to the next.
        return votes.max { ($0.value, $1.key.joined()) < ($1.value, $0.key.joined()) }?.key
    }

    /// A number for a film's folder, or for the machine an address leads to (FNV-1a, RFC 9923).
    public static func folder(of address: String) -> UInt64 {
        var parts = address.split(separator: "/", omittingEmptySubsequences: false)
        if parts.count > 1 { parts.removeLast() } else { parts = ["."] }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in parts.joined(separator: "/").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return hash
    }

    /// The hour by the clock on the wall.
    public static var hour: Int {
        var now = time(nil)
        var parts = tm()
        localtime_r(&now, &parts)
        return Int(parts.tm_hour)
    }

    /// A short, an episode, a film, something without an end.
    private static func length(_ minutes: Int?) -> Int {
        guard let minutes else { return 3 }
        return minutes < 15 ? 0 : minutes < 70 ? 1 : 2
    }

    private static func text(_ evening: Evening) -> String {
        let minutes = evening.minutes.map { "\($0)" } ?? "live"
        return "\(evening.folder) \(evening.hour) \(minutes) "
            + evening.routes.map { Hexadecimal.text($0.utf8) }.joined(separator: ",")
    }

    private static func evening(_ text: String) -> Evening? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 4, let folder = UInt64(parts[0]), let hour = Int(parts[1]), (0..<24).contains(hour) else {
            return nil
        }
        let minutes = Int(parts[2])
        guard minutes != nil || parts[2] == "live" else { return nil }
        let routes = parts[3].split(separator: ",").compactMap { hex in
            Hexadecimal.bytes(String(hex)).map { String(decoding: $0, as: UTF8.self) }
        }
        guard !routes.isEmpty, routes.count <= mostRoutes else { return nil }
        return Evening(folder: folder, hour: hour, minutes: minutes, routes: routes)
    }
}
