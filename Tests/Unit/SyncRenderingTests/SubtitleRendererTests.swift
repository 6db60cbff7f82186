import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// A subtitle renderer with a layer and a screen, in virtual time.
@Suite struct SubtitleRendererTests {
    private final class SubtitleRendererFixture {
        let clock = ManualClock()
        let synchronizer: RenderSynchronizer
        let layer = DisplayLayer(depth: 8)
        let screen: VirtualScreen
        let renderer: SubtitleRenderer
        let drawing = CountedDrawing()
        let presenter: FramePresenter
        let drawer: SteppedDrawer
        /// The drawer of a second renderer.
        var further: SteppedDrawer?
        let frame: MediaTime
        private var next = 0

        init(every frame: MediaTime = MediaTime(value: 1, timescale: 25)) {
            self.frame = frame
            synchronizer = RenderSynchronizer(clock: clock)
            synchronizer.delaysRateChangeUntilHasSufficientMediaData = false
            screen = VirtualScreen(clock: clock)
            screen.canvas = SubtitleCanvas(
                area: PixelSize(width: 64, height: 64), video: PixelRect(x: 0, y: 0, width: 64, height: 64),
                storage: PixelSize(width: 64, height: 64))
            // `@unchecked` is not needed: a test runs everything on one thread.
            nonisolated(unsafe) let drawing = drawing
            renderer = SubtitleRenderer(over: layer) { drawing }
            presenter = FramePresenter(
                layer: layer, timebase: synchronizer.timebase, output: screen, events: EventLog(clock: clock))
            drawer = SteppedDrawer(renderer, clock: clock)
            synchronizer.addRenderer(layer)
            synchronizer.addRenderer(renderer)
        }

        func enqueue(_ lines: CountedSubtitle...) { for line in lines { renderer.enqueue(line.cue) } }

        /// Advances time; frames are enqueued as by a decoder.
        func run(for duration: Duration, pictures: Int = .max) {
            let end = clock.now.advanced(by: duration)
            while clock.now < end {
                while next < pictures, layer.isReadyForMoreMediaData {
                    layer.enqueue(NumberedFrame.buffer(next, every: frame))
                    next += 1
                }
                drawer.step()
                further?.step()
                var instant = min(end, clock.now.advanced(by: .milliseconds(5)))
                if case .at(let due) = presenter.step() { instant = min(instant, due) }
                clock.advance(to: max(instant, clock.now.advanced(by: .microseconds(1))))
            }
        }

        func seek(to time: MediaTime, number: Int) {
            synchronizer.setRate(0, time: time)
            layer.flush()
            renderer.flush()
            next = number
        }

        /// The displayed subtitles as "lines: frames" for consecutive frames with equal lines.
        var seen: [String] {
            var runs: [(lines: [Int], first: Int, last: Int)] = []
            for shown in screen.shown {
                if let last = runs.last, last.lines == shown.numbers, shown.number == last.last + 1 {
                    runs[runs.count - 1].last = shown.number
                } else if runs.last?.lines != shown.numbers || runs.last?.last != shown.number {
                    runs.append((shown.numbers, shown.number, shown.number))
                }
            }
            return runs.map { "\($0.lines): \($0.first)...\($0.last)" }
        }
    }

