/// What is wrong with the bytes of a file that a person named.
package enum FileFailure: Error, Equatable {
    /// A sentence's end: "is no WAV file".
    case unreadable(String)
}
