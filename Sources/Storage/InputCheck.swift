internal import Glibc
package import MediaCore

/// Checks user-provided input before it is opened, for clear messages about frequent mistakes.
package enum InputCheck {
    /// The expected contents, for the message.
    package enum Kind: String, Sendable {
        case film = "film"
        case timeline = "timeline"
        case file = "file"
    }

    /// Returns true if the text is a URL for a protocol handler, not a path.
    package static func isAddress(_ word: String) -> Bool {
        guard let separator = word.firstRange(of: "://") else { return false }
        let scheme = word[..<separator.lowerBound]
        // RFC 3986, 3.1: a letter, then letters, digits, "+", "-" and ".".
        guard let first = scheme.utf8.first, isLetter(first) else { return false }
        return scheme.utf8.allSatisfy {
            isLetter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    /// Returns true if a file or folder exists. Uses access(2) only.
    package static func exists(_ path: String) -> Bool { access(path.systemPath, F_OK) == 0 }

    /// Returns the reason why a path cannot be opened; nil if no problem is found. URLs and standard input (`-`) are
    /// not checked. Uses stat(2) and access(2) only.
    package static func objection(to word: String, what kind: Kind = .film) -> TalkieError? {
        if word == "-" || isAddress(word) { return nil }
        if word.isEmpty || word.utf8.contains(0) {
            return failure("the file name is empty; enter the \(kind) to open")
        }
        var status = stat()
        guard stat(word.systemPath, &status) == 0 else {
            switch errno {
            case ENOENT: return failure("there is no file '\(word)'; check the name and the folder")
            case ENOTDIR: return failure("'\(word)' contains a component that is not a folder; check the path")
            case ELOOP: return failure("'\(word)' is a link that refers to itself; choose the \(kind) itself")
            case EACCES:
                return forbidden("no permission to access a folder of the path '\(word)'; check its permissions")
            default:
                return failure("'\(word)' cannot be accessed (\(SystemCause.text(errno))); check the path")
            }
        }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: return failure("'\(word)' is a folder; choose the \(kind) in it")
        case S_IFSOCK: return failure("'\(word)' is a socket; choose a \(kind) file")
        case S_IFREG where status.st_size == 0: return failure("'\(word)' is empty; copy or download it again")
        default: break
        }
        guard access(word.systemPath, R_OK) == 0 else {
            return forbidden("'\(word)' is not readable; change its permissions or ask its owner")
        }
        return nil
    }

    private static func forbidden(_ message: String) -> TalkieError {
        TalkieError(.notPermitted, message)
    }

    private static func failure(_ message: String) -> TalkieError {
        TalkieError(.cannotOpen, message)
    }
}
