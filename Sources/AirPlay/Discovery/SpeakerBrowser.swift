internal import AirPlayWire
package import Discovery
package import MediaCore

/// Looks for speakers through the system's avahi-daemon while the program runs.
///
/// Speakers appear, change and vanish; each time a new `Snapshot` replaces the last. When the daemon goes away the
/// list stays as it was and `availability` says what to do; when it returns the list is made anew.
///
/// Threads: methods may be called from any thread. The news come from avahi's own thread.
package final class SpeakerBrowser: SpeakerSource {
    package enum Availability: Hashable, Sendable {
        case starting
        case available
        case unavailable(DiscoveryError)
    }

    package struct Snapshot: Hashable, Sendable {
        package var availability = Availability.starting
        package var speakers: [DiscoveredSpeaker] = []
        /// Announcements that were ignored because the network holds more than this keeps.
        package var refusals = 0
        /// Whether the daemon has told all it knew when it was asked, and every address of it is known. Speakers
        /// that were asleep may still follow.
        package var isSettled = false

        package init() {}

        /// What a person chooses from.
        package var entries: [SpeakerEntry] { SpeakerEntry.entries(of: speakers) }
    }

    private let board = BroadcastBoard(Snapshot())
    private let watch: ServiceWatch
    private let listener: Listener

    /// Begins to look.
    ///
    /// - Throws: `DiscoveryError` only when the system gives no memory or thread; a missing daemon is `availability`.
    package convenience init() throws(DiscoveryError) { try self.init(serviceLimit: SpeakerDirectory.serviceLimit) }

    package init(serviceLimit: Int) throws(DiscoveryError) {
        let listener = Listener(board: board, directory: SpeakerDirectory(serviceLimit: serviceLimit))
        self.listener = listener
        watch = try ServiceWatch(ServiceName.Kind.ofSpeakers) { watch, news in listener.hear(news, from: watch) }
        watch.start()
    }

    deinit {
        watch.stop()
        board.finish()
    }

    package func wish(for wishes: SpeakerWishes) {
        watch.perform { listener.wish(for: wishes, watch) }
    }

    /// What is known now.
    package var snapshot: Snapshot { board.value }

    /// Every later state, the present one first. Whoever reads slowly misses states, never the last one. Ends with
    /// the browser.
    package func updates() -> AsyncStream<Snapshot> { board.values }

    /// Blocks until the snapshot satisfies a condition; the last one when that does not happen in time.
    package func wait(
        until deadline: HostInstant, _ condition: (Snapshot) -> Bool
    ) -> (snapshot: Snapshot, satisfied: Bool) {
        let (snapshot, satisfied) = board.wait(until: deadline, condition)
        return (snapshot, satisfied)
    }

    /// Blocks until the speaker that a person named is on the network.
    ///
    /// Of a stereo pair the second member is waited for up to 2 s more; then the one that was found plays alone.
    /// Without a daemon it gives up after 2 s, because nothing will come.
    ///
    /// - Throws: `DiscoveryError` with a sentence: not found, several of that name, or no daemon.
    package func find(_ query: SpeakerQuery, until deadline: HostInstant) throws(DiscoveryError) -> SpeakerEntry {
        try SpeakerSearch(self).find([query], until: deadline)[0]
    }

    /// Lets everybody who waits go, with what is known; nothing new is told afterwards. Any thread.
    package func interrupt() { board.finish() }

    /// Turns news into snapshots.
    ///
    /// `@unchecked Sendable`: its state is touched on avahi's thread only.
    private final class Listener: @unchecked Sendable {
        private let board: BroadcastBoard<Snapshot>
        private var directory: SpeakerDirectory
        private var listed = 0
        /// Old speakers are shown until the new list is as complete as it gets at once.
        private var isHolding = false
        private var holdDeadline = HostInstant.now

        init(board: BroadcastBoard<Snapshot>, directory: SpeakerDirectory) {
            self.board = board
            self.directory = directory
        }

        func wish(for wishes: SpeakerWishes, _ watch: ServiceWatch) {
            directory.wishes.add(wishes)
            seek(watch)
        }

        /// A name is asked for by itself, because it may drown in what else is announced.
        private func seek(_ watch: ServiceWatch) {
            for name in directory.wishes.names { watch.resolve(.sought(.airPlay, name)) }
        }

        func hear(_ news: ServiceWatch.News, from watch: ServiceWatch) {
            switch news {
            case .connected:
                directory.clear()
                listed = 0
                isHolding = !board.value.speakers.isEmpty
                holdDeadline = HostInstant.now.advanced(by: .seconds(3))
                board.update { $0.availability = .available }
                if isHolding { watch.schedule(milliseconds: 3000) }
                seek(watch)
            case .disconnected(let reason):
                directory.clear()
                board.update {
                    $0.availability = .unavailable(Self.missing(because: reason))
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
                // ignored: what makes no sense stays without an address.
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

        private static func missing(because reason: String) -> DiscoveryError {
            DiscoveryError(
                .daemonMissing,
                "Speakers cannot be looked for because \(reason); install and start it (apt install avahi-daemon; systemctl start avahi-daemon), or name the speaker by its address: airplay://HOST."
            )
        }

        /// News come in bursts; a snapshot for each would cost the square of their number.
        private func soon(_ watch: ServiceWatch) {
            if !isHolding || isSettled { watch.schedule(milliseconds: 20) }
        }

        private var isSettled: Bool { listed >= ServiceName.Kind.ofSpeakers.count && directory.pending == 0 }

        private func publish(_ watch: ServiceWatch) {
            guard case .available = board.value.availability else { return }
            if isHolding, !isSettled, HostInstant.now < holdDeadline {
                watch.schedule(milliseconds: 200)
                return
            }
            isHolding = false
            let speakers = directory.speakers
            board.update { snapshot in
                snapshot.speakers = speakers
                snapshot.refusals = directory.refusals
                snapshot.isSettled = isSettled
            }
        }
    }
}
