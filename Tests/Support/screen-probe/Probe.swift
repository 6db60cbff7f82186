import Dispatch
import Glibc
import MediaCodecs
import MediaCore
import ScreenOutput
import SyncRendering

/// Shows synthetic frames on a real screen, controlled by lines on standard input. Answers each line with one line, and
/// prints the window's input events. `screen-probe bench …` and `screen-probe loop …` measure instead; `screen-probe
/// replace …` runs `replace`.
func runProbe() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.first == "bench" { return bench(Array(arguments.dropFirst())) }
    if arguments.first == "loop" { return loopBench(Array(arguments.dropFirst())) }
    let replaces = arguments.first == "replace"
    var options = ScreenOptions()
    for argument in arguments.dropFirst(replaces ? 1 : 0) {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { fail("no such argument: \(argument)") }
        switch parts[0] {
        case "presentation": options.presentation = ScreenOptions.Presentation(rawValue: parts[1]) ?? .automatic
        case "size": options.size = size(parts[1])
        case "screen": options.display = ScreenOptions.Display(parts[1])
        case "fs": options.isFullScreen = parts[1] == "1"
        case "mode": options.mode = mode(parts[1])
        case "nocursor": options.hidesCursor = parts[1] == "1"
        case "awake": options.staysAwake = parts[1] == "1"
        case "board": options.dashboardDisplay = parts[1] == "other" ? .other : .chosen(ScreenOptions.Display(parts[1]))
        case "follow": options.followsDisplays = parts[1] == "1"
        case "placed": options.isPlacedByUser = parts[1] == "1"
        case "rotate", "overscan", "safe": arrange(&options.arrangement, parts)
        default: fail("no such argument: \(argument)")
        }
    }
    if replaces { return replace(options) }
    let loop = ScreenLoop(options: options, converter: SoftwareFrameConverter())
    let script = Script(control: loop.control)
    // On the loop's thread: before the reply to a command that follows the input.
    loop.control.onInput { answer("input \($0)") }
    let reader = try! WorkerThread.start(name: "script") { script.run() }
    loop.run()
    reader.join()
}

/// Shows a square frame, prepares a wide one twice, presents it once, and exits after a line on standard input.
private func replace(_ options: ScreenOptions) {
    let screen: Screen
    let square = options.size ?? PixelSize(width: 640, height: 640)
    do { screen = try Screen(options: options, converter: SoftwareFrameConverter()) } catch { fail(error.message) }
    let color = ColorDescription(primaries: 1, transfer: 1, matrix: 1)
    screen.prepare(SyntheticPicture(size: square, color: color, shade: 0), under: nil)
    _ = screen.present()
    let wide = PixelSize(width: square.width, height: square.height / 2)
    for shade in 0..<2 { screen.prepare(SyntheticPicture(size: wide, color: color, shade: shade), under: nil) }
    _ = screen.present()
    answer("ready")
    _ = readLine()
}

/// Runs the commands of standard input.
final class Script: Sendable {
    let control: ScreenControl
    private let synchronizer = RenderSynchronizer()
    private let layer = DisplayLayer(depth: 8)

    init(control: ScreenControl) { self.control = control }

