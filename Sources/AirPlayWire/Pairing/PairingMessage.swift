/// Common checks of pairing messages.
enum PairingMessage {
    /// Parses a response.
    ///
    /// - Throws: `pairingRefused` if it contains an error, `malformed` if it belongs to another step.
    static func read(_ body: [UInt8], state: UInt8) throws(WireError) -> TLV8 {
        let message = try TLV8(decoding: body)
        if let code = message[.error]?.first {
            let error = PairingError(rawValue: code)
            // The delay is a little-endian number of seconds. It is only displayed, so its range is not checked.
            let delay = message[.retryDelay]?.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            throw WireError(.pairingRefused, sentence(error, delay: delay), pairingError: error)
        }
        guard message[.state] == [state] else {
            throw .malformed("The speaker sent the response to another pairing step.")
        }
        return message
    }

    /// Returns the value of an item; throws `malformed` if it is missing or has another size.
    static func value(_ tag: TLV8.Tag, of message: TLV8, size: ClosedRange<Int>) throws(WireError) -> [UInt8] {
        guard let value = message[tag], size.contains(value.count) else {
            throw .malformed("The speaker sent an incomplete pairing response.")
        }
        return value
    }

    /// Returns a value that some receivers send as a number without leading zeros; the zeros are restored.
    static func number(_ tag: TLV8.Tag, of message: TLV8, size: Int) throws(WireError) -> [UInt8] {
        let value = try value(tag, of: message, size: 1...size)
        return [UInt8](repeating: 0, count: size - value.count) + value
    }

    private static func sentence(_ error: PairingError, delay: Int?) -> String {
        switch error {
        case .authentication: "The speaker rejected the PIN or password; check it and try again."
        case .backOff: "The speaker accepts no pairing for \(delay.map { "\($0) s" } ?? "a while"); wait and try again."
        case .maximumPeers: "The speaker cannot store more pairings; remove one in its settings."
        case .maximumTries:
            "The speaker blocks pairing after too many failed attempts; turn it off and on, then try again."
        case .unavailable: "The speaker does not pair at present; try again later."
        case .busy: "The speaker is being paired by another device; try again later."
        default: "The speaker refuses to pair (error \(error.rawValue))."
        }
    }
}
