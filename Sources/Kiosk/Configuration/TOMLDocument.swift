internal import CTOML
internal import MediaCore

/// A TOML document (toml.io, 1.0) whose values carry their line numbers. A value.
struct TOMLDocument: Equatable {
    struct Node: Equatable {
        /// From 1.
        var line: Int
        var value: Value
    }

    indirect enum Value: Equatable {
        case string(String)
        case integer(Int64)
        case number(Double)
        case flag(Bool)
        /// Without an offset if the document states none.
        case dateTime(WrittenDateTime)
        case time(TimeOfDay)
        case date
        case array([Node])
        case table(Table)
    }

    struct Table: Equatable {
        var line: Int
        /// In line order.
        var entries: [Entry] = []

        subscript(_ key: String) -> Node? { entries.first { $0.key == key }?.node }
    }

    struct Entry: Equatable {
        var key: String
        var node: Node
    }

    let root: Table

    /// The maximum size in bytes, beyond any configuration written by hand.
    static let maxBytes = 1 << 20

    /// Parses a document.
    ///
    /// - Throws: The first syntax error that toml++ finds, with its line.
    init(_ bytes: [UInt8], file: String) throws(ConfigMistake) {
        guard bytes.count <= Self.maxBytes else {
            throw ConfigMistake(
                file, line: 0, "the file is larger than a megabyte, which is too large for a configuration")
        }
        let builder = Builder()
        var line: UInt32 = 0
        var message = [CChar](repeating: 0, count: 512)
        let isRead = bytes.withUnsafeBytes { bytes in
            message.withUnsafeMutableBufferPointer { message in
                ctoml_read(
                    bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count,
                    Unmanaged.passUnretained(builder).toOpaque(),
                    { context, event in
                        guard let context, let event else { return }
                        Unmanaged<Builder>.fromOpaque(context).takeUnretainedValue().handle(event.pointee)
                    }, &line, message.baseAddress, message.count)
            }
        }
        guard isRead else {
            let sentence = PrintableText.of(
                String(decoding: message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
            throw ConfigMistake(
                file, line: Int(line), Self.timeHint(bytes, line: Int(line)) ?? "TOML syntax error: \(sentence)")
        }
        root = builder.root
    }

    /// Returns a sentence about a time without seconds and quotation marks, which TOML does not have; nil if the line
    /// contains none.
    private static func timeHint(_ bytes: [UInt8], line: Int) -> String? {
        let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        guard lines.indices.contains(line - 1), lines[line - 1].count < 256 else { return nil }
        let fields = String(decoding: lines[line - 1], as: UTF8.self).split(separator: "=", maxSplits: 1)
        guard fields.count == 2, let time = fields[1].prefixMatch(of: /\s*([0-9]{1,2}:[0-9]{2})\s*(#|$|\r)/) else {
            return nil
        }
        return "a time is written in quotation marks: \(fields[0].filter { !$0.isWhitespace }) = \"\(time.1)\""
    }

    /// Builds the document from the events of its traversal.
    private final class Builder {
        private enum Open {
            case array(key: String?, line: Int, [Node])
            case table(key: String?, Table)
        }

        private var open: [Open] = []
        private(set) var root = Table(line: 1)

        func handle(_ event: ctoml_event) {
            let key = Self.text(event.key, event.key_length)
            let line = Int(event.line)
            switch event.kind {
            case CTOML_TABLE: open.append(.table(key: key, Table(line: line)))
            case CTOML_ARRAY: open.append(.array(key: key, line: line, []))
            case CTOML_END: close()
            default: if let value = Self.value(event) { add(Node(line: line, value: value), key) }
            }
        }

        private func close() {
            switch open.popLast() {
            case .array(let key, let line, let nodes)?: add(Node(line: line, value: .array(nodes)), key)
            case .table(let key, let table)?:
                if open.isEmpty { root = table } else { add(Node(line: table.line, value: .table(table)), key) }
            case nil: break
            }
        }

        private func add(_ node: Node, _ key: String?) {
            switch open.popLast() {
            case .array(let own, let line, var nodes)?:
                nodes.append(node)
                open.append(.array(key: own, line: line, nodes))
            case .table(let own, var table)?:
                table.entries.append(Entry(key: key ?? "", node: node))
                open.append(.table(key: own, table))
            case nil: break
            }
        }

        private static func value(_ event: ctoml_event) -> Value? {
            let time = TimeOfDay(hour: Int(event.hour), minute: Int(event.minute), second: Int(event.second))
            switch event.kind {
            case CTOML_STRING: return .string(text(event.text, event.text_length) ?? "")
            case CTOML_INTEGER: return .integer(event.integer)
            case CTOML_FLOAT: return .number(event.number)
            case CTOML_BOOLEAN: return .flag(event.flag)
            case CTOML_DATE: return .date
            case CTOML_TIME: return time.map { .time($0) }
            case CTOML_DATE_TIME:
                return time.map {
                    .dateTime(
                        WrittenDateTime(
                            year: Int(event.year), month: Int(event.month), day: Int(event.day), time: $0,
                            offsetMinutes: event.has_offset ? Int(event.offset_minutes) : nil))
                }
            default: return nil
            }
        }

        private static func text(_ start: UnsafePointer<CChar>?, _ length: Int) -> String? {
            start.map { start in
                String(decoding: UnsafeRawBufferPointer(start: start, count: length), as: UTF8.self)
            }
        }
    }
}

extension TOMLDocument.Value {
    /// The kind of the value for messages, such as `a number`.
    var kindName: String {
        switch self {
        case .string: "a string"
        case .integer, .number: "a number"
        case .flag: "true or false"
        case .dateTime: "a date with a time"
        case .time: "a time"
        case .date: "a date"
        case .array: "a list"
        case .table: "a table"
        }
    }
}
