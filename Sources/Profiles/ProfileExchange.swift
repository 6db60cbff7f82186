package import MediaCore
package import Storage

/// Profiles as a file for transfer between computers. Parsing accepts untrusted bytes and is bounded.
package enum ProfileExchange {
    /// Maximum file size in bytes.
    package static let largestFile = 4 << 20
    private static let version = 1
    /// Maximum number of profiles.
    private static let maxProfiles = 1000

    package static func json(_ profiles: [LatencyProfile]) -> JSONValue {
        .object([
            ("talkie_profiles", .integer(version)),
            ("unit", .text("milliseconds, positive when sound is later than picture")),
            ("profiles", .array(profiles.map(\.json))),
        ])
    }

    /// Parses an exported file.
    ///
    /// - Throws: the error as the end of a sentence.
    package static func read(_ bytes: [UInt8]) throws(FileFailure) -> [LatencyProfile] {
        let found: Result<[LatencyProfile], FileFailure> = bytes.withUnsafeBytes { raw in
            guard let object = JSONNode(object: raw, maxElements: largestFile / 8),
                let version = object.integer("talkie_profiles"),
                let list = object.objects("profiles", maxCount: maxProfiles)
            else { return .failure(.unreadable("is no export of calibration profiles")) }
            guard version == Self.version else {
                return .failure(.unreadable("was written by a newer Talkie; update this one"))
            }
            var profiles: [LatencyProfile] = []
            for object in list {
                guard let profile = LatencyProfile(object) else {
                    return .failure(.unreadable("contains an invalid profile"))
                }
                profiles.append(profile)
            }
            return .success(profiles)
        }
        return try found.get()
    }
}

extension LatencyProfile {
    var json: JSONValue {
        let time: [(String, JSONValue)] =
            room?.measuredAt.map { [("room_measured_at", .integer(Int($0)))] } ?? []
        return .object(
            [
                ("speaker", .text(key.speaker)), ("name", .text(speakerName)), ("screen", .text(key.screen)),
                ("mode", .text(key.mode)), ("route", .text(key.route)), ("offset_ms", .optional(offset, decimals: 6)),
                ("sigma_ms", .real(sigma, decimals: 6)), ("half_width_ms", .real(halfWidth, decimals: 6)),
                ("events", .integer(events)), ("sound_ms", .real(audioRest, decimals: 6)),
                ("screen_ms", .real(screenRest, decimals: 6)), ("screen_source", .text(screenSource)),
                ("way", .text(way)),
                ("measured_at", .integer(Int(measuredAt))), ("room", .optional(room?.run)),
                ("room_behind_ms", .optional(room?.behindFirst, decimals: 6)),
                ("applies", .flag(!key.isOfUnknownSink)), ("shares", .array(shares.map(\.json))),
            ] + time)
    }

    /// Parses untrusted JSON; nil if a value is missing or out of range.
    init?(_ object: JSONNode) {
        func number(_ name: StaticString) -> Double? {
            object.real(name).flatMap { $0.magnitude <= Self.largestOffset ? $0 : nil }
        }
        func text(_ name: StaticString) -> String? { object.text(name).map { String($0.prefix(200)) } }
        guard let speaker = text("speaker"), Key.isSpeakerKey(speaker), let route = text("route"),
            let sigma = number("sigma_ms"), sigma >= 0, let halfWidth = number("half_width_ms"), halfWidth >= 0
        else { return nil }
        self.init(
            key: Key(speaker: speaker, screen: text("screen") ?? "", mode: text("mode") ?? "", route: route),
            speakerName: text("name") ?? speaker)
        offset = number("offset_ms")
        (self.sigma, self.halfWidth) = (sigma, halfWidth)
        events = object.integer("events").flatMap { (0...10_000).contains($0) ? Int($0) : nil } ?? 0
        audioRest = number("sound_ms") ?? offset ?? 0
        screenRest = number("screen_ms") ?? 0
        screenSource = text("screen_source") ?? "unknown"
        way = text("way") ?? CalibrationMethod.microphone.rawValue
        func time(_ name: StaticString) -> Int64? {
            object.integer(name).flatMap { (0...(1 << 40)).contains($0) ? $0 : nil }
        }
        measuredAt = time("measured_at") ?? 0
        if let run = text("room"), !run.isEmpty, let behind = number("room_behind_ms") {
            room = Room(run: run, behindFirst: behind, measuredAt: time("room_measured_at"))
        }
        guard offset != nil || room != nil else { return nil }
        shares = (object.objects("shares", maxCount: 16) ?? []).compactMap { LatencyLedger.Share($0) }
    }
}
