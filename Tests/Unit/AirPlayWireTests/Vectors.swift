import Foundation

/// The protocol's test vectors (Tests/Fixtures/airplay-vectors.json): byte strings are lower-case hexadecimal.
struct Vectors {
    private let root: [String: Any]

    init(_ section: String...) throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Fixtures/airplay-vectors.json")
        var value = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any] ?? [:]
        for name in section { value = value[name] as? [String: Any] ?? [:] }
        root = value
    }

    func text(_ key: String) -> String { root[key] as? String ?? "missing vector \(key)" }
    func int(_ key: String) -> Int { root[key] as? Int ?? -1 }
    func bytes(_ key: String) -> [UInt8] { Array(hex: text(key)) }
    func cases(_ key: String) -> [[String: Any]] { root[key] as? [[String: Any]] ?? [] }
}

extension Array where Element == UInt8 {
    init(hex: String) {
        let digits = Array<Character>(hex)
        self = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...($0 + 1)]), radix: 16)
        }
    }

    var hex: String { map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined() }
}
