/// An error in the contents of a user-provided file.
package enum FileFailure: Error, Equatable {
    /// The end of a sentence: "is no WAV file".
    case unreadable(String)
}
