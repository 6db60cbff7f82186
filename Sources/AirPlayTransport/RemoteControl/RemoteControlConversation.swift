internal import AirPlayWire

/// One connection of a DACP client: bytes in; responses and commands out. Uses no sockets.
///
/// All input is untrusted. A command needs the token that the sender gave to one speaker (`Active-Remote`).
struct RemoteControlConversation {
    /// The result of received bytes.
    struct Outcome {
        /// The bytes to send.
        var responses: [UInt8] = []
        /// The commands with the tokens of their speakers.
        var commands: [(command: RemoteCommand, token: UInt32)] = []
        /// Whether the connection must be closed after the responses.
        var isOver = false
    }

    /// Maximum number of requests on one connection: clients open one for each command.
    private static let maxRequests = 64

    private var parser = RTSPParser(bodyLimit: 4 << 10)
    private var requests = 0
    private var isOver = false

    /// Processes received bytes; none after `isOver`.
    ///
    /// - Parameter isToken: Returns whether a token is that of a current speaker.
    mutating func receive(_ bytes: some Collection<UInt8>, isToken: (UInt32) -> Bool) -> Outcome {
        var outcome = Outcome(isOver: isOver)
        parser.append(bytes)
        do throws(WireError) {
            while !outcome.isOver, let message = try parser.next() {
                guard case .request(let request) = message else {
                    throw WireError(.malformed, "The speaker sent a response instead of a request.")
                }
                requests += 1
                let status = Self.answer(request, isToken: isToken, &outcome.commands)
                let response = RTSPResponse(
                    status: status, reason: Self.reasons[status] ?? "", version: "HTTP/1.1",
                    headers: ["Content-Length": "0"])
                outcome.responses += response.encoded()
                outcome.isOver = status == 403 || requests >= Self.maxRequests
            }
        } catch {
            outcome.isOver = true
        }
        isOver = outcome.isOver
        return outcome
    }

    private static let reasons = [204: "No Content", 400: "Bad Request", 403: "Forbidden", 404: "Not Found"]

    private static func answer(
        _ request: RTSPRequest, isToken: (UInt32) -> Bool, _ commands: inout [(command: RemoteCommand, token: UInt32)]
    ) -> Int {
        guard let token = request.headers["Active-Remote"].flatMap({ UInt32($0) }), isToken(token) else { return 403 }
        guard request.method == "GET", request.target.hasPrefix(RemoteCommand.path) else { return 404 }
        // shairport-sync polls a property every second and counts 400 as the answer of a sender that has no properties.
        guard let command = RemoteCommand(target: request.target) else { return 400 }
        commands.append((command, token))
        return 204
    }
}
