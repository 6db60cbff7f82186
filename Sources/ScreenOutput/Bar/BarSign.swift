internal import Text

/// An icon drawn without a font: polygons in a unit square with the origin at its upper left corner.
struct BarSign {
    private(set) var shapes: [[TextScript.Point]] = []

    init(_ part: ScreenBar.Part, of bar: ScreenBar) {
        switch part {
        case .play where bar.isWaiting:
            for place in [0.0, 0.39, 0.78] { block(place, 0.39, width: 0.22, height: 0.22) }
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
        case .button, .place, .volume, .volumeNumber, .nothing: break
        }
    }

    private mutating func shape(_ corners: [(Double, Double)]) {
        shapes.append(corners.map { TextScript.Point($0.0, $0.1) })
    }

    private mutating func block(_ left: Double, _ top: Double, width: Double, height: Double) {
        shape([(left, top), (left + width, top), (left + width, top + height), (left, top + height)])
    }
}
