internal import MediaCore
internal import Sockets

/// How far a connection has come.
enum Standing: Int, Comparable, Sendable {
    /// Nobody knows who it is.
    case stranger
    case paired
    /// It has had a session.
    case begun

    static func < (left: Standing, right: Standing) -> Bool { left.rawValue < right.rawValue }
}

/// Who gives way when every place is taken and somebody new comes.
enum ConnectionSeats {
    struct Seat {
        let source: IPv4Address
        let standing: Standing
    }

    /// The place to be vacated, of those in the order they came; nil when each has a session.
    ///
    /// A session is never interrupted by a stranger. The address with the most places loses one, so that whoever floods
    /// takes his own; of its connections one that is not paired goes first, and of these the oldest.
    static func vacated(_ seats: [Seat]) -> Int? {
        let open = seats.indices.filter { seats[$0].standing < .begun }
        let places = Dictionary(grouping: open) { seats[$0].source }.mapValues(\.count)
        guard let most = places.values.max() else { return nil }
        return open.filter { places[seats[$0].source] == most }
            .min { (seats[$0].standing, $0) < (seats[$1].standing, $1) }
    }
}

/// How long a connection may take: for one request as a whole, and until the next. Bytes alone buy no time.
struct RequestPatience: Sendable {
    /// From a request's first byte to its last, without a session: pairing takes a few hundred bytes.
    static let requestLimit: Duration = .seconds(10)
    /// From one whole request to the next, as shairport-sync has it; a session's largest body (artwork) fits.
    static let idleLimit: Duration = .seconds(60)

    private var lastWhole: HostInstant
    private var began: HostInstant?

    init(now: HostInstant) { lastWhole = now }

    /// Bytes have come.
    ///
    /// - Parameters:
    ///   - completed: a whole request was among them.
    ///   - isPartial: a request is not whole yet.
    mutating func heard(completed: Bool, isPartial: Bool, at now: HostInstant) {
        if completed {
            lastWhole = now
            began = nil
        }
        began = isPartial ? began ?? now : nil
    }

    /// Time that was the speaker's own does not count.
    mutating func restart(at now: HostInstant) {
        lastWhole = now
        if began != nil { began = now }
    }

    /// Why the connection ends now; nil while it may go on.
    func verdict(_ standing: Standing, at now: HostInstant) -> String? {
        if standing < .begun, let began, now - began > Self.requestLimit { return "a request took too long" }
        return now - lastWhole > Self.idleLimit ? "the sender fell silent" : nil
    }
}
