/// What every pairing step checks before it looks at the contents.
enum PairingMessage {
    /// Reads a reply that must belong to a step and must not carry a refusal.
    static func read(_ body: [UInt8], state: UInt8) throws(WireError) -> TLV8 {
        let message = try TLV8(decoding: body)
        if let code = message[.error]?.first {
            let error = PairingError(rawValue: code)
            // The delay is a little-endian number of seconds; shown only, so its size does not matter.
            let delay = message[.retryDelay]?.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            throw WireError(.pairingRefused, sentence(error, delay: delay), pairingError: error)
        }
        guard message[.state] == [state] else {
            throw .malformed("The speaker answered a pairing step with the answer to another one.")
        }
        return message
    }

    static func value(_ tag: TLV8.Tag, of message: TLV8, size: ClosedRange<Int>) throws(WireError) -> [UInt8] {
        guard let value = message[tag], size.contains(value.count) else {
            throw .malformed("The speaker left out a part of a pairing answer.")
        }
        return value
    }

    /// A value that some receivers calculate with as a number: they send it without its leading zeros, which are put back.
    static func number(_ tag: TLV8.Tag, of message: TLV8, size: Int) throws(WireError) -> [UInt8] {
        let value = try value(tag, of: message, size: 1...size)
        return [UInt8](repeating: 0, count: size - value.count) + value
    }

    private static func sentence(_ error: PairingError, delay: Int?) -> String {
        switch error {
        case .authentication: "The speaker refuses the PIN or password; check it and try again."
        case .backOff: "The speaker wants no pairing for \(delay.map { "\($0) s" } ?? "a while"); wait and try again."
        case .maximumPeers: "The speaker keeps no more pairings; remove one in its own settings."
        case .maximumTries: "The speaker saw too many wrong attempts; switch it off and on, then try again."
        case .unavailable: "The speaker does not pair at present; try again later."
        case .busy: "The speaker is being paired by somebody else; try again later."
        default: "The speaker refuses to pair (error \(error.rawValue))."
        }
    }
}
