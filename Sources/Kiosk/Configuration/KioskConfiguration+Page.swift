internal import MediaCore
import Remote
import Storage

extension KioskConfiguration {
    /// `[remote]`: the page for a phone.
    struct Page: Sendable, Hashable {
        var address = RemotePageLink.standardAddress
        /// The path of the file that contains the token of the link; nil: each start has another one.
        var tokenFile: String?
    }
}

extension KioskConfiguration.Page {
    /// Reads the token of a file.
    static func token(_ file: String) throws(TalkieError) -> AccessToken {
        guard let token = AccessToken(try SecretFile.read(file)) else {
            throw TalkieError(
                .invalidArgument,
                "the first line of '\(file)' must have 22 to 64 letters, digits, - and _; make one with"
                    + " 'openssl rand -hex 16'")
        }
        return token
    }

    /// Reads the table; nil if it is absent.
    init?(_ reader: inout TableReader, folder: String) {
        guard var inner = reader.inside("remote", expected: "a table, [remote]") else { return nil }
        inner.read("listen", into: &address) { value throws(ValueError) in
            guard case .string(let text) = value else {
                throw ValueError("expected an address such as \"0.0.0.0:9596\"")
            }
            return try HTTPAddress(parsing: text)
        }
        inner.read("token_file", into: &tokenFile) { value throws(ValueError) in
            guard case .string(let text) = value, !text.isEmpty, text.utf8.count <= 1024, !text.utf8.contains(0) else {
                throw ValueError("expected the path of a file with the token")
            }
            return text.hasPrefix("/") ? text : "\(folder)/\(text)"
        }
        reader.finish(inner)
    }
}
