internal import CSystemd
internal import Glibc
import MediaCore

/// The systemd journal, with fields (systemd.journal-fields(7)). Any thread.
///
/// Sentences are written on the thread "journal", because the journal's socket blocks while its reader is slow. At most
/// 256 sentences are queued. The number of dropped ones is written once there is space.
package final class ServiceJournal: Sendable {
    /// More than a kiosk logs in the second of a journal rotation.
    private static let maxQueuedMessages = 256

    private struct State {
        var waiting: [[String]] = []
        var leftOut = 0
        var isClosing = false
    }

    private let state = Lock(State())
    private let wake = Signal()
    private let done = Signal()
    private let identifier: String

    /// Returns the journal if standard error is connected to it; nil otherwise.
    package static func ofStandardError(identifier: String = "talkie") -> ServiceJournal? {
        guard isStream(2, getenv("JOURNAL_STREAM").map { String(cString: $0) } ?? "") else { return nil }
        // ignored: without a thread, sentences go to standard error, which is connected to the journal as well.
        return try? ServiceJournal(identifier: identifier) { ServiceJournal.send($0) }
    }

    /// Returns true if a descriptor has the device and inode that `JOURNAL_STREAM` names (systemd.exec(5)). A program
    /// with a redirected standard error still inherits the variable.
    static func isStream(_ descriptor: Int32, _ text: String) -> Bool {
        let fields = text.split(separator: ":", omittingEmptySubsequences: false).map { UInt64($0) }
        var status = stat()
        guard fields.count == 2, let device = fields[0], let inode = fields[1], fstat(descriptor, &status) == 0 else {
            return false
        }
        return UInt64(status.st_dev) == device && UInt64(status.st_ino) == inode
    }

    /// Creates a journal and starts its thread.
    ///
    /// - Parameters:
    ///   - identifier: The value of `SYSLOG_IDENTIFIER`.
    ///   - deliver: Called on the journal's thread with the fields of one sentence, each `NAME=value`.
    /// - Throws: `ExhaustionError` if the system provides no thread.
    init(identifier: String, deliver: @escaping @Sendable ([String]) -> Void) throws(ExhaustionError) {
        self.identifier = identifier
        _ = try WorkerThread.start(name: "journal", priority: .background) { [state, wake, done] in
            while true {
                wake.wait()
                let (fields, isClosing) = state.withLock { state in
                    defer { (state.waiting, state.leftOut) = ([], 0) }
                    var fields = state.waiting
                    if state.leftOut > 0 {
                        fields.append(
                            Self.fields(
                                .warning, "\(state.leftOut) messages were dropped because the journal was too slow.",
                                identifier: identifier))
                    }
                    return (fields, state.isClosing)
                }
                fields.forEach(deliver)
                if isClosing { break }
            }
            done.raise()
        }
    }

    deinit {
        state.withLock { $0.isClosing = true }
        wake.raise()
    }

    /// Queues a sentence. Returns at once.
    func write(_ level: LogLevel, _ sentence: String, _ note: KioskNote = KioskNote()) {
        let fields = Self.fields(level, sentence, identifier: identifier, note: note)
        state.withLock { state in
            if state.isClosing { return }
            if state.waiting.count < Self.maxQueuedMessages { state.waiting.append(fields) } else { state.leftOut += 1 }
        }
        wake.raise()
    }

    /// Writes the queued sentences. Blocks for at most a fifth of a second. Must be the last call.
    package func close() {
        state.withLock { $0.isClosing = true }
        wake.raise()
        done.wait(until: .now.advanced(by: .milliseconds(200)))
    }

    /// Values are single lines: the name of a film or a speaker cannot start another field.
    private static func fields(
        _ level: LogLevel, _ sentence: String, identifier: String, note: KioskNote = KioskNote()
    )
        -> [String]
    {
        var fields = [
            "MESSAGE=\(PrintableText.sentence(sentence))", "PRIORITY=\(level.priority)",
            "SYSLOG_IDENTIFIER=\(identifier)",
        ]
        if let event = note.event { fields.append("TALKIE_EVENT=\(event.rawValue)") }
        if let item = note.item { fields.append("TALKIE_ITEM=\(PrintableText.of(item))") }
        if let stage = note.stage { fields.append("TALKIE_STAGE=\(PrintableText.of(stage))") }
        return fields
    }

    @discardableResult static func send(_ fields: [String]) -> Int32 {
        let texts = fields.map { strdup($0) }
        defer { texts.forEach { free($0) } }
        let pointers = texts.map { text in text.map { UnsafeRawPointer($0).assumingMemoryBound(to: UInt8.self) } }
        return csystemd_journal_send(pointers, fields.map { Int64($0.utf8.count) }, Int32(fields.count))
    }
}

extension LogLevel {
    /// The priority of syslog(3).
    var priority: Int {
        switch self {
        case .error: 3
        case .warning: 4
        case .info: 6
        case .debug: 7
        }
    }
}
