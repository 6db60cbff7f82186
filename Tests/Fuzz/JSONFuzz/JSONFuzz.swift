@testable import MediaCore

/// Parses the bytes as JSON: elements and depth are limited, every string is UTF-8, and a value is read
/// back equal, except for the rounding of reals.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSON(_ start: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let limit = 256
    var reader = JSONReader(maxElements: limit)
    guard let node = reader.read(UnsafeRawBufferPointer(start: start, count: size)) else {
        precondition(reader.failure != nil, "a refusal has a reason")
        return 0
    }
    precondition(reader.failure == nil && node.elements.count <= limit && node.end == node.elements.count)
    let value = JSONValue(node)
    precondition(depth(of: value) <= JSONReader.maxDepth)
    let text = Array(value.compact.utf8)
    text.withUnsafeBytes { bytes in
        guard let again = reader.read(bytes) else { preconditionFailure("what is written is valid") }
        precondition(withoutReals(JSONValue(again)) == withoutReals(value))
    }
    return 0
}

private func depth(of value: JSONValue) -> Int {
    switch value {
    case .array(let values): 1 + (values.map(depth).max() ?? 0)
    case .object(let members): 1 + (members.map { depth(of: $0.1) }.max() ?? 0)
    case .text, .integer, .real, .flag, .null: 0
    }
}

private func withoutReals(_ value: JSONValue) -> JSONValue {
    switch value {
    case .array(let values): .array(values.map(withoutReals))
    case .object(let members): .object(members.map { ($0.0, withoutReals($0.1)) })
    case .real: .null
    case .text, .integer, .flag, .null: value
    }
}
