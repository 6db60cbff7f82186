internal import Glibc
internal import MediaCore
internal import Playback
internal import Storage
internal import Synchronization

/// Finds the films of a programme, and finds them anew whenever one comes, goes or is changed. A thread of its own, because a network
/// drive may take its time.
final class ItemsWatch: Sendable {
    /// What a programme holds now.
    struct Found: Sendable, Equatable {
        /// Counts programmes: what comes late for the one before is of no interest.
        var programme: Int
        var items: [PlaylistLoader.Item]
        /// Why there is nothing; nil otherwise.
        var failure: String?
        /// What was left out, for people.
        var remarks: [String] = []
    }

    /// Somebody who copies ten files is done when so long nothing has happened.
    private static let rest = Duration.milliseconds(300)
    /// However busy a folder is, its changes are looked at after so long.
    private static let longestRest = Duration.seconds(3)
    /// Changes on drives of other computers are not told: everything is looked at this often.
    private static let rounds = Duration.seconds(60)

    private let report: @Sendable (Found) -> Void
    private let wake: PollableSignal
    private let words = Lock<(words: [String], programme: Int)>(([], 0))
    private let stopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)

    /// - Parameter report: called on the watch's thread; must return at once.
    init(report: @escaping @Sendable (Found) -> Void) throws(ExhaustionError) {
        self.report = report
        wake = try PollableSignal()
    }

    /// - Throws: when the system gives no thread or descriptor.
    func start() throws(ExhaustionError) {
        let watch = WatchBox(try FolderWatch())
        let worker = try WorkerThread.start(name: "kiosk files") { [self] in run(watch) }
        thread.withLock { $0 = worker }
    }

    /// Finds what these name from now on: files, folders, playlists, addresses.
    func find(_ words: [String], programme: Int) {
        self.words.withLock { $0 = (words, programme) }
        wake.raise()
    }

    /// Looks at everything at once.
    func lookAgain() { wake.raise() }

    func stop() {
        stopping.store(true, ordering: .releasing)
        wake.raise()
        thread.withLock { $0?.join() }
    }

    /// Carries what cannot be copied into the thread.
    ///
    /// `@unchecked Sendable`: made by `start`, then used by the one thread it is given to.
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
                        "'\(folder)' is looked at every minute only, because it cannot be watched (\(cause))")
                }
                var news = found
                news.remarks = found.remarks.filter { last?.remarks.contains($0) != true }
                if last?.programme != found.programme || last?.items != found.items || last?.failure != found.failure {
                    report(news)
                }
                last = found
                // What happened in a new folder before it was watched was not told.
                if box.watch.takeNewness() { continue }
            }
            waitForNews(box)
        }
    }

    /// Waits until something has changed and nothing changes any more.
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

    /// What words name now, and the folders in which that may change.
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

    /// The folder in which a file lies, or will; the nearest one that is there. Nil for what is no file.
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
