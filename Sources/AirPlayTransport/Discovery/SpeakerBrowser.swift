internal import AirPlayWire
package import Discovery
package import MediaCore

/// Discovers speakers through the system's avahi-daemon while it exists.
///
/// Each change publishes a new `Snapshot`. When the daemon disappears, the list is kept and `availability` contains the
/// remedy. When the daemon returns, the list is rebuilt.
///
/// Threads: methods are callable from any thread. Events arrive on avahi's thread.
package final class SpeakerBrowser: SpeakerSource {
    /// The state of the daemon.
    package enum Availability: Hashable, Sendable {
        case starting
        case available
        case unavailable(DiscoveryError)
    }

    /// A state of the network.
    package struct Snapshot: Hashable, Sendable {
        package var availability = Availability.starting
        package var speakers: [DiscoveredSpeaker] = []
        /// The number of announcements ignored because a limit was reached.
        package var refusals = 0
        /// Whether the daemon has reported everything it knew, and all addresses are resolved. Sleeping speakers may
        /// still follow.
        package var isSettled = false

        package init() {}

        /// The speakers as a user selects them.
        package var entries: [SpeakerEntry] { SpeakerEntry.entries(of: speakers) }
    }

    /// The time after which a daemon that has not answered is unavailable. It may be starting.
    package static let answerTimeout: Duration = .milliseconds(2500)

    private let publisher = StateBroadcaster(Snapshot())
    private let startDeadline = HostInstant.now.advanced(by: answerTimeout)
    private let watch: ServiceWatch
    private let listener: Listener

    /// Starts browsing.
    ///
    /// - Throws: `DiscoveryError` without memory or a thread. A missing daemon only changes `availability`.
    package convenience init() throws(DiscoveryError) { try self.init(serviceLimit: SpeakerDirectory.serviceLimit) }

    /// Starts browsing with another limit, for tests.
    package init(serviceLimit: Int) throws(DiscoveryError) {
        let listener = Listener(publisher: publisher, directory: SpeakerDirectory(serviceLimit: serviceLimit))
        self.listener = listener
        watch = try ServiceWatch(ServiceName.Kind.ofSpeakers) { watch, event in listener.handle(event, from: watch) }
        try watch.start()
    }

    deinit {
        watch.stop()
        publisher.finish()
    }

    package func request(for requests: SpeakerRequests) {
        watch.perform { [listener, watch] in listener.request(for: requests, watch) }
    }

    /// The current state.
    package var snapshot: Snapshot { evaluated(publisher.value) }

    /// Returns a snapshot in which a daemon that does not answer is unavailable. Avahi's thread, which would publish
    /// that, waits for its answer.
    private func evaluated(_ snapshot: Snapshot) -> Snapshot {
        guard snapshot.availability == .starting, .now >= startDeadline else { return snapshot }
        var snapshot = snapshot
        snapshot.availability = .unavailable(Self.missing(ServiceWatch.silent, remedy: ServiceWatch.restart))
        return snapshot
    }

    private static func missing(_ reason: String, remedy: String) -> DiscoveryError {
        DiscoveryError(
            .daemonMissing,
            "Cannot search for speakers because \(reason); \(remedy), or name the speaker by its address: airplay://HOST."
        )
    }

    /// Returns the published state and all later ones. A slow consumer skips states but always receives the last one.
    /// Ends with the browser.
    package func updates() -> AsyncStream<Snapshot> { publisher.values }

    /// Blocks until a snapshot satisfies a condition. Returns the last snapshot at the deadline.
    package func wait(
        until deadline: HostInstant, _ condition: (Snapshot) -> Bool
    ) -> (snapshot: Snapshot, satisfied: Bool) {
        // Nothing is published at that time.
        if .now < startDeadline, startDeadline < deadline {
            let (snapshot, satisfied) = publisher.wait(until: startDeadline) { condition(evaluated($0)) }
            if satisfied { return (evaluated(snapshot), true) }
        }
        let (snapshot, satisfied) = publisher.wait(until: deadline) { condition(evaluated($0)) }
        return (evaluated(snapshot), satisfied)
    }

    /// Blocks until the requested speaker is on the network.
    ///
    /// The second member of a stereo pair gets up to 2 s more; then the first one is returned alone. Without a daemon
    /// the call fails after 2 s.
    ///
    /// - Throws: `DiscoveryError`: not found, ambiguous name, or no daemon.
    package func find(_ query: SpeakerQuery, until deadline: HostInstant) throws(DiscoveryError) -> SpeakerEntry {
        try SpeakerSearch(self).find([query], until: deadline)[0]
    }

    /// A closure that ends all waits with the current state; no later states are published. Any thread.
    ///
    /// It does not retain the browser, whose end waits for avahi.
    package var interruption: @Sendable () -> Void {
        { [publisher] in publisher.finish() }
    }

    /// Converts events to snapshots.
    ///
    /// `@unchecked Sendable`: its mutable state is used on avahi's thread only.
    private final class Listener: @unchecked Sendable {
        private let publisher: StateBroadcaster<Snapshot>
        private var directory: SpeakerDirectory
        private var listed = 0
        /// Whether the previous list is still published because the new one is incomplete.
        private var isHolding = false
        private var holdDeadline = HostInstant.now

        init(publisher: StateBroadcaster<Snapshot>, directory: SpeakerDirectory) {
            self.publisher = publisher
            self.directory = directory
        }

        func request(for requests: SpeakerRequests, _ watch: ServiceWatch) {
            directory.requests.add(requests)
            seek(watch)
        }

        /// Resolves requested names directly, since browsing may miss them among many announcements.
        private func seek(_ watch: ServiceWatch) {
            for name in directory.requests.names { watch.resolve(.sought(.airPlay, name)) }
        }

        func handle(_ event: ServiceWatch.Event, from watch: ServiceWatch) {
            switch event {
            case .connected:
                directory.clear()
                listed = 0
                isHolding = !publisher.value.speakers.isEmpty
                holdDeadline = HostInstant.now.advanced(by: .seconds(3))
                publisher.update { $0.availability = .available }
                if isHolding { watch.schedule(milliseconds: 3000) }
                seek(watch)
            case .disconnected(let reason, let remedy):
                directory.clear()
                publisher.update {
                    $0.availability = .unavailable(SpeakerBrowser.missing(reason, remedy: remedy))
                    $0.isSettled = false
                }
            case .found(let name):
                switch directory.found(name) {
                case .admitted: watch.resolve(name)
                case .replacing(let old):
                    watch.drop(old)
                    watch.resolve(name)
                case .known, .refused: break
                }
                soon(watch)
            case .resolved(let name, let endpoint, let strings):
                // ignored: malformed records leave the service without an address.
                guard let record = try? TXTRecord(strings: strings) else { return }
                if !directory.resolved(name, at: endpoint, record: record) { watch.drop(name) }
                soon(watch)
            case .lost(let name):
                directory.lost(name)
                soon(watch)
            case .listed:
                listed += 1
                soon(watch)
            case .due:
                publish(watch)
            }
        }

        /// Events arrive in bursts; one snapshot per event would have quadratic cost.
        private func soon(_ watch: ServiceWatch) {
            if !isHolding || isSettled { watch.schedule(milliseconds: 20) }
        }

        private var isSettled: Bool { listed >= ServiceName.Kind.ofSpeakers.count && directory.pending == 0 }

        private func publish(_ watch: ServiceWatch) {
            guard case .available = publisher.value.availability else { return }
            if isHolding, !isSettled, HostInstant.now < holdDeadline {
                watch.schedule(milliseconds: 200)
                return
            }
            isHolding = false
            let speakers = directory.speakers
            publisher.update { snapshot in
                snapshot.speakers = speakers
                snapshot.refusals = directory.refusals
                snapshot.isSettled = isSettled
            }
        }
    }
}