    @Test func eachPictureBearsTheLinesOfItsOwnTime() {
        let rig = SubtitleRendererFixture()
        rig.enqueue(
            CountedSubtitle(7, at: 1, for: 1), CountedSubtitle(8, at: 1.5, for: 1), CountedSubtitle(9, at: 4, for: 0.04)
        )
        rig.synchronizer.setRate(1, time: .zero)
        rig.run(for: .seconds(5))
        #expect(
            rig.seen.dropLast() + ["…"] == [
                "[]: 0...24", "[7]: 25...37", "[7, 8]: 38...49", "[8]: 50...62", "[]: 63...99", "[9]: 100...100", "…",
            ])
    }

    @Test func thoseOfASecondRendererLieOverThoseOfTheFirstAndLookTheSameForAsLongAsBothDo() throws {
        let rig = SubtitleRendererFixture()
        let above = SubtitleRenderer(over: rig.layer, isSecondary: true) { CountedDrawing() }
        rig.further = SteppedDrawer(above, clock: rig.clock)
        rig.synchronizer.addRenderer(above)
        rig.enqueue(CountedSubtitle(7, at: 0, for: 1))
        above.enqueue(CountedSubtitle(9, at: 0.5, for: 1).cue)
        rig.synchronizer.setRate(1, time: .zero)
        rig.run(for: .milliseconds(1700))
        let runs = rig.seen.filter { !$0.hasPrefix("[]") }
        #expect(runs == ["[7]: 0...12", "[7, 9]: 13...24", "[9]: 25...37"])
        #expect(
            Set(rig.screen.shown.filter { $0.numbers == [7, 9] }.compactMap { $0.overlay.map(ObjectIdentifier.init) })
                .count == 1)
    }

    @Test func overlaysAreRedrawnForAnotherCanvasAtTheirTime() {
        let rig = SubtitleRendererFixture()
        let canvas = SubtitleCanvas(
            area: PixelSize(width: 640, height: 360), video: PixelRect(x: 0, y: 0, width: 640, height: 360),
            storage: PixelSize(width: 640, height: 360))
        rig.enqueue(CountedSubtitle(7, at: 1, for: 1, isAnimated: true))
        rig.synchronizer.setRate(1, time: .zero)
        rig.run(for: .milliseconds(100))
        func drawn(_ milliseconds: Int64) -> [Int] {
            rig.layer.drawSubtitles(at: MediaTime(value: milliseconds, timescale: 1000), on: canvas).map(\.rect.y)
        }
        #expect(drawn(999) == [] && drawn(1500) == [1500] && drawn(2000) == [])
        rig.renderer.delay = .milliseconds(500)
        #expect(drawn(1400) == [] && drawn(1600) == [1100])
        rig.renderer.isHidden = true
        #expect(drawn(1600) == [])
    }

    @Test func aStaticSubtitleIsDrawnOnce() {
        let rig = SubtitleRendererFixture()
        rig.enqueue(CountedSubtitle(7, at: 1, for: 3))
        rig.synchronizer.setRate(1, time: .zero)
        rig.run(for: .seconds(5))
        #expect(rig.drawing.draws.withLock { $0 } == 1)
    }

    @Test func whatMovesIsDrawnForEachPictureAtItsTime() throws {
        let rig = SubtitleRendererFixture()
        rig.enqueue(CountedSubtitle(7, at: 1, for: 1, isAnimated: true))
        rig.synchronizer.setRate(1, time: .zero)
        rig.run(for: .seconds(3))
        let moving = rig.screen.shown.filter { !$0.numbers.isEmpty }
        #expect(moving.map(\.number) == Array(25..<50))
        #expect(moving.map { $0.overlay?.images[0].rect.y } == (25..<50).map { $0 * 40 })
    }

    @Test func aDelayMovesSubtitlesAlsoWhilePaused() {
        let rig = SubtitleRendererFixture()
        rig.enqueue(CountedSubtitle(7, at: 1, for: 1))
        rig.renderer.delay = .milliseconds(400)
        rig.synchronizer.setRate(1, time: .zero)
        rig.run(for: .milliseconds(1500))
        #expect(rig.seen.count == 2)
        #expect(rig.seen.first == "[]: 0...34")
        #expect(rig.screen.shown.last?.numbers == [7])
        rig.synchronizer.setRate(0)
        rig.run(for: .milliseconds(100))
        rig.renderer.delay = .seconds(1)
        rig.run(for: .milliseconds(100))
        #expect(rig.screen.shown.last?.numbers == [])
        rig.renderer.delay = .zero
        rig.run(for: .milliseconds(100))
        #expect(rig.screen.shown.last?.numbers == [7])
    }

    @Test func aDrawerRestsAlsoIfTheStartOfADelayedLineIsRoundedDown() throws {
        let rig = SubtitleRendererFixture()
        var line = CountedSubtitle(7, at: 0, for: 1)
        line.start = MediaTime(value: 55 * 1001, timescale: 24_000)
        rig.enqueue(line)
        rig.renderer.delay = .nanoseconds(41_666_667)
        rig.synchronizer.setRate(0, time: MediaTime(value: 2, timescale: 1))
        rig.renderer.setCanvas(try #require(rig.screen.canvas))
        let drawer = rig.renderer.makeDrawer()
        for _ in 1...3 {
            let rest = try #require(drawer.runIteration())
            #expect(rest.until == nil)
            #expect(rig.renderer.state.withLock { $0.spans.count } == 3, "before the line, its first instant, the line")
        }
        // 2.335 625 000 333 s and a second later.
        let (start, end) = (MediaTime(nanoseconds: 2_335_625_000), MediaTime(nanoseconds: 3_335_625_000))
        func isShown(at time: MediaTime) -> Bool { rig.renderer.overlay(at: time) != nil }
        #expect(!isShown(at: start) && isShown(at: start + SubtitleDrawer.instant))
        for change in [start, end] { #expect(try #require(rig.renderer.nextChange(after: change)) > change) }
    }

    @Test func hiddenLinesAreNotSeenAndComeBack() {
        let rig = SubtitleRendererFixture()
        rig.enqueue(CountedSubtitle(7, at: 0, for: 9))
        rig.synchronizer.setRate(1, time: .zero)
        rig.run(for: .seconds(1))
        #expect(rig.screen.shown.last?.numbers == [7])
        rig.renderer.isHidden = true
        rig.run(for: .milliseconds(100))
        #expect(rig.screen.shown.last?.numbers == [])
        rig.renderer.isHidden = false
        rig.run(for: .milliseconds(100))
        #expect(rig.screen.shown.last?.numbers == [7])
    }

    @Test func linesThatComeLateAreLaidOverThePictureThatIsOnScreen() {
        let rig = SubtitleRendererFixture()
        rig.run(for: .milliseconds(100))
        #expect(rig.seen == ["[]: 0...0"])
        rig.enqueue(CountedSubtitle(7, at: 0, for: 9))
        rig.run(for: .milliseconds(100))
        #expect(rig.seen == ["[]: 0...0", "[7]: 0...0"])
    }

    @Test func aPictureThatStaysGetsItsLinesWhenTheyAreDue() {
        // Four seconds per frame, as in a slide show.
        let rig = SubtitleRendererFixture(every: MediaTime(value: 4, timescale: 1))
        rig.enqueue(CountedSubtitle(7, at: 1, for: 1), CountedSubtitle(8, at: 6, for: 1))
        rig.synchronizer.setRate(1, time: .zero)
        rig.run(for: .milliseconds(8050))
        let start = rig.synchronizer.timebase.snapshot.upcoming.hostAnchor
        let changes = rig.screen.shown.dropFirst().map {
            "\($0.number) \($0.numbers) \(Int(($0.at - start).inMilliseconds.rounded()))"
        }
        #expect(changes.prefix(5) == ["0 [7] 1000", "0 [] 2000", "1 [] 4000", "1 [8] 6000", "1 [] 7000"])
    }

    @Test func afterAFlushNothingOfBeforeIsSeen() {
        let rig = SubtitleRendererFixture()
        rig.enqueue(CountedSubtitle(7, at: 0, for: 9))
        rig.synchronizer.setRate(1, time: .zero)
        rig.run(for: .seconds(1))
        rig.seek(to: MediaTime(value: 2, timescale: 1), number: 50)
        rig.enqueue(CountedSubtitle(8, at: 2.2, for: 1))
        rig.synchronizer.setRate(1)
        let before = rig.screen.shown.count
        rig.run(for: .milliseconds(800))
        let after = rig.screen.shown[before...]
        #expect(!after.isEmpty && after.allSatisfy { $0.numbers == ($0.number >= 55 ? [8] : []) })
        #expect(rig.screen.shown.last?.numbers == [8])
    }

    @Test func moreIsWantedUntilTenSecondsAreKnownAndAgainWhenSixAreLeft() {
        let rig = SubtitleRendererFixture()
        let format = SubtitleFormat(parameters: CodecParameters(codec: "none"))
        let signal = Signal()
        rig.renderer.requestMediaData(raising: signal)
        signal.clear()
        for second in 0..<20 where rig.renderer.isReadyForMoreMediaData {
            rig.renderer.enqueue(
                SampleBuffer(
                    payload: .encodedSubtitle(format, PacketBatch()),
                    presentationTime: MediaTime(value: Int64(second), timescale: 1)))
        }
        #expect(rig.renderer.state.withLock { $0.knownUntil } == MediaTime(value: 10, timescale: 1))
        rig.synchronizer.setRate(1, time: .zero)
        rig.run(for: .milliseconds(3900))
        #expect(!signal.wait(until: HostInstant(nanoseconds: 0)))
        rig.run(for: .milliseconds(300))
        #expect(signal.wait(until: HostInstant(nanoseconds: 0)))
    }

    @Test func aSupplierThatIsRefusedWhileTheThreadRestsIsAskedAgain() {
        let rig = SubtitleRendererFixture()
        let signal = Signal()
        rig.renderer.requestMediaData(raising: signal)
        rig.synchronizer.setRate(1, time: .zero)
        rig.renderer.enqueue(Self.pace(11))
        rig.run(for: .milliseconds(100))
        #expect(!rig.renderer.isReadyForMoreMediaData)
        signal.clear()
        rig.run(for: .seconds(3))
        #expect(!signal.wait(until: HostInstant(nanoseconds: 0)))
        rig.run(for: .seconds(2))
        #expect(signal.wait(until: HostInstant(nanoseconds: 0)))
    }

    @Test func aSupplierThatHasFoundNoLineYetIsAskedAgain() {
        let synchronizer = RenderSynchronizer()
        let layer = DisplayLayer(depth: 8)
        let renderer = SubtitleRenderer(over: layer) { CountedDrawing() }
        let signal = Signal()
        synchronizer.addRenderer(renderer)
        renderer.requestMediaData(raising: signal)
        renderer.enqueue(Self.pace(12))
        #expect(!renderer.isReadyForMoreMediaData)
        signal.clear()
        synchronizer.setRate(0, time: MediaTime(value: 8, timescale: 1))
        #expect(signal.wait(until: .now.advanced(by: .seconds(20))))
        renderer.stop()
    }

    /// Returns a buffer that states that no line starts before a second.
    private static func pace(_ second: Int64) -> SampleBuffer {
        SampleBuffer(
            payload: .encodedSubtitle(SubtitleFormat(parameters: CodecParameters(codec: "none")), PacketBatch()),
            presentationTime: MediaTime(value: second, timescale: 1))
    }

    // MARK: Sparse lines

    private static let sparse = [
        CountedSubtitle(1, at: 5, for: 2), CountedSubtitle(2, at: 9, for: 2), CountedSubtitle(3, at: 13, for: 2),
    ]

    @Test(arguments: [0.5, 1, 2, 4] as [Float])
    func sparseLinesAreSeenAfterAStartThatIsScheduled(_ speed: Float) {
        let rig = SubtitleRendererFixture()
        for line in Self.sparse { rig.enqueue(line) }
        rig.run(for: .milliseconds(200))
        rig.synchronizer.setRate(speed, time: .zero, atHostTime: rig.clock.now.advanced(by: .seconds(2)))
        rig.run(for: .seconds(2) + .seconds(16) / Double(speed))
        #expect(
            rig.seen.prefix(6) == [
                "[]: 0...124", "[1]: 125...174", "[]: 175...224", "[2]: 225...274", "[]: 275...324", "[3]: 325...374",
            ])
    }

    @Test func sparseLinesAreSeenAfterAPauseAndAScheduledResumption() {
        let rig = SubtitleRendererFixture()
        for line in Self.sparse { rig.enqueue(line) }
        rig.synchronizer.setRate(1, time: .zero)
        rig.run(for: .seconds(3))
        rig.synchronizer.setRate(0)
        rig.run(for: .seconds(5))
        rig.synchronizer.setRate(1, atHostTime: rig.clock.now.advanced(by: .seconds(1)))
        rig.run(for: .seconds(10))
        #expect(rig.seen.prefix(4) == ["[]: 0...124", "[1]: 125...174", "[]: 175...224", "[2]: 225...274"])
    }

    @Test func sparseLinesAreSeenAfterASeekWithAScheduledStart() {
        let rig = SubtitleRendererFixture()
        rig.enqueue(CountedSubtitle(7, at: 1, for: 1))
        rig.synchronizer.setRate(1, time: .zero)
        rig.run(for: .milliseconds(1500))
        rig.seek(to: MediaTime(value: 2, timescale: 1), number: 50)
        let before = rig.screen.shown.count
        for line in Self.sparse { rig.enqueue(line) }
        rig.run(for: .milliseconds(100))
        rig.synchronizer.setRate(1, atHostTime: rig.clock.now.advanced(by: .milliseconds(700)))
        rig.run(for: .seconds(10))
        let shown = rig.screen.shown[before...]
        #expect(shown.contains { $0.number == 130 } && shown.contains { $0.number == 240 })
        for shown in shown {
            let lines = (125..<175).contains(shown.number) ? [1] : (225..<275).contains(shown.number) ? [2] : []
            #expect(shown.numbers == lines, "picture \(shown.number)")
        }
    }

    @Test func aLineIsSeenWhereAPictureBeforeTheTargetOfASeekCameAfterTheFirstDrawing() {
        let rig = SubtitleRendererFixture()
        rig.enqueue(CountedSubtitle(7, at: 0, for: 1))
        rig.synchronizer.setRate(1, time: .zero)
        rig.run(for: .milliseconds(500))
        // An exact seek between two frames shows the earlier one first.
        rig.seek(to: MediaTime(value: 2010, timescale: 1000), number: 50)
        rig.drawer.step()
        rig.run(for: .milliseconds(100))
        rig.renderer.enqueue(Self.pace(2))
        rig.run(for: .milliseconds(100))
        rig.enqueue(CountedSubtitle(8, at: 3, for: 1))
        rig.synchronizer.setRate(1)
        rig.run(for: .milliseconds(1500))
        #expect(rig.screen.shown.last?.numbers == [8])
    }

    @Test func aLineIsSeenAfterAPausedSeekWhosePictureComesAfterTheLineWasDrawn() {
        let rig = SubtitleRendererFixture()
        rig.enqueue(CountedSubtitle(7, at: 0, for: 1))
        rig.synchronizer.setRate(1, time: .zero)
        rig.run(for: .milliseconds(500))
        // Frame 50 is shown at the target, but starts before it.
        rig.seek(to: MediaTime(value: 2010, timescale: 1000), number: 50)
        rig.run(for: .milliseconds(50), pictures: 0)
        rig.enqueue(CountedSubtitle(8, at: 1.5, for: 1))
        rig.run(for: .milliseconds(50), pictures: 0)
        rig.run(for: .milliseconds(200))
        #expect(rig.screen.shown.last?.number == 50)
        #expect(rig.screen.shown.last?.numbers == [8])
    }

    @Test(arguments: [true, false]) func aLineLongerThanThePassesOfALoopIsSeenOnceInEach(isDecoded: Bool) {
        let rig = SubtitleRendererFixture()
        rig.enqueue(CountedSubtitle(7, at: 0, for: 60))
        for pass in 1...2 {
            // The second and third pass start after 1 and 2 seconds; the line starts 0.5 s before each.
            if isDecoded { rig.drawer.step() }
            rig.renderer.flush(fromSourceTime: MediaTime(seconds: Double(pass)))
            rig.enqueue(CountedSubtitle(7 + pass, at: Double(pass) - 0.5, for: 60))
        }
        rig.synchronizer.setRate(1, time: .zero)
        rig.run(for: .seconds(3))
        #expect(rig.seen.filter { !$0.hasPrefix("[]") }.dropLast() == ["[7]: 0...24", "[8]: 25...49"])
        #expect(rig.screen.shown.last?.numbers == [9])
    }

    @Test func soundIsRefusedInASentence() {
        let rig = SubtitleRendererFixture()
        rig.renderer.enqueue(NumberedFrame.buffer(1, every: rig.frame))
        #expect("\(rig.renderer.error.map { "\($0)" } ?? "")".contains("accepts subtitles"))
        rig.renderer.flush()
        #expect(rig.renderer.error == nil)
    }

    @Test func excessLinesAreReportedOnce() {
        let rig = SubtitleRendererFixture()
        for number in 0..<150 {
            rig.renderer.enqueue(CountedSubtitle(number, at: 0, for: 1 + Double(number) / 100).cue)
        }
        rig.synchronizer.setRate(1, time: .zero)
        var problems: [String] = []
        for _ in 0..<20 {
            rig.run(for: .milliseconds(50))
            if let trouble = rig.renderer.consumeProblem() { problems.append(trouble) }
        }
        #expect(problems == ["there are too many subtitles at once; some are not shown"])
    }

    /// For the thread sanitizer: the thread draws while others enqueue, query, hide and flush.
    @Test func aRealThreadDrawsWhileOthersAskAndChange() throws {
        let synchronizer = RenderSynchronizer()
        let layer = DisplayLayer(depth: 8)
        let renderer = SubtitleRenderer(over: layer) { CountedDrawing() }
        synchronizer.addRenderer(layer)
        synchronizer.addRenderer(renderer)
        renderer.setCanvas(
            SubtitleCanvas(
                area: PixelSize(width: 64, height: 64), video: PixelRect(x: 0, y: 0, width: 64, height: 64),
                storage: PixelSize(width: 64, height: 64)))
        layer.enqueue(NumberedFrame.buffer(0, every: MediaTime(value: 1, timescale: 25)))
        let feeding = try WorkerThread.start(name: "feeding") {
            for number in 0..<200 {
                renderer.enqueue(
                    CountedSubtitle(number, at: Double(number) / 100, for: 1, isAnimated: number % 3 == 0).cue)
                if number % 50 == 49 { renderer.flush(fromSourceTime: MediaTime(value: 1, timescale: 1)) }
                renderer.isHidden = number % 7 == 0
            }
            renderer.flush()
            renderer.enqueue(CountedSubtitle(7, at: 0, for: 60).cue)
            renderer.isHidden = false
        }
        let deadline = HostInstant.now.advanced(by: .seconds(20))
        let wanted = { renderer.overlay(at: .zero)?.images.map(\.rect.x) == [7] }
        var isFed = false
        while HostInstant.now < deadline, !(isFed && wanted()) {
            if !isFed, renderer.enqueueCount == 201 {
                feeding.join()
                isFed = true
            }
            layer.arrival.wait(until: .now.advanced(by: .milliseconds(20)))
        }
        #expect(wanted())
        renderer.stop()
    }

    @Test func aStartWaitsForNoLine() {
        let rig = SubtitleRendererFixture()
        #expect(rig.renderer.hasSufficientMediaDataForReliablePlaybackStart)
        #expect(rig.renderer.startWait == nil)
    }
}
