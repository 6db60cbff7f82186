internal import Glibc

/// File names as text. A file name is a sequence of bytes (POSIX.1-2017, 3.170), not necessarily UTF-8.
///
/// Bytes that are not UTF-8 become the private characters U+EF80 to U+EFFF: U+EFE6 for byte 0xE6. A name that contains
/// these characters itself has all their bytes replaced, so `systemPath` returns each name unchanged. They become bytes
/// from 0x80 on, so no text becomes a slash or a terminator.
package enum FileName {
    private static let first: UInt32 = 0xEF80
    private static let escapes = first...first + 0x7F

    /// Returns a file name as text.
    package static func text(_ bytes: some Collection<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self), !hasEscapes(text) { return text }
        var scalars = String.UnicodeScalarView()
        var (parser, input, rest) = (Unicode.UTF8.ForwardParser(), bytes.makeIterator(), bytes[...])
        func escape(_ byte: UInt8) -> Unicode.Scalar {
            Unicode.Scalar(first + UInt32(byte & 0x7F)) ?? "\u{FFFD}"
        }
        while true {
            switch parser.parseScalar(from: &input) {
            case .valid(let encoded):
                let scalar = Unicode.UTF8.decode(encoded)
                if escapes.contains(scalar.value) {
                    scalars.append(contentsOf: encoded.map(escape))
                } else {
                    scalars.append(scalar)
                }
                rest = rest.dropFirst(encoded.count)
            case .error(let length):
                scalars.append(contentsOf: rest.prefix(length).map(escape))
                rest = rest.dropFirst(length)
            case .emptyInput: return String(scalars)
            }
        }
    }

    /// Returns a null-terminated file name as text.
    package static func text(_ name: UnsafePointer<CChar>) -> String {
        text(UnsafeRawBufferPointer(start: name, count: strlen(name)))
    }

    /// Returns the bytes of a file name.
    package static func bytes(_ text: String) -> [UInt8] {
        guard hasEscapes(text) else { return Array(text.utf8) }
        return text.unicodeScalars.flatMap { scalar in
            escapes.contains(scalar.value)
                ? [UInt8(truncatingIfNeeded: scalar.value - first) | 0x80] : Array(String(scalar).utf8)
        }
    }

    /// Returns a file name for display: with U+FFFD for each byte that is not UTF-8.
    package static func displayed(_ text: String) -> String {
        guard hasEscapes(text) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isEscape($0) ? "\u{FFFD}" : $0 }))
    }

    /// Returns true if the bytes of a file name are not UTF-8.
    package static func hasEscapes(_ text: String) -> Bool {
        // 0xEE is the first byte of U+E000 to U+EFFF.
        text.utf8.contains(0xEE) && text.unicodeScalars.contains(where: isEscape)
    }

    private static func isEscape(_ scalar: Unicode.Scalar) -> Bool { escapes.contains(scalar.value) }

    /// The arguments of the command line without the program's name.
    package static var arguments: [String] {
        (1..<max(1, Int(CommandLine.argc))).compactMap { CommandLine.unsafeArgv[$0].map { text($0) } }
    }
}

extension String {
    /// The bytes of a file name with a terminator, for a system call.
    package var systemPath: [CChar] { FileName.bytes(self).map { CChar(bitPattern: $0) } + [0] }
}
