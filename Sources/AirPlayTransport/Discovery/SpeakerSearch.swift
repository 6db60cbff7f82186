package import Discovery
package import MediaCore

/// A source of snapshots of the network: a browser, or a list controlled by a test.
package protocol SpeakerSource: Sendable {
    /// The current state.
    var snapshot: SpeakerBrowser.Snapshot { get }
    /// Requests speakers, which are then always admitted. Does not wait. Any thread.
    func request(for requests: SpeakerRequests)
    /// Blocks until a snapshot satisfies a condition. Returns the last snapshot at the deadline.
    func wait(
        until deadline: HostInstant, _ condition: (SpeakerBrowser.Snapshot) -> Bool
    ) -> (snapshot: SpeakerBrowser.Snapshot, satisfied: Bool)
}

extension SpeakerSource {
    package func request(for requests: SpeakerRequests) {}
}

/// Finds user-provided speakers as they appear.
package struct SpeakerSearch {
    /// Timeout for a missing daemon, which may be starting; without it no speaker can appear.
    package static let daemonTimeout: Duration = .seconds(2)
    /// Timeout for the second member of a stereo pair; after it, the first plays alone.
    package static let pairTimeout: Duration = .seconds(2)
    /// Timeout for the IPv4 address of a speaker whose IPv6 address was resolved first.
    package static let familyTimeout: Duration = .seconds(1)

    private let source: any SpeakerSource
    private let clock: any HostClock
    /// Returns the speakers paired under a query's name; they are waited for even if another one has the name.
    private let paired: (SpeakerQuery) -> Set<SpeakerID>

    /// Creates a search.
    ///
    /// - Parameter paired: Returns the speakers that were paired under a query's name.
    package init(
        _ source: any SpeakerSource, clock: any HostClock = MonotonicClock(),
        paired: @escaping (SpeakerQuery) -> Set<SpeakerID> = { _ in [] }
    ) {
        self.source = source
        self.clock = clock
        self.paired = paired
    }

    /// Blocks until all speakers are on the network. Returns them in query order.
    ///
    /// - Parameter notice: Called after `daemonTimeout` with the queries still missing.
    /// - Throws: `DiscoveryError`: not found with the names that were found, ambiguous name, or no daemon.
    package func find(
        _ queries: [SpeakerQuery], until deadline: HostInstant, notice: ([SpeakerQuery]) -> Void = { _ in }
    ) throws(DiscoveryError) -> [SpeakerEntry] {
        let paired = queries.map(paired)
        source.request(for: SpeakerRequests(queries, ids: paired.reduce(into: []) { $0.formUnion($1) }))
        var (snapshot, decided) = source.wait(until: min(deadline, clock.now.advanced(by: Self.daemonTimeout))) {
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
        func wait(atMost timeout: Duration, for isKnown: (SpeakerEntry, SpeakerBrowser.Snapshot) -> Bool)
            throws(DiscoveryError)
        {
            func isDone(_ found: [SpeakerEntry], _ snapshot: SpeakerBrowser.Snapshot) -> Bool {
                found.allSatisfy { isKnown($0, snapshot) }
            }
            guard let found = try Self.match(queries, paired, snapshot).complete, !isDone(found, snapshot) else {
                return
            }
            let end = min(deadline, clock.now.advanced(by: timeout))
            snapshot =
                source.wait(until: end) { snapshot in
                    // ignored: matching again after the wait throws.
                    (try? Self.match(queries, paired, snapshot).complete).map { isDone($0, snapshot) } ?? true
                }.snapshot
        }
        try wait(atMost: Self.pairTimeout) { entry, _ in entry.isComplete }
        try wait(atMost: Self.familyTimeout) { entry, snapshot in
            snapshot.isSettled || entry.members.allSatisfy(\.hasIPv4)
        }
        var matching = try Self.match(queries, paired, snapshot)
        if let found = matching.complete { return found }
        // Falls back to another speaker with the name; the caller checks the pairing (`PairingStore.predecessor`).
        matching = try Self.match(queries, paired, snapshot, orAnother: true)
        if let found = matching.complete { return found }
        if case .unavailable(let error) = snapshot.availability { throw error }
        throw Self.notFound(matching.missing, in: snapshot.entries)
    }

    private struct Matching {
        var entries: [SpeakerEntry?] = []
        var missing: [SpeakerQuery] = []
        var complete: [SpeakerEntry]? { missing.isEmpty ? entries.compactMap { $0 } : nil }
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

    /// Maximum number of names in an error message.
    private static let maxNames = 8

    private static func notFound(_ missing: [SpeakerQuery], in entries: [SpeakerEntry]) -> DiscoveryError {
        let wanted = missing.map { "'\(PrintableText.of($0.description))'" }.joined(separator: " and ")
        guard !entries.isEmpty else {
            return DiscoveryError(
                .notFound,
                "No speaker named \(wanted) is on the network, and no other speaker was found; check that it is on and on the same network as this computer."
            )
        }
        var names = entries.prefix(maxNames).map { "'\($0.name)'" }.joined(separator: ", ")
        if entries.count > maxNames { names += " and \(entries.count - maxNames) more" }
        return DiscoveryError(
            .notFound, "No speaker named \(wanted) is on the network; available: \(names).", remedy: .listOutputs)
    }
}
