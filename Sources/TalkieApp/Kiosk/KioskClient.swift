internal import Glibc
internal import Kiosk
package import MediaCore
internal import Sockets

/// Sends commands to a running kiosk of this computer. Confined to one thread.
package final class KioskClient {
    private let name: String
    private let stream: LocalStream
    private var received: [UInt8] = []

    /// The timeout of a reply: a speaker that displays its PIN is found within 8 s.
    private static let timeout = Duration.seconds(60)
    private static let maxLine = 64 << 10

    /// Connects to a kiosk.
    ///
    /// - Parameters:
    ///   - name: The name of its configuration, without folder and `.toml`.
    ///   - sessionFolder: `XDG_RUNTIME_DIR`; nil: there is none.
    /// - Throws: `unavailable` if it does not run, or belongs to another user.
    package init(
        _ name: String, sessionFolder: String? = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) }
    ) throws(TalkieError) {
        let paths = KioskSocket.paths(of: name, sessionFolder: sessionFolder)
        guard let stream = paths.reduce(LocalStream?.none, { $0 ?? LocalStream.connect(to: $1) }) else {
            throw TalkieError(
                .unavailable,
                "no kiosk '\(PrintableText.of(name))' that you may control runs on this computer; start it, or use sudo"
            )
        }
        (self.name, self.stream) = (name, stream)
    }

    /// Pairs the kiosk with a speaker. Blocks.
    ///
    /// - Parameters:
    ///   - code: The password of the speaker; nil: each of its receivers displays a PIN.
    ///   - ask: Returns the PIN; nil cancels.
    /// - Returns: A sentence for the user.
    package func pair(_ speaker: String, code: String?, ask: (String) -> String?) throws(TalkieError) -> String {
        let words = ["pair-output", speaker]
        let name = "'\(PrintableText.of(speaker))'"
        var question = "PIN of \(name): "
        var reply = try perform(words + [code].compactMap { $0 })
        while reply.wantsPIN {
            guard let pin = ask(question), !pin.isEmpty else {
                throw TalkieError(.failed, "no PIN was entered; repeat the command")
            }
            reply = try perform(words + [pin])
            question = "PIN of the other receiver of \(name): "
        }
        return reply.text
    }

    private func perform(_ words: [String]) throws(TalkieError) -> (text: String, wantsPIN: Bool) {
        let request = JSONValue.object([("command", .array(words.map { .text($0) }))]).compact + "\n"
        var bytes = Array(request.utf8)[...]
        let deadline = HostInstant.now.advanced(by: Self.timeout)
        while !bytes.isEmpty {
            guard case .moved(let count) = bytes.withUnsafeBytes({ stream.send($0) }) else { throw ended }
            bytes = bytes.dropFirst(count)
        }
        while true {
            // Events have no error.
            if let reply = try line(until: deadline).withUnsafeBytes({ reply(in: $0) }) {
                guard reply.failure.isEmpty else { throw TalkieError(.failed, reply.failure) }
                return (reply.text, reply.wantsPIN)
            }
        }
    }

    private func reply(in bytes: UnsafeRawBufferPointer) -> (failure: String, text: String, wantsPIN: Bool)? {
        guard let object = JSONNode(object: bytes), let error = object.text("error") else { return nil }
        let wants = object["data"].map(JSONValue.init)?["wants"]?.text
        return (error == "success" ? "" : object.text("reason") ?? error, object.text("data") ?? "", wants == "pin")
    }

    private func line(until deadline: HostInstant) throws(TalkieError) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            if let end = received.firstIndex(of: 0x0A) {
                defer { received.removeFirst(end + 1) }
                return Array(received[..<end])
            }
            guard received.count < Self.maxLine, HostInstant.now < deadline else { throw ended }
            switch stream.receiveNow(into: &buffer, limit: buffer.count) {
            case .bytes(let count): received += buffer[..<count]
            case .nothing: _ = Poller.wait(reading: [stream.descriptor], until: deadline)
            case .ended: throw ended
            }
        }
    }

    private var ended: TalkieError {
        TalkieError(.unavailable, "the kiosk '\(PrintableText.of(name))' does not answer; check its log")
    }
}
