internal import Text

/// The icon of an output.
package enum OutputSymbol: Sendable, Hashable {
    case computer, television, speaker
}

extension TextScript.Colour {
    /// The colour of what plays on another output than this computer: light enough for text on dark video.
    static let elsewhere = TextScript.Colour(red: 92, green: 172, blue: 255)
}
