internal import MediaCore

/// Returns a transform for an option with a fixed set of words.
///
/// - Parameter sentence: The error message for any other word; lists the valid ones.
func valueChoice<Value: RawRepresentable<String> & SendableMetatype>(_ sentence: String)
    -> @Sendable (String) throws -> Value
{
    { word in
        guard let value = Value(rawValue: word) else { throw ValueError(sentence) }
        return value
    }
}
