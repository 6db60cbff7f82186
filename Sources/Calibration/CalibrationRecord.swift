package import MediaCore
package import Profiles
package import Storage
package import SyncRendering

/// The flashes and sounds of a calibration run with their host times.
///
/// Written to a file by `--emit` and read by `--analyse`; untrusted input when read.
package struct CalibrationRecord: Sendable, Equatable {
    /// The display of the flashes.
    package struct Display: Sendable, Equatable {
        /// The name of the display.
        package var name: String
        /// `unpaced` or the refresh rate, and the window mode: see `LatencyProfile.Key`.
        package var mode: String
        /// The delay that the display states; nil if it states none.
        var statedDelay: Duration?

        package init(name: String, mode: String, statedDelay: Duration? = nil) {
            self.name = name
            self.mode = mode
            self.statedDelay = statedDelay
        }
    }

    /// One flash with its sound.
    package struct Event: Sendable, Equatable {
        /// The index of the speaker.
        var speaker: Int
        /// The sound.
        var code: ChirpCode
        /// Whether the flash is long.
        var isLong: Bool
        /// When both flash and sound were due.
        var due: HostInstant
        /// When the frame was presented as reported by the system; nil if it was not.
        var flashed: HostInstant?
        /// When the dark frame after it was presented; nil if unknown.
        var darkened: HostInstant?

        package init(
            speaker: Int, code: ChirpCode, isLong: Bool, due: HostInstant, flashed: HostInstant? = nil,
            darkened: HostInstant? = nil
        ) {
            self.speaker = speaker
            self.code = code
            self.isLong = isLong
            self.due = due
            self.flashed = flashed
            self.darkened = darkened
        }
    }

    /// A random identifier of the run.
    package var run: String
    /// The speakers of the run.
    package var speakers: [OutputIdentity]
    /// The display; nil for a run without a picture.
    package var display: Display?
    /// The events in order of time.
    var events: [Event]
    /// The latency shares that each output stated during the run, for the ledger.
    package var shares: [[LatencyLedger.Share]] = []
    /// The stored corrections that were applied during the run, in milliseconds for each speaker; nil: none, as usual.
    package var corrections: [Double]?

    /// Maximum size of a file in bytes.
    package static let largestFile = 4 << 20
    private static let version = 1
    private static let maxEvents = StimulusPlan.eventRange.upperBound * StimulusPlan.maxSpeakers

    // MARK: File format

    /// The record as JSON; times in nanoseconds of CLOCK_MONOTONIC.
    package var json: JSONValue {
        func nanoseconds(_ instant: HostInstant) -> JSONValue { .integer(Int(instant.nanoseconds)) }
        return .object([
            ("talkie_calibration_events", .integer(Self.version)), ("clock", .text("CLOCK_MONOTONIC")),
            ("run", .text(run)),
            (
                "speakers",
                .array(
                    speakers.enumerated().map { index, speaker in
                        .object([
                            ("key", .text(speaker.key)), ("name", .text(speaker.name)), ("query", .text(speaker.query)),
                            ("route", .text(speaker.route)), ("address", .optional(speaker.address)),
                            ("shares", .array((shares.indices.contains(index) ? shares[index] : []).map(\.json))),
                            ("correction_ms", .optional(corrections?[index], decimals: 3)),
                        ])
                    })
            ),
            (
                "screen",
                display.map {
                    .object([
                        ("name", .text($0.name)), ("mode", .text($0.mode)),
                        ("stated_delay_ms", .optional($0.statedDelay?.inMilliseconds, decimals: 3)),
                    ])
                } ?? .null
            ),
            (
                "events",
                .array(
                    events.enumerated().map { number, event in
                        .object([
                            ("event", .integer(number)), ("speaker", .integer(event.speaker)),
                            (
                                "sound",
                                .object([("code", .integer(event.code.number)), ("host_ns", nanoseconds(event.due))])
                            ),
                            (
                                "flash",
                                .object([
                                    (
                                        "length_ms",
                                        .integer(Int(event.flashLength.inMilliseconds))
                                    ), ("due_ns", nanoseconds(event.due)),
                                    ("host_ns", event.flashed.map(nanoseconds) ?? .null),
                                    ("end_ns", event.darkened.map(nanoseconds) ?? .null),
                                ])
                            ),
                        ])
                    })
            ),
        ])
    }

    /// Parses a record.
    ///
    /// - Throws: `unreadable` with a predicate for the error message.
    package init(reading bytes: [UInt8]) throws(FileFailure) {
        let made: Result<CalibrationRecord, FileFailure> = bytes.withUnsafeBytes { raw in
            do throws(FileFailure) { return .success(try CalibrationRecord(raw)) } catch { return .failure(error) }
        }
        self = try made.get()
    }

    private init(_ raw: UnsafeRawBufferPointer) throws(FileFailure) {
        guard let object = JSONNode(object: raw, maxElements: Self.largestFile / 8),
            let version = object.integer("talkie_calibration_events")
        else { throw .unreadable("is no list of calibration events") }
        guard version == Self.version else { throw .unreadable("was written by a newer Talkie; update this one") }
        func instant(_ value: Int64?) -> HostInstant? {
            value.flatMap { (0...(1 << 62)).contains($0) ? HostInstant(nanoseconds: $0) : nil }
        }
        run = object.text("run") ?? ""
        display = object.object("screen").flatMap { screen in
            guard let name = screen.text("name"), let mode = screen.text("mode") else { return nil }
            let delay = screen.real("stated_delay_ms").flatMap { (0...2000).contains($0) ? $0 : nil }
            return Display(
                name: name, mode: mode,
                statedDelay: delay.map { .nanoseconds(Int64(clamping: $0 * 1e6, in: 0...2_000_000_000)) })
        }
        speakers = []
        var corrections: [Double?] = []
        for speaker in object.objects("speakers", maxCount: StimulusPlan.maxSpeakers) ?? [] {
            guard let key = speaker.text("key"), LatencyProfile.Key.isSpeakerKey(key), let name = speaker.text("name"),
                let route = speaker.text("route")
            else { throw .unreadable("does not say which speakers were measured") }
            speakers.append(
                OutputIdentity(
                    key: key, name: name, query: speaker.text("query") ?? name, route: route,
                    address: speaker.text("address")))
            corrections.append(
                speaker.real("correction_ms").flatMap {
                    $0.magnitude <= LatencyProfile.largestOffset ? $0 : nil
                })
            shares.append((speaker.objects("shares", maxCount: 16) ?? []).compactMap { LatencyLedger.Share($0) })
        }
        self.corrections = corrections.contains { $0 != nil } ? corrections.map { $0 ?? 0 } : nil
        events = []
        for event in object.objects("events", maxCount: Self.maxEvents) ?? [] {
            guard let audio = event.object("sound"), let flash = event.object("flash"),
                let speaker = event.integer("speaker").flatMap({ Int(exactly: $0) }),
                speakers.indices.contains(speaker),
                let number = audio.integer("code"), let code = ChirpCode.all.first(where: { $0.number == number }),
                let due = instant(audio.integer("host_ns"))
            else { throw .unreadable("contains an invalid event") }
            let length = flash.real("length_ms") ?? 0
            events.append(
                Event(
                    speaker: speaker, code: code, isLong: length > StimulusPlan.shortFlash.inMilliseconds * 1.5,
                    due: due,
                    flashed: instant(flash.integer("host_ns")), darkened: instant(flash.integer("end_ns"))))
        }
        guard !events.isEmpty, let first = events.first?.due else { throw .unreadable("contains no events") }
        // Limits the range of times, so that later differences cannot overflow.
        let span = StimulusPlan.longestRun * 2
        let isSane = events.allSatisfy { event in
            event.due - first <= span && first - event.due <= span
                && [event.flashed, event.darkened].compactMap { $0 }.allSatisfy {
                    $0 - event.due <= span && event.due - $0 <= span
                }
        }
        guard isSane else { throw .unreadable("contains events that are further apart than one run") }
    }

    package init(
        run: String, speakers: [OutputIdentity], display: Display?, events: [Event],
        shares: [[LatencyLedger.Share]] = [], corrections: [Double]? = nil
    ) {
        self.run = run
        self.speakers = speakers
        self.display = display
        self.events = events
        self.shares = shares
        self.corrections = corrections
    }
}

extension CalibrationRecord.Event {
    var flashLength: Duration { isLong ? StimulusPlan.longFlash : StimulusPlan.shortFlash }
}
