internal import Glibc
internal import MediaCore

/// Writes a speaker's record as JSON lines: one event or one span of sound each, times as `host_ns` on
/// CLOCK_MONOTONIC.
final class RecordJournal: Sendable {
    private let file: Lock<Int32>

    init(path: String) throws(SpeakerError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw SpeakerError(.cannotWrite, "Cannot write \(path) (error \(errno)); choose another place.")
        }
        file = Lock(descriptor)
    }

    deinit { file.withLock { _ = close($0) } }

    func write(_ span: HeardSpan) {
        line("heard", span.instant) {
            $0.field("rtp", Int64(span.position.rawValue))
            $0.field("frames", Int64(span.frames))
            $0.field("rate", Int64(span.sampleRate))
        }
    }

    func write(_ event: SpeakerEvent, at instant: HostInstant) {
        switch event {
        case .connected(let from): line("connected", instant) { $0.field("from", from) }
        case .disconnected(let from, let reason):
            line("disconnected", instant) {
                $0.field("from", from)
                $0.field("reason", reason)
            }
        case .request(let method, let target, let status):
            line("request", instant) {
                $0.field("method", method)
                $0.field("target", target)
                $0.field("status", Int64(status))
            }
        case .stream(let kind, let format, let rate):
            line("stream", instant) {
                $0.field("kind", kind.rawValue)
                $0.field("format", format)
                $0.field("rate", Int64(rate))
            }
        case .clock(let locked, let offset, let grandmaster):
            line("clock", instant) {
                $0.field("locked", locked)
                $0.field("offset_ns", offset.wholeNanoseconds)
                if let grandmaster { $0.field("grandmaster", String(grandmaster, radix: 16)) }
            }
        case .anchor(let position, let sender, let host, let clock):
            line("anchor", instant) {
                $0.field("rtp", Int64(position.rawValue))
                $0.field("ptp_ns", sender.nanoseconds)
                if let host { $0.field("at_ns", host.nanoseconds) }
                if let clock { $0.field("clock", String(clock, radix: 16)) }
            }
        case .flushed(let from, let until):
            line("flushed", instant) {
                if let from { $0.field("from", Int64(from)) }
                $0.field("until", Int64(until))
            }
        case .volume(let decibels): line("volume", instant) { $0.field("millibels", Int64(decibels * 100)) }
        case .metadata(let kind, let bytes):
            line("metadata", instant) {
                $0.field("kind", kind)
                $0.field("bytes", Int64(bytes))
            }
        case .late(let packets): line("late", instant) { $0.field("packets", Int64(packets)) }
        case .lost(let packets): line("lost", instant) { $0.field("packets", Int64(packets)) }
        case .resendRequested(let first, let count):
            line("resend", instant) {
                $0.field("first", Int64(first))
                $0.field("packets", Int64(count))
            }
        case .damaged(let reason): line("damaged", instant) { $0.field("reason", reason) }
        case .notAnnounced(let reason): line("not-announced", instant) { $0.field("reason", reason) }
        case .paused: line("paused", instant)
        case .underrun: line("underrun", instant)
        case .takenOver: line("taken-over", instant)
        case .tornDown: line("torn-down", instant)
        case .died: line("died", instant)
        }
    }

    private func line(_ event: String, _ instant: HostInstant, _ fields: (inout JSONLine) -> Void = { _ in }) {
        var line = JSONLine()
        line.field("event", event)
        line.field("host_ns", instant.nanoseconds)
        fields(&line)
        let bytes = Array(line.text.utf8)
        file.withLock { _ = Glibc.write($0, bytes, bytes.count) }
    }
}

/// One JSON object on one line.
struct JSONLine {
    private var members: [String] = []

    var text: String { "{" + members.joined(separator: ", ") + "}\n" }

    mutating func field(_ name: String, _ value: Int64) { members.append("\"\(name)\": \(value)") }
    mutating func field(_ name: String, _ value: Bool) { members.append("\"\(name)\": \(value)") }
    mutating func field(_ name: String, _ value: String) { members.append("\"\(name)\": \(Self.quoted(value))") }

    /// RFC 8259, section 7.
    static func quoted(_ text: String) -> String {
        var out = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": out += "\\\""
            case "\\": out += "\\\\"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out + "\""
    }
}
