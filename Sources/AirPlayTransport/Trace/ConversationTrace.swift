package import AirPlayWire
package import MediaCore

/// Records the conversation with one speaker as JSON lines, for a report about it.
///
/// Values are replaced when they are recorded (`TraceRedaction`): keys, passwords, names, addresses and identifiers are
/// never held. Pairing and encryption are recorded as sizes only. Any thread.
package final class ConversationTrace: Sendable {
    /// Guarded by the lock `state`.
    private struct State: Sendable {
        var redaction = TraceRedaction()
        var lines: [JSONValue] = []
        var bytes = 0
        var omitted = 0
    }

    /// The maximum size of a trace in bytes; what follows is counted. A minute of playback takes some 30 KB.
    private static let maxBytes = 4 << 20

    private let state = Lock(State())
    private let start: HostInstant

    /// Starts a trace.
    package init(at start: HostInstant = .now) { self.start = start }

    /// Records a request and its response, or why there is none.
    ///
    /// - Parameter sent: When the request was sent.
    package func record(
        _ request: RTSPRequest, sent: HostInstant, _ outcome: Result<RTSPResponse, some Error>
    ) {
        let received = HostInstant.now
        add { redaction in
            var line: [(String, JSONValue)] = [
                ("ms", .integer(Self.milliseconds(sent - start))), ("method", .text(String(request.method.prefix(32)))),
                ("target", .text(redaction.target(request.target))), ("headers", redaction.headers(request.headers)),
                ("body", redaction.body(request.body, of: request.target, type: request.headers["Content-Type"])),
                ("took_ms", .integer(Self.milliseconds(received - sent))),
            ]
            switch outcome {
            case .success(let response):
                line += [
                    ("status", .integer(response.status)), ("reply_headers", redaction.headers(response.headers)),
                    (
                        "reply",
                        redaction.body(response.body, of: request.target, type: response.headers["Content-Type"])
                    ),
                ]
            // The error's text may contain an address.
            case .failure: line.append(("status", .null))
            }
            return .object(line)
        }
    }

    /// Records a message of the event channel.
    package func record(event list: PropertyList) {
        add { redaction in
            .object([
                ("ms", .integer(Self.milliseconds(.now - start))),
                ("event", redaction.list(list)),
            ])
        }
    }

    /// Records what this computer knows of a session when it ends. The values must identify nothing.
    package func record(_ facts: [(String, JSONValue)]) {
        add { _ in .object([("ms", .integer(Self.milliseconds(.now - start)))] + facts) }
    }

    private func add(_ line: (inout TraceRedaction) -> JSONValue) {
        state.withLock { state in
            let line = line(&state.redaction)
            let bytes = line.compact.utf8.count + 1
            guard state.bytes + bytes <= Self.maxBytes else { return state.omitted += 1 }
            state.bytes += bytes
            state.lines.append(line)
        }
    }

    private static func milliseconds(_ duration: Duration) -> Int { Int(duration.wholeNanoseconds / 1_000_000) }

    /// Whether a request was recorded.
    package var isEmpty: Bool { state.withLock { $0.lines.isEmpty } }

    /// The trace as JSON lines.
    ///
    /// - Parameter release: The version of the program.
    package func text(release: String) -> String {
        let (lines, omitted) = state.withLock { ($0.lines, $0.omitted) }
        let head = JSONValue.object([("talkie_trace", .integer(1)), ("version", .text(release))])
        let tail = omitted > 0 ? [JSONValue.object([("omitted", .integer(omitted))])] : []
        return ([head] + lines + tail).map { $0.compact + "\n" }.joined()
    }
}
