import Glibc
import MediaCodecs
import MediaCore
import ScreenOutput
import SyncRendering

/// Measures the cost of a video frame: `bench WxH [window=WxH] [frames=N] [presentation=…]`.
func bench(_ arguments: [String]) {
    var pictureSize = PixelSize(width: 1280, height: 720)
    var frames = 240
    var options = ScreenOptions()
    for argument in arguments {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else {
            pictureSize = size(argument)
            continue
        }
        switch parts[0] {
        case "window": options.size = size(parts[1])
        case "frames": frames = Int(parts[1]) ?? frames
        case "presentation": options.presentation = ScreenOptions.Presentation(rawValue: parts[1]) ?? .automatic
        default: fail("no such argument: \(argument)")
        }
    }
    let screen: Screen
    let started = HostInstant.now
    do { screen = try Screen(options: options, converter: SoftwareFrameConverter()) } catch { fail(error.message) }
    let reached = HostInstant.now
    let color = ColorDescription(primaries: 1, transfer: 1, matrix: 1)
    let pictures = (0..<8).map { SyntheticPicture(size: pictureSize, color: color, shade: $0) }
    let beforeFirst = HostInstant.now
    screen.prepare(pictures[0], under: nil)
    let first = screen.present()
    var preparing: [Double] = []
    var presenting: [Double] = []
    let cpu = processorTime()
    for index in 0..<frames {
        let before = HostInstant.now
        screen.prepare(pictures[index % pictures.count], under: nil)
        let between = HostInstant.now
        let shown = screen.present()
        preparing.append((between - before).inMilliseconds)
        presenting.append((shown - between).inMilliseconds)
    }
    let spent = processorTime() - cpu
    print(
        "\(screen.presentation), window system reached in \(milliseconds(reached - started)) ms,"
            + " first picture \(milliseconds(first - beforeFirst)) ms")
    print("prepare \(summary(&preparing))")
    print("present \(summary(&presenting))")
    print("processor \(spent.inMilliseconds / Double(frames)) ms a picture")
}

func milliseconds(_ duration: Duration) -> Double { (duration.inMilliseconds * 100).rounded() / 100 }

func summary(_ values: inout [Double]) -> String {
    values.sort()
    func at(_ share: Double) -> Double { (values[Int(Double(values.count - 1) * share)] * 1000).rounded() / 1000 }
    return "median \(at(0.5)) ms, p5 \(at(0.05)), p95 \(at(0.95)), worst \(at(1))"
}

func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
