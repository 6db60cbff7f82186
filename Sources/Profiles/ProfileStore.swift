internal import Glibc
package import MediaCore
package import Storage

/// The calibration profiles, one file each in `profiles/` of the state folder.
///
/// Damaged files are renamed; files of a newer Talkie version are not read. Methods block on the disk. Any thread.
package struct ProfileStore: Sendable {
    private static let kind = "profile"
    private static let version = 1
    private static let folderName = "profiles"
    /// Maximum number of profiles; no household has more.
    private static let maxProfiles = 1000

    private let folder: StateFolder

    /// Uses the state folder of the user.
    package init() { self.init(.standard()) }

    package init(_ folder: StateFolder) { self.folder = folder }

    /// Reads all profiles, sorted by speaker name.
    ///
    /// - Returns: the profiles, and a sentence for each file that could not be read.
    package func all() -> (profiles: [LatencyProfile], notes: [String]) {
        var profiles: [LatencyProfile] = []
        var notes: [String] = []
        for name in folder.list(Self.folderName).prefix(Self.maxProfiles) {
            let (profile, note) = folder.contents(
                of: "\(Self.folderName)/\(name)", kind: Self.kind, version: Self.version
            ) { LatencyProfile($0) }
            profiles += [profile].compactMap { $0 }
            notes += [note].compactMap { $0 }
        }
        profiles.sort { ($0.speakerName, $0.measuredAt) < ($1.speakerName, $1.measuredAt) }
        return (profiles, notes)
    }

    /// A number that changes when a profile is stored or removed; 0 without any. Reads the folder's time of change.
    package var edition: Int64 {
        var status = stat()
        guard stat("\(folder.path)/\(Self.folderName)".systemPath, &status) == 0 else { return 0 }
        return Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
    }

    /// Stores profiles, replacing those with the same keys.
    ///
    /// - Throws: `notPermitted` (exit status 77) or `failed` (1), also for a file that a newer Talkie wrote, which is
    ///   unchanged; profiles before the failed one are stored.
    package func store(_ profiles: [LatencyProfile]) throws(TalkieError) {
        do {
            try folder.exclusively { () throws(StateError) in
                for profile in profiles {
                    var kept = profile
                    let before = try read(profile.key)
                    // A run with one speaker contains no new information about the differences between rooms.
                    if kept.room == nil { kept.room = before?.datedRoom }
                    if kept.offset == nil, let before, before.offset != nil {
                        let room = kept.datedRoom
                        kept = before
                        kept.room = room
                    }
                    let record = kept.record(kind: Self.kind, version: Self.version)
                    try folder.write(Self.name(kept.key), record.encoded())
                }
            }
        } catch {
            throw TalkieError(error)
        }
    }

    private static let oldCardsReported = "card-calibrations-told"

    /// Returns a notice about sound card profiles from before sinks were distinguished, once per state folder; nil
    /// otherwise.
    package func noticeOfOldCards(among profiles: [LatencyProfile]) -> String? {
        let old = profiles.filter(\.key.isOfUnknownSink)
        // ignored: without a writable folder the notice would appear at every start.
        guard !old.isEmpty, (try? folder.create(Self.oldCardsReported, Array("told\n".utf8))) == true else {
            return nil
        }
        let names = Set(old.map(\.speakerName)).sorted().map { "'\($0)'" }.joined(separator: " and ")
        return
            "the calibration of \(names) does not state which loudspeakers or headset it was measured with, and is no "
            + "longer applied"
    }

    private func read(_ key: LatencyProfile.Key) throws(StateError) -> LatencyProfile? {
        switch try folder.readRecord(Self.name(key), kind: Self.kind, version: Self.version) {
        case .record(let record): LatencyProfile(record)
        case .newer(let sentence): throw StateError(.newer, sentence)
        case .absent, .damaged: nil
        }
    }

    /// Removes a profile.
    ///
    /// - Returns: false if there was none.
    @discardableResult
    package func forget(_ key: LatencyProfile.Key) throws(TalkieError) -> Bool {
        do { return try folder.remove(Self.name(key)) } catch { throw TalkieError(error) }
    }

    /// Returns the file name: the speaker's key and a hash of the other conditions.
    private static func name(_ key: LatencyProfile.Key) -> String {
        // FNV-1a with 64 bits (RFC 9923). Equal keys have equal names; the file contains the complete key.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in "\(key.screen)\n\(key.mode)\n\(key.route)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return "\(folderName)/\(key.speaker).\(String(hash, radix: 16))"
    }
}

extension LatencyProfile {
    /// Creates a profile from a stored record; nil for invalid values.
    init?(_ record: StateRecord) {
        func number(_ key: String) -> Double? {
            guard let billionths = record[key].flatMap({ DecimalNumber.signedBillionths($0) }) else { return nil }
            let value = Double(billionths) / 1e9
            return value.magnitude <= Self.largestOffset ? value : nil
        }
        guard let speaker = record["speaker"], Key.isSpeakerKey(speaker), let route = record["route"],
            let sigma = number("sigma-ms"), let halfWidth = number("half-width-ms")
        else { return nil }
        self.init(
            key: Key(speaker: speaker, screen: record["screen"] ?? "", mode: record["mode"] ?? "", route: route),
            speakerName: record["name"] ?? speaker)
        offset = number("offset-ms")
        if record["offset-ms"] != nil, offset == nil { return nil }
        (self.sigma, self.halfWidth) = (sigma, halfWidth)
        events = record["events"].flatMap { DecimalNumber.integer($0) } ?? 0
        audioRest = number("sound-ms") ?? offset ?? 0
        screenRest = number("screen-ms") ?? 0
        screenSource = record["screen-source"] ?? "unknown"
        way = record["way"] ?? CalibrationMethod.microphone.rawValue
        measuredAt = record["measured-at"].flatMap { DecimalNumber.integer($0) }.map(Int64.init) ?? 0
        if let run = record["room"], let behind = number("room-behind-ms") {
            let time = record["room-measured-at"].flatMap { DecimalNumber.integer($0) }.map(Int64.init)
            room = Room(run: run, behindFirst: behind, measuredAt: time)
        }
        shares = (0..<16).compactMap { index in record["share-\(index)"].flatMap { LatencyLedger.Share(line: $0) } }
    }

    /// Returns the record to store.
    func record(kind: String, version: Int) -> StateRecord {
        var record = StateRecord(kind: kind, version: version)
        record["speaker"] = key.speaker
        record["name"] = speakerName.isEmpty ? nil : speakerName
        record["screen"] = key.screen.isEmpty ? nil : key.screen
        record["mode"] = key.mode.isEmpty ? nil : key.mode
        record["route"] = key.route
        record["offset-ms"] = offset.map { Decimals.text($0, 6) }
        record["sigma-ms"] = Decimals.text(sigma, 6)
        record["half-width-ms"] = Decimals.text(halfWidth, 6)
        record["events"] = String(events)
        record["sound-ms"] = Decimals.text(audioRest, 6)
        record["screen-ms"] = Decimals.text(screenRest, 6)
        record["screen-source"] = screenSource
        record["way"] = way
        record["measured-at"] = String(measuredAt)
        record["room"] = room?.run
        record["room-behind-ms"] = room.map { Decimals.text($0.behindFirst, 6) }
        record["room-measured-at"] = room?.measuredAt.map { String($0) }
        for (index, share) in shares.prefix(16).enumerated() { record["share-\(index)"] = share.line }
        return record
    }
}
