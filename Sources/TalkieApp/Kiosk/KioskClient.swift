internal import Glibc
internal import Kiosk
package import MediaCore
internal import Sockets
package import SyncRendering

/// Sends commands to a running kiosk of this computer. Confined to one thread.
package final class KioskClient {
    private let name: String
    private let stream: LocalStream
    private var received: [UInt8] = []

    /// The timeout of a reply: a speaker that displays its PIN is found within 8 s.
    private static let timeout = Duration.seconds(60)
    /// The maximum length of a reply: an export of all calibrations.
    private static let maxReplyLength = 4 << 20

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
    ///   - wish: The password or PIN of the speaker; without one each of its receivers displays a PIN.
    ///   - ask: Returns the PIN; nil cancels.
    /// - Returns: A sentence for the user.
    package func pair(
        _ speaker: String, _ wish: PairingAction, ask: (String) -> String?
    ) throws(TalkieError) -> String {
        let arguments = ["pair-output", speaker]
        let name = "'\(PrintableText.of(speaker))'"
        var question = "PIN of \(name): "
        let first =
            switch wish {
            case .pin(nil): [String]()
            case .pin(let pin?): [pin, "pin"]
            case .password(let password): [password]
            case .forget: ["", "forget"]
            }
        var reply = try perform(arguments + first)
        while reply["wants"]?.text == "pin" {
            guard let pin = ask(question), !pin.isEmpty else {
                throw TalkieError(.failed, "no PIN was entered; repeat the command")
            }
            reply = try perform(arguments + [pin])
            question = "PIN of the other receiver of \(name): "
        }
        return reply.text ?? ""
    }

    /// Performs a command of the kiosk and returns its result. Blocks.
    ///
    /// - Throws: The error of the kiosk, with its sentence; `unavailable` without a reply.
    func perform(_ arguments: [String]) throws(TalkieError) -> JSONValue {
        let request = JSONValue.object([("command", .array(arguments.map { .text($0) }))]).compact + "\n"
        var bytes = Array(request.utf8)[...]
        let deadline = HostInstant.now.advanced(by: Self.timeout)
        while !bytes.isEmpty {
            guard case .moved(let count) = bytes.withUnsafeBytes({ stream.send($0) }) else { throw ended }
            bytes = bytes.dropFirst(count)
        }
        while true {
            // Events have no error.
            if let reply = try readLine(until: deadline).withUnsafeBytes({ reply(in: $0) }) {
                guard let failure = reply.failure else { return reply.data }
                throw failure
            }
        }
    }

    private func reply(in bytes: UnsafeRawBufferPointer) -> (failure: TalkieError?, data: JSONValue)? {
        guard let object = JSONNode(object: bytes), let error = object.text("error") else { return nil }
        let data = object["data"].map(JSONValue.init) ?? .null
        guard error != "success" else { return (nil, data) }
        let codes: [TalkieError.Code] = [.unavailable, .notPermitted, .invalidArgument, .cannotOpen]
        let code = codes.first { $0.rawValue == object.text("code") } ?? .failed
        return (TalkieError(code, object.text("reason") ?? error), data)
    }

    private func readLine(until deadline: HostInstant) throws(TalkieError) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            if let end = received.firstIndex(of: 0x0A) {
                defer { received.removeFirst(end + 1) }
                return Array(received[..<end])
            }
            guard received.count < Self.maxReplyLength, HostInstant.now < deadline else { throw ended }
            switch stream.receiveNow(into: &buffer, limit: buffer.count) {
            case .bytes(let count): received += buffer[..<count]
            case .nothing: _ = Poller.wait(reading: [stream.descriptor], until: deadline)
            case .ended: throw ended
            }
        }
    }

    var ended: TalkieError {
        TalkieError(.unavailable, "the kiosk '\(PrintableText.of(name))' does not answer; check its log")
    }
}
