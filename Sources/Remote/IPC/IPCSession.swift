internal import Glibc
internal import MediaCore
internal import Playback

/// Executes the requests of one client. Confined to the server's thread; replies arrive on any thread.
final class IPCSession {
    /// Sends an event to all clients. Any thread.
    typealias Broadcast = @Sendable (String, [(String, JSONValue)]) -> Void

    /// The maximum number of observed properties.
    static let maxObservers = 512
    /// MPV_CLIENT_API_VERSION of mpv 0.41, whose protocol this is: 2.5.
    private static let version = 2 << 16 | 5

    private let name: String
    private let control: PlayerControl
    private let output: IPCOutput
    private let broadcast: Broadcast
    /// The observers of the control by the client's number.
    private var observers: [Int: [Int]] = [:]
    private var observerCount = 0

    init(name: String, control: PlayerControl, output: IPCOutput, broadcast: @escaping Broadcast) {
        (self.name, self.control, self.output, self.broadcast) = (name, control, output, broadcast)
    }

    /// Ends all observations.
    func close() {
        for number in observers.values.joined() { control.removeObserver(number) }
        (observers, observerCount) = ([:], 0)
        output.close()
    }

    // MARK: Requests

    /// Executes a line; `output` is not ready until its last request has ended.
    func execute(_ line: LineSplitter.Line) {
        guard case .text(let bytes) = line else {
            let error = IPCError.invalid("a line has more than \(LineSplitter.maxLength) bytes")
            return output.send(
                reply: IPCRequest.Message(id: .integer(0), arguments: .success([])).reply(.failure(error)))
        }
        switch IPCRequest(bytes, control.table) {
        case .none: break
        case .text(let commands):
            // The next request sees their effects, although they have no reply. It waits for all: otherwise a client
            // could queue any number of commands.
            output.begin(isAsync: false)
            let sequence = IPCCommandSequence(commands) { [control, broadcast] command, reply in
                if Self.shares(command, broadcast) {
                    reply(.success(.null))
                } else {
                    control.perform(command, reply: reply)
                }
            } end: { [output] in
                output.end(isAsync: false, reply: nil)
            }
            sequence.proceed()
        case .json(let message):
            switch message.arguments {
            case .failure(let error): output.send(reply: message.reply(.failure(error)))
            case .success(let command): execute(command, message)
            }
        }
    }

    /// Whether a command is a message to other clients; sends it.
    private static func shares(_ command: [JSONValue], _ broadcast: Broadcast) -> Bool {
        guard command.first?.text == "script-message" else { return false }
        broadcast("client-message", [("args", .array(command.dropFirst().map { .text($0.mpvText) }))])
        return true
    }

    private func execute(_ command: [JSONValue], _ message: IPCRequest.Message) {
        let arguments = Array(command.dropFirst())
        do throws(IPCError) {
            if let data = try answer(command[0].text ?? "", arguments) {
                return output.send(reply: message.reply(.success(data)))
            }
        } catch { return output.send(reply: message.reply(.failure(error))) }
        let isSetting = ["set_property", "set_property_string"].contains(command[0].text)
        output.begin(isAsync: message.isAsync)
        control.perform(isSetting ? [.text("set")] + arguments : command) { [output] result in
            let result = result.mapError { isSetting ? IPCError(property: $0) : IPCError(command: $0) }
            output.end(isAsync: message.isAsync, reply: message.reply(result))
        }
    }

    /// Returns the data of a command that is executed here; nil if the table executes it.
    private func answer(_ command: String, _ arguments: [JSONValue]) throws(IPCError) -> JSONValue? {
        func expect(_ count: Int) throws(IPCError) {
            guard arguments.count == count else {
                throw .invalid("\(command): expected \(count == 1 ? "one argument" : "\(count) arguments")")
            }
        }
        func text(_ index: Int) throws(IPCError) -> String {
            guard let text = arguments[index].text else { throw .invalid("\(command): a name must be a string") }
            return text
        }
        func number() throws(IPCError) -> Int {
            guard let number = arguments[0].integer else { throw .invalid("\(command): the id must be an integer") }
            return number
        }
        switch command {
        case "client_name": return .text(name)
        case "get_version": return .integer(Self.version)
        case "get_time_us": return .integer(Int(HostInstant.now.nanoseconds / 1000))
        case "get_property", "get_property_string":
            try expect(1)
            let name = try text(0)
            do throws(ControlError) {
                let value = try control.value(of: name)
                return command == "get_property" ? value : .text(value.mpvText)
            } catch { throw IPCError(property: error) }
        case "set_property", "set_property_string":
            try expect(2)
            _ = try text(0)
            return nil
        case "observe_property", "observe_property_string":
            try expect(2)
            try observe(try text(1), id: try number(), asText: command == "observe_property_string")
            return .null
        case "unobserve_property":
            try expect(1)
            for number in observers.removeValue(forKey: try number()) ?? [] {
                control.removeObserver(number)
                observerCount -= 1
            }
            return .null
        case "enable_event", "disable_event":
            try expect(1)
            let name = try text(0)
            guard name == "all" || IPCEvents.names.contains(name) else { throw .invalid("there is no event '\(name)'") }
            output.setEnabled(command == "enable_event", name == "all" ? IPCEvents.names : [name])
            return .null
        case "request_log_messages":
            try expect(1)
            guard try text(0) == "no" else {
                throw IPCError(message: "not supported", reason: "log messages are not sent")
            }
            return .null
        case "script-message": return Self.shares([.text(command)] + arguments, broadcast) ? .null : nil
        default: return nil
        }
    }

    // MARK: Observations

    private func observe(_ name: String, id: Int, asText: Bool) throws(IPCError) {
        guard observerCount < Self.maxObservers else {
            throw IPCError(
                message: "memory allocation failed", reason: "a client can observe \(Self.maxObservers) properties")
        }
        // The reply precedes the first event.
        output.holdEvents()
        let send = { @Sendable [output] (value: JSONValue?) in
            var members: [(String, JSONValue)] = [("id", .integer(id)), ("name", .text(name))]
            if let value { members.append(("data", asText ? .text(value.mpvText) : value)) }
            output.send(event: "property-change", members)
        }
        do throws(ControlError) {
            observers[id, default: []].append(try control.observe(name, send))
            observerCount += 1
        } catch {
            // mpv reports an unknown property as one that is unavailable.
            guard error.code == .unknownName else { throw IPCError(property: error) }
            send(nil)
        }
    }
}
