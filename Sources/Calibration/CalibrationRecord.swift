package import MediaCore
package import Profiles
package import Storage
package import SyncRendering

/// What a calibration run flashed and sounded, and when: the half of a measurement that this computer knows.
///
/// Written as a file by `--emit` and read back by `--analyse`; bytes from outside when read.
package struct CalibrationRecord: Sendable, Equatable {
    /// Where the flashes were.
    package struct Display: Sendable, Equatable {
        package var name: String
        /// `unpaced` or the refresh rate, and how the window stood: see `LatencyProfile.Key`.
        package var mode: String
        /// What the display says about its own delay; nil when it does not.
        package var statedDelay: Duration?

        package init(name: String, mode: String, statedDelay: Duration? = nil) {
            self.name = name
            self.mode = mode
            self.statedDelay = statedDelay
        }
    }

    package struct Event: Sendable, Equatable {
        package var speaker: Int
        package var code: ChirpCode
        package var isLong: Bool
        /// When flash and sound were both due.
        package var due: HostInstant
        /// When the picture was handed to the screen, as far as the system says; nil when it never was.
        package var flashed: HostInstant?

        package init(speaker: Int, code: ChirpCode, isLong: Bool, due: HostInstant, flashed: HostInstant? = nil) {
            self.speaker = speaker
            self.code = code
            self.isLong = isLong
            self.due = due
            self.flashed = flashed
        }
    }

    /// Drawn anew for every run.
    package var run: String
    package var speakers: [OutputIdentity]
    /// Nil for a run without a picture.
    package var display: Display?
    package var events: [Event]
    /// What the outputs stated about themselves during the run, for the ledger.
    package var shares: [[LatencyLedger.Share]] = []

    package static let largestFile = 4 << 20
    private static let version = 1
    private static let mostEvents = StimulusPlan.eventRange.upperBound * StimulusPlan.mostSpeakers

    // MARK: As a file

    package var json: JSONValue {
        func nanoseconds(_ instant: HostInstant) -> JSONValue { .whole(Int(instant.nanoseconds)) }
        return .object([
            ("talkie_calibration_events", .whole(Self.version)), ("clock", .text("CLOCK_MONOTONIC")),
            ("run", .text(run)),
            (
                "speakers",
                .array(
                    speakers.enumerated().map { index, speaker in
                        .object([
                            ("key", .text(speaker.key)), ("name", .text(speaker.name)), ("query", .text(speaker.query)),
                            ("route", .text(speaker.route)), ("address", .optional(speaker.address)),
                            ("shares", .array((shares.indices.contains(index) ? shares[index] : []).map(\.json))),
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
                            ("event", .whole(number)), ("speaker", .whole(event.speaker)),
                            (
                                "sound",
                                .object([("code", .whole(event.code.number)), ("host_ns", nanoseconds(event.due))])
                            ),
                            (
                                "flash",
                                .object([
                                    (
                                        "length_ms",
                                        .whole(Int(event.flashLength.inMilliseconds))
                                    ), ("due_ns", nanoseconds(event.due)),
                                    ("host_ns", event.flashed.map(nanoseconds) ?? .null),
                                ])
                            ),
                        ])
                    })
            ),
        ])
    }

    /// - Throws: a sentence's end that says what is wrong with the file.
    package init(reading bytes: [UInt8]) throws(FileFailure) {
        let made: Result<CalibrationRecord, FileFailure> = bytes.withUnsafeBytes { raw in
            do throws(FileFailure) { return .success(try CalibrationRecord(raw)) } catch { return .failure(error) }
        }
        self = try made.get()
    }

    private init(_ raw: UnsafeRawBufferPointer) throws(FileFailure) {
        guard let object = FlatObject(raw), let version = object.whole("talkie_calibration_events") else {
            throw .unreadable("is not what talkie calibrate --emit writes")
        }
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
        for speaker in object.objects("speakers", most: StimulusPlan.mostSpeakers) ?? [] {
            guard let key = speaker.text("key"), LatencyProfile.Key.isSpeakerKey(key), let name = speaker.text("name"),
                let route = speaker.text("route")
            else { throw .unreadable("does not say which speakers were measured") }
            speakers.append(
                OutputIdentity(
                    key: key, name: name, query: speaker.text("query") ?? name, route: route,
                    address: speaker.text("address")))
            shares.append((speaker.objects("shares", most: 16) ?? []).compactMap { LatencyLedger.Share($0) })
        }
        events = []
        for event in object.objects("events", most: Self.mostEvents) ?? [] {
            guard let sound = event.object("sound"), let flash = event.object("flash"),
                let speaker = event.whole("speaker").flatMap({ Int(exactly: $0) }), speakers.indices.contains(speaker),
                let number = sound.whole("code"), let code = ChirpCode.all.first(where: { $0.number == number }),
                let due = instant(sound.whole("host_ns"))
            else { throw .unreadable("holds an event that cannot be understood") }
            let length = flash.real("length_ms") ?? 0
            events.append(
                Event(
                    speaker: speaker, code: code, isLong: length > StimulusPlan.shortFlash.inMilliseconds * 1.5,
                    due: due,
                    flashed: instant(flash.whole("host_ns"))))
        }
        guard !events.isEmpty, let first = events.first?.due else { throw .unreadable("holds no events") }
        // Differences are taken later; nonsense must not overflow there.
        let span = StimulusPlan.longestRun * 2
        let isSane = events.allSatisfy { event in
            event.due - first <= span && first - event.due <= span
                && event.flashed.map { $0 - event.due <= span && event.due - $0 <= span } ?? true
        }
        guard isSane else { throw .unreadable("holds events further apart than a run lasts") }
    }

    package init(
        run: String, speakers: [OutputIdentity], display: Display?, events: [Event],
        shares: [[LatencyLedger.Share]] = []
    ) {
        self.run = run
        self.speakers = speakers
        self.display = display
        self.events = events
        self.shares = shares
    }
}

extension CalibrationRecord.Event {
    var flashLength: Duration { isLong ? StimulusPlan.longFlash : StimulusPlan.shortFlash }
}
