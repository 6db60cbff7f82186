import Foundation
import MediaCore
import Playback
import RemoteTestSupport
import Sockets
import TalkieTestKit
import Testing

@testable import Remote

/// The server with clients on a socket.
@Suite struct IPCServerTests {
    private let rig: IPCRig
    private let client: IPCTestClient

    init() throws {
        rig = try IPCRig()
        client = try rig.connect()
    }

    // MARK: Requests

    @Test func repliesHaveTheDataTheErrorAndTheIdOfTheirRequest() {
        client.send(#"{"command":["get_property","pause"],"request_id":7}"# + "\n")
        #expect(client.reply() == #"{"data":false,"request_id":7,"error":"success"}"#)
        client.send(#"{"request_id":-9223372036854775807,"command":["get_property_string","pause"]}"# + "\n")
        #expect(client.reply() == #"{"data":"no","request_id":-9223372036854775807,"error":"success"}"#)
        client.send(#"{"command":["set_property","pause",true]}"# + "\r\n")
        #expect(client.reply() == #"{"data":null,"request_id":0,"error":"success"}"#)
        client.send(#"{"command":["get_property","time-pos"],"request_id":"x"}"# + "\n")
        #expect(client.reply() == #"{"request_id":"x","error":"property unavailable"}"#)
        for id in ["1e+19", "-1e+20", "123456789012.25"] {
            client.send(#"{"command":["client_name"],"request_id":\#(id)}"# + "\n")
            #expect(client.reply() == #"{"data":"ipc-1","request_id":\#(id),"error":"success"}"#)
        }
        #expect(client.request(#"["client_name"]"#) == #""ipc-1""#)
        #expect(client.request(#"["get_version"]"#) == "131077")
        #expect(client.request(#"["get_property","property-list"]"#)?.contains(#""time-pos""#) == true)
        #expect(client.request(#"["get_property","command-list"]"#)?.contains(#"{"name":"loadfile","args":["#) == true)
    }

    @Test(arguments: [
        (#"{"command":["get_property","colour"]}"#, "property not found"),
        (#"{"command":["set_property","colour",1]}"#, "property not found"),
        (#"{"command":["set_property","pause",7]}"#, "unsupported format for accessing property"),
        (#"{"command":["set_property","volume",1e9]}"#, "error accessing property"),
        (#"{"command":["set_property","duration",1]}"#, "error accessing property"),
        (#"{"command":["explode"]}"#, "invalid parameter"), (#"{"command":["seek","far"]}"#, "invalid parameter"),
        (#"{"command":["seek",1]}"#, "error running command"), (#"{"command":["get_property"]}"#, "invalid parameter"),
        (#"{"command":["get_property",1]}"#, "invalid parameter"), (#"{"command":[]}"#, "invalid parameter"),
        (#"{"command":[1]}"#, "invalid parameter"), (#"{"command":"stop"}"#, "invalid parameter"),
        ("{}", "invalid parameter"),
        (#"{"command":["stop"],"async":1}"#, "invalid parameter"),
        (#"{"command":["stop"],"async":true}"#, "invalid parameter"),
        ("{", "invalid parameter"), (#"{"command":["stop"]}}"#, "invalid parameter"),
        ("{\"a\":\"\u{1}\"}", "invalid parameter"),
        (#"{"command":["observe_property","1","pause"]}"#, "invalid parameter"),
        (#"{"command":["disable_event","explosion"]}"#, "invalid parameter"),
        (#"{"command":["request_log_messages","info"]}"#, "not supported"),
        (#"{"command":{"name":"seek","flags":"absolute"}}"#, "invalid parameter"),
        (#"{"command":{"name":"stop","loud":true}}"#, "invalid parameter"),
        (#"{"command":{"target":1}}"#, "invalid parameter"),
        (#"{"command":["set_property","pause",{"a":[1e308]}]}"#, "unsupported format for accessing property"),
    ])
    func whatCannotBeDoneHasMpvsErrorAndTheNextRequestIsExecuted(line: String, error: String) {
        client.send(line + "\n")
        #expect(client.reply() == #"{"request_id":0,"error":"\#(error)"}"#)
        #expect(client.request(#"["get_property","pause"]"#) == "false")
    }

    @Test func errorsHaveAReason() {
        client.send(#"{"command":["set_property","volume",1000]}"# + "\n")
        #expect(client.line()?["reason"]?.text?.contains("volume: expected a number from 0 to 130") == true)
    }

    @Test func requestsInOneWriteAreExecutedInOrderAndSeeTheEffectsOfEarlierOnes() {
        client.send(
            """
            {"command":["set_property","speed",2],"request_id":1}
            {"command":["get_property","speed"],"request_id":2}
            # a comment

              cycle mute; set speed "3"
            {"command":["get_property","mute"],"request_id":3}
            {"command":["get_property","speed"],"request_id":4}
            {"command":{"name":"cycle","property":"mute"},"request_id":5}
            {"command":["get_property","mute"],"request_id":6}

            """)
        #expect(
            (1...6).map { _ in client.reply() } == [
                #"{"data":null,"request_id":1,"error":"success"}"#,
                #"{"data":2.000000000,"request_id":2,"error":"success"}"#,
                #"{"data":true,"request_id":3,"error":"success"}"#,
                #"{"data":3.000000000,"request_id":4,"error":"success"}"#,
                #"{"data":null,"request_id":5,"error":"success"}"#,
                #"{"data":false,"request_id":6,"error":"success"}"#,
            ])
    }

    @Test func aThousandRequestsAtOnceAreAllAnsweredInOrder() {
        client.send(
            (1...1000).map { #"{"command":["set_property","mute",\#($0 % 2 == 0)],"request_id":\#($0)}"# + "\n" }
                .joined())
        for number in 1...1000 { #expect(client.line()?["request_id"] == .integer(number)) }
        #expect(client.request(#"["get_property","mute"]"#) == "true")
    }

    @Test func asynchronousRequestsAreAnswered() {
        client.send((1...200).map { #"{"command":["cycle","mute"],"request_id":\#($0),"async":true}"# + "\n" }.joined())
        let ids = (1...200).compactMap { _ in client.line()?["request_id"]?.integer }
        #expect(Set(ids) == Set(1...200))
    }

    @Test func aClientThatEndsItsInputReceivesItsReplies() {
        client.send(
            #"{"command":["cycle","mute"]}"# + "\ncycle mute\n" + #"{"command":["get_property","mute"]}"# + "\n")
        client.finish()
        #expect(client.reply() == #"{"data":null,"request_id":0,"error":"success"}"#)
        #expect(client.reply() == #"{"data":false,"request_id":0,"error":"success"}"#)
        #expect(client.line() == nil)
    }

    // MARK: Events

    @Test func observedPropertiesAreReportedNowAndWhenTheyChange() throws {
        client.send(#"{"command":["observe_property",5,"mute"]}"# + "\n")
        #expect(client.reply() == #"{"data":null,"request_id":0,"error":"success"}"#)
        #expect(client.events.isEmpty, "the reply precedes the first event")
        #expect(client.line()?.compact == #"{"event":"property-change","id":5,"name":"mute","data":false}"#)
        let other = try rig.connect()
        #expect(other.request(#"["observe_property_string",1,"speed"]"#) == "null")
        #expect(other.line()?.compact == #"{"event":"property-change","id":1,"name":"speed","data":"1"}"#)
        #expect(other.request(#"["set_property","mute",true]"#) == "null")
        #expect(client.line()?.compact == #"{"event":"property-change","id":5,"name":"mute","data":true}"#)
        // What is unavailable, and what does not exist, has no data.
        for name in ["duration", "colour"] {
            #expect(client.request(#"["observe_property",6,"\#(name)"]"#) == "null")
            #expect(
                client.event("property-change")?.compact == #"{"event":"property-change","id":6,"name":"\#(name)"}"#)
        }
        #expect(client.request(#"["unobserve_property",5]"#) == "null")
        #expect(other.request(#"["set_property","mute",false]"#) == "null")
        #expect(other.request(#"["set_property","speed",2]"#) == "null")
        #expect(other.event("property-change")?["data"] == .text("2"))
        #expect(client.request(#"["client_name"]"#) == #""ipc-1""#)
        #expect(client.events.isEmpty)
    }

    @Test func aFilmsEventsHaveItsNumber() throws {
        let entry = try #require(client.request(#"["loadfile","film"]"#))
        let id = entry.filter(\.isNumber)
        #expect(entry == #"{"playlist_entry_id":\#(id)}"#)
        #expect(client.event("start-file")?.compact == #"{"event":"start-file","playlist_entry_id":\#(id)}"#)
        #expect(client.event("file-loaded") != nil && client.event("playback-restart") != nil)
        // A client that comes later learns of the same film's end.
        let other = try rig.connect()
        #expect(other.request(#"["disable_event","seek"]"#) == "null")
        #expect(other.request(#"["seek",30,"absolute"]"#) == "null")
        #expect(client.event("seek") != nil && client.event("playback-restart") != nil)
        #expect(other.event("playback-restart") != nil)
        #expect(other.request(#"["stop"]"#) == "null")
        for client in [client, other] {
            #expect(
                client.event("end-file")?.compact == #"{"event":"end-file","reason":"stop","playlist_entry_id":\#(id)}"#
            )
            #expect(client.event("idle") != nil)
        }
        #expect(!other.events.contains { $0["event"] == .text("seek") })
    }

    /// mpv 0.35 sends these events, in this order, for both commands.
    @Test func anItemThatReplacesAnotherRestartsPlaybackOnceAfterItIsLoaded() throws {
        let ids = ["film", "film"].compactMap { name in
            client.request(#"["loadfile","\#(name)","append-play"]"#)?.filter(\.isNumber)
        }
        try #require(ids.count == 2)
        #expect(client.event("playback-restart") != nil)
        #expect(client.request(#"["playlist-play-index",1]"#) == "null")
        #expect(
            client.events(through: "playback-restart") == [
                "end-file stop \(ids[0])", "start-file \(ids[1])", "file-loaded", "playback-restart",
            ])
        let reply = client.request(#"["loadfile","film"]"#)
        let last = reply?.filter(\.isNumber) ?? ""
        #expect(
            client.events(through: "playback-restart") == [
                "end-file stop \(ids[1])", "start-file \(last)", "file-loaded", "playback-restart",
            ])
        #expect(client.request(#"["seek",30,"absolute"]"#) == "null")
        #expect(client.events(through: "playback-restart") == ["seek", "playback-restart"])
    }

    @Test func aClientThatConnectsWhileTheFilmOpensReceivesFileLoadedOnce() throws {
        let rig = try IPCRig()
        rig.player.open("slow")
        rig.wait { if case .phase(.opening) = $0 { true } else { false } }
        let client = try rig.connect()
        // The player executes this after the server observes it.
        #expect(client.request(#"["set_property","mute",true]"#) == "null")
        rig.gate.raise()
        rig.wait { if case .began = $0 { true } else { false } }
        #expect(client.request(#"["seek",30,"absolute"]"#) == "null")
        #expect(client.request(#"["stop"]"#) == "null")
        let events = client.events(through: "idle")
        #expect(events.count { $0 == "file-loaded" } == 1 && !events.contains { $0.hasPrefix("start-file") })
        let loaded = try #require(events.firstIndex(of: "file-loaded"))
        #expect(events[loaded + 1] == "playback-restart" && events.contains { $0.hasPrefix("end-file stop") })
    }

    @Test func aClientThatConnectsDuringPlaybackReceivesNoFileLoaded() throws {
        let rig = try IPCRig()
        rig.player.open("film")
        rig.wait { if case .began = $0 { true } else { false } }
        let client = try rig.connect()
        #expect(client.request(#"["seek",30,"absolute"]"#) == "null")
        rig.wait { if case .sought(let time) = $0 { time.seconds >= 30 } else { false } }
        #expect(client.request(#"["stop"]"#) == "null")
        let events = client.events(through: "idle")
        #expect(events.prefix(2) == ["seek", "playback-restart"] && events.last == "idle")
        #expect(events.count == 4 && events[2].hasPrefix("end-file stop"))
    }

    /// The film ends after three seconds; the others are opened in advance.
    @Test func aFilmPlaysToItsEndAlthoughTheNextOneCannotBeOpened() throws {
        let ids = ["film", "bad", "film"].compactMap { name in
            client.request(#"["loadfile","\#(name)","append-play"]"#)?.filter(\.isNumber)
        }
        try #require(ids.count == 3)
        #expect(client.event("file-loaded") != nil)
        #expect(client.request(#"["seek",-3,"absolute"]"#) == "null")
        rig.wait { if case .failed = $0 { true } else { false } }
        #expect(client.request(#"["seek",-3,"absolute"]"#) == "null")
        #expect(
            client.events(through: "file-loaded").filter { $0 != "playback-restart" } == [
                "seek", "seek", "end-file eof \(ids[0])", "start-file \(ids[1])", "end-file error \(ids[1])",
                "start-file \(ids[2])", "file-loaded",
            ])
    }

    @Test func messagesOfAClientReachAllClients() throws {
        let other = try rig.connect()
        #expect(other.request(#"["get_property","pause"]"#) == "false")
        client.send("script-message custom-bind \"a b\"\n")
        for client in [client, other] {
            #expect(client.line()?.compact == #"{"event":"client-message","args":["custom-bind","a b"]}"#)
        }
        #expect(client.request(#"["script-message",1,true]"#) == "null")
        #expect(other.line()?.compact == #"{"event":"client-message","args":["1","yes"]}"#)
    }

    @Test func theEndOfTheServerIsAnEventAndTheSocketDisappears() throws {
        #expect(client.request(#"["client_name"]"#) == #""ipc-1""#)
        rig.server.close()
        #expect(client.line()?.compact == #"{"event":"shutdown"}"#)
        #expect(client.line() == nil)
        #expect(!FileManager.default.fileExists(atPath: rig.path))
    }

    // MARK: Bad input

    @Test func aLineOfTenMegabytesIsRefusedOnceAndSkipped() {
        client.send(#"{"command":["show-text",""# + String(repeating: "x", count: 10 << 20) + #""]}"# + "\n")
        #expect(client.reply() == #"{"request_id":0,"error":"invalid parameter"}"#)
        #expect(client.request(#"["get_property","pause"]"#) == "false")
    }

    @Test func bytesThatAreNoUTF8AreRefused() {
        client.send("{\"command\":[\"get_property\",\"")
        client.send(bytes: [0xFF, 0xC0, 0x80])
        client.send("\"]}\n")
        #expect(client.reply() == #"{"request_id":0,"error":"invalid parameter"}"#)
        client.send(bytes: [0xFF, 0x0A, 0x00, 0x0A])
        #expect(client.request(#"["get_property","pause"]"#) == "false")
    }

    @Test func aClientThatReadsNoEventsIsDisconnectedAndOthersAreServed() throws {
        let silent = try rig.connect()
        #expect(silent.request(#"["client_name"]"#) == #""ipc-2""#)
        // More than the queue and the kernel's buffers.
        let (count, size) = (120, 60_000)
        let text = String(repeating: "x", count: size)
        for _ in 0..<count {
            #expect(client.request(#"["script-message","\#(text)"]"#) == "null")
            _ = client.event("client-message")
        }
        #expect(silent.readRest() < count * size)
        #expect(client.request(#"["get_property","pause"]"#) == "false")
    }

    @Test func aClientThatReadsNoRepliesWaitsAndLosesNothing() throws {
        let line = #"{"command":["get_property","property-list"]}"# + "\n"
        var sent = 0
        // Until the server reads no more.
        while client.send(line, waits: false) == line.utf8.count, sent < 100_000 { sent += 1 }
        #expect(sent < 100_000)
        let other = try rig.connect()
        #expect(other.request(#"["get_property","pause"]"#) == "false")
        for _ in 0..<sent { #expect(client.line()?["error"] == .text("success")) }
    }

    @Test func textWaitsForTheCommandsOfTheLineBefore() throws {
        let (path, player) = (rig.folder.path("other"), TablePlayer())
        let server = try IPCServer.start(on: LocalListener(path: path), control: player.control)
        player.hold()
        let client = try IPCTestClient(path)
        client.send(String(repeating: "playlist-next; script-message a\n", count: 100))
        // Answered after what has already arrived from the first client was executed.
        #expect(try IPCTestClient(path).request(#"["get_property","pause"]"#) == "false")
        #expect(player.heldCount == 1)
        player.release()
        client.finish()
        _ = client.readRest()
        #expect(player.takeCommands().count == 100)
        server.close()
        player.control.close()
    }

    @Test func theCommandsOfALineAreExecutedInOrderAlsoWithoutTheirClient() throws {
        let executed = Lock<[String]>([])
        let waiting = Lock<[ControlReply]>([])
        var table = ControlTable.player
        // As the program's commands: its own thread executes them and replies.
        table.add(
            ControlCommand(
                "later", [], "replies later",
                perform: { _, reply in
                    executed.withLock { $0.append("later") }
                    waiting.withLock { $0.append(reply) }
                }))
        table.add(ControlCommand("now", [], "replies", run: { _, _ in executed.withLock { $0.append("now") } }))
        let rig = try IPCRig(table: table)
        let client = try rig.connect()
        do {
            let sender = try rig.connect()
            sender.send("later; script-message a; now\n")
        }
        while waiting.withLock({ $0.isEmpty }) { sched_yield() }
        // The player executes this after the commands that it has received.
        #expect(client.request(#"["cycle","mute"]"#) == "null")
        #expect(client.events.isEmpty && executed.withLock { $0 } == ["later"])
        for reply in waiting.withLock({ $0 }) { reply(.success(.null)) }
        #expect(client.event("client-message") != nil)
        #expect(client.request(#"["cycle","mute"]"#) == "null")
        #expect(executed.withLock { $0 } == ["later", "now"])
    }

    @Test func aLineOfAsManyCommandsAsFitIsExecuted() {
        client.send(String(repeating: "a;", count: LineSplitter.maxLength / 2 - 20) + "set mute yes\n")
        #expect(client.request(#"["get_property","mute"]"#) == "true")
    }

    /// In a process of its own: other tests have descriptors, too.
    @Test(.timeLimit(.minutes(10))) func aThousandConnectionsThatEndAtOnceLeaveNoDescriptorBehind() async {
        await #expect(processExitsWith: .success) {
            let rig = try IPCRig()
            let client = try rig.connect()
            func descriptorsInUse() throws -> Int {
                // The server accepts and removes connections while it serves this client.
                for _ in 0..<10 { #expect(client.request(#"["get_property","pause"]"#) == "false") }
                return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            }
            let before = try descriptorsInUse()
            for _ in 0..<1000 {
                // Fails while the listener's queue is full.
                while LocalStream.connect(to: rig.path) == nil { sched_yield() }
            }
            // A few may belong to the process itself.
            #expect(try descriptorsInUse() <= before + 20)
        }
    }

    @Test func furtherClientsThanTheMaximumAreDisconnected() throws {
        let clients = try (1..<IPCServer.maxClients).map { _ in try rig.connect() }
        for client in clients + [client] { #expect(client.request(#"["get_property","pause"]"#) == "false") }
        #expect(try rig.connect().readRest() == 0)
        #expect(client.request(#"["get_property","pause"]"#) == "false")
        clients[0].finish()
        #expect(clients[0].readRest() == 0)
        #expect(try rig.connect().request(#"["get_property","pause"]"#) == "false")
    }
}
