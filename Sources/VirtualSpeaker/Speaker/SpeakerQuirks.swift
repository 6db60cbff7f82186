internal import MediaCore

/// Manners of real speakers, networks and bad days, each switched on by itself. All are off in `SpeakerQuirks()`.
package struct SpeakerQuirks: Sendable {
    /// How a reply goes wrong.
    package enum ReplyFault: Hashable, Sendable {
        /// It comes this much later.
        case slow(Duration)
        /// Bytes that mean nothing come in its place, properly encrypted.
        case garbage
        /// It stops in the middle, and so does the connection.
        case truncated
        /// It never comes.
        case silence
        /// It announces a body larger than anybody should accept.
        case absurdlyLong
        /// It has this status and no body.
        case status(Int)
    }

    /// How a speaker insists on being grandmaster.
    package enum OwnClockManner: Hashable, Sendable {
        /// It sends its time whoever else does.
        case loud
        /// It sends its time only while nobody offers another, as HomePods do.
        case shy
    }

    /// It follows no clock but its own, and refuses starts that name another.
    package var ownClock: OwnClockManner?
    /// Its own clock jumps by the second duration after the first.
    package var clockStep: (after: Duration, by: Duration)?
    /// After this long its own clock says and answers nothing more.
    package var clockStopsAfter: Duration?
    /// After so long it asks for the time no more.
    package var probesStopAfter: Duration?
    /// The clock is believed this much later than its messages come.
    package var lateClock: Duration = .zero
    /// SETRATEANCHORTIME is answered with 400 until the clock is locked, as Sonos and WiiM do.
    package var refusesAnchorBeforeLock = false
    /// Delay_Req eight times a second, as most speakers but nqptp send them.
    package var probes = false
    /// The speaker's oscillator against this computer's clock. Positive: it gains.
    package var clockPartsPerMillion: Double = 0
    /// Bytes of a buffered stream it holds, when it should be other than 8 MiB.
    package var bufferSize: Int?
    /// Reading of a buffered stream rests for the second duration, each time the first has passed.
    package var readPauses: (every: Duration, lasting: Duration)?
    /// Share of realtime packets that are lost on the way, 0…1; repeated ones too.
    package var packetLoss: Double = 0
    /// What goes wrong with replies, by method (`SETUP`) or path (`/feedback`).
    package var replyFaults: [String: ReplyFault] = [:]
    /// After this much playing another sender takes over: an event says so, the connections close, and new sessions
    /// are refused with 453 for the second duration.
    package var takenOver: (after: Duration, busyFor: Duration)?
    /// A session that plays is not interrupted by a newcomer, who gets 453 instead.
    package var refusesTakeover = false
    /// After this much playing every connection breaks without a goodbye, and nothing is answered any more.
    package var diesAfter: Duration?
    /// Requests are refused with 403 unless they name a sender of version 300 or later, as Apple's speakers do.
    package var wantsKnownSender = false

    /// It listens on its event port only this much later than it announced it.
    package var eventsAfter: Duration = .zero
    /// It announces an event port and never listens there.
    package var hasNoEvents = false
    /// Pairing's salt, key and proof are sent without their leading zeros.
    package var stripsZeros = false

    /// After the first duration of playing it does and hears nothing for the second, as a process that is stopped; what came
    /// meanwhile on connections from before is read a second later than what is new.
    package var freezes: (after: Duration, lasting: Duration)?

    /// It says that it is Shairport Sync and ends when a stream's first anchor comes before playing was allowed, as
    /// that does in one start of ten.
    package var endsUnlessAllowed = false

    package init() {}

    /// The names that `set` understands, with what each takes.
    package static let vocabulary = [
        "late-clock=SECONDS", "anchor-400-before-lock", "probes", "probes-stop=SECONDS", "clock-ppm=PPM",
        "own-clock", "own-clock=shy", "clock-steps=AFTER:BY", "clock-stops=SECONDS", "buffer=BYTES",
        "read-pauses=EVERY:LASTING", "loss=SHARE", "slow=REQUEST:SECONDS", "garbage=REQUEST",
        "truncated=REQUEST", "silent=REQUEST", "endless=REQUEST", "status=REQUEST:CODE", "taken-over=AFTER:BUSY",
        "busy", "dies=SECONDS", "known-sender", "shairport-start", "freezes=AFTER:LASTING", "late-events=SECONDS",
        "no-events", "stripped-zeros",
    ]

    /// Switches one quirk on by its name, as the command line has it: `late-clock=3`, `slow=SETUP:2`.
    package mutating func set(_ text: String) throws(SpeakerError) {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        let name = parts.first ?? ""
        let values = parts.count > 1 ? parts[1].split(separator: ":").map(String.init) : []
        func unusable() -> SpeakerError {
            SpeakerError(
                .badOption,
                "\"\(text)\" is no quirk; the quirks are: " + Self.vocabulary.joined(separator: ", ") + ".")
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
        case "busy": refusesTakeover = true
        case "dies": diesAfter = try seconds(0)
        case "known-sender": wantsKnownSender = true
        case "shairport-start": endsUnlessAllowed = true
        case "freezes": freezes = (try seconds(0), try seconds(1))
        case "late-events": eventsAfter = try seconds(0)
        case "no-events": hasNoEvents = true
        case "stripped-zeros": stripsZeros = true
        default: throw unusable()
        }
    }
}
