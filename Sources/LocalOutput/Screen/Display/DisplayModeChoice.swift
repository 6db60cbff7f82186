internal import MediaCore

/// Chooses one of a display's modes.
struct DisplayModeChoice {
    struct Mode: Hashable {
        var size: PixelSize
        /// Refreshes a second in whole numbers, which is all that SDL 2 tells: 59.94 and 60 are one. 0 is not known.
        var rate: Int
    }

    enum Answer: Equatable {
        case asItIs
        case mode(Mode)
        /// There is none; for people.
        case none(String)
    }

    /// All that the display has.
    var modes: [Mode]
    /// As the system has set it.
    var desktop: Mode
    /// Nil where the window system does not say.
    var preferred: Mode?

    /// How far a rate may lie beside a multiple of the film's. SDL rounds rates to whole numbers: 23.976 is 24, 59.94 is 60, a thousandth apart;
    /// 24 and 25 are forty times as far.
    private static let tolerance = 0.0025

    /// - Parameter filmRate: pictures a second; nil where there are none.
    func answer(to wish: DisplayMode, filmRate: Double?) -> Answer {
        switch wish {
        case .current: return .asItIs
        case .preferred: return taken(preferred ?? largest ?? desktop)
        case .film:
            guard let filmRate, filmRate.isFinite, filmRate > 0 else { return .asItIs }
            return mode(forFilm: filmRate)
        case .fixed(let width, let height, let rate):
            let fitting = modes.filter { $0.size == PixelSize(width: width, height: height) }
            let best =
                if let rate {
                    fitting.filter { abs(Double($0.rate) - rate) <= 0.5 }
                        .min { abs(Double($0.rate) - rate) < abs(Double($1.rate) - rate) }
                } else {
                    fitting.max { $0.rate < $1.rate }
                }
            if let best { return taken(best) }
            let wanted = "\(width)x\(height)" + (rate.map { "@\(Self.plain($0))" } ?? "")
            return .none("the display has no mode of \(wanted), only \(list); it stays as it is")
        }
    }

    private var largest: Mode? {
        modes.max { ($0.size.width * $0.size.height, $0.rate) < ($1.size.width * $1.size.height, $1.rate) }
    }

    /// The nearest to what it does now, of those that fit.
    private func mode(forFilm rate: Double) -> Answer {
        func fits(_ mode: Mode) -> Bool {
            let times = (Double(mode.rate) / rate).rounded()
            return times >= 1 && abs(Double(mode.rate) - times * rate) <= times * rate * Self.tolerance
        }
        if fits(desktop) { return .asItIs }
        let best = modes.filter { $0.size == desktop.size && fits($0) }
            .min { (abs($0.rate - desktop.rate), -$0.rate) < (abs($1.rate - desktop.rate), -$1.rate) }
        if let best { return .mode(best) }
        return .none(
            "no mode of \(desktop.size.width)x\(desktop.size.height) refreshes a whole number of times for each of "
                + "\(Self.plain(rate)) pictures a second; the display stays as it is")
    }

    private func taken(_ mode: Mode) -> Answer { mode == desktop ? .asItIs : .mode(mode) }

    private var list: String {
        modes.isEmpty
            ? "none that it tells"
            : modes.prefix(12).map { "\($0.size.width)x\($0.size.height)@\($0.rate)" }.joined(separator: ", ")
    }

    private static func plain(_ rate: Double) -> String {
        let thousandths = (rate * 1000).rounded() / 1000
        return thousandths == thousandths.rounded() && abs(thousandths) < 1e6
            ? "\(Int(thousandths))" : "\(thousandths)"
    }
}
