internal import MediaCore

/// Simulated faults of real speakers and networks; each can be enabled separately. All are off in `SpeakerQuirks()`.
package struct SpeakerQuirks: Sendable {
    /// A fault of a reply.
    enum ReplyFault: Hashable, Sendable {
        /// The reply is delayed.
        case slow(Duration)
        /// The reply is replaced by 200 meaningless bytes, correctly encrypted.
        case garbage
        /// Half of the reply is sent, then the connection closes.
        case truncated
        /// No reply is sent.
        case silence
        /// The reply announces a body of 99,999,999,999 bytes.
        case absurdlyLong
        /// The reply has this status and no body.
        case status(Int)
    }

    /// The behaviour of a speaker that acts as PTP grandmaster.
    enum OwnClockManner: Hashable, Sendable {
        /// It always sends its time.
        case loud
        /// It sends its time only while no other master does, as HomePods do.
        case shy
    }

    /// The speaker is grandmaster and refuses anchors on another clock.
    var ownClock: OwnClockManner?
    /// The speaker's own clock steps by `by` once `after` has passed.
    var clockStep: (after: Duration, by: Duration)?
    /// The speaker's own clock stops sending and answering after this time.
    var clockStopsAfter: Duration?
    /// Delay_Req messages stop after this time.
    var probesStopAfter: Duration?
    /// Time during which the messages of the sender's clock are ignored.
    package var lateClock: Duration = .zero
    /// PTP is ignored, so that all is accepted and silent, as by some televisions.
    var ignoresPTP = false
    /// SETRATEANCHORTIME is answered with 400 until the clock is locked, as by Sonos and WiiM.
    package var refusesAnchorBeforeLock = false
    /// Delay_Req is sent eight times a second, as by most speakers except nqptp.
    var probes = false
    /// Rate error of the speaker's oscillator against the host clock in ppm; positive: the oscillator is fast.
    package var clockPartsPerMillion: Double = 0
    /// Buffer size of a buffered stream in bytes; nil: 8 MiB.
    package var bufferSize: Int?
    /// Reading of a buffered stream pauses for `lasting`, each time `every` has passed.
    package var readPauses: (every: Duration, lasting: Duration)?
    /// Share of realtime packets that are lost, 0…1; resent ones included.
    package var packetLoss: Double = 0
    /// Faults of replies by method (`SETUP`) or path (`/feedback`).
    var replyFaults: [String: ReplyFault] = [:]
    /// After `after` of playback another sender takes over: an event reports it and the connection closes. New sessions
    /// are refused with 453 for `busyFor`.
    var takenOver: (after: Duration, busyFor: Duration)?
    /// After `after` of playback since a start the speaker sends this command on the event channel, as after a key
    /// press: `play`, `paus`, `plps`, `stop`, `nitm` or `pitm`.
    package var presses: (after: Duration, command: String)?
    /// The item is read as property lists too (feature bit 50), as by HomePods.
    var readsLists = false
    /// A second sender cannot take over a session; it is refused with 453.
    var refusesTakeover = false
    /// After this playback time all connections are reset and no request is answered.
    var diesAfter: Duration?
    /// Requests without a sender of version 300 or later are refused with 403, as by Apple's speakers.
    var wantsKnownSender = false

    /// Delay between announcing the event port and listening on it.
    var eventsAfter: Duration = .zero
    /// The event port is announced, but the speaker never listens on it.
    var hasNoEvents = false
    /// Salt, key and proof of pairing are sent without leading zeros.
    var stripsZeros = false

    /// After `after` of playback the speaker stops for `lasting`, like a stopped process. Older connections resume
    /// one second later than new ones.
    var freezes: (after: Duration, lasting: Duration)?

    /// The output latency that `/info` states, and by how much its output is really later than the anchor says.
    var outputLatency: (stated: Duration, real: Duration)?
    /// The answer to the SETUP of a buffered stream, which is refused although it is offered.
    var bufferedRefusal: ReplyFault?
    /// Formats with more than two channels are not offered.
    var offersStereoOnly = false
    /// Lossless audio with 24 bits is not offered.
    var offers16BitsOnly = false
    /// The only formats of buffered streams that are offered and accepted, by their numbers; nil: all.
    var formats: Set<Int>?
    /// Formats are stated in `audioFormats` instead of `supportedFormats`.
    var listsFormats = false
    /// `arrivalToRenderLatencyMs` of the stream's SETUP.
    var arrivalToRender: Duration?

    /// The model is Shairport Sync, and the session ends if a stream's first anchor precedes the permission to play.
    /// The real one does that in one start of ten.
    var endsUnlessAllowed = false

    /// ANNOUNCE is refused with 403 before `/auth-setup`, as by later AirPort Express.
    var needsSetup = false
    /// `/auth-setup` is answered with 404 and the session stays silent, as by HomePods.
    var isSilentAfterSetup = false
    /// NTP timing requests end after this time.
    var timingStopsAfter: Duration?
    /// Each NTP timing request is sent from another port.
    var movesTimingPort = false
    /// The number of requests for 65,535 packets each that are sent at the start of a realtime stream.
    var resendFlood: Int?

    /// The recorded responses of another speaker, which replace this speaker's.
    var replay: ConversationReplay?

    package init() {}

    /// The names accepted by `set`, with their arguments.
    package static let vocabulary = [
        "late-clock=SECONDS", "ignores-ptp", "anchor-400-before-lock", "probes", "probes-stop=SECONDS",
        "clock-ppm=PPM", "own-clock", "own-clock=shy", "clock-steps=AFTER:BY", "clock-stops=SECONDS", "buffer=BYTES",
        "read-pauses=EVERY:LASTING", "loss=SHARE", "slow=REQUEST:SECONDS", "garbage=REQUEST",
        "truncated=REQUEST", "silent=REQUEST", "endless=REQUEST", "status=REQUEST:CODE", "taken-over=AFTER:BUSY",
        "presses=AFTER:COMMAND", "lists", "busy", "dies=SECONDS", "known-sender", "shairport-start",
        "freezes=AFTER:LASTING", "late-events=SECONDS", "no-events", "stripped-zeros",
        "output-latency=STATED:REAL", "arrival=SECONDS", "stereo-only", "16-bit", "formats=ID:ID",
        "format-list", "refuses-buffered=CODE|closed|silent", "auth-setup",
        "silent-auth-setup", "timing-stops=SECONDS", "timing-moves", "resend-flood=COUNT", "replay=FILE",
    ]

    /// Enables one quirk by its command-line syntax: `late-clock=3`, `slow=SETUP:2`.
    ///
    /// - Throws: `badOption` with the list of quirks.
    package mutating func set(_ text: String) throws(SpeakerError) {
        let fields = text.split(separator: "=", maxSplits: 1).map(String.init)
        let name = fields.first ?? ""
        let values = fields.count > 1 ? fields[1].split(separator: ":").map(String.init) : []
        func unusable() -> SpeakerError {
            SpeakerError(
                .badOption,
                "\"\(text)\" is not a quirk; choose from: " + Self.vocabulary.joined(separator: ", ") + ".")
        }
        func number(_ index: Int, _ range: ClosedRange<Double> = 0...86_400) throws(SpeakerError) -> Double {
            guard index < values.count, let value = Double(values[index]), range.contains(value) else {
                throw unusable()
            }
            return value
        }
        func seconds(_ index: Int) throws(SpeakerError) -> Duration { .seconds(try number(index)) }
        func request() throws(SpeakerError) -> String {
            guard let first = values.first else { throw unusable() }
            return first
        }
        switch name {
        case "late-clock": lateClock = try seconds(0)
        case "ignores-ptp": ignoresPTP = true
        case "anchor-400-before-lock": refusesAnchorBeforeLock = true
        case "probes": probes = true
        case "probes-stop":
            probes = true
            probesStopAfter = try seconds(0)
        case "own-clock":
            guard values.isEmpty || values == ["shy"] else { throw unusable() }
            ownClock = values.isEmpty ? .loud : .shy
        case "clock-steps": clockStep = (try seconds(0), .seconds(try number(1, -86_400...86_400)))
        case "clock-stops": clockStopsAfter = try seconds(0)
        case "clock-ppm": clockPartsPerMillion = try number(0, -1000...1000)
        case "buffer": bufferSize = Int(try number(0, 4096...1_073_741_824))
        case "read-pauses": readPauses = (try seconds(0), try seconds(1))
        case "loss": packetLoss = try number(0, 0...1)
        case "slow": replyFaults[try request()] = .slow(try seconds(1))
        case "garbage": replyFaults[try request()] = .garbage
        case "truncated": replyFaults[try request()] = .truncated
        case "silent": replyFaults[try request()] = .silence
        case "endless": replyFaults[try request()] = .absurdlyLong
        case "status": replyFaults[try request()] = .status(Int(try number(1, 100...999)))
        case "taken-over": takenOver = (try seconds(0), try seconds(1))
        case "presses":
            guard values.count == 2 else { throw unusable() }
            presses = (try seconds(0), values[1])
        case "lists": readsLists = true
        case "busy": refusesTakeover = true
        case "dies": diesAfter = try seconds(0)
        case "known-sender": wantsKnownSender = true
        case "shairport-start": endsUnlessAllowed = true
        case "freezes": freezes = (try seconds(0), try seconds(1))
        case "late-events": eventsAfter = try seconds(0)
        case "no-events": hasNoEvents = true
        case "stripped-zeros": stripsZeros = true
        case "output-latency": outputLatency = (.seconds(try number(0, 0...10)), .seconds(try number(1, 0...2)))
        case "refuses-buffered":
            bufferedRefusal =
                switch values {
                case ["closed"]: .truncated
                case ["silent"]: .silence
                default: .status(Int(try number(0, 100...999)))
                }
        case "stereo-only": offersStereoOnly = true
        case "16-bit": offers16BitsOnly = true
        case "formats":
            guard !values.isEmpty, values.count <= 64 else { throw unusable() }
            formats = []
            for index in values.indices { formats?.insert(Int(try number(index, 0...63))) }
        case "format-list": listsFormats = true
        case "arrival": arrivalToRender = .seconds(try number(0, 0...10))
        case "auth-setup": needsSetup = true
        case "silent-auth-setup": isSilentAfterSetup = true
        case "timing-stops": timingStopsAfter = try seconds(0)
        case "timing-moves": movesTimingPort = true
        case "replay":
            guard fields.count == 2 else { throw unusable() }
            replay = try ConversationReplay(file: fields[1])
        case "resend-flood": resendFlood = Int(try number(0, 0...1_000_000))
        default: throw unusable()
        }
    }
}
