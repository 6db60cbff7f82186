internal import Glibc
internal import MediaCore
internal import Playback
internal import Storage

/// Finds the items of a programme, and again whenever a file is added, removed or changed. Runs on its own thread: a
/// network drive may be slow.
final class ItemsWatch: Sendable {
    /// The items of a programme.
    struct Found: Sendable, Equatable {
        /// The number of the search; the receiver drops results of earlier ones.
        var search: Int
        var items: [PlaylistLoader.Item]
        /// The reason why there are no items; nil otherwise.
        var failure: String?
        /// Sentences about omitted items.
        var remarks: [String] = []
    }

    /// The time without events after which a series of changes, such as copying ten files, is complete.
    private static let rest = Duration.milliseconds(300)
    /// The maximum delay of a scan while a folder keeps changing.
    private static let longestRest = Duration.seconds(3)
    /// The interval of full scans. Changes made by other computers on network drives cause no events.
    private static let rounds = Duration.seconds(60)

    private let clock: any HostClock
    private let report: @Sendable (Found) -> Void
    private let arguments = Lock<(arguments: [String], search: Int)>(([], 0))
    private let scanner = Lock<Scanner?>(nil)
    private let thread: PollingThread

    /// - Parameters:
    ///   - clock: If it does not advance automatically, `start` starts no thread; the caller calls `runDueWork`.
    ///   - report: Called on the watch's thread; must not block.
    /// - Throws: `ExhaustionError` if the system provides no descriptor.
    init(
        clock: any HostClock = MonotonicClock(), report: @escaping @Sendable (Found) -> Void
    ) throws(ExhaustionError) {
        (self.clock, self.report) = (clock, report)
        thread = try PollingThread(name: "kiosk files")
    }

    /// - Throws: `ExhaustionError` if the system provides no thread or descriptor.
    func start() throws(ExhaustionError) {
        let scanner = Scanner(try FolderWatch())
        guard clock.isRealTime else { return self.scanner.withLock { $0 = scanner } }
        try thread.start { [self] in
            while !thread.isStopping {
                let due = clock.machineInstant(of: scanIfDue(scanner))
                _ = thread.wake.wait(until: due, orReadable: scanner.folders.descriptor)
            }
        }
    }

    /// Scans the folders if that is due and no thread does it.
    func runDueWork() { if let scanner = scanner.withLock({ $0 }) { _ = scanIfDue(scanner) } }

    /// Replaces what to find: files, folders, playlists, addresses. Returns at once.
    ///
    /// - Parameter search: Larger than at the last call.
    func find(_ arguments: [String], search: Int) {
        self.arguments.withLock { $0 = (arguments, search) }
        thread.wake.raise()
    }

    func stop() { thread.stop() }

    private func scanIfDue(_ scanner: Scanner) -> HostInstant {
        let (arguments, search) = arguments.withLock { $0 }
        return scanner.scanIfDue(arguments, search: search, clock, report)
    }

    /// The state between scans.
    ///
    /// `@unchecked Sendable`: created by `start`, then used only by the thread, or by the caller of `runDueWork`.
    private final class Scanner: @unchecked Sendable {
        private(set) var folders: FolderWatch
        private var last: Found?
        private var reportedRefusals: Set<String> = []
        /// When the next scan is due.
        private var due = HostInstant(nanoseconds: 0)
        /// The instant beyond which further changes do not delay the next scan.
        private var latest = HostInstant(nanoseconds: 0)

        init(_ folders: consuming FolderWatch) { self.folders = folders }

        /// Scans for a new programme, after a complete change, and periodically.
        ///
        /// - Returns: When the next scan is due, unless a folder changes.
        func scanIfDue(
            _ arguments: [String], search: Int, _ clock: any HostClock, _ report: (Found) -> Void
        ) -> HostInstant {
            guard search > 0 else { return clock.now.advanced(by: ItemsWatch.rounds) }
            if folders.hasChanged() {
                latest = min(latest, clock.now.advanced(by: ItemsWatch.longestRest))
                due = min(latest, clock.now.advanced(by: ItemsWatch.rest))
            }
            guard search != last?.search || clock.now >= due else { return due }
            // Changes in a new folder before it was watched caused no events.
            repeat { scan(arguments, search, report) } while folders.consumeNewness()
            due = clock.now.advanced(by: ItemsWatch.rounds)
            latest = due
            return due
        }

        private func scan(_ arguments: [String], _ search: Int, _ report: (Found) -> Void) {
            var (found, folders) = ItemsWatch.findItems(
                for: arguments, search: search, without: self.folders.unfinished)
            for (folder, cause) in self.folders.watch(folders) where reportedRefusals.insert(folder).inserted {
                found.remarks.append(
                    "'\(folder)' is checked only once a minute, because it cannot be watched (\(cause))")
            }
            var event = found
            event.remarks = found.remarks.filter { last?.remarks.contains($0) != true }
            if last?.search != found.search || last?.items != found.items || last?.failure != found.failure {
                report(event)
            }
            last = found
        }
    }

    /// Returns the items that `arguments` name, and the folders in which they may change.
    static func findItems(
        for arguments: [String], search: Int, without unfinished: Set<String> = []
    ) -> (found: Found, folders: Set<String>) {
        var found = Found(search: search, items: [])
        var folders = Set(arguments.compactMap(folder(of:)))
        do throws(TalkieError) {
            let loader = try PlaylistLoader(arguments)
            folders.formUnion(loader.folders)
            found.remarks = loader.failures.map(\.message) + loader.warnings
            for var item in loader.items {
                guard !InputCheck.isAddress(item.address) else {
                    found.items.append(item)
                    continue
                }
                if folders.count < FolderWatch.maxFolders, let folder = folder(of: item.address) {
                    folders.insert(folder)
                }
                guard !unfinished.contains(item.address) else { continue }
                item.edition = FileEdition(of: item.address)
                found.items.append(item)
            }
            if found.items.isEmpty { found.failure = "the files are still being written" }
        } catch {
            found.failure = error.message
        }
        return (found, folders)
    }

    /// Returns the nearest existing folder of a file, which need not exist; nil for anything but files.
    private static func folder(of word: String) -> String? {
        guard !InputCheck.isAddress(word), word != "-" else { return nil }
        var path = PlaylistLoader.isFolder(word) ? word : parent(of: word)
        while !PlaylistLoader.isFolder(path), path != "/", path != "." { path = parent(of: path) }
        return path
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
