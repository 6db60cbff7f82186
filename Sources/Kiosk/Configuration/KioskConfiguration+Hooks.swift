internal import MediaCore

extension KioskConfiguration {
    /// `[hooks]`: shell commands run in addition to the kiosk's own actions, for example for displays controlled by CEC
    /// only.
    struct Hooks: Sendable, Hashable {
        var screenOn: String?
        var screenOff: String?

        init() {}
    }

    private static let longestCommand = 1000

    mutating func readHooks(_ reader: inout TableReader) {
        guard let node = reader.node("hooks") else { return }
        guard case .table(let table) = node.value else {
            return reader.addMistake(
                node.line, "hooks: expected a table, [hooks] with screen_off = \"cec-ctl --standby\"")
        }
        var inner = reader.inside(table)
        hooks.screenOn = inner.value("screen_on", Self.command)
        hooks.screenOff = inner.value("screen_off", Self.command)
        inner.finish()
        reader.addMistakes(inner.mistakes)
    }

    private static func command(_ value: TOMLDocument.Value) throws(ValueError) -> String {
        guard case .string(let text) = value, !text.isEmpty, text.utf8.count <= longestCommand, !text.utf8.contains(0)
        else {
            throw ValueError("expected a shell command of at most \(longestCommand) bytes")
        }
        return text
    }
}
