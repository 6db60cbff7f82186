internal import MediaCore
internal import Storage
internal import Synchronization

/// Stores the current item and position of a kiosk across restarts, crashes included. Written only when changed, on the
/// thread "kiosk places": a slow disk does not block the kiosk.
final class KioskResumePositions: Sendable {
    /// A position in an item.
    struct Position: Sendable, Hashable {
        /// A path, or a web address without credentials, query and fragment, which may contain passwords and tokens.
        let address: String
        /// A checksum of the address with its query: distinguishes items that differ in the query only.
        let key: String
        let position: MediaTime

        init(address: String, position: MediaTime) {
            (self.address, key, self.position) = (Self.plain(address), Self.key(address), position)
        }

        fileprivate init(kept address: String, key: String?, position: MediaTime) {
            (self.address, self.key, self.position) = (Self.plain(address), key ?? Self.key(address), position)
        }

        /// Returns the address of `addresses` that matches: identical, or different in the query only.
        func film(among addresses: [String]) -> String? {
            addresses.first { Self.key($0) == key } ?? addresses.first { Self.plain($0) == address }
        }

        private static func plain(_ address: String) -> String {
            guard address.contains("://") else { return address }
            return PrintableText.withoutCredentials(String(address.prefix { $0 != "?" && $0 != "#" }))
        }

        private static func key(_ address: String) -> String {
            StateRecord.check(Array(PrintableText.withoutCredentials(address).utf8)[...])
        }
    }

    /// The state of the last run.
    struct Kept: Sendable, Hashable {
        var position: Position?
        /// The number of earlier starts.
        var starts = 0
        /// True if the last run ended normally, not by a crash or a power failure.
        var hasEndedWell = true
        /// True until something plays, if the run has waited for its time of start.
        var isWaiting = false
    }

    private static let kind = "kiosk"
    private static let version = 1
    /// The maximum position in milliseconds: a week, longer than any film.
    private static let latest = 7 * 24 * 3600 * 1000

    private let folder: StateFolder
    private let file: KioskStateFile
    /// Written by the callers of `scheduleWrite`, read by `writePending`.
    private let waiting = Lock<(kept: Kept, isNew: Bool)>((Kept(), false))
    /// Held during a write.
    private let written = Lock<(kept: Kept?, isFailing: Bool)>((nil, false))
    private let wake = Signal()
    private let stopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)
    private let report: @Sendable (String?) -> Void

    /// Creates a store; `start` starts its thread.
    ///
    /// - Parameters:
    ///   - configuration: The path of the configuration; each full path has its own state.
    ///   - report: Called on the thread with a sentence once writing fails, with nil once it succeeds again.
    init(_ folder: StateFolder, configuration: String, report: @escaping @Sendable (String?) -> Void) {
        self.folder = folder
        self.report = report
        file = KioskStateFile("kiosk", configuration: configuration)
    }

    /// Returns the state of the last run, and a sentence if it cannot be read. Blocks on the disk.
    func read() -> (kept: Kept, note: String?) {
        do throws(StateError) {
            switch try file.read(in: folder, kind: Self.kind, version: Self.version) {
            case .absent: return (Kept(), nil)
            case .damaged(let sentence), .newer(let sentence): return (Kept(), sentence)
            case .record(let record):
                var kept = Kept()
                kept.starts = record["starts"].flatMap { DecimalNumber.integer($0[...]) } ?? 0
                kept.hasEndedWell = record["ended"] == "well"
                kept.isWaiting = record["waits"] == "yes"
                if let address = record["film"],
                    let position = record["place"].flatMap({ DecimalNumber.integer($0[...]) }),
                    (0...Self.latest).contains(position)
                {
                    kept.position = Position(
                        kept: address, key: record["film-key"],
                        position: MediaTime(value: Int64(position), timescale: 1000))
                }
                return (kept, nil)
            }
        } catch {
            return (Kept(), error.message)
        }
    }

    /// Starts the thread.
    ///
    /// - Throws: `ExhaustionError` if the system provides no thread.
    func start() throws(ExhaustionError) {
        let worker = try WorkerThread.start(name: "kiosk places", priority: .background) { [self] in run() }
        thread.withLock { $0 = worker }
    }

    /// Schedules the state to be written; unchanged states are not written. Returns at once.
    func scheduleWrite(_ kept: Kept) {
        waiting.withLock { $0 = (kept, true) }
        wake.raise()
    }

    /// Writes the last state and joins the thread.
    func stop() {
        stopping.store(true, ordering: .releasing)
        wake.raise()
        thread.withLock { $0?.join() }
    }

    private func run() {
        while true {
            let isLast = stopping.load(ordering: .acquiring)
            writePending()
            if isLast { return }
            wake.wait(until: .now.advanced(by: .seconds(3600)))
            wake.clear()
        }
    }

    /// Writes the state if it has changed. Blocks on the disk. Called by the thread, or before `start`.
    func writePending() {
        let (kept, isNew) = waiting.withLock { waiting in
            defer { waiting.isNew = false }
            return waiting
        }
        written.withLock { written in
            guard isNew, kept != written.kept else { return }
            do throws(StateError) {
                try write(kept)
                written.kept = kept
                if written.isFailing { report(nil) }
                written.isFailing = false
            } catch {
                if !written.isFailing { report("the kiosk's position cannot be stored: \(error.message)") }
                written.isFailing = true
            }
        }
    }

    private func write(_ kept: Kept) throws(StateError) {
        var record = StateRecord(kind: Self.kind, version: Self.version)
        record["starts"] = String(kept.starts)
        record["ended"] = kept.hasEndedWell ? "well" : "not"
        record["waits"] = kept.isWaiting ? "yes" : nil
        if let position = kept.position {
            record["film"] = position.address
            record["film-key"] = position.key
            record["place"] = String(max(0, position.position.nanoseconds / 1_000_000))
        }
        try folder.replace(file.name, with: record, syncsFolder: false)
    }
}
