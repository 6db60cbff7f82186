internal import AirPlayWire
internal import CFFmpeg
internal import MediaCore

/// The password of a classic speaker, required by a digest (RFC 2069).
struct DigestPassword {
    private static let realm = "raop"
    private let password: String
    private let nonce = String(UInt64.random(in: 0 ... .max), radix: 16)

    init(_ password: String) { self.password = password }

    /// The value of `WWW-Authenticate`.
    var challenge: String { "Digest realm=\"\(Self.realm)\", nonce=\"\(nonce)\"" }

    /// Returns whether a request proves knowledge of the password.
    func accepts(_ request: RTSPRequest) -> Bool {
        guard let header = request.headers["Authorization"], header.utf8.count <= 2048 else { return false }
        func value(_ name: String) -> Substring? {
            header.split(separator: ",").map { $0.drop { $0 == " " } }
                .first { $0.hasPrefix("\(name)=\"") || $0.hasPrefix("Digest \(name)=\"") }
                .map { $0.split(separator: "\"", omittingEmptySubsequences: false).dropFirst().first ?? "" }
        }
        guard value("nonce") == nonce[...], let user = value("username"), let uri = value("uri") else { return false }
        func digest(_ text: String) -> String {
            let bytes = Array(text.utf8)
            var sum = [UInt8](repeating: 0, count: 16)
            av_md5_sum(&sum, bytes, bytes.count)
            return Hexadecimal.text(sum).lowercased()
        }
        let secret = digest("\(user):\(Self.realm):\(password)")
        return value("response")?.lowercased() == digest("\(secret):\(nonce):\(digest("\(request.method):\(uri)"))")
    }
}
