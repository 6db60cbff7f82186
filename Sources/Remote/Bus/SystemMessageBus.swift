internal import CSystemd
internal import Glibc
package import MediaCore

/// A connection to a message bus of the system, through libsystemd, which is loaded on first use. One thread at a time.
package final class SystemMessageBus: MessageBus {
    /// The kind of a bus.
    package enum Kind: Sendable { case system, session }

    private var connection: OpaquePointer?
    /// The method calls that wait for a reply, by number.
    private var calls: [Int: OpaquePointer] = [:]
    private var lastNumber = 0
    package var onMessage: ((BusMessage) -> Void)?

    /// Whether the environment has a bus, without loading libsystemd.
    package static func isPresent(_ kind: Kind) -> Bool {
        if let address = getenv(kind == .system ? "DBUS_SYSTEM_BUS_ADDRESS" : "DBUS_SESSION_BUS_ADDRESS"),
            address.pointee != 0
        {
            return true
        }
        // D-Bus specification, "Well-known Message Bus Instances"; sd_bus_open_user(3).
        if kind == .system { return access("/var/run/dbus/system_bus_socket", F_OK) == 0 }
        guard let folder = getenv("XDG_RUNTIME_DIR"), folder.pointee != 0 else { return false }
        return access(String(cString: folder) + "/bus", F_OK) == 0
    }

    /// Connects to a bus. Blocks until the bus has accepted the connection.
    ///
    /// - Parameters:
    ///   - address: The address (D-Bus specification, "Server Addresses"); nil: that of the environment.
    ///   - timeout: The timeout of the connection, and of replies to it.
    /// - Throws: `BusFailure`; ENOSYS without libsystemd, ETIMEDOUT if the bus does not answer.
    package init(_ kind: Kind, at address: String? = nil, timeout: Duration = .seconds(5)) throws(BusFailure) {
        let which = Int32((kind == .system ? csystemd_system_bus : csystemd_session_bus).rawValue)
        let microseconds = UInt64(timeout.wholeNanoseconds / 1000)
        var error: Int32 = 0
        connection = csystemd_bus_open(which, address, microseconds, &error)
        guard let connection else { throw BusFailure(code: error) }
        // Called by `process` only, which the owner of this object calls.
        csystemd_bus_set_handler(
            connection,
            { context, message in
                guard let context, let message else { return }
                Unmanaged<SystemMessageBus>.fromOpaque(context).takeUnretainedValue().receive(message)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { close() }

    package func close() {
        for call in calls.values { csystemd_message_unref(call) }
        calls = [:]
        if let connection { csystemd_bus_close(connection) }
        connection = nil
    }

    /// Returns a result of libsystemd; throws a negative errno value.
    @discardableResult
    private func checked(_ body: (OpaquePointer) -> Int32) throws(BusFailure) -> Int32 {
        guard let connection else { throw BusFailure(code: ENOTCONN) }
        let outcome = body(connection)
        guard outcome >= 0 else { throw BusFailure(code: outcome) }
        return outcome
    }

    // MARK: Services

    package func requestName(_ name: String) throws(BusFailure) -> Bool {
        do throws(BusFailure) {
            try checked { csystemd_bus_request_name($0, name) }
            return true
        } catch {
            guard error.code == EEXIST else { throw error }
            return false
        }
    }

    package func addObject(_ path: String) throws(BusFailure) { try checked { csystemd_bus_add_object($0, path) } }

    /// Receives signals with `onMessage`; nil: of any interface, any member.
    package func addMatch(
        sender: String, path: String, interface: String? = nil, member: String? = nil
    ) throws(BusFailure) {
        try checked { csystemd_bus_add_match($0, sender, path, interface, member) }
    }

    // MARK: Messages

    package func process() throws(BusFailure) -> Bool { try checked { csystemd_bus_process($0) } > 0 }

    package func wait(for signal: PollableSignal, until deadline: HostInstant?, reads: Bool) {
        guard let connection else { return }
        // Rounded up, so that the deadline has passed afterwards.
        let timeout = deadline.map { max(0, ($0 - .now).wholeNanoseconds / 1_000_000 + 1) } ?? -1
        csystemd_bus_wait(connection, signal.descriptor, reads ? 1 : 0, timeout)
        signal.clear()
    }

    package func reply(to number: Int, _ result: Result<[BusValue], BusError>) {
        guard let connection, let call = calls.removeValue(forKey: number) else { return }
        defer { csystemd_message_unref(call) }
        let reply: OpaquePointer?
        switch result {
        case .success(let values): reply = filled(csystemd_message_reply(call), with: values)
        case .failure(let error): reply = csystemd_message_error(call, error.name, error.message)
        }
        guard let reply else { return }
        // A lost connection is noticed by `process`.
        _ = csystemd_bus_send(connection, reply)
        csystemd_message_unref(reply)
    }

    package func emit(_ signal: BusSignal) {
        guard let connection,
            let message = filled(
                csystemd_message_signal(connection, signal.path, signal.interface, signal.member),
                with: signal.arguments)
        else { return }
        _ = csystemd_bus_send(connection, message)
        csystemd_message_unref(message)
    }

    /// Calls a method and waits for its reply.
    ///
    /// - Throws: `BusFailure`, also if the reply has another signature than expected.
    package func call(
        _ method: BusMethod, _ arguments: [BusValue], expecting signature: String
    ) throws(BusFailure) -> [BusValue] {
        let (connection, call) = try message(to: method, arguments)
        defer { csystemd_message_unref(call) }
        var reply: OpaquePointer?
        var name = [CChar](repeating: 0, count: 256)
        let outcome = csystemd_bus_call(connection, call, &reply, &name, Int32(name.count))
        guard outcome >= 0, let reply else {
            let text = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            throw BusFailure(code: outcome, name: text.isEmpty ? nil : text)
        }
        defer { csystemd_message_unref(reply) }
        guard Self.text(csystemd_message_signature(reply)) == signature,
            let values = BusMessageReader.values(in: reply, takesDescriptors: true)
        else { throw BusFailure(code: EBADMSG) }
        return values
    }

    /// Calls a method; its reply is ignored.
    package func post(_ method: BusMethod, _ arguments: [BusValue]) throws(BusFailure) {
        let (connection, call) = try message(to: method, arguments)
        _ = csystemd_bus_send(connection, call)
        csystemd_message_unref(call)
    }

    private func message(
        to method: BusMethod, _ arguments: [BusValue]
    ) throws(BusFailure) -> (connection: OpaquePointer, OpaquePointer) {
        guard let connection else { throw BusFailure(code: ENOTCONN) }
        let call = csystemd_message_call(
            connection, method.service, method.path, method.interface, method.member)
        guard let filled = filled(call, with: arguments) else { throw BusFailure(code: EINVAL) }
        return (connection, filled)
    }

    private func receive(_ message: OpaquePointer) {
        guard let onMessage else { return }
        lastNumber += 1
        if csystemd_message_expects_reply(message) > 0 { calls[lastNumber] = csystemd_message_ref(message) }
        onMessage(
            BusMessage(
                number: lastNumber, interface: Self.text(csystemd_message_interface(message)),
                member: Self.text(csystemd_message_member(message)),
                signature: Self.text(csystemd_message_signature(message)),
                arguments: BusMessageReader.values(in: message)))
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }

    /// Returns a message with arguments; nil if it could not be created.
    private func filled(_ message: OpaquePointer?, with arguments: [BusValue]) -> OpaquePointer? {
        guard let message else { return nil }
        for argument in arguments where !argument.append(to: message) {
            csystemd_message_unref(message)
            return nil
        }
        return message
    }
}
