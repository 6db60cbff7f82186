/// The light in the frames of a video, on a grid of cells.
package struct FilmedLight: Sendable, Equatable {
    /// The grid; rows are numbered as the camera reads them, without the video's rotation.
    package static let columns = 12
    package static let rows = 16
    static let cellCount = columns * rows
    /// Maximum number of frames: 300 s at 240 per second.
    package static let maxFrames = 72_000

    /// The timestamp of each frame in seconds on the recording's timeline, increasing.
    package private(set) var times: [Double] = []
    /// The mean light of each cell, frame by frame and row by row: 0 is black, 1 is white, linear.
    private(set) var cells: [Float] = []

    package init() {}

    /// Appends a frame. A frame that is not later than the previous one is dropped.
    ///
    /// - Parameter light: The light of all cells, row by row.
    package mutating func append(_ light: [Float], at time: Double) {
        guard light.count == Self.cellCount, time.isFinite, times.last.map({ time > $0 }) ?? true else { return }
        times.append(time)
        cells += light
    }

    /// The median interval of frames in seconds; nil for fewer than two.
    var interval: Double? {
        guard times.count > 1 else { return nil }
        return OffsetStatistics.median(zip(times, times.dropFirst()).map { $1 - $0 })
    }
}
