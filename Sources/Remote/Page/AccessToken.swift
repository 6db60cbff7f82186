/// A secret that permits the use of a page; it is a part of the page's address.
package struct AccessToken: Sendable {
    /// The characters of base64url (RFC 4648, section 5).
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    /// Of 6 bits each: 132 bits.
    private static let length = 22
    private static let maxLength = 64

    private let text: String

    /// Creates a random token from the system's generator, which is cryptographically secure.
    package init() {
        var generator = SystemRandomNumberGenerator()
        text = String((0..<Self.length).map { _ in Self.alphabet[Int.random(in: 0..<64, using: &generator)] })
    }

    /// Creates a token from text of a user; nil unless it has 22 to 64 of the characters.
    package init?(_ text: String) {
        guard (Self.length...Self.maxLength).contains(text.utf8.count), text.allSatisfy(Self.alphabet.contains) else {
            return nil
        }
        self.text = text
    }

    /// Returns whether a text is the token. The time does not depend on where they differ.
    func matches(_ other: some StringProtocol) -> Bool {
        let (own, other) = (Array(text.utf8), Array(other.utf8))
        guard own.count == other.count else { return false }
        return zip(own, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// Returns the address of the page.
    package func link(to address: HTTPAddress) -> String { "http://\(address)/\(text)/" }
}
