import Foundation
import MediaCore
import Playback
import Testing

@testable import Kiosk
@testable import Storage

@Suite struct FleetCommandTests {
    private static let table = ControlTable.kiosk { _, _ in }

    private func read(_ text: String) throws(FleetCommand.Refusal) -> FleetCommand {
        var result: Result<FleetCommand, FleetCommand.Refusal>?
        Array(text.utf8).withUnsafeBytes { bytes in
            do throws(FleetCommand.Refusal) { result = .success(try FleetCommand(bytes, Self.table)) } catch {
                result = .failure(error)
            }
        }
        return try result!.get()
    }

    @Test(arguments: [
        ("next", "", "playlist-next"), ("previous", "", "playlist-prev"), ("pause", "", "set pause yes"),
        ("play", "", "set pause no"), ("reload", "", "reload"), ("screenshot", "", "screenshot"),
        ("slate", "", "slate"), ("volume", ",\"volume\":40.5", "set volume 40.5"),
        ("slate", ",\"words\":null", "slate"),
        ("slate", ",\"words\":\"Back at \\u0039\",\"more\":{\"a\":[1]}", "slate Back at 9"),
    ]) func everyCommandIsOneOfTheTable(word: String, rest: String, command: String) throws {
        #expect(FleetCommand.names.contains(word))
        let read = try read("{\"id\":7,\"do\":\"\(word)\"\(rest)}")
        let arguments = read.request.command.parameters.indices.compactMap { read.request.arguments[$0]?.mpvText }
        #expect(read.id == "7" && ([read.request.command.name] + arguments).joined(separator: " ") == command)
    }

    @Test(arguments: [
        ("", nil, "JSON object"), ("[1]", nil, "JSON object"), ("{\"do\":\"next\"}", nil, "needs an id"),
        ("{\"id\":\"\",\"do\":\"next\"}", nil, "needs an id"),
        ("{\"id\":\"\(String(repeating: "x", count: 65))\",\"do\":\"next\"}", nil, "needs an id"),
        ("{\"id\":\"1\"}", "1", "“do” must be one of: next, previous,"),
        ("{\"id\":\"1\",\"do\":\"explode\"}", "1", "Unknown command “explode”"),
        ("{\"id\":\"1\",\"do\":\"volume\"}", "1", "volume: value is missing"),
        ("{\"id\":\"1\",\"do\":\"volume\",\"volume\":131}", "1", "from 0 to 130"),
        ("{\"id\":\"1\",\"do\":\"volume\",\"volume\":\"loud\"}", "1", "from 0 to 130"),
        (
            "{\"id\":\"1\",\"do\":\"slate\",\"words\":\"\(String(repeating: "w", count: 501))\"}", "1",
            "at most 500 bytes"
        ),
        ("{\"id\":\"1\",\"do\":\"next\"}" + String(repeating: " ", count: 5000), nil, "at most 4096 bytes"),
    ]) func nonsenseIsAnsweredByASentence(text: String, id: String?, sentence: String) {
        do throws(FleetCommand.Refusal) {
            _ = try read(text)
            #expect(Bool(false), "it was understood")
        } catch {
            #expect(error.id == id)
            #expect(error.sentence.contains(sentence), "\(error.sentence)")
        }
    }

    // MARK: FleetCommandFilter

    private func isCarriedOut(_ verdict: FleetCommandFilter.Verdict, _ id: String) -> Bool {
        if case .carryOut(let command) = verdict { command.id == id } else { false }
    }

    private func evaluate(_ filter: inout FleetCommandFilter, _ text: String, isRetained: Bool = false)
        -> FleetCommandFilter.Verdict
    {
        let bytes = Array(text.utf8)
        return bytes.withUnsafeBytes { filter.accept($0, isRetained: isRetained) }
    }
    private func next(_ id: Int) -> String { "{\"id\":\"\(id)\",\"do\":\"next\"}" }

