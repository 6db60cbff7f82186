internal import AirPlay
internal import AirPlayTransport
package import MediaCore

/// An output named by the user.
package enum SpeakerChoice: Sendable, Hashable {
    /// This computer's sound card.
    case local
    /// A speaker's name, its identifier, or its address as `airplay://HOST[:PORT]`.
    case named(String)

    /// Parses an output.
    package init(parsing text: String) throws(ValueError) {
        if text.isEmpty { throw ValueError("a speaker must be a name, an ID, airplay://HOST[:PORT] or local") }
        do {
            self = try SpeakerQuery(text) == .local ? .local : .named(text)
        } catch {
            throw ValueError(error.message)
        }
    }

    /// The name for the output providers.
    package var name: String {
        switch self {
        case .local: "local"
        case .named(let text): text
        }
    }
}
