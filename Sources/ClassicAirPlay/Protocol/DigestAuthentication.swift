internal import AirPlayWire
internal import MediaCore

/// HTTP digest authentication without `qop` (RFC 2069), with which receivers ask for their password.
struct DigestAuthentication: Hashable {
    /// No receiver has longer ones.
    private static let maxValue = 256

    let realm: String
    let nonce: String

    /// Reads an untrusted `WWW-Authenticate` header; nil if it is another scheme or incomplete.
    init?(challenge: String) {
        guard challenge.utf8.count <= 4 * Self.maxValue, challenge.lowercased().hasPrefix("digest ") else { return nil }
        func value(_ name: String) -> String? {
            for part in challenge.dropFirst(7).split(separator: ",") {
                let pair = part.split(separator: "=", maxSplits: 1)
                guard pair.count == 2, pair[0].filter({ $0 != " " }).lowercased() == name else { continue }
                let text = pair[1].drop { $0 == " " }
                let quoted = text.hasPrefix("\"") ? text.dropFirst().prefix { $0 != "\"" } : text.prefix { $0 != " " }
                return quoted.utf8.count <= Self.maxValue ? String(quoted) : nil
            }
            return nil
        }
        guard let realm = value("realm"), let nonce = value("nonce") else { return nil }
        (self.realm, self.nonce) = (realm, nonce)
    }

    /// The user name: receivers use it only as input of the digest.
    private var user: String { realm.lowercased() == "raop" ? "iTunes" : "AirPlay" }

    /// Returns the `Authorization` header of a request.
    ///
    /// - Parameter isUpperCase: Whether digits of the digest are upper case, as the first AirPort Express requires.
    func authorization(
        _ method: String, _ target: String, password: String, isUpperCase: Bool = false
    ) -> String {
        func digest(_ text: String) -> String {
            let digits = Hexadecimal.text(LegacyCryptography.md5(Array(text.utf8)))
            return isUpperCase ? digits.uppercased() : digits.lowercased()
        }
        let response = digest(
            "\(digest("\(user):\(realm):\(password)")):\(nonce):\(digest("\(method):\(target)"))")
        return "Digest username=\"\(user)\", realm=\"\(realm)\", nonce=\"\(nonce)\", uri=\"\(target)\", "
            + "response=\"\(response)\""
    }
}
