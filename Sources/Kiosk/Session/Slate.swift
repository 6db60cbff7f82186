internal import MediaCore
internal import SyncRendering

/// Words for a screen that has no picture to show, so that whoever passes by knows why.
enum Slate: Sendable, Equatable {
    /// There is nothing that can be played; why, where that is known.
    case nothing(String?)
    /// There is only sound.
    case sound(title: String)
    /// Somebody afar wants this to be read.
    case asked(String?)
    /// It begins later.
    case begins(String)

    /// The window's size where it does not fill the screen.
    static let size = PixelSize(width: 1280, height: 720)

    /// - Parameter places: where the sound is heard; nil is nowhere.
    func words(places: String?) -> String {
        switch self {
        case .nothing(let reason): (reason.map { PrintableText.sentence($0) } ?? "There is nothing to show yet.")
        case .sound(let title): title + (places.map { "\n♪ \($0)" } ?? "\nNo sound")
        case .asked(let words): words ?? "This screen is paused"
        case .begins(let time): "Begins at \(time)"
        }
    }
}
