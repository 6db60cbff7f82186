internal import MediaCore

/// Messages for the user about damaged or newer state files, without duplicates, in order. Any thread.
package final class StateNotes: Sendable {
    /// Maximum number of messages; in a completely damaged folder the first ones suffice.
    private static let maxSentences = 16

    private let sentences: Lock<[String]>

    package init(_ first: String? = nil) { sentences = Lock(first.map { [$0] } ?? []) }

    /// Adds a message; nil and duplicates are ignored.
    package func add(_ sentence: String?) {
        guard let sentence else { return }
        sentences.withLock { if $0.count < Self.maxSentences, !$0.contains(sentence) { $0.append(sentence) } }
    }

    package var all: [String] { sentences.withLock { $0 } }
}
