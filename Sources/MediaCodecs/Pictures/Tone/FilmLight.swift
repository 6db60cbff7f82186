internal import Glibc

/// The transfer functions of HDR films in double precision, for filling tables.
enum FilmLight {
    static func power(_ base: Double, _ exponent: Double) -> Double { pow(max(0, base), exponent) }

    /// SMPTE ST 2084:2014, sections 5.1 and 5.2; ITU-R BT.2100-2, table 4.
    enum PQ {
        static let m1 = 2610.0 / 16384
        static let m2 = 2523.0 / 4096 * 128
        static let c1 = 3424.0 / 4096
        static let c2 = 2413.0 / 4096 * 32
        static let c3 = 2392.0 / 4096 * 32
        /// cd/m² of signal 1.
        static let peak = 10_000.0

        /// Returns the light in cd/m².
        ///
        /// - Parameter signal: 0…1; clamped.
        static func light(_ signal: Double) -> Double {
            let root = pow(min(1, max(0, signal)), 1 / m2)
            return peak * pow(max(0, root - c1) / (c2 - c3 * root), 1 / m1)
        }

        /// Returns the signal, 0…1.
        ///
        /// - Parameter light: In cd/m².
        static func signal(_ light: Double) -> Double {
            let power = pow(min(1, max(0, light / peak)), m1)
            return pow((c1 + c2 * power) / (1 + c3 * power), m2)
        }
    }

    /// ARIB STD-B67; ITU-R BT.2100-2, table 5.
    enum HLG {
        static let a = 0.17883277
        static let b = 1 - 4 * a
        static let c = 0.5 - a * log(4 * a)
        /// cd/m² of the display that the system gamma below is defined for.
        static let peak = 1000.0
        /// System gamma of a display with that peak.
        static let systemGamma = 1.2

        /// Returns scene light, 0…1.
        ///
        /// - Parameter signal: 0…1, or slightly more for whites above nominal.
        static func scene(_ signal: Double) -> Double {
            let signal = max(0, signal)
            return signal <= 0.5 ? signal * signal / 3 : (exp((min(signal, 1.1) - c) / a) + b) / 12
        }
    }

    /// ITU-R BT.1886, annex 1, for a display with zero black level.
    enum BT1886 {
        static let gamma = 2.4
        static func signal(_ light: Double) -> Double { pow(min(1, max(0, light)), 1 / gamma) }
    }
}

/// Linear red, green and blue.
typealias LinearColor = SIMD3<Double>

/// Colour primaries of a film.
enum FilmPrimaries: Equatable {
    case bt709
    case bt2020
    /// SMPTE EG 432-1 with D65 white.
    case displayP3

    /// - Parameter code: H.273, table 2. HDR without a stated code is BT.2020, as in BT.2100.
    init(code: UInt8) {
        switch code {
        case 1, 4, 5, 6, 7: self = .bt709
        case 11, 12: self = .displayP3
        default: self = .bt2020
        }
    }

    /// The luminance of each primary.
    var weights: LinearColor {
        switch self {
        case .bt709: LinearColor(0.2126, 0.7152, 0.0722)
        case .bt2020: LinearColor(0.2627, 0.6780, 0.0593)
        case .displayP3: LinearColor(0.2290, 0.6917, 0.0793)
        }
    }

    /// The rows of the matrix to linear BT.709.
    ///
    /// Derived from the chromaticities of BT.709-6 table 1, BT.2020-2 table 3 (the result is also in BT.2087-0) and
    /// SMPTE EG 432-1; all have D65 white.
    var toBT709: (LinearColor, LinearColor, LinearColor) {
        switch self {
        case .bt709: (LinearColor(1, 0, 0), LinearColor(0, 1, 0), LinearColor(0, 0, 1))
        case .bt2020:
            (
                LinearColor(1.660491, -0.587641, -0.072850), LinearColor(-0.124551, 1.132900, -0.008349),
                LinearColor(-0.018151, -0.100579, 1.118730)
            )
        case .displayP3:
            (
                LinearColor(1.224940, -0.224940, 0), LinearColor(-0.042057, 1.042057, 0),
                LinearColor(-0.019638, -0.078636, 1.098274)
            )
        }
    }
}
