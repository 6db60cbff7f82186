internal import AirPlay
internal import AirPlayTransport
internal import CardOutput
internal import ClassicAirPlay
internal import Discovery
package import MediaCore
internal import Profiles
internal import Routing
internal import SyncRendering

/// Implements `talkie speakers`: lists the speakers on the network, once or continuously, and once the outputs of the
/// sound server.
package struct SpeakerScan {
    /// The default timeout of a list. A running daemon reports what it knows within a second.
    static let usualLimit: Duration = .seconds(3)

    /// Whether to write JSON (RFC 8259).
    package var isJSON = false
    /// Whether to continue and write every change; with JSON one line each.
    package var watches = false
    /// How long to browse; nil: until known speakers have been found, or without end when watching.
    package var limit: Duration?

    package init() {}

    /// The maximum of `limit`, a day.
    private static let longestLimit: Duration = .seconds(86_400)

    /// Parses seconds, with decimals.
    package static func limit(parsing text: String) throws(ValueError) -> Duration {
        guard let billionths = DecimalNumber.billionths(text[...]), .nanoseconds(billionths) <= longestLimit else {
            throw ValueError("the timeout must be a number of seconds up to 86400")
        }
        return .nanoseconds(billionths)
    }

    /// Browses the real network until done or until a signal.
    ///
    /// - Parameters:
    ///   - write: Receives the output in parts; returns false if its reader is gone.
    ///   - remark: Receives sentences for the user.
    /// - Returns: The exit status.
    /// - Throws: `unavailable` without a daemon.
    package func run(write: (String) -> Bool, remark: (String) -> Void) throws(TalkieError) -> Int32 {
        let interruption = Interruption()
        // Called before any other thread is started: all threads inherit the blocked signals.
        let signals = try SignalWatch.begin { if case .end(let status) = $0 { interruption.raise(status: status) } }
        defer { signals.stop() }
        let knowledge = SpeakerKnowledge()
        var reported: [String] = []
        func reportNotes() {
            for note in knowledge.notes where !reported.contains(note) {
                reported.append(note)
                remark(note)
            }
        }
        reportNotes()
        let sinks = watches ? nil : SinkQuery()
        do {
            let browser = try SpeakerBrowser()
            interruption.onRaise(browser.interruption)
            browser.request(for: knowledge.pairings.requests)
            try run(
                browser, clock: MonotonicClock(),
                list: { entries in
                    let listings = SpeakerListing.list(
                        entries, knowledge: knowledge
                    ) { .check(toward: $0) }
                    reportNotes()
                    return LatencyProfile.shown(in: listings.map(Self.withClassic), ProfileStore().all().profiles)
                }, sinks: { sinks?.destinations ?? [] }, write: write, remark: remark)
        } catch {
            if interruption.status == nil { throw TalkieError(error) }
        }
        return interruption.status ?? ExitStatus.done
    }

    func run(
        _ source: any SpeakerSource, clock: any HostClock, list: ([SpeakerEntry]) -> [SpeakerListing],
        sinks: () -> [OutputDestination] = { [] }, write: (String) -> Bool, remark: (String) -> Void
    ) throws(DiscoveryError) {
        let began = clock.now
        let timeout = began.advanced(by: SpeakerBrowser.answerTimeout)
        let (start, isThere) = source.wait(until: timeout) { $0.availability == .available }
        if !isThere, case .unavailable(let error) = start.availability {
            // The outputs of the sound server need no daemon.
            if !watches {
                let sinks = sinks()
                _ = write(
                    isJSON
                        ? SpeakerListing.json([], sinks: sinks.map(Self.json), note: error.message)
                        : sinks.map(Self.text).joined())
            }
            throw error
        }
        if watches {
            watch(source, until: limit.map { began.advanced(by: $0) }, list: list, write: write, remark: remark)
        } else {
            scan(source, began: began, list: list, sinks: sinks, write: write, remark: remark)
        }
    }

    private func scan(
        _ source: any SpeakerSource, began: HostInstant, list: ([SpeakerEntry]) -> [SpeakerListing],
        sinks: () -> [OutputDestination], write: (String) -> Bool, remark: (String) -> Void
    ) {
        let deadline = began.advanced(by: limit ?? Self.usualLimit)
        let isPatient = limit != nil
        let snapshot = source.wait(until: deadline) { !isPatient && $0.isSettled && !$0.speakers.isEmpty }.snapshot
        let note = Self.reliabilityNote(snapshot)
        let listings = list(snapshot.entries)
        if let note { remark(note) }
        let sinks = sinks()
        _ = write(
            isJSON
                ? SpeakerListing.json(listings, sinks: sinks.map(Self.json), note: note)
                : (listings.map { $0.text(first: Self.first) } + sinks.map(Self.text)).joined())
    }

    private func watch(
        _ source: any SpeakerSource, until deadline: HostInstant?, list: ([SpeakerEntry]) -> [SpeakerListing],
        write: (String) -> Bool, remark: (String) -> Void
    ) {
        let end = deadline ?? HostInstant(nanoseconds: .max)
        var known: [SpeakerListing] = []
        var last = SpeakerBrowser.Snapshot()
        while true {
            let (snapshot, hasChanged) = source.wait(until: end) { $0 != last }
            guard hasChanged else { return }
            if snapshot.availability != last.availability, case .unavailable(let error) = snapshot.availability {
                remark(error.message)
            }
            if snapshot.speakers != last.speakers {
                let listings = list(snapshot.entries)
                let changes = ListingChange.between(known, listings)
                known = listings
                if !changes.isEmpty, !write(changes.map { isJSON ? $0.json : $0.text(first: Self.first) }.joined()) {
                    return
                }
            }
            last = snapshot
        }
    }

    /// Returns the listing with the reason why classic AirPlay can be used.
    static func withClassic(_ listing: SpeakerListing) -> SpeakerListing {
        var listing = listing
        let decisions = listing.entry.members.map { ClassicDecision.decide(for: $0) }
        if let first = decisions.first, decisions.allSatisfy({ $0.method != nil }) { listing.classic = first.reason }
        return listing
    }

    /// Returns an output of the sound server as text: its name and its ID, which select it.
    private static func text(_ sink: OutputDestination) -> String {
        "\(sink.name)\n    output of the sound server  \(PrintableText.of(sink.id))\n"
    }

    private static func json(_ sink: OutputDestination) -> JSONValue {
        .object([("name", .text(sink.name)), ("id", .text(sink.id))])
    }

    private static func first(_ remedy: Remedy) -> String { remedy.command ?? remedy.advice }

    /// Returns a sentence about the reliability of the list; nil: none.
    private static func reliabilityNote(_ snapshot: SpeakerBrowser.Snapshot) -> String? {
        if case .unavailable(let error) = snapshot.availability { return error.message }
        if snapshot.refusals > 0 {
            return "Too many speakers are announced on the network; \(snapshot.refusals) announcements were ignored."
        }
        guard snapshot.speakers.isEmpty else { return nil }
        return
            "No speaker is announced; check that it is on and on the same network as this computer, or use its address, airplay://HOST."
    }
}
