internal import Glibc
internal import MediaCore
internal import Playback
internal import Storage

/// Stores a `CrashHistory` in the state folder before each item is opened. Any thread.
///
/// The file is overwritten in place and not synchronized: it must survive the end of the process, not a power failure.
/// A synchronized write per item would wear out a memory card. A record has one page, so that the end of the process
/// does not tear it (`CrashHistory.record`); one torn by a power failure is treated as absent.
final class CrashRecord: Sendable {
    private struct State {
        var history = CrashHistory()
        var written: CrashHistory?
        /// -1 before the first write, and if the folder is not writable.
        var descriptor: Int32 = -1
        /// How this process ends; nil before `begin`, and if the folder is not writable.
        var mark: CrashMark?
        /// True after `close`, and if a newer version owns the file: nothing is written any more.
        var isClosed = false
    }

    private let folder: StateFolder
    private let file: KioskStateFile
    /// The name of the file of `CrashMark`.
    private let markName: String
    private let state = Lock(State())

    /// Creates a record.
    ///
    /// - Parameter configuration: The path of the configuration; each full path has its own record.
    init(_ folder: StateFolder, configuration: String) {
        self.folder = folder
        // "kiosk-…" are the files of `KioskResumePositions`.
        file = KioskStateFile("kiosk_items", configuration: configuration)
        markName = KioskStateFile("kiosk_end", configuration: configuration).name
    }

    deinit { state.withLock { if $0.descriptor >= 0 { Glibc.close($0.descriptor) } } }

    /// Reads the record of earlier processes, and blames the items that were open if the last one crashed. Blocks on
    /// the disk. Must be called once, before the first item is opened.
    ///
    /// - Returns: A sentence about a record that cannot be read; nil otherwise. The record of a newer version is not
    ///   changed, and nothing is recorded then.
    @discardableResult
    func begin(at now: WallTime) -> String? {
        var (history, note) = (CrashHistory(), String?.none)
        do throws(StateError) {
            switch try file.read(in: folder, kind: CrashHistory.kind, version: CrashHistory.version) {
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
        _ = history.begin(at: now, afterCrash: CrashMark.wasCrash(markName, in: folder))
        let begun = history
        update { $0 = begun }
        makeMark()?.markSignals()
        return note
    }

    /// Records that this process ends because of an item that blocks it: the open items are blamed as for a crash.
    func recordFault() { makeMark()?.markFault() }

    private func makeMark() -> CrashMark? {
        state.withLock { state in
            state.mark = state.mark ?? CrashMark(markName, in: folder)
            return state.mark
        }
    }

    /// Records that an item is about to be opened. The record is written to the file when this returns.
    func recordOpening(_ address: String) {
        let edition = FileEdition(of: address)?.text ?? ""
        update { $0.recordOpening(CrashHistory.key(of: address), edition: edition) }
    }

    /// Calls `body`, which opens an item for measuring and closes it again. The item is recorded before.
    func measuring<Result>(_ address: String, _ body: () throws(MediaError) -> Result) throws(MediaError) -> Result {
        let key = CrashHistory.key(of: address)
        let edition = FileEdition(of: address)?.text ?? ""
        update { $0.recordMeasuring(key, edition: edition) }
        defer { update { $0.recordMeasured(key) } }
        return try body()
    }

    /// Records a normal end of the process. Items that the player opens until it is shut down are not recorded.
    func close() {
        update { $0.close() }
        state.withLock { $0.isClosed = true }
    }

    /// Changes the history, and writes it if it differs from the file.
    func update(_ change: (inout CrashHistory) -> Void) {
        state.withLock { state in
            guard !state.isClosed else { return }
            change(&state.history)
            guard state.history != state.written else { return }
            if write(state.history.record.encoded(), &state) { state.written = state.history }
        }
    }

    var history: CrashHistory { state.withLock { $0.history } }

    /// Returns true if the file has the new record.
    private func write(_ bytes: [UInt8], _ state: inout State) -> Bool {
        if state.descriptor >= 0 { return pwrite(state.descriptor, bytes, bytes.count, 0) == bytes.count }
        // ignored: `KioskResumePositions` writes to the same folder and reports a disk that cannot be written.
        guard (try? folder.write(file.name, bytes)) != nil else { return false }
        state.descriptor = open("\(folder.path)/\(file.name)", O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        return true
    }
}
