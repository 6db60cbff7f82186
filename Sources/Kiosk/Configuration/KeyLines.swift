internal import MediaCore

/// The lines of a configuration's keys, for messages. All values are equal, so that configurations that differ in lines
/// only are equal.
struct KeyLines: Sendable, Equatable {
    private var lines: [String: Int] = [:]

    init() {}

    init(_ table: TOMLDocument.Table) { add(table, path: "") }

    static func == (left: Self, right: Self) -> Bool { true }

    /// Returns the line of a key such as `fleet.password_file`, or of a list element such as `playlist[2]`; 0 if
    /// absent.
    func line(_ path: String) -> Int { lines[path] ?? 0 }

    private mutating func add(_ table: TOMLDocument.Table, path: String) {
        for entry in table.entries {
            let path = path.isEmpty ? entry.key : "\(path).\(entry.key)"
            lines[path] = entry.node.line
            switch entry.node.value {
            case .table(let inner): add(inner, path: path)
            case .array(let nodes): for (index, node) in nodes.enumerated() { lines["\(path)[\(index)]"] = node.line }
            default: break
            }
        }
    }
}
