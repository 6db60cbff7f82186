internal import Glibc
internal import MediaCore

/// The address of an input: a file, a pipe or a network resource.
struct InputAddress: Sendable, Hashable {
    enum Kind: Sendable { case file, pipe, network }

    /// The address as the user wrote it, without credentials, for messages.
    let text: String
    /// The URL for libavformat.
    private(set) var url: String
    let kind: Kind
    /// The path in the file system; empty if there is none.
    let path: String

    /// Returns the same address with the bytes read from another file.
    func read(from path: String) -> InputAddress {
        var copy = self
        copy.url = "file:" + path
        return copy
    }

    static let standardInput = "pipe:0"
    /// The protocols of libavformat that carry media over a network. Others would let a playlist or a typing error
    /// reach devices and local programs.
    static let networkSchemes: Set<String> = [
        "http", "https", "rtsp", "rtsps", "rtmp", "rtmps", "rtp", "udp", "tcp", "tls", "srt", "ftp",
    ]

    init(_ written: String) throws(MediaError) {
        let text = PrintableText.withoutCredentials(written)
        self.text = text
        if text == "-" {
            (url, kind, path) = (Self.standardInput, .pipe, "")
            return
        }
        if let scheme = Self.scheme(of: written), scheme != "file" {
            guard Self.networkSchemes.contains(scheme) else {
                throw MediaError(
                    .unsupported,
                    "\"\(text)\" starts with \(scheme)://, which is not supported; use a file or an http(s) address"
                )
            }
            (url, kind, path) = (written, .network, "")
            return
        }
        path =
            written.hasPrefix("file://")
            ? FileName.text(PercentEncoding.decoded(FileName.bytes(String(written.dropFirst(7))))) : written
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw MediaError(.cannotOpen, "the name of the film is empty; enter a file or an address")
        }
        kind = try Self.inspect(path, named: text)
        url = "file:" + path
    }

    private static func scheme(of text: String) -> String? {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), text[colon...].hasPrefix("://") else {
            return nil
        }
        let scheme = text[..<colon].lowercased()
        let isName = scheme.utf8.allSatisfy {
            (97...122).contains($0) || (48...57).contains($0) || $0 == 43 || $0 == 45 || $0 == 46
        }
        return isName && !scheme.isEmpty ? scheme : nil
    }

    /// Checks a local path before it is opened: libavformat would only report "Invalid data".
    private static func inspect(_ path: String, named text: String) throws(MediaError) -> Kind {
        var status = stat()
        if stat(path.systemPath, &status) != 0 {
            switch errno {
            case EACCES:
                throw MediaError(
                    .notPermitted, "no permission to access the folder of \"\(text)\"; check its permissions")
            case ENAMETOOLONG: throw MediaError(.cannotOpen, "the file name is too long; check it")
            case ELOOP:
                throw MediaError(.cannotOpen, "\"\(text)\" is a symbolic link that refers to itself; correct the link")
            default: throw MediaError(.cannotOpen, "there is no file \"\(text)\"; check the name and the folder")
            }
        }
        let type = status.st_mode & S_IFMT
        if type == S_IFDIR {
            throw MediaError(.cannotOpen, "\"\(text)\" is a folder; choose the films in it")
        }
        if access(path.systemPath, R_OK) != 0 {
            throw MediaError(.notPermitted, "no permission to read \"\(text)\"; change its permissions or its owner")
        }
        if type == S_IFREG, status.st_size == 0 {
            throw MediaError(.notMedia, "\"\(text)\" is empty; copy or download it again")
        }
        return type == S_IFREG || type == S_IFBLK ? .file : .pipe
    }
}