    func run() {
        synchronizer.add(layer)
        control.attach(
            layer, timebase: synchronizer.timebase, events: EventLog(clock: MonotonicClock(), minimumCapacity: 64))
        answer("ready")
        var number: Int64 = 0
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            switch words.first {
            case "picture":
                layer.flush()
                number += 1
                layer.enqueue(
                    SampleBuffer(
                        payload: .videoFrame(synthetic(words.dropFirst())),
                        presentationTime: MediaTime(value: number, timescale: 25)))
            case "message": control.show(ScreenMessage(words.dropFirst().joined(separator: " "), for: .seconds(60)))
            case "brief": control.show(ScreenMessage(words.dropFirst().joined(separator: " "), for: .milliseconds(50)))
            case "mark": control.show(mark: words.count > 1 ? words.dropFirst().joined(separator: " ") : nil)
            case "fullscreen": control.setFullScreen(words[1] == "1")
            case "open": control.open(for: size(words[1]))
            case "title": control.setTitle(words[1])
            case "sync": break
            case "gravity": layer.videoGravity = VideoGravity(rawValue: words[1]) ?? .resizeAspect
            case "view": control.view = view(words.dropFirst())
            case "arrange":
                var arrangement = ScreenArrangement()
                for word in words.dropFirst() { arrange(&arrangement, word.split(separator: "=").map(String.init)) }
                control.arrangement = arrangement
            case "board":
                let lines = words.dropFirst().map { DashboardContent.Row("Label", $0) }
                control.show(dashboard: DashboardContent(title: "Board", rows: lines))
            case "mode": control.setMode(mode(words[1]), filmRate: words.count > 2 ? Double(words[2]) : nil)
            case "power": control.setPower(words[1] == "1")
            case "panel":
                let rows = words.dropFirst().map { ScreenPanel.Row($0) }
                control.show(panel: rows.isEmpty ? nil : ScreenPanel(title: "Panel", rows: rows))
            case "remove": layer.flushAndRemoveImage()
            case "main":
                let served = DispatchSemaphore(value: 0)
                DispatchQueue.main.async { served.signal() }
                Task { @MainActor in served.signal() }
                let isServed = (0..<2).allSatisfy { _ in served.wait(timeout: .now() + 5) == .success }
                answer("done main=\(isServed ? 1 : 0)")
                continue
            case "rest":
                // Reports the processor time used during one idle second.
                let before = processorTime()
                HostInstant.now.advanced(by: .seconds(1)).sleep()
                answer("rested \((processorTime() - before).inMilliseconds)")
                continue
            case "quit":
                control.stop()
                return
            default: fail("no such command: \(line)")
            }
            // Commands run in order, and the frame enqueued before them is presented in the same iteration of the loop.
            // The second snapshot therefore comes after that frame.
            _ = snapshot()
            let picture = snapshot()
            let status = control.status
            let shown = picture.map { "\($0.size.width)x\($0.size.height)" } ?? "none"
            let area = status.area.map { "\($0.width)x\($0.height)" } ?? "none"
            answer(
                "done picture=\(shown) area=\(area) shown=\(status.shown) visible=\(status.isVisible) "
                    + "fullscreen=\(status.isFullScreen) refresh=\(status.refresh) by=\(status.presentation)")
        }
        control.stop()
    }

    /// Parses `zoom=1 panx=0.1 pany=0 panscan=0 aspect=1.5 rotate=90`; each part is optional.
    private func view(_ words: ArraySlice<String>) -> VideoGeometry {
        var view = VideoGeometry()
        for word in words {
            let parts = word.split(separator: "=").map(String.init)
            guard parts.count == 2, let value = Double(parts[1]) else { fail("no such view: \(word)") }
            switch parts[0] {
            case "zoom": view.zoom = value
            case "panx": view.panX = value
            case "pany": view.panY = value
            case "panscan": view.panscan = value
            case "aspect": view.aspect = .ratio(value)
            case "rotate": view.rotation = Int(value)
            default: fail("no such view: \(word)")
            }
        }
        return view
    }

    private func snapshot() -> ScreenSnapshot? {
        let done = Signal()
        let result = Lock<ScreenSnapshot?>(nil)
        Task.detached { [control] in
            let picture = await control.snapshot()
            result.withLock { $0 = picture }
            done.raise()
        }
        done.wait()
        return result.withLock { $0 }
    }
}

/// Parses `WxH [format=nv12] [matrix=N] [full=1] [rotation=90] [aspect=4:3] [transfer=16]`.
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
        case "format": format = parts[1] == "nv12" ? .nv12 : parts[1] == "other" ? .other : .yuv420p
        case "matrix": color.matrix = UInt8(parts[1]) ?? 2
        case "transfer": color.transfer = UInt8(parts[1]) ?? 2
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

/// Parses `current`, `preferred`, `film`, `640x480` or `640x480@75`.
func mode(_ text: String) -> DisplayMode {
    switch text {
    case "current": return .current
    case "preferred": return .preferred
    case "film": return .film
    default:
        let parts = text.split(separator: "@").map(String.init)
        let size = size(parts[0])
        return .fixed(width: size.width, height: size.height, rate: parts.count > 1 ? Double(parts[1]) : nil)
    }
}

/// Parses `rotate=90`, `overscan=scale:5`, `overscan=bounds:5`, `overscan=frame:5` or `safe=5`.
func arrange(_ arrangement: inout ScreenArrangement, _ parts: [String]) {
    let (name, value) = (parts.first ?? "", (parts.last ?? "").split(separator: ":").map(String.init))
    let share = Double(value.last ?? "") ?? 0
    switch (name, value.first) {
    case ("rotate", _): arrangement.rotation = Int(share)
    case ("safe", _): arrangement.titleSafe = share
    case ("overscan", "scale"): arrangement.overscan = .scale(share)
    case ("overscan", "bounds"): arrangement.overscan = .insetBounds(share)
    case ("overscan", "frame"): arrangement.overscan = .insetApplicationFrame(share)
    default: fail("no such arrangement: \(parts)")
    }
}

func size(_ text: String) -> PixelSize {
    let numbers = text.split(separator: "x").compactMap { Int($0) }
    guard numbers.count == 2 else { fail("no size: \(text)") }
    return PixelSize(width: numbers[0], height: numbers[1])
}

/// Writes a line with `write`, because a reader blocked in stdio holds its locks.
func answer(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(1, bytes, bytes.count)
}

func fail(_ message: String) -> Never {
    answer("error \(message)")
    exit(1)
}
