/// The assessment of an offset by broadcasting recommendations.
///
/// Offsets are positive when sound is late; in the documents early sound is positive.
struct LipSyncVerdict: Equatable {
    /// The tolerance of one recommendation.
    struct Limit: Equatable {
        let document: String
        let says: String
        /// Permitted offsets in milliseconds.
        let range: ClosedRange<Double>
    }

    /// The tolerances, strictest first.
    static let limits = [
        // ATSC Implementation Subcommittee Finding IS-191 (26 June 2003): sound leads by at most
        // 15 ms and lags by at most 45 ms.
        Limit(document: "ATSC IS-191", says: "for production chains of broadcasters", range: -15...45),
        // EBU Recommendation R37-2007: 40 ms early to 60 ms late at the output that feeds transmitters.
        Limit(document: "EBU R37", says: "the whole chain to the transmitter", range: -40...60),
        // ITU-R BT.1359-1 (1998), considering g), thresholds of detectability: 45 ms early, 125 ms late.
        Limit(document: "ITU-R BT.1359 detectability", says: "rarely noticed", range: -45...125),
        // ITU-R BT.1359-1 (1998), considering g) and recommends 2, thresholds of
        // acceptability: 90 ms early, 185 ms late.
        Limit(document: "ITU-R BT.1359 acceptability", says: "rarely disturbing", range: -90...185),
    ]

    /// One word: `good`, `unnoticed`, `noticeable`, `unacceptable`.
    let name: String
    let isMet: [Bool]

    init(offset: Double) {
        isMet = Self.limits.map { $0.range.contains(offset) }
        name =
            isMet[0] && isMet[1]
            ? "good" : isMet[2] ? "unnoticed" : isMet[3] ? "noticeable" : "unacceptable"
    }

    /// The assessment as a phrase for the user.
    var sentence: String {
        switch name {
        case "good": "within every recommendation"
        case "unnoticed": "not noticeable for most viewers"
        case "noticeable": "noticeable, but accepted by most viewers"
        default: "beyond what viewers accept"
        }
    }
}
