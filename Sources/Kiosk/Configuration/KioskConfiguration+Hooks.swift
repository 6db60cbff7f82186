internal import MediaCore

extension KioskConfiguration {
    /// `[hooks]`: shell commands run in addition to the kiosk's own actions, for example for displays controlled by CEC
    /// only.
    struct Hooks: Sendable, Hashable {
        var screenOn: String?
        var screenOff: String?

        init() {}
    }
}

extension KioskConfiguration.Hooks {
    private static let longestCommand = 1000

    /// Reads the table; it may be absent.
    init(_ reader: inout TableReader) {
        let expected = "a table, [hooks] with screen_off = \"cec-ctl --standby\""
        guard var inner = reader.inside("hooks", expected: expected) else { return }
        screenOn = inner.value("screen_on", Self.command)
        screenOff = inner.value("screen_off", Self.command)
        reader.finish(inner)
    }

    private static func command(_ value: TOMLDocument.Value) throws(ValueError) -> String {
        guard case .string(let text) = value, !text.isEmpty, text.utf8.count <= longestCommand, !text.utf8.contains(0)
        else {
            throw ValueError("expected a shell command of at most \(longestCommand) bytes")
        }
        return text
    }
}
