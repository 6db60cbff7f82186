internal import Text

/// An icon drawn without a font: polygons in a unit square with the origin at its upper left corner.
struct BarSign {
    private(set) var shapes: [[TextScript.Point]] = []

    init(_ control: ScreenBar.Control, of bar: ScreenBar) {
        switch control {
        case .play where bar.isWaiting:
            for offset in [0.0, 0.39, 0.78] { block(offset, 0.39, width: 0.22, height: 0.22) }
        case .play where bar.isPlaying:
            block(0.1, 0, width: 0.28, height: 1)
            block(0.62, 0, width: 0.28, height: 1)
        case .play: shape([(0.1, 0), (1, 0.5), (0.1, 1)])
        case .next:
            shape([(0.05, 0.1), (0.7, 0.5), (0.05, 0.9)])
            block(0.75, 0.1, width: 0.18, height: 0.8)
        case .previous:
            shape([(0.95, 0.1), (0.3, 0.5), (0.95, 0.9)])
            block(0.07, 0.1, width: 0.18, height: 0.8)
        case .mute:
            shape([(0, 0.32), (0.22, 0.32), (0.55, 0.05), (0.55, 0.95), (0.22, 0.68), (0, 0.68)])
            if bar.volume?.isMuted ?? true {
                shape([(0.66, 0.36), (0.72, 0.3), (1, 0.64), (0.94, 0.7)])
                shape([(0.94, 0.3), (1, 0.36), (0.72, 0.7), (0.66, 0.64)])
            } else {
                shape([(0.66, 0.36), (0.74, 0.32), (0.78, 0.5), (0.74, 0.68), (0.66, 0.64), (0.69, 0.5)])
                shape([(0.8, 0.2), (0.89, 0.16), (0.98, 0.5), (0.89, 0.84), (0.8, 0.8), (0.88, 0.5)])
            }
        case .button(.fullScreen):
            // Four corners.
            for (left, top) in [(0.0, 0.0), (0.65, 0), (0, 0.65), (0.65, 0.65)] {
                block(left, top == 0 ? 0 : 0.87, width: 0.35, height: 0.13)
                block(left == 0 ? 0 : 0.87, top, width: 0.13, height: 0.35)
            }
        case .button, .position, .volume, .volumeNumber, .nothing: break
        }
    }

    init(_ symbol: OutputSymbol) {
        switch symbol {
        case .computer:
            frame(0, 0.05, width: 1, height: 0.68)
            block(0.42, 0.73, width: 0.16, height: 0.12)
            block(0.24, 0.85, width: 0.52, height: 0.1)
        case .television:
            frame(0, 0.28, width: 1, height: 0.68)
            // The antenna.
            shape([(0.18, 0.06), (0.26, 0), (0.55, 0.28), (0.4, 0.28)])
            shape([(0.82, 0.06), (0.74, 0), (0.45, 0.28), (0.6, 0.28)])
        case .speaker:
            frame(0.18, 0, width: 0.64, height: 1)
            octagon(0.5, 0.28, radius: 0.1)
            octagon(0.5, 0.65, radius: 0.19)
        }
    }

    private mutating func frame(_ left: Double, _ top: Double, width: Double, height: Double) {
        let stroke = 0.11
        block(left, top, width: width, height: stroke)
        block(left, top + height - stroke, width: width, height: stroke)
        for side in [left, left + width - stroke] {
            block(side, top + stroke, width: stroke, height: height - 2 * stroke)
        }
    }

    private mutating func octagon(_ x: Double, _ y: Double, radius: Double) {
        let near = radius * 0.414
        let corners = [(near, -radius), (radius, -near), (radius, near), (near, radius)]
        shape(corners.map { (x + $0.0, y + $0.1) } + corners.map { (x - $0.0, y - $0.1) })
    }

    private mutating func shape(_ corners: [(Double, Double)]) {
        shapes.append(corners.map { TextScript.Point($0.0, $0.1) })
    }

    private mutating func block(_ left: Double, _ top: Double, width: Double, height: Double) {
        shape([(left, top), (left + width, top), (left + width, top + height), (left, top + height)])
    }
}
