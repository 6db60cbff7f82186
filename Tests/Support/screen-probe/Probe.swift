import Glibc
import LocalOutput
import MediaCore
import SyncRendering

/// Shows synthetic pictures on a real screen as lines on standard input tell, and answers each with one line.
/// `screen-probe bench …` measures instead.
func runProbe() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.first == "bench" { return bench(Array(arguments.dropFirst())) }
    if arguments.first == "loop" { return loopBench(Array(arguments.dropFirst())) }
    var options = ScreenOptions()
    for argument in arguments {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { fail("no such argument: \(argument)") }
        switch parts[0] {
        case "presentation": options.presentation = ScreenOptions.Presentation(rawValue: parts[1]) ?? .automatic
        case "size": options.size = size(parts[1])
        case "screen": options.display = ScreenOptions.Display(parts[1])
        case "fs": options.isFullScreen = parts[1] == "1"
        default: fail("no such argument: \(argument)")
        }
    }
    let screen: Screen
    do { screen = try Screen(options: options, converter: ScalerConverter()) } catch { fail(error.message) }
    answer("ready")
    while let line = readLine() {
        let words = line.split(separator: " ").map(String.init)
        switch words.first {
        case "picture":
            let picture = synthetic(words.dropFirst())
            screen.prepare(picture)
            _ = screen.present()
            answer("shown \(screen.presentation)")
        case "quit": return
        default: fail("no such command: \(line)")
        }
    }
}

/// `WxH [format=nv12] [matrix=N] [full=1] [rotation=90] [aspect=4:3]`
func synthetic(_ words: some Sequence<String>) -> SyntheticPicture {
    var pictureSize = PixelSize(width: 320, height: 180)
    var format = PixelFormat.yuv420p
    var aspect = Ratio.one
    var rotation = 0
    var color = ColorDescription()
    for word in words {
        let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else {
            pictureSize = size(word)
            continue
        }
        switch parts[0] {
        case "format": format = parts[1] == "nv12" ? .nv12 : .yuv420p
        case "matrix": color.matrix = UInt8(parts[1]) ?? 2
        case "full": color.isFullRange = parts[1] == "1"
        case "rotation": rotation = Int(parts[1]) ?? 0
        case "aspect":
            let numbers = parts[1].split(separator: ":").compactMap { Int($0) }
            aspect = Ratio(numbers[0], numbers[1])
        default: fail("no such word: \(word)")
        }
    }
    return SyntheticPicture(
        size: pictureSize, format: format, pixelAspect: aspect, rotation: rotation, color: color)
}

func size(_ text: String) -> PixelSize {
    let numbers = text.split(separator: "x").compactMap { Int($0) }
    guard numbers.count == 2 else { fail("no size: \(text)") }
    return PixelSize(width: numbers[0], height: numbers[1])
}

func answer(_ line: String) {
    print(line)
    fflush(nil)
}

func fail(_ message: String) -> Never {
    answer("error \(message)")
    exit(1)
}
