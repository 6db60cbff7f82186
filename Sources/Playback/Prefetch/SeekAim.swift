import MediaCore

/// The target frame of a seek.
enum SeekAim: Sendable, Equatable {
    /// The frame at the target.
    case exact
    /// Same for one track while the others play on: an input that all tracks share is not moved.
    case exactAlone
    /// The last sync frame not after the target, at any distance.
    case anySyncBefore
    /// The last sync frame not after the target within the distance, otherwise the frame at the target.
    case syncBefore(within: MediaTime)
    /// The first sync frame not before the target within the distance, otherwise the frame at the target.
    case syncAfter(within: MediaTime)
}
