internal import Glibc
internal import MediaCore

/// Writes a speaker's record as JSON lines, one event or span of audio per line. Callable from any thread; may block.
///
/// Times are `host_ns`, nanoseconds of CLOCK_MONOTONIC.
final class RecordJournal: Sendable {
    /// Maximum size of the file in bytes; any program on the network can cause lines by sending requests.
    static let maxBytes = 256 << 20

    /// The descriptor, and the bytes written by any thread.
    private let file: Lock<(descriptor: Int32, bytes: Int)>
    private let maxBytes: Int
    /// The errno of the first lost line, and whether `consumeFailure` has returned it.
    private let failure = Lock<(code: Int32?, isReported: Bool)>((nil, false))
    private let path: String

    /// Creates the file.
    ///
    /// - Parameters:
    ///   - path: A file, or a pipe with a reader; lines that a pipe does not accept are dropped.
    ///   - maxBytes: The size at which the record ends.
    /// - Throws: `cannotWrite`.
    init(path: String, maxBytes: Int = maxBytes) throws(SpeakerError) {
        self.maxBytes = maxBytes
        // Without O_NONBLOCK, open(2) of a pipe blocks until a reader opens it (fifo(7)).
        let descriptor = PrivateFile.create(path, O_WRONLY | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENXIO {
                throw SpeakerError(
                    .cannotWrite, "\(path) is a pipe that no program reads; start the reader first, or name a file.")
            }
            throw SpeakerError(.cannotWrite, "Cannot write \(path) (\(SystemCause.text(errno))); choose another path.")
        }
        file = Lock((descriptor, 0))
        self.path = path
    }

    deinit { file.withLock { _ = close($0.descriptor) } }

    func write(_ span: HeardSpan) {
        line("heard", span.instant) {
            $0.add("rtp", Int(span.position.rawValue))
            $0.add("frames", Int(span.frames))
            $0.add("rate", Int(span.sampleRate))
        }
    }

    func write(_ event: SpeakerEvent, at instant: HostInstant) {
        switch event {
        case .connected(let from): line("connected", instant) { $0.add("from", text: from) }
        case .disconnected(let from, let reason):
            line("disconnected", instant) {
                $0.add("from", text: from)
                $0.add("reason", text: reason)
            }
        case .request(let method, let target, let status):
            line("request", instant) {
                $0.add("method", text: method)
                $0.add("target", text: target)
                $0.add("status", Int(status))
            }
        case .stream(let kind, let format, let rate):
            line("stream", instant) {
                $0.add("kind", text: kind.rawValue)
                $0.add("format", text: format)
                $0.add("rate", Int(rate))
            }
        case .clock(let locked, let offset, let grandmaster):
            line("clock", instant) {
                $0.add("locked", locked)
                $0.add("offset_ns", Int(offset.wholeNanoseconds))
                if let grandmaster { $0.add("grandmaster", text: String(grandmaster, radix: 16)) }
            }
        case .anchor(let position, let sender, let host, let clock):
            line("anchor", instant) {
                $0.add("rtp", Int(position.rawValue))
                $0.add("ptp_ns", Int(sender.nanoseconds))
                if let host { $0.add("at_ns", Int(host.nanoseconds)) }
                if let clock { $0.add("clock", text: String(clock, radix: 16)) }
            }
        case .flushed(let from, let until):
            line("flushed", instant) {
                if let from { $0.add("from", Int(from)) }
                $0.add("until", Int(until))
            }
        case .volume(let decibels): line("volume", instant) { $0.add("millibels", Int(decibels * 100)) }
        case .metadata(let kind, let bytes):
            line("metadata", instant) {
                $0.add("kind", text: kind)
                $0.add("bytes", Int(bytes))
            }
        case .track(let title, let artist, let album, let duration):
            line("title", instant) {
                $0.add("title", text: title)
                if !artist.isEmpty { $0.add("artist", text: artist) }
                if !album.isEmpty { $0.add("album", text: album) }
                if let duration { $0.add("duration_ms", Int(duration.wholeNanoseconds / 1_000_000)) }
            }
        case .progress(let start, let now, let end):
            line("progress", instant) {
                $0.add("start", Int(start.rawValue))
                $0.add("rtp", Int(now.rawValue))
                $0.add("end", Int(end.rawValue))
            }
        case .late(let packets): line("late", instant) { $0.add("packets", Int(packets)) }
        case .lost(let packets): line("lost", instant) { $0.add("packets", Int(packets)) }
        case .resendRequested(let first, let count):
            line("resend", instant) {
                $0.add("first", Int(first))
                $0.add("packets", Int(count))
            }
        case .damaged(let reason): line("damaged", instant) { $0.add("reason", text: reason) }
        case .notAnnounced(let reason): line("not-announced", instant) { $0.add("reason", text: reason) }
        case .paused: line("paused", instant)
        case .underrun: line("underrun", instant)
        case .pressed(let command): line("pressed", instant) { $0.add("command", text: command) }
        case .takenOver: line("taken-over", instant)
        case .tornDown: line("torn-down", instant)
        case .died: line("died", instant)
        }
    }

    private func line(
        _ event: StaticString, _ instant: HostInstant, _ fields: (inout JSONObjectWriter) -> Void = { _ in }
    ) {
        var line = JSONObjectWriter(bytes: [])
        line.add("event", event)
        line.add("host_ns", instant)
        fields(&line)
        let bytes = line.finish()
        let code = file.withLock { file -> Int32? in
            guard file.bytes + bytes.count <= maxBytes else { return EFBIG }
            let count = Glibc.write(file.descriptor, bytes, bytes.count)
            file.bytes += max(0, count)
            return count == bytes.count ? nil : count < 0 ? errno : ENOSPC
        }
        if let code { failure.withLock { $0.code = $0.code ?? code } }
    }

    /// Returns a message about missing lines, once; nil if there are none.
    func consumeFailure() -> String? {
        let code = failure.withLock { failure -> Int32? in
            guard let code = failure.code, !failure.isReported else { return nil }
            failure.isReported = true
            return code
        }
        return code.map {
            $0 == EFBIG
                ? "the record \(path) ends because it has reached \(maxBytes >> 20) MiB; restart the speaker for a new one"
                : "lines are missing in the record \(path) (\(SystemCause.text($0)))"
        }
    }
}
