import MediaCore
import Playback
import Sockets
import SyncRendering
import TalkieTestKit
import Testing

@testable import Remote

/// A player with a server; films last an hour, which no stall of the machine reaches. Those named "bad…" cannot be
/// opened, those named "slow…" when `gate` is raised.
final class IPCRig {
    let gate = Signal()
    private let playerEvents = Lock<[PlayerEvent]>([])
    let folder = TemporaryFolder()
    let path: String
    let player: Player
    let control: PlayerControl
    let server: IPCServer

    init(table: ControlTable = .player) throws {
        let (gate, playerEvents) = (gate, playerEvents)
        path = folder.path("socket")
        var options = PlayerOptions()
        options.playsVideo = false
        player = Player(
            components: Player.Components(
                open: { (address, _) throws(MediaError) in
                    if address.hasPrefix("bad") { throw MediaError(.notMedia, "'\(address)' is no film") }
                    if address.hasPrefix("slow") { gate.wait() }
                    return SyntheticFilm(duration: MediaTime(value: 3600, timescale: 1))
                },
                codecs: SyntheticCodecs(),
                makeDecoder: { _ in SyntheticVideoDecoder(frame: MediaTime(value: 1, timescale: 24)) },
                audioOutput: RecordingOutput(capacity: 48_000 * 60)),
            options: options, events: EventLog(clock: MonotonicClock())
        ) { event in playerEvents.withLock { $0.append(event) } }
        control = PlayerControl(player, table: table)
        server = try IPCServer.start(on: LocalListener(path: path), control: control)
    }

    deinit {
        gate.raise()
        server.close()
        control.close()
        player.shutDown()
    }

    func connect() throws -> IPCTestClient { try IPCTestClient(path) }

    /// Waits until the player has reported an event.
    func wait(for isMeant: (PlayerEvent) -> Bool) {
        let limit = HostInstant.now.advanced(by: .seconds(120))
        while !playerEvents.withLock({ $0.contains(where: isMeant) }) {
            guard .now < limit else {
                Issue.record("the player does not report it")
                return
            }
            HostInstant.now.advanced(by: .milliseconds(2)).sleep()
        }
    }
}

/// A client that waits for lines.
final class IPCTestClient {
    private let stream: LocalStream
    private var input: [UInt8] = []
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)
    /// Events that came before a reply.
    private(set) var events: [JSONValue] = []

    init(_ path: String) throws {
        stream = try #require(LocalStream.connect(to: path))
    }

    /// Sends text; returns the number of bytes that fit if the server reads no more.
    @discardableResult
    func send(_ text: String, waits: Bool = true) -> Int { send(bytes: Array(text.utf8), waits: waits) }

    @discardableResult
    func send(bytes: [UInt8], waits: Bool = true) -> Int {
        var sent = 0
        let limit = HostInstant.now.advanced(by: .seconds(120))
        while sent < bytes.count, HostInstant.now < limit {
            switch bytes.withUnsafeBytes({ stream.send(UnsafeRawBufferPointer(rebasing: $0[sent...])) }) {
            case .moved(let count): sent += count
            case .ended: return sent
            case .blocked:
                if !waits { return sent }
                _ = Poller.wait(reading: [], writing: [stream.descriptor], until: limit)
            }
        }
        return sent
    }

    /// Ends the sending direction.
    func finish() { stream.finish() }

    /// Returns the next line; nil after the end, or after two minutes.
    func line() -> JSONValue? {
        let limit = HostInstant.now.advanced(by: .seconds(120))
        while true {
            if let end = input.firstIndex(of: UInt8(ascii: "\n")) {
                defer { input.removeFirst(end + 1) }
                var reader = JSONReader(maxElements: 1 << 20)
                return Array(input[..<end]).withUnsafeBytes { reader.read($0).map(JSONValue.init) }
            }
            switch stream.receiveNow(into: &buffer, limit: buffer.count) {
            case .bytes(let count): input += buffer[..<count]
            case .ended: return nil
            case .nothing:
                guard HostInstant.now < limit else {
                    Issue.record("nothing arrived")
                    return nil
                }
                _ = Poller.wait(reading: [stream.descriptor], until: limit)
            }
        }
    }

    /// Reads to the end. Returns the number of bytes.
    func readRest() -> Int {
        var count = input.count
        let limit = HostInstant.now.advanced(by: .seconds(120))
        while HostInstant.now < limit {
            switch stream.receiveNow(into: &buffer, limit: buffer.count) {
            case .bytes(let more): count += more
            case .ended: return count
            case .nothing: _ = Poller.wait(reading: [stream.descriptor], until: limit)
            }
        }
        Issue.record("the server does not disconnect")
        return count
    }

    /// Returns the next reply, serialized, without the reason of an error; events are collected.
    func reply() -> String? {
        while let line = line() {
            if line["event"] != nil {
                events.append(line)
            } else {
                guard case .object(let members) = line else { return line.compact }
                return JSONValue.object(members.filter { !["reason", "code"].contains($0.0) }).compact
            }
        }
        return nil
    }

    /// Sends a command in JSON and returns its reply: the data, or the words of the error.
    func request(_ command: String) -> String? {
        send("{\"command\":\(command)}\n")
        while let line = line() {
            if line["event"] != nil {
                events.append(line)
                continue
            }
            return line["error"] == .text("success") ? line["data"]?.compact : line["error"]?.text
        }
        return nil
    }

    /// Returns the next events up to one with this name: their names, the reason and the item.
    func events(through name: String) -> [String] {
        var names: [String] = []
        while let event = events.isEmpty ? line() : events.removeFirst() {
            let words = ["event", "reason", "playlist_entry_id"].compactMap { event[$0]?.mpvText }
            names.append(words.joined(separator: " "))
            if words.first == name { break }
        }
        return names
    }

    /// Returns the next event with this name; earlier ones are dropped.
    func event(_ name: String) -> JSONValue? {
        func isMeant(_ event: JSONValue) -> Bool { event["event"] == .text(name) }
        if let index = events.firstIndex(where: isMeant) {
            defer { events.removeFirst(index + 1) }
            return events[index]
        }
        while let line = line() { if isMeant(line) { return line } }
        return nil
    }
}
