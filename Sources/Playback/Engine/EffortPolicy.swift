internal import MediaCore

/// Decides how much a decoder should do from whether its pictures come out in time.
///
/// A dozen pictures in a row that come too late cost one step. The way back is counted in film and not in pictures: where
/// only key pictures are left, some seconds apart, a count would keep a film that stumbled once a slide show for minutes.
struct EffortPolicy {
    static let patience = 12
    /// A dozen seconds lead from key pictures alone back to everything.
    static let recovery: Duration = .seconds(4)

    /// A screen that shows more pictures a second is rare, and nobody would tell them apart in film that is wound.
    private static let mostPicturesASecond = 120.0

    /// Whether pictures of a length pass faster than they can be shown, give or take what lengths are rounded by.
    static func isHurried(_ length: MediaTime, at rate: Double) -> Bool {
        length > .zero && rate / length.seconds > mostPicturesASecond * 1.01
    }

    /// Returns how many pictures of a length are missing between two film times.
    static func missing(from end: MediaTime, to start: MediaTime, each length: MediaTime) -> Int {
        guard length > .zero, start > end else { return 0 }
        return Int(clamping: (start - end).seconds / length.seconds, in: 0...1 << 40)
    }

    private var lateInARow = 0
    private var timelySince: MediaTime?

    enum Advice: Equatable { case same, less, more }

    /// The decoder starts anew somewhere else.
    mutating func reset() { self = EffortPolicy() }

    /// A picture that is due until `end` came out of the decoder when the film was at `now`.
    mutating func advice(end: MediaTime, now: MediaTime) -> Advice {
        guard end >= now else {
            timelySince = nil
            lateInARow += 1
            guard lateInARow >= Self.patience else { return .same }
            lateInARow = 0
            return .less
        }
        lateInARow = 0
        guard let since = timelySince else {
            timelySince = end
            return .same
        }
        guard (end - since).duration >= Self.recovery else { return .same }
        timelySince = end
        return .more
    }
}
