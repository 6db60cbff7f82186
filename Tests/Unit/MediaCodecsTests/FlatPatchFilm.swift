import TalkieTestKit
import Testing

/// Patches of known colours in one frame, encoded here by the equations of the standards. ffmpeg only muxes them and
/// converts no pixel format.
struct FlatPatchFilm: Sendable, CustomTestStringConvertible {
    /// Memory layout of the samples.
    enum Layout: Sendable {
        /// Y, Cb, Cr in planes; chroma has 1/2ⁿ of the columns and rows.
        case planes(columns: Int, rows: Int)
        case luma
        /// G, B, R in planes.
        case planarRGB
        /// Interleaved components in the order of these letters; `0` and `a` are an alpha of zero and of one.
        case packed(String)
    }

    /// The luma weights of ITU-R BT.601-7, 2.5.1, BT.709-6, 3.2 and BT.2020-2, table 4, under ffmpeg's names.
    struct System: Sendable, CustomTestStringConvertible {
        var name: String
        var red, blue: Double
        var testDescription: String { name }
        static let all = [
            System(name: "smpte170m", red: 0.299, blue: 0.114), System(name: "bt709", red: 0.2126, blue: 0.0722),
            System(name: "bt2020nc", red: 0.2627, blue: 0.0593),
        ]
    }

    static let patch = 16
    static let height = 32
    static let colors: [[Int]] = [
        [0, 0, 0], [255, 255, 255], [64, 64, 64], [128, 0, 0], [0, 128, 0], [0, 0, 128], [255, 0, 0], [0, 255, 0],
        [0, 0, 255], [200, 30, 40], [30, 190, 200], [250, 240, 20],
    ]
    static var width: Int { colors.count * patch }

    var format: String
    var layout: Layout
    var bits = 8
    var coding = "-c:v ffv1"
    var container = "mkv"

    init(_ format: String, _ layout: Layout, bits: Int = 8, coding: String = "-c:v ffv1", in container: String = "mkv")
    {
        (self.format, self.layout, self.bits) = (format, layout, bits)
        (self.coding, self.container) = (coding, container)
    }

    var testDescription: String { "\(format) \(coding)" }

    private var isRGB: Bool {
        switch layout {
        case .planes, .luma: false
        case .planarRGB, .packed: true
        }
    }

    /// Returns the components of each colour as integers of `bits` bits: Y, Cb, Cr or R, G, B.
    func codes(_ system: System, isFull: Bool) -> [[Int]] {
        let scale = Double(1 << (bits - 8))
        let maxCode = Double((1 << bits) - 1)
        func coded(_ value: Double) -> Int { Int(min(maxCode, max(0, value.rounded()))) }
        return Self.colors.map { color in
            let light = color.map { Double($0) / 255 }
            if isRGB { return light.map { coded($0 * maxCode) } }
            let luma = system.red * light[0] + (1 - system.red - system.blue) * light[1] + system.blue * light[2]
            let blue = (light[2] - luma) / (2 * (1 - system.blue))
            let red = (light[0] - luma) / (2 * (1 - system.red))
            if isFull { return [coded(luma * maxCode)] + [blue, red].map { coded($0 * maxCode + 128 * scale) } }
            return [coded((219 * luma + 16) * scale)] + [blue, red].map { coded((224 * $0 + 128) * scale) }
        }
    }

    /// Returns red, green and blue of the coded integers, 0…255.
    func expected(_ system: System, isFull: Bool) -> [[Double]] {
        let scale = Double(1 << (bits - 8))
        let maxCode = Double((1 << bits) - 1)
        return codes(system, isFull: isFull).map { code in
            if isRGB { return code.map { Double($0) / maxCode * 255 } }
            let luma = isFull ? Double(code[0]) / maxCode : (Double(code[0]) / scale - 16) / 219
            let chroma = code.dropFirst().map {
                isFull ? (Double($0) - 128 * scale) / maxCode : (Double($0) / scale - 128) / 224
            }
            let green = 1 - system.red - system.blue
            var light = [luma, luma, luma]
            if case .planes = layout {
                light[0] = luma + 2 * (1 - system.red) * chroma[1]
                light[2] = luma + 2 * (1 - system.blue) * chroma[0]
                light[1] = (luma - system.red * light[0] - system.blue * light[2]) / green
            }
            return light.map { min(255, max(0, $0 * 255)) }
        }
    }

    /// Writes the film; returns its path.
    func written(_ system: System, isFull: Bool) throws -> String {
        let range = isFull ? "pc" : "tv"
        let raw = try TestClips.make("patches.raw", of: bytes(codes(system, isFull: isFull)))
        let input = [
            "-f", "rawvideo", "-pixel_format", format, "-video_size", "\(Self.width)x\(Self.height)", "-i", raw,
        ]
        // In H.264 the matrix coefficients identify RGB (H.273, 8.3); there ffmpeg's value is kept.
        let isGivenByMatrix = coding.contains("libx264rgb")
        // Options such as -colorspace convert since FFmpeg 7.1; the filter only tags.
        let tags = ["-vf", "setparams=range=\(range)" + (isGivenByMatrix ? "" : ":colorspace=\(system.name)")]
        return try TestClips.make(
            "patches-\(format).\(container)", input + TestClips.arguments(coding) + ["-pix_fmt", format] + tags)
    }

    private func bytes(_ codes: [[Int]]) -> [UInt8] {
        var all: [UInt8] = []
        func add(_ code: Int) {
            all.append(UInt8(code & 255))
            if bits > 8 { all.append(UInt8(code >> 8)) }
        }
        func addPlane(_ component: Int, columns: Int = 0, rows: Int = 0) {
            for _ in 0..<(Self.height >> rows) {
                for code in codes { for _ in 0..<(Self.patch >> columns) { add(code[component]) } }
            }
        }
        switch layout {
        case .luma: addPlane(0)
        case .planes(let columns, let rows):
            addPlane(0)
            for component in 1...2 { addPlane(component, columns: columns, rows: rows) }
        case .planarRGB: for component in [1, 2, 0] { addPlane(component) }
        case .packed(let order):
            for _ in 0..<Self.height {
                for code in codes {
                    for _ in 0..<Self.patch {
                        for letter in order {
                            switch letter {
                            case "r": add(code[0])
                            case "g": add(code[1])
                            case "b": add(code[2])
                            case "a": add((1 << bits) - 1)
                            default: add(0)
                            }
                        }
                    }
                }
            }
        }
        return all
    }
}
