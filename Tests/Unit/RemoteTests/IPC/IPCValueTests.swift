import MediaCore
import Playback
import Testing

@testable import Remote

@Suite struct IPCValueTests {
    private func split(_ input: [[UInt8]]) -> [String] {
        var lines = LineSplitter()
        var found: [String] = []
        for piece in input {
            lines.add(piece)
            while let line = lines.next() {
                switch line {
                case .text(let bytes):
                    found.append(bytes.count > 99 ? "\(bytes.count)" : String(decoding: bytes, as: UTF8.self))
                case .overlong: found.append("overlong")
                }
            }
        }
        return found
    }

    @Test func linesAreTheSameForEveryFragmentation() {
        let text = Array("a\n\nbc\r\n{}\nrest".utf8)
        for size in 1...text.count {
            let pieces = stride(from: 0, to: text.count, by: size).map { Array(text[$0..<min(text.count, $0 + size)]) }
            #expect(split(pieces) == ["a", "", "bc\r", "{}"])
        }
    }

    @Test func anOverlongLineIsReportedOnceAndSkipped() {
        let limit = LineSplitter.maxLength
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 10_000)
        #expect(split(Array(repeating: piece, count: 100) + [Array("\nb\n".utf8)]) == ["overlong", "b"])
        let longest = [UInt8](repeating: UInt8(ascii: "x"), count: limit)
        var lines = LineSplitter()
        lines.add(longest)
        #expect(lines.next() == nil && !lines.isFull, "the newline can still arrive")
        #expect(split([longest + [0x0A, 0x62, 0x0A]]) == ["\(limit)", "b"])
        #expect(split([longest + [0x78, 0x0A, 0x62, 0x0A]]) == ["overlong", "b"])
        #expect(split([longest, [0x78], [0x78], [0x0A], [0x62, 0x0A]]) == ["overlong", "b"])
    }

    @Test func aLongPlaylistAndOtherChangesFitIntoTheQueue() {
        let films = (0..<10_000).map { index in
            JSONValue.object([
                ("filename", .text("/media/films/A folder of some length/A film of some length \(index).mkv")),
                ("title", .text("A film of some length, number \(index)")), ("id", .integer(index)),
            ])
        }
        let output = IPCOutput {}
        for name in ["playlist", "playlist-pos", "playlist", "path", "media-title"] {
            output.send(
                event: "property-change",
                [("id", .integer(1)), ("name", .text(name)), ("data", name == "playlist" ? .array(films) : .text("x"))])
        }
        #expect(!output.isOverflowing)
        let size = output.removeAll().count
        #expect(size > 2 << 20, "\(size) bytes")
        let text = JSONValue.text(String(repeating: "x", count: 1 << 20))
        for _ in 0..<10 { output.send(reply: text) }
        #expect(output.isOverflowing && output.removeAll().count < 6 << 20)
    }

    @Test(arguments: [
        ("seek 10 relative", [["seek", "10", "relative"]]), ("  cycle\tpause \r", [["cycle", "pause"]]),
        ("a;b ; c", [["a"], ["b"], ["c"]]), (";;a;", [["a"]]), ("a # b", [["a"]]), ("a#b", [["a#b"]]),
        (#"show-text "a \"b\" \\ \n;#" 'c "d" \n'"#, [["show-text", "a \"b\" \\ \n;#", "c \"d\" \\n"]]),
        (#"a "" ''"#, [["a", "", ""]]), ("", []),
    ])
    func textIsSplitIntoCommands(text: String, words: [[String]]) throws {
        #expect(try CommandText.commands(in: text, from: .client) == words)
    }

    @Test(arguments: ["a \"b", "a 'b", "a \"b\\", "\""])
    func anUnterminatedQuoteIsNoCommand(text: String) {
        #expect(throws: ValueError.self) { try CommandText.commands(in: text, from: .client) }
    }

    @Test func namedArgumentsTakeTheirPlace() throws {
        func words(_ text: String) throws -> [JSONValue]? {
            guard case .json(let message) = IPCRequest(Array(text.utf8), .player) else { return nil }
            return try message.arguments.get()
        }
        #expect(
            try words(#" {"command":{"mode":"absolute","name":"seek","target":5}}"#) == [
                .text("seek"), .integer(5), .text("absolute"),
            ])
        // Of equal names the last counts.
        #expect(try words(#"{"command":["stop"],"command":["playlist-next"]}"#) == [.text("playlist-next")])
        #expect(throws: IPCError.self) { try words(#"{"command":{"name":"seek","mode":"absolute"}}"#) }
        #expect(throws: IPCError.self) { try words(#"{"command":{"name":"get_property","property":"pause"}}"#) }
    }

    @Test func anItemThatIsBeingOpenedIsLoadedWhenItBegins() {
        let item = QueueItem("a")
        func names(in phase: PlayerState.Phase) -> [String] {
            var state = PlayerState()
            (state.phase, state.current) = (phase, item)
            var events = IPCEvents(after: state)
            let began = PlayerEvent.began(item, at: .zero, isJoined: false)
            return (0..<2).flatMap { _ in events.events(for: began, isStopped: false).map(\.name) }
        }
        for phase in [.opening, .buffering] as [PlayerState.Phase] {
            #expect(names(in: phase) == ["file-loaded", "playback-restart"])
        }
        for phase in [.playing, .paused] as [PlayerState.Phase] { #expect(names(in: phase).isEmpty) }
        for phase in [.idle, .ended, .failed] as [PlayerState.Phase] {
            #expect(names(in: phase) == ["start-file", "file-loaded", "playback-restart"])
        }
    }

    /// The events of items a, b and c as text.
    private struct Translation {
        var events = IPCEvents()
        let items = ["a", "b", "c"].map { QueueItem($0) }
        let failure = TalkieError(.cannotOpen, "no film")

        func begin(_ index: Int, isJoined: Bool) -> PlayerEvent { .began(items[index], at: .zero, isJoined: isJoined) }

        mutating func heard(_ event: PlayerEvent, isStopped: Bool = false) -> [String] {
            text(events.events(for: event, isStopped: isStopped))
        }

        func text(_ events: [IPCEvents.Event]) -> [String] {
            events.map { event in
                let name = event.name
                let reason = event.members.first { $0.0 == "reason" }?.1.text
                let number = event.members.first { $0.0 == "playlist_entry_id" }?.1.integer
                let item = items.firstIndex { Int($0.id.number) == number }
                return ([name] + [reason, item.map { items[$0].address }].compactMap { $0 }).joined(separator: " ")
            }
        }
    }

    @Test func eventsOfItemsComeInPairs() {
        var player = Translation()
        #expect(player.heard(.phase(.opening)).isEmpty)
        #expect(
            player.heard(player.begin(0, isJoined: false)) == ["start-file a", "file-loaded", "playback-restart"])
        #expect(player.heard(.seeking(.zero)) == ["seek"] && player.heard(.sought(.zero)) == ["playback-restart"])
        #expect(player.heard(player.begin(0, isJoined: false)).isEmpty, "it plays on after a seek")
        #expect(player.heard(.looped(at: .zero)) == ["seek", "playback-restart"])
        #expect(player.heard(.ended(player.items[0])) == ["end-file eof a"])
        #expect(player.heard(player.begin(1, isJoined: true)) == ["start-file b", "file-loaded", "playback-restart"])
        #expect(player.heard(.ended(player.items[1])) == ["end-file eof b"])
        #expect(
            player.heard(player.begin(1, isJoined: true)) == ["start-file b", "file-loaded", "playback-restart"],
            "the list repeats")
        #expect(player.heard(.ended(player.items[0])).isEmpty)
        #expect(player.heard(.phase(.ended)) == ["end-file stop b", "idle"])
        #expect(player.heard(.failed(player.items[2], player.failure)) == ["start-file c", "end-file error c"])
        _ = player.heard(player.begin(0, isJoined: false))
        #expect(player.heard(player.begin(1, isJoined: false)).first == "end-file stop a")
        #expect(player.heard(.ended(player.items[1])) == ["end-file eof b"])
        #expect(player.heard(.phase(.ended)) == ["idle"])
        _ = player.heard(player.begin(0, isJoined: false))
        #expect(player.heard(.failed(player.items[0], player.failure)) == ["end-file error a"])
        #expect(player.text(player.events.eventsOfShutdown()) == ["shutdown"])
        _ = player.heard(player.begin(0, isJoined: false))
        #expect(player.text(player.events.eventsOfShutdown()) == ["end-file quit a", "shutdown"])
    }

    @Test func anItemThatFailsInAdvanceEndsAfterTheCurrentOne() {
        var player = Translation()
        func failInAdvance() {
            _ = player.heard(player.begin(0, isJoined: false))
            #expect(player.heard(.failed(player.items[2], player.failure)).isEmpty)
        }
        let failed = ["start-file c", "end-file error c"]
        failInAdvance()
        #expect(player.heard(.ended(player.items[0])) == ["end-file eof a"] + failed)
        #expect(player.heard(player.begin(1, isJoined: true)) == ["start-file b", "file-loaded", "playback-restart"])
        failInAdvance()
        #expect(
            player.heard(player.begin(1, isJoined: false)) == ["end-file stop a"] + failed + [
                "start-file b", "file-loaded", "playback-restart",
            ])
        #expect(player.heard(.phase(.ended)) == ["end-file stop b", "idle"], "reported once")
        failInAdvance()
        #expect(player.heard(.phase(.ended)) == ["end-file stop a"] + failed + ["idle"])
        failInAdvance()
        #expect(player.heard(.phase(.failed)) == ["end-file error a"] + failed + ["idle"])
        failInAdvance()
        #expect(player.heard(.failed(player.items[0], player.failure)) == ["end-file error a"] + failed)
        failInAdvance()
        #expect(player.heard(.phase(.ended), isStopped: true) == ["end-file stop a", "idle"])
        failInAdvance()
        for _ in 0..<2 * IPCEvents.maxFailures { _ = player.heard(.failed(QueueItem("d"), player.failure)) }
        #expect(player.heard(player.begin(1, isJoined: true)).count == 1 + 2 * IPCEvents.maxFailures + 3)
        failInAdvance()
        #expect(player.text(player.events.eventsOfShutdown()) == ["end-file quit a", "shutdown"])
    }

    @Test func anItemThatFailsBeforeTheOpenOneBeginsFollowsIt() {
        var player = Translation()
        let failed = ["start-file c", "end-file error c"]
        func open() { for phase in [.opening, .buffering] as [PlayerState.Phase] { _ = player.heard(.phase(phase)) } }
        open()
        #expect(player.heard(.failed(player.items[2], player.failure)).isEmpty)
        #expect(player.heard(player.begin(0, isJoined: false)).first == "start-file a")
        #expect(player.heard(.ended(player.items[0])) == ["end-file eof a"] + failed)
        open()
        #expect(player.heard(.failed(player.items[2], player.failure)).isEmpty)
        #expect(player.heard(.phase(.opening)) == failed, "another one is opened instead")
        #expect(player.heard(.failed(player.items[2], player.failure)) == failed, "it is not open")
        #expect(player.heard(.phase(.ended)) == ["idle"])
    }
}
