internal import MediaCore

/// The selection of a display mode.
struct DisplayModeChoice {
    struct Mode: Hashable {
        var size: PixelSize
        /// The refresh rate in Hz, 0 if unknown. SDL 2 reports whole numbers only, an X server exact ones.
        var rate: Double
        /// The server's identifier; nil on other window systems.
        var id: UInt?

        static func == (one: Mode, other: Mode) -> Bool { one.size == other.size && one.rate == other.rate }
        func hash(into hasher: inout Hasher) { hasher.combine(size) }
    }

    enum Answer: Equatable {
        case asItIs
        case mode(Mode)
        /// No mode matches; the message is user-facing.
        case none(String)
    }

    /// All modes of the display.
    var modes: [Mode]
    /// The mode set in the system.
    var desktop: Mode
    /// The preferred mode; nil if the window system does not report it.
    var preferred: Mode?

    /// The relative tolerance of a refresh rate against a multiple of the frame rate. SDL rounds 23.976 to 24 and 59.94
    /// to 60, a difference of 0.1 %; 24 and 25 differ by 4 %.
    private static let tolerance = 0.0025
    /// The tolerance of a multiple that is exact: modes are rounded to their pixel clock.
    private static let exactTolerance = 0.0002

    /// Returns the mode for a request.
    ///
    /// - Parameter filmRate: The frame rate of the video in Hz; nil without video.
    func answer(to request: DisplayMode, filmRate: Double?) -> Answer {
        switch request {
        case .current: return .asItIs
        case .preferred: return taken(preferred ?? largest ?? desktop)
        case .film:
            guard let filmRate, filmRate.isFinite, filmRate > 0 else { return .asItIs }
            return mode(forFilm: filmRate)
        case .fixed(let width, let height, let rate):
            let fitting = modes.filter { $0.size == PixelSize(width: width, height: height) }
            let best =
                if let rate {
                    fitting.filter { abs($0.rate - rate) <= 0.5 }
                        .min { abs($0.rate - rate) < abs($1.rate - rate) }
                } else {
                    fitting.max { $0.rate < $1.rate }
                }
            if let best { return taken(best) }
            let wanted = "\(width)x\(height)" + (rate.map { "@\(Self.plain($0))" } ?? "")
            return .none("the display has no mode \(wanted), only \(list); its mode is unchanged")
        }
    }

    private var largest: Mode? {
        modes.max { ($0.size.width * $0.size.height, $0.rate) < ($1.size.width * $1.size.height, $1.rate) }
    }

    /// Returns the matching mode nearest to the current refresh rate; exact multiples of the frame rate before others.
    private func mode(forFilm rate: Double) -> Answer {
        for tolerance in [Self.exactTolerance, Self.tolerance] {
            func fits(_ mode: Mode) -> Bool {
                let times = (mode.rate / rate).rounded()
                return times >= 1 && abs(mode.rate - times * rate) <= times * rate * tolerance
            }
            if fits(desktop) { return .asItIs }
            let best = modes.filter { $0.size == desktop.size && fits($0) }
                .min { (abs($0.rate - desktop.rate), -$0.rate) < (abs($1.rate - desktop.rate), -$1.rate) }
            if let best { return .mode(best) }
        }
        return .none(
            "no mode of \(desktop.size.width)x\(desktop.size.height) has a refresh rate that is a multiple of "
                + "\(Self.plain(rate)) frames per second; the display mode is unchanged")
    }

    private func taken(_ mode: Mode) -> Answer { mode == desktop ? .asItIs : .mode(mode) }

    private var list: String {
        modes.isEmpty
            ? "none reported"
            : modes.prefix(12).map {
                "\($0.size.width)x\($0.size.height)@\(Self.plain(($0.rate * 100).rounded() / 100))"
            }
            .joined(separator: ", ")
    }

    static func plain(_ rate: Double) -> String {
        let thousandths = (rate * 1000).rounded() / 1000
        return thousandths == thousandths.rounded() && abs(thousandths) < 1e6
            ? "\(Int(thousandths))" : "\(thousandths)"
    }
}
