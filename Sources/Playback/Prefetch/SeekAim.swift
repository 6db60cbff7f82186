package import MediaCore

/// What a jump aims at, near its target.
package enum SeekAim: Sendable, Equatable {
    /// The picture at the target.
    case exact
    /// The last sync picture that does not lie behind the target, however far before it that is.
    case anySyncBefore
    /// The last sync picture that does not lie behind the target, when it is no further away; else the picture at the target.
    case syncBefore(within: MediaTime)
    /// The first sync picture that does not lie before the target, when it is no further away; else the picture at the target.
    case syncAfter(within: MediaTime)
}
