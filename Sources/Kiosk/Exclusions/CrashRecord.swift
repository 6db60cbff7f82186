internal import Glibc
internal import MediaCore
internal import Playback
internal import Storage

/// Keeps a `CrashHistory` in the state folder, written before an item is opened. Any thread.
///
/// The file is overwritten in place and not synchronized: it has to survive the end of the process, not of the computer, and a write for
/// each item must not wear a memory card. A record that a power failure has torn is treated as absent.
final class CrashRecord: Sendable {
    private struct State {
        var history = CrashHistory()
        var written: CrashHistory?
        /// -1 before the first write, and where the folder cannot be written.
        var descriptor: Int32 = -1
        var isClosed = false
    }

    private let folder: StateFolder
    private let file: String
    private let state = Lock(State())

    /// - Parameter configuration: the file that the kiosk runs by; each has a record of its own.
    init(_ folder: StateFolder, configuration: String) {
        self.folder = folder
        let name = configuration.split(separator: "/").last.map(String.init) ?? ""
        // "kiosk-…" are the files of `KioskPlaces`.
        file =
            "kiosk_items-" + name.prefix(60).map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") ? $0 : "_" }
    }

    deinit { state.withLock { if $0.descriptor >= 0 { Glibc.close($0.descriptor) } } }

    /// Reads what earlier processes left and blames what was open. Blocks on the disk. Call once, before the first item is opened.
    ///
    /// - Returns: a sentence about a record that could not be read; nil otherwise. A newer Talkie's is left alone: nothing is recorded then.
    @discardableResult
    func begin(at now: WallTime) -> String? {
        var (history, note) = (CrashHistory(), String?.none)
        do throws(StateError) {
            switch try folder.readRecord(file, kind: CrashHistory.kind, version: CrashHistory.version) {
            case .absent: break
            case .record(let record): history = CrashHistory(record)
            case .damaged(let sentence): note = sentence
            case .newer(let sentence):
                state.withLock { $0.isClosed = true }
                return sentence
            }
        } catch {
            note = error.message
        }
        _ = history.begin(at: now)
        let begun = history
        update { $0 = begun }
        return note
    }

    /// An item is about to be opened: the record is on its way to the disk when this returns.
    func noteOpening(_ address: String) {
        let edition = FileEdition(of: address)?.text ?? ""
        update { $0.noteOpening(CrashHistory.key(of: address), edition: edition) }
    }

    /// Calls `body`, which opens an item to measure it and closes it again. The record is on its way to the disk before.
    func measuring<Result>(_ address: String, _ body: () throws(MediaError) -> Result) throws(MediaError) -> Result {
        let key = CrashHistory.key(of: address)
        let edition = FileEdition(of: address)?.text ?? ""
        update { $0.noteMeasuring(key, edition: edition) }
        defer { update { $0.noteMeasured(key) } }
        return try body()
    }

    /// The process ends as it should. The player may open items until it is shut down: they are not recorded.
    func close() {
        update { $0.close() }
        state.withLock { $0.isClosed = true }
    }

    func update(_ change: (inout CrashHistory) -> Void) {
        state.withLock { state in
            guard !state.isClosed else { return }
            change(&state.history)
            guard state.history != state.written else { return }
            state.written = state.history
            write(state.history.record.encoded(), &state)
        }
    }

    var history: CrashHistory { state.withLock { $0.history } }

    private func write(_ bytes: [UInt8], _ state: inout State) {
        if state.descriptor < 0 {
            // ignored: `KioskPlaces` writes to the same folder and reports a disk that cannot be written.
            guard (try? folder.write(file, bytes)) != nil else { return }
            state.descriptor = open("\(folder.path)/\(file)", O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        } else if pwrite(state.descriptor, bytes, bytes.count, 0) == bytes.count {
            ftruncate(state.descriptor, off_t(bytes.count))
        }
    }
}
