import Dispatch
import Glibc
import MediaCodecs
import MediaCore
import ScreenOutput
import SyncRendering

/// Plays synthetic frames through the whole screen loop and reports presented against target instants:
/// `loop WxH [rate=24000/1001] [seconds=10] [presentation=…] [pause=1] [main=1]`
/// `main=1` adds 1 ms of work on the main queue fifty times per second of film.
func loopBench(_ arguments: [String]) {
    var pictureSize = PixelSize(width: 1280, height: 720)
    var frame = MediaTime(value: 1001, timescale: 24000)
    var seconds = 10.0
    var rate = 1.0
    var usesMainQueue = false
    var options = ScreenOptions()
    for argument in arguments {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else {
            pictureSize = size(argument)
            continue
        }
        switch parts[0] {
        case "rate":
            let numbers = parts[1].split(separator: "/").compactMap { Int32($0) }
            frame = MediaTime(value: Int64(numbers.count > 1 ? numbers[1] : 1), timescale: numbers[0])
        case "seconds": seconds = Double(parts[1]) ?? seconds
        case "pause": rate = parts[1] == "1" ? 0 : 1
        case "main": usesMainQueue = parts[1] == "1"
        case "presentation": options.presentation = ScreenOptions.Presentation(rawValue: parts[1]) ?? .automatic
        default: fail("no such argument: \(argument)")
        }
    }
    play(pictureSize, every: frame, for: seconds, at: rate, usesMainQueue: usesMainQueue, options)
}

private func play(
    _ pictureSize: PixelSize, every frame: MediaTime, for seconds: Double, at rate: Double, usesMainQueue: Bool,
    _ options: ScreenOptions
) {
    let clock = MonotonicClock()
    let events = EventLog(clock: clock, minimumCapacity: 1 << 16)
    let synchronizer = RenderSynchronizer(clock: clock, events: events)
    let layer = DisplayLayer(depth: 8)
    synchronizer.add(layer)
    let loop = ScreenLoop(options: options, converter: SoftwareFrameConverter())
    let control = loop.control
    let color = ColorDescription(primaries: 1, transfer: 1, matrix: 1)
    let pictures = (0..<8).map { SyntheticPicture(size: pictureSize, color: color, shade: $0) }
    let frames = Int(seconds / frame.seconds)
    let room = Signal()
    layer.requestMediaData(raising: room)
    let feeder = try! WorkerThread.start(name: "feeder") {
        for index in 0..<frames {
            while !layer.isReadyForMoreMediaData { room.wait() }
            layer.enqueue(
                SampleBuffer(
                    payload: .videoFrame(pictures[index % 8]), presentationTime: frame * Int64(index), duration: frame))
        }
        layer.finish()
    }
    let calls = Lock(0)
    let observer = synchronizer.addPeriodicTimeObserver(forInterval: MediaTime(value: 1, timescale: 50), queue: .main) {
        _ in
        guard usesMainQueue else { return }
        calls.withLock { $0 += 1 }
        let end = HostInstant.now.advanced(by: .milliseconds(1))
        while HostInstant.now < end {}
    }
    let director = try! WorkerThread.start(name: "director") {
        control.attach(layer, timebase: synchronizer.timebase, events: events)
        HostInstant.now.advanced(by: .milliseconds(300)).sleep()
        let start = HostInstant.now.advanced(by: .milliseconds(100))
        synchronizer.setRate(Float(rate), time: .zero, atHostTime: start)
        let before = processorTime()
        start.advanced(by: .nanoseconds(Int64((seconds + 0.2) * 1e9))).sleep()
        let spent = (processorTime() - before).inSeconds
        print("processor \((spent / seconds * 10000).rounded() / 100) % of one core")
        control.stop()
    }
    loop.run()
    director.join()
    if rate != 0 { feeder.join() }
    synchronizer.removeTimeObserver(observer)
    if usesMainQueue { print("\(calls.withLock { $0 }) calls on the main queue") }
    let status = control.status
    print("\(status.shown) shown, \(status.dropped) dropped, \(status.refresh)")
    var late: [Double] = []
    while let entry = events.removeFirst() {
        if case .frame(let pts, let target, let presented) = entry.event, pts > .zero {
            late.append((presented - target).inMilliseconds)
        }
    }
    if late.isEmpty { return }
    let away = late.map(abs)
    var signed = late
    print("presented - target \(summary(&signed))")
    var distance = away
    print("|presented - target| \(summary(&distance))")
    if rate == 0 { exit(0) }
}
