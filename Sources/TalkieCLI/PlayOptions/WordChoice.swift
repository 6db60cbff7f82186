internal import MediaCore

/// One of a few words, as an option's transform.
///
/// - Parameter sentence: what is said of any other word: which there are.
func wordChoice<Value: RawRepresentable<String> & SendableMetatype>(_ sentence: String)
    -> @Sendable (String) throws -> Value
{
    { word in
        guard let value = Value(rawValue: word) else { throw ValueError(sentence) }
        return value
    }
}
