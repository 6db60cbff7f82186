package import Discovery
package import MediaCore

/// Where snapshots of the network come from: a browser, or a list that a test turns by hand.
package protocol SpeakerSource: Sendable {
    /// What is known now.
    var snapshot: SpeakerBrowser.Snapshot { get }
    /// Somebody wants these: there is room for them whatever else is announced. Any thread but the one that tells the news.
    func wish(for wishes: SpeakerWishes)
    /// Blocks until the snapshot satisfies a condition; the last one when that does not happen in time.
    func wait(
        until deadline: HostInstant, _ condition: (SpeakerBrowser.Snapshot) -> Bool
    ) -> (snapshot: SpeakerBrowser.Snapshot, satisfied: Bool)
}

extension SpeakerSource {
    package func wish(for wishes: SpeakerWishes) {}
}

/// Finds the speakers that a person named, as they appear.
package struct SpeakerSearch {
    /// How long a missing daemon is waited for: it may be starting, and without it nothing will come.
    static let daemonPatience: Duration = .seconds(2)
    /// How long the second half of a stereo pair is waited for; after that the first plays alone.
    static let pairPatience: Duration = .seconds(2)

    private let source: any SpeakerSource
    private let clock: any HostClock
    /// Who was paired under the name that a query is: waited for even while somebody else has it.
    private let paired: (SpeakerQuery) -> Set<SpeakerID>

    package init(
        _ source: any SpeakerSource, clock: any HostClock = MonotonicClock(),
        paired: @escaping (SpeakerQuery) -> Set<SpeakerID> = { _ in [] }
    ) {
        self.source = source
        self.clock = clock
        self.paired = paired
    }

    /// Blocks until all of them are on the network, each in the place of its query.
    ///
    /// - Parameter notice: called when it takes longer than usual, with those that are still missing.
    /// - Throws: `DiscoveryError` with a sentence: not found and what was found instead, several of that name, or no
    ///   daemon.
    package func find(
        _ queries: [SpeakerQuery], until deadline: HostInstant, notice: ([SpeakerQuery]) -> Void = { _ in }
    ) throws(DiscoveryError) -> [SpeakerEntry] {
        let paired = queries.map(paired)
        source.wish(for: SpeakerWishes(queries, ids: paired.reduce(into: []) { $0.formUnion($1) }))
        var (snapshot, decided) = source.wait(until: min(deadline, clock.now.advanced(by: Self.daemonPatience))) {
            Self.isDecided(queries, paired, $0)
        }
        if !decided {
            if case .unavailable(let error) = snapshot.availability { throw error }
            notice(try Self.match(queries, paired, snapshot).missing)
            (snapshot, decided) = source.wait(until: deadline) { snapshot in
                if case .unavailable = snapshot.availability { return true }
                return Self.isDecided(queries, paired, snapshot)
            }
        }
        if let found = try Self.match(queries, paired, snapshot).whole, found.contains(where: { !$0.isComplete }) {
            snapshot =
                source.wait(until: min(deadline, clock.now.advanced(by: Self.pairPatience))) { snapshot in
                    // ignored: matching again after the wait throws.
                    guard let matching = try? Self.match(queries, paired, snapshot), let found = matching.whole else {
                        return true
                    }
                    return found.allSatisfy(\.isComplete)
                }.snapshot
        }
        var matching = try Self.match(queries, paired, snapshot)
        if let found = matching.whole { return found }
        // Another one of that name, then; whoever plays to it has to ask first.
        matching = try Self.match(queries, paired, snapshot, orAnother: true)
        if let found = matching.whole { return found }
        if case .unavailable(let error) = snapshot.availability { throw error }
        throw Self.notFound(matching.missing, in: snapshot.entries)
    }

    private struct Matching {
        var entries: [SpeakerEntry?] = []
        var missing: [SpeakerQuery] = []
        var whole: [SpeakerEntry]? { missing.isEmpty ? entries.compactMap { $0 } : nil }
    }

    private static func match(
        _ queries: [SpeakerQuery], _ paired: [Set<SpeakerID>], _ snapshot: SpeakerBrowser.Snapshot,
        orAnother: Bool = false
    ) throws(DiscoveryError) -> Matching {
        var matching = Matching()
        let entries = snapshot.entries
        for (query, paired) in zip(queries, paired) {
            var entry = try query.find(in: entries, preferring: paired)
            if entry == nil, orAnother { entry = try query.find(in: entries) }
            matching.entries.append(entry)
            if entry == nil { matching.missing.append(query) }
        }
        return matching
    }

    private static func isDecided(
        _ queries: [SpeakerQuery], _ paired: [Set<SpeakerID>], _ snapshot: SpeakerBrowser.Snapshot
    ) -> Bool {
        // ignored: matching again after the wait throws.
        guard let matching = try? match(queries, paired, snapshot) else { return true }
        return matching.missing.isEmpty
    }

    /// More names than this make no sentence.
    private static let mostNames = 8

    private static func notFound(_ missing: [SpeakerQuery], in entries: [SpeakerEntry]) -> DiscoveryError {
        let wanted = missing.map { "'\(PrintableText.of($0.description))'" }.joined(separator: " and ")
        guard !entries.isEmpty else {
            return DiscoveryError(
                .notFound,
                "No speaker named \(wanted) is on the network, nor any other; is it on, and on the same network as this computer?"
            )
        }
        var names = entries.prefix(mostNames).map { "'\($0.name)'" }.joined(separator: ", ")
        if entries.count > mostNames { names += " and \(entries.count - mostNames) more" }
        return DiscoveryError(
            .notFound, "No speaker named \(wanted) is on the network; found were \(names).", remedy: .listPlaces)
    }
}
