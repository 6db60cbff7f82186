internal import Glibc
internal import MediaCore
internal import Playback
internal import Storage
internal import Synchronization

/// Finds the items of a programme, and again whenever a file is added, removed or changed. Runs on its own thread: a
/// network drive may be slow.
final class ItemsWatch: Sendable {
    /// The items of a programme.
    struct Found: Sendable, Equatable {
        /// The number of the search; the receiver drops results of earlier ones.
        var programme: Int
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

    private let report: @Sendable (Found) -> Void
    private let wake: PollableSignal
    private let words = Lock<(words: [String], programme: Int)>(([], 0))
    private let stopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)

    /// - Parameter report: Called on the watch's thread; must not block.
    /// - Throws: `ExhaustionError` if the system provides no descriptor.
    init(report: @escaping @Sendable (Found) -> Void) throws(ExhaustionError) {
        self.report = report
        wake = try PollableSignal()
    }

    /// - Throws: `ExhaustionError` if the system provides no thread or descriptor.
    func start() throws(ExhaustionError) {
        let watch = WatchBox(try FolderWatch())
        let worker = try WorkerThread.start(name: "kiosk files") { [self] in run(watch) }
        thread.withLock { $0 = worker }
    }

    /// Replaces what to find: files, folders, playlists, addresses. Returns at once.
    func find(_ words: [String], programme: Int) {
        self.words.withLock { $0 = (words, programme) }
        wake.raise()
    }

    /// Requests a full scan. Returns at once.
    func lookAgain() { wake.raise() }

    func stop() {
        stopping.store(true, ordering: .releasing)
        wake.raise()
        thread.withLock { $0?.join() }
    }

    /// Moves a value that cannot be copied to the thread.
    ///
    /// `@unchecked Sendable`: created by `start`, then used only by the thread that it is passed to.
    private final class WatchBox: @unchecked Sendable {
        var watch: FolderWatch
        init(_ watch: consuming FolderWatch) { self.watch = watch }
    }

    private func run(_ box: WatchBox) {
        var last: Found?
        var toldRefusals: Set<String> = []
        while !stopping.load(ordering: .acquiring) {
            let (words, programme) = words.withLock { $0 }
            if programme > 0 {
                var (found, folders) = Self.look(for: words, programme: programme, without: box.watch.unfinished)
                for (folder, cause) in box.watch.watch(folders) where toldRefusals.insert(folder).inserted {
                    found.remarks.append(
                        "'\(folder)' is checked only once a minute, because it cannot be watched (\(cause))")
                }
                var news = found
                news.remarks = found.remarks.filter { last?.remarks.contains($0) != true }
                if last?.programme != found.programme || last?.items != found.items || last?.failure != found.failure {
                    report(news)
                }
                last = found
                // Changes in a new folder before it was watched caused no events.
                if box.watch.takeNewness() { continue }
            }
            waitForNews(box)
        }
    }

    /// Blocks until a change is complete, a scan is requested or the periodic scan is due.
    private func waitForNews(_ box: WatchBox) {
        let round = HostInstant.now.advanced(by: Self.rounds)
        var due = round
        var latest = round
        while .now < due {
            let woken = wake.wait(until: due, orReadable: box.watch.descriptor)
            if woken.contains(.raised) { return }
            guard woken.contains(.readable), box.watch.hasChanged() else { continue }
            latest = min(latest, .now.advanced(by: Self.longestRest))
            due = min(latest, .now.advanced(by: Self.rest))
        }
    }

    /// Returns the items that `words` name, and the folders in which they may change.
    static func look(
        for words: [String], programme: Int, without unfinished: Set<String> = []
    ) -> (found: Found, folders: Set<String>) {
        var found = Found(programme: programme, items: [])
        var folders = Set(words.compactMap(folder(of:)))
        do throws(TalkieError) {
            let loader = try PlaylistLoader(words)
            folders.formUnion(loader.folders)
            found.remarks = loader.failures.map(\.message) + loader.warnings
            for var item in loader.items {
                guard !InputCheck.isAddress(item.address) else {
                    found.items.append(item)
                    continue
                }
                if folders.count < FolderWatch.mostFolders, let folder = folder(of: item.address) {
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