    @Test func anIdIsDoneOnceAndAnsweredEachTime() {
        var filter = FleetCommandFilter(Self.table)
        let first = evaluate(&filter, next(1))
        #expect(isCarriedOut(first, "1"))
        guard case .answer(let early) = evaluate(&filter, next(1)) else { return #expect(Bool(false)) }
        #expect(early.isRepeated && !early.isDone && early.detail == "The command is in progress.")
        let isFirst = filter.recordAnswer(FleetAnswer(id: "1", isDone: true, detail: "Film B plays."))
        #expect(isFirst)
        guard case .answer(let late) = evaluate(&filter, next(1)) else { return #expect(Bool(false)) }
        #expect(late.isRepeated && late.isDone && late.detail == "Film B plays.")
        let isSecond = filter.recordAnswer(FleetAnswer(id: "1", isDone: false))
        #expect(!isSecond, "an answer is given once")
    }

    @Test func whatIsRememberedIsBounded() {
        var filter = FleetCommandFilter(Self.table)
        for id in 0..<(FleetCommandFilter.maxRememberedCommands * 3) {
            let verdict = evaluate(&filter, next(id))
            #expect(isCarriedOut(verdict, "\(id)"))
        }
        guard case .answer = evaluate(&filter, next(FleetCommandFilter.maxRememberedCommands * 3 - 1)) else {
            return #expect(Bool(false))
        }
        guard case .carryOut = evaluate(&filter, next(0)) else { return #expect(Bool(false), "long forgotten") }
    }

    @Test func ofManyScreenshotsOneIsTakenAtATimeAndTheLastOneWaits() async {
        let taken = Lock(0)
        let gate = AsyncStream<Void>.makeStream()
        let queue = ScreenshotQueue(
            StateFolder(path: NSTemporaryDirectory() + "talkie-screenshots-\(UUID().uuidString)")
        ) {
            taken.withLock { $0 += 1 }
            for await _ in gate.stream { break }
            return nil
        }
        let answers = Lock<[Int: Result<JSONValue, ControlError>]>([:])
        let done = AsyncStream<Void>.makeStream()
        for number in 0..<2000 {
            queue.request { result in
                if answers.withLock({
                    $0[number] = result
                    return $0.count
                }) == 2000 {
                    done.continuation.finish()
                }
            }
        }
        gate.continuation.yield()
        gate.continuation.yield()
        for await _ in done.stream {}
        #expect(taken.withLock { $0 } == 2)
        let all = answers.withLock { $0 }
        #expect(all.filter { $0.value == .failure(ScreenshotQueue.busy) }.count == 1998)
        let none = ControlError(.unavailable, "no picture is shown")
        #expect(all[0] == .failure(none) && all[1999] == .failure(none))
    }

    @Test func aFloodOfCommandsLeavesAFewLines() {
        var log = CommandLog()
        let start = HostInstant(nanoseconds: 1_000_000_000)
        let lines = (0..<15_000).compactMap {
            log.line(for: "next", at: start.advanced(by: .milliseconds($0)))
        }
        #expect(lines == Array(repeating: "command: next", count: 10))
        let later = log.line(for: "pause", at: start.advanced(by: .seconds(60)))
        #expect(later == "command: pause (14990 more commands since the last line)")
    }

    @Test func aRetainedCommandIsNotDone() {
        var filter = FleetCommandFilter(Self.table)
        guard case .answer(let answer) = evaluate(&filter, next(1), isRetained: true) else {
            return #expect(Bool(false))
        }
        #expect(!answer.isDone && answer.id == "1")
        let proper = evaluate(&filter, next(1))
        #expect(isCarriedOut(proper, "1"), "the same id, sent properly")
    }

    @Test func aFaultIsTheFirstProblemOfAStateThenTheConfigurationThenWhatIsDegraded() {
        var configuration = KioskHealth.Configuration(loaded: WallTime(seconds: 0))
        configuration.refusal = "line 3"
        var health = KioskHealth(
            at: .now, shown: .off("quiet hours"), uptime: .seconds(60), configuration: configuration)
        (health.fault, health.degradations) = ("frozen", ["Kitchen does not play"])
        (health.repairs, health.outputs) = (["anchor": 2, "next": 1], [.init("Kitchen"), .init("Hall")])
        let state = KioskStateMessage(health)
        #expect(state.problems == ["frozen", "line 3", "Kitchen does not play"])
        #expect(state.phase == "off" && state.repairs == 3 && state.speakers == ["Kitchen", "Hall"])
        #expect(state.uptime == .seconds(60) && state.release == Release.version)
    }

    @Test func answersAndStatesAreJSONThatIsBounded() {
        #expect(
            FleetAnswer(id: "a\"b", isDone: false, detail: "No.").json
                == "{\"id\":\"a\\\"b\",\"done\":false,\"words\":\"No.\"}")
        #expect(FleetAnswer(id: nil, isDone: false).json == "{\"id\":null,\"done\":false}")
        let path: JSONValue = .object([("filename", .text("/var/lib/talkie/screen.png"))])
        #expect(FleetAnswer(id: "1", .success(path)).detail == "screen.png")
        let failure = ControlError(.failed, "Cannot write '/var/lib/talkie/screen.png'")
        #expect(FleetAnswer(id: "1", .failure(failure)).detail == "Cannot write 'screen.png'")
        var state = KioskStateMessage()
        (state.release, state.phase, state.title) = (
            "1.0", "playing", "A\u{1B}[2J" + String(repeating: "t", count: 9999)
        )
        (state.position, state.wallOffset) = (MediaTime(value: 5, timescale: 2), .microseconds(-1500))
        state.problems = Array(repeating: String(repeating: "p", count: 9999), count: 999)
        #expect(state.json.hasPrefix("{\"release\":\"1.0\",\"phase\":\"playing\",\"title\":\"A\u{FFFD}[2Jttt"))
        #expect(state.json.contains("\"position\":2.500,") && state.json.contains("\"wall_offset\":-0.001500,"))
        #expect(state.json.utf8.count < 8000)
    }
}
