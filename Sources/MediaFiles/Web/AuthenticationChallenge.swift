internal import CFFmpeg
internal import MediaCore

/// A challenge of a server that a name and a password can answer: Basic (RFC 7617), or Digest with MD5 or SHA-256
/// (RFC 7616).
struct AuthenticationChallenge: Sendable {
    private enum Method: Sendable { case basic, md5, sha256 }

    private let method: Method
    private let parameters: [String: String]

    /// Returns the strongest challenge that is supported; nil if there is none.
    ///
    /// - Parameter fields: The values of `WWW-Authenticate`, each with one or several challenges (RFC 9110, 11.6.1).
    static func strongest(in fields: [String]) -> AuthenticationChallenge? {
        let all = challenges(in: fields).compactMap(Self.init)
        return all.first { $0.method == .sha256 } ?? all.first { $0.method == .md5 } ?? all.first
    }

    /// Returns the methods that a server offers, for a message: `NTLM, Digest (SHA-512-256)`.
    static func names(in fields: [String]) -> String {
        let names = challenges(in: fields).map { challenge in
            challenge.parameters["algorithm"].map { "\(challenge.scheme) (\($0))" } ?? challenge.scheme
        }
        return PrintableText.of(String(names.joined(separator: ", ").prefix(100)))
    }

    private init?(_ challenge: Challenge) {
        parameters = challenge.parameters
        switch (challenge.scheme.lowercased(), parameters["algorithm"]?.uppercased() ?? "MD5") {
        case ("basic", _): method = .basic
        case ("digest", "MD5"): method = .md5
        case ("digest", "SHA-256"): method = .sha256
        default: return nil
        }
        // Protection of the body as well (`auth-int`) is not supported.
        if method != .basic, let offered = parameters["qop"], !Self.tokens(offered).contains("auth") { return nil }
    }

    private static func tokens(_ list: String) -> [String] {
        list.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
    }

    // MARK: Response

    /// Returns the value of `Authorization` for a GET request.
    ///
    /// - Parameters:
    ///   - credentials: Name and password, separated by a colon.
    ///   - number: The number of the request with the challenge's nonce, from 1 on.
    func response(_ credentials: String, target: String, number: UInt32) -> String {
        if method == .basic { return "Basic " + Self.base64(Array(credentials.utf8)) }
        // RFC 7616, 3.4.
        let pair = credentials.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let (name, secret) = (String(pair[0]), pair.count > 1 ? String(pair[1]) : "")
        let (realm, nonce) = (parameters["realm"] ?? "", parameters["nonce"] ?? "")
        let count = String(String(UInt64(0x1_0000_0000) + UInt64(number), radix: 16).dropFirst())
        let own = String(UInt64.random(in: .min ... .max), radix: 16)
        let (first, second) = (hash("\(name):\(realm):\(secret)"), hash("GET:\(target)"))
        let isCounted = parameters["qop"] != nil
        let response = hash(
            isCounted ? "\(first):\(nonce):\(count):\(own):auth:\(second)" : "\(first):\(nonce):\(second)")
        var text =
            "Digest username=\(Self.quoted(name)), realm=\(Self.quoted(realm)), nonce=\(Self.quoted(nonce)), "
            + "uri=\(Self.quoted(target)), response=\"\(response)\""
        if method == .sha256 { text += ", algorithm=SHA-256" }
        if let opaque = parameters["opaque"] { text += ", opaque=\(Self.quoted(opaque))" }
        if isCounted { text += ", qop=auth, nc=\(count), cnonce=\"\(own)\"" }
        return text
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for character in text.unicodeScalars {
            if character == "\"" || character == "\\" { quoted += "\\" }
            quoted.unicodeScalars.append(character)
        }
        return quoted + "\""
    }

    private func hash(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var digest = [UInt8](repeating: 0, count: method == .sha256 ? 32 : 16)
        if method == .sha256 {
            let context = av_sha_alloc()
            defer { av_free(UnsafeMutableRawPointer(context)) }
            guard let context, av_sha_init(context, 256) == 0 else { return "" }
            av_sha_update(context, bytes, bytes.count)
            av_sha_final(context, &digest)
        } else {
            av_md5_sum(&digest, bytes, bytes.count)
        }
        return Hexadecimal.text(digest).lowercased()
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: (bytes.count + 2) / 3 * 4 + 1) { buffer in
            guard av_base64_encode(buffer.baseAddress, Int32(buffer.count), bytes, Int32(bytes.count)) != nil else {
                return ""
            }
            return String(cString: buffer.baseAddress!)
        }
    }

    // MARK: Parsing

    private struct Challenge {
        var scheme: String
        var parameters: [String: String] = [:]
    }

    /// Splits fields at the commas outside of quotation marks. An item without `=`, or with a space before it, begins
    /// a challenge; the others are parameters of the last one. The first value of a parameter counts.
    private static func challenges(in fields: [String]) -> [Challenge] {
        var all: [Challenge] = []
        for item in fields.flatMap({ items(of: $0.prefix(8192)) }) {
            let name = item.prefix { $0 != " " && $0 != "=" }
            var parameter = item
            let rest = item[name.endIndex...].drop { $0 == " " }
            if !name.isEmpty, !rest.hasPrefix("=") {
                all.append(Challenge(scheme: String(name)))
                parameter = rest
            }
            let pair = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, !all.isEmpty else { continue }
            let key = pair[0].filter { $0 != " " }.lowercased()
            let value = unquoted(pair[1].drop { $0 == " " })
            if all[all.count - 1].parameters[key] == nil { all[all.count - 1].parameters[key] = value }
        }
        return all
    }

    private static func items(of field: Substring) -> [Substring] {
        var (isQuoted, isEscaped) = (false, false)
        return field.split { character in
            defer { isEscaped = isQuoted && !isEscaped && character == "\\" }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            return character == "," && !isQuoted
        }.map { item in item.drop { $0 == " " || $0 == "\t" } }
    }

    private static func unquoted(_ value: Substring) -> String {
        guard value.first == "\"" else { return String(value.prefix { $0 != " " && $0 != "\t" }) }
        var (text, isEscaped) = ("", false)
        for character in value.dropFirst() {
            if !isEscaped, character == "\"" { break }
            isEscaped = !isEscaped && character == "\\"
            if !isEscaped { text.append(character) }
        }
        return text
    }
}
