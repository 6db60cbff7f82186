internal import MediaCore

/// Sentences for a person about kept files that were damaged or newer: each once, in the order in which they were found. Any thread.
package final class StateNotes: Sendable {
    /// Of a folder in which everything is damaged the first files tell enough.
    private static let most = 16

    private let sentences: Lock<[String]>

    package init(_ first: String? = nil) { sentences = Lock(first.map { [$0] } ?? []) }

    /// Nil, and what was said before, is nothing new.
    package func add(_ sentence: String?) {
        guard let sentence else { return }
        sentences.withLock { if $0.count < Self.most, !$0.contains(sentence) { $0.append(sentence) } }
    }

    package var all: [String] { sentences.withLock { $0 } }
}
