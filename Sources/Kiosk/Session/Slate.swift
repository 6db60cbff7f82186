internal import MediaCore
internal import SyncRendering

/// A message for a screen without video that states the reason.
enum Slate: Sendable, Equatable {
    /// Nothing can be played, with the reason if known.
    case nothing(String?)
    /// The item has audio only.
    case audio(title: String)
    /// Requested by a fleet command, with its words.
    case asked(String?)
    /// Playback starts at this time.
    case begins(String)

    /// The size of the window if it does not fill the screen.
    static let size = PixelSize(width: 1280, height: 720)

    /// Returns the text of the slate.
    ///
    /// - Parameter outputNames: The names of the audible outputs; nil if there are none.
    func text(outputNames: String?) -> String {
        switch self {
        case .nothing(let reason): (reason.map { PrintableText.sentence($0) } ?? "Nothing to show yet.")
        case .audio(let title): title + (outputNames.map { "\n♪ \($0)" } ?? "\nNo sound")
        case .asked(let message): message ?? "This screen is paused"
        case .begins(let time): "Starts at \(time)"
        }
    }
}
