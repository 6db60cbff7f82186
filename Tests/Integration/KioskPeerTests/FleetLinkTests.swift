import Glibc
import Kiosk
import MediaCore
import Playback
import TalkieTestKit
import Testing

/// A kiosk's link to a real MQTT broker.
@Suite(.serialized, .enabled(if: Mosquitto.obstacle == nil || getenv("CI") != nil, "\(Mosquitto.obstacle ?? "")"))
struct FleetLinkTests {
    private final class Kiosk: Sendable {
        let messages = Lock<[String]>([])
        let commands = Lock<[String]>([])
        let link: FleetLink

        init(_ fleet: KioskConfiguration.Fleet) throws {
            let (messages, commands) = (messages, commands)
            link = try FleetLink(
                fleet, table: .kiosk { _, _ in }, report: { words in messages.withLock { $0.append(words) } },
                handle: { command, reply in
                    commands.withLock { $0.append("\(command.id) \(command.request.logText)") }
                    reply(.success(.object([("filename", .text("did \(command.id)"))])))
                })
            try link.start()
        }
    }

    private func fleet(_ broker: Mosquitto, _ name: String = "hall") -> KioskConfiguration.Fleet {
        KioskConfiguration.Fleet(host: "127.0.0.1", port: broker.port, name: name)
    }

    private func state(_ title: String) -> KioskStateMessage {
        var state = KioskStateMessage()
        (state.phase, state.title) = ("playing", title)
        return state
    }

    /// Returns a subscriber to a kiosk's answers, whose subscription is active, for so many messages with the broker's
    /// version, which is the first.
    private func answers(_ count: Int, of broker: Mosquitto) throws -> ChildProcess {
        let subscriber = try broker.watch("talkie/hall/answer", count: count, ["-t", "$SYS/broker/version"])
        #expect(subscriber.readLine().hasPrefix("$SYS"))
        return subscriber
    }

    @Test func stateIsRetainedCommandsAreAnsweredOnceAndGoodbyeIsSaid() throws {
        let broker = try Mosquitto()
        try broker.start()
        let kiosk = try Kiosk(fleet(broker))
        kiosk.link.publish(state("Film A"))
        try #require(eventually { kiosk.link.isConnected })
        // Both messages are retained for later subscribers.
        #expect(try broker.watch("talkie/hall/state", count: 1).readAll().contains("\"title\":\"Film A\""))
        #expect(try broker.watch("talkie/+/online", count: 1).readAll() == "talkie/hall/online 1\n")

        let answers = try answers(5, of: broker)
        try broker.send("talkie/hall/command", "{\"id\":\"1\",\"do\":\"next\"}")
        try broker.send("talkie/all/command", "{\"id\":\"2\",\"do\":\"volume\",\"volume\":30}")
        try broker.send("talkie/hall/command", "{\"id\":\"1\",\"do\":\"next\"}")
        try broker.send("talkie/hall/command", "nonsense")
        let said = answers.readAll().split(separator: "\n")
        #expect(said.count == 4)
        #expect(said.first == "talkie/hall/answer {\"id\":\"1\",\"done\":true,\"words\":\"did 1\"}")
        #expect(said.contains("talkie/hall/answer {\"id\":\"1\",\"done\":true,\"words\":\"did 1\",\"repeated\":true}"))
        #expect(said.last?.contains("A command is a JSON object") ?? false)
        #expect(kiosk.commands.withLock { $0 } == ["1 playlist-next", "2 set volume 30"])
        kiosk.link.stop()
        #expect(try broker.watch("talkie/hall/online", count: 1).readAll() == "talkie/hall/online 0\n")
        #expect(kiosk.messages.withLock { $0 }.isEmpty)
    }

    @Test func aLostBrokerIsReportedOnceAndReconnected() throws {
        let broker = try Mosquitto()
        try broker.start()
        let kiosk = try Kiosk(fleet(broker))
        kiosk.link.publish(state("Film A"))
        try #require(eventually { kiosk.link.isConnected })
        broker.end()
        #expect(eventually { !kiosk.link.isConnected })
        // The broker stays away for several attempts.
        #expect(eventually { !kiosk.messages.withLock { $0 }.isEmpty })
        kiosk.link.publish(state("Film B"))
        HostInstant.now.advanced(by: .milliseconds(2500)).sleep()
        try broker.start()
        #expect(eventually { kiosk.link.isConnected })
        #expect(try broker.watch("talkie/hall/state", count: 1).readAll().contains("Film B"))
        let messages = kiosk.messages.withLock { $0 }
        #expect(
            messages.count == 2 && messages[0].contains("was lost")
                && messages[1].contains("Reconnected to the fleet's broker"),
            "\(messages)")
        kiosk.link.stop()
    }

    @Test func aWordThatIsWrongIsRefusedWithASentence() throws {
        let broker = try Mosquitto("allow_anonymous false\npassword_file FOLDER/passwords")
        try broker.write("passwords", "kiosk:open sesame\n")
        try ChildProcess("/usr/bin/mosquitto_passwd", ["-U", "\(broker.folder)/passwords"]).wait()
        try broker.start()
        var fleet = fleet(broker)
        fleet.user = "kiosk"
        fleet.passwordFile = try broker.write("secret", "open sesame\n")
        let kiosk = try Kiosk(fleet)
        #expect(eventually { kiosk.link.isConnected })
        kiosk.link.stop()
        fleet.passwordFile = try broker.write("secret", "wrong\n")
        let other = try Kiosk(fleet)
        #expect(eventually { !other.messages.withLock { $0 }.isEmpty })
        #expect(
            other.messages.withLock { $0.first ?? "" }.contains("not authorised"), "\(other.messages.withLock { $0 })")
        other.link.stop()
        fleet.passwordFile = "/nowhere/secret"
        #expect(throws: TalkieError.self) { try Kiosk(fleet) }
    }

    @Test func aBrokerAuthenticatesByItsCertificate() throws {
        let (ours, strangers) = (TemporaryFolder(), TemporaryFolder())
        let authority = try TestAuthority(in: ours.path)
        let identity = try authority.sign("broker")
        let broker = try Mosquitto("allow_anonymous true\ncertfile \(identity.certificate)\nkeyfile \(identity.key)")
        try broker.start()
        var fleet = fleet(broker)
        (fleet.isEncrypted, fleet.authorities) = (true, authority.certificate)
        let kiosk = try Kiosk(fleet)
        #expect(eventually { kiosk.link.isConnected })
        kiosk.link.stop()
        fleet.authorities = try TestAuthority(in: strangers.path).certificate
        let other = try Kiosk(fleet)
        #expect(eventually { !other.messages.withLock { $0 }.isEmpty })
        #expect(!other.link.isConnected)
        other.link.stop()
    }

    /// The library would allocate memory for the whole payload.
    @Test func aPayloadThatIsTooLargeStaysAtTheBroker() throws {
        let broker = try Mosquitto()
        try broker.start()
        let kiosk = try Kiosk(fleet(broker))
        kiosk.link.publish(state("Film A"))
        try #require(eventually { kiosk.link.isConnected })
        let large = try broker.write("large", String(repeating: "x", count: 32 << 20))
        defer { unlink(large) }
        let answers = try answers(3, of: broker)
        try #require(Memory.forgetPeak())
        let before = try #require(Memory.peak)
        try ChildProcess(
            "/usr/bin/mosquitto_pub", ["-p", "\(broker.port)", "-t", "talkie/hall/command", "-q", "1", "-f", large]
        ).wait()
        // A command slightly above the limit is answered with an error.
        try broker.send("talkie/hall/command", String(repeating: "x", count: 5000))
        try broker.send("talkie/hall/command", "{\"id\":\"1\",\"do\":\"next\"}")
        let said = answers.readAll()
        #expect(said.contains("A command has at most 4096 bytes.") && said.contains("did 1"), "\(said)")
        #expect(try #require(Memory.peak) - before < 8 << 20)
        kiosk.link.stop()
    }

    /// Memory of this process.
    private enum Memory {
        /// Resets the kernel's peak of resident memory (proc(5), "clear_refs").
        static func forgetPeak() -> Bool {
            guard let file = fopen("/proc/self/clear_refs", "w") else { return false }
            defer { fclose(file) }
            return fputs("5", file) >= 0
        }

        /// Peak of resident memory in bytes.
        static var peak: Int? {
            guard let file = fopen("/proc/self/status", "r") else { return nil }
            defer { fclose(file) }
            var line = [CChar](repeating: 0, count: 256)
            while fgets(&line, Int32(line.count), file) != nil {
                let text = line.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
                if text.hasPrefix("VmHWM:") {
                    return text.split(separator: " ").compactMap { Int($0) }.first.map { $0 << 10 }
                }
            }
            return nil
        }
    }

    /// An MQTT 3.1.1 broker rejects protocol level 5 with a return code, or closes the connection (MQTT 3.1.1,
    /// 3.1.2.2).
    @Test(arguments: [true, false])
    func aBrokerThatKnowsOnlyAnOlderVersionIsSpokenToInThat(says: Bool) throws {
        let (listener, port) = try Mosquitto.listener()
        defer { close(listener) }
        let broker = try WorkerThread.start(name: "old broker") {
            while true {
                let peer = accept(listener, nil, nil)
                guard peer >= 0 else { return }
                defer { close(peer) }
                var bytes = [UInt8](repeating: 0, count: 512)
                // Fixed header, length, "MQTT" with its length prefix, protocol level.
                guard recv(peer, &bytes, bytes.count, 0) > 8 else { continue }
                let isKnown = bytes[8] == 4
                let answer: [UInt8] = [0x20, 2, 0, isKnown ? 0 : 1]
                if isKnown || says { _ = send(peer, answer, answer.count, Int32(MSG_NOSIGNAL)) }
                while isKnown, recv(peer, &bytes, bytes.count, 0) > 0 {}
            }
        }
        let kiosk = try Kiosk(KioskConfiguration.Fleet(host: "127.0.0.1", port: port, name: "hall"))
        #expect(eventually(.seconds(5)) { kiosk.link.isConnected })
        #expect(kiosk.messages.withLock { $0.isEmpty })
        kiosk.link.stop()
        shutdown(listener, Int32(SHUT_RDWR))
        broker.join()
    }

    @Test func aBrokerThatTalksNonsenseIsLeftAndAStopIsNotHeldUp() throws {
        let (listener, port) = try Mosquitto.listener()
        defer { close(listener) }
        let talker = try WorkerThread.start(name: "nonsense") {
            while true {
                let peer = accept(listener, nil, nil)
                guard peer >= 0 else { return }
                let nonsense = (0..<4000).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 13) }
                _ = send(peer, nonsense, nonsense.count, Int32(MSG_NOSIGNAL))
                close(peer)
            }
        }
        let kiosk = try Kiosk(KioskConfiguration.Fleet(host: "127.0.0.1", port: port, name: "hall"))
        #expect(eventually { !kiosk.messages.withLock { $0 }.isEmpty })
        #expect(!kiosk.link.isConnected && kiosk.commands.withLock { $0.isEmpty })
        let before = HostInstant.now
        kiosk.link.stop()
        #expect(HostInstant.now - before < .seconds(3))
        #expect(kiosk.messages.withLock { $0.count } == 1)
        shutdown(listener, Int32(SHUT_RDWR))
        talker.join()
    }

    /// The broker clears the flag for clients that are connected, unless they subscribe with retain as published.
    @Test func aRetainedCommandIsRefusedAlsoByAConnectedKiosk() throws {
        let broker = try Mosquitto()
        try broker.start()
        let kiosk = try Kiosk(fleet(broker))
        defer { kiosk.link.stop() }
        try #require(eventually { kiosk.link.isConnected })
        let answers = try answers(2, of: broker)
        try broker.send("talkie/hall/command", "{\"id\":\"1\",\"do\":\"next\"}", ["-r"])
        #expect(answers.readAll().contains("A retained command"))
        #expect(kiosk.commands.withLock { $0 }.isEmpty)
    }

    @Test func aBurstOfCommandsIsAnsweredOrTheLossIsReported() throws {
        let broker = try Mosquitto("allow_anonymous true\nmax_queued_messages 10000")
        try broker.start()
        let kiosk = try Kiosk(fleet(broker))
        defer { kiosk.link.stop() }
        try #require(eventually { kiosk.link.isConnected })
        let answers = try answers(2001, of: broker)
        try broker.send(
            "talkie/hall/command", lines: (1...2000).map { "{\"id\":\"\($0)\",\"do\":\"next\"}" })
        #expect(Set(answers.readAll().split(separator: "\n")).count == 2000)
        #expect(kiosk.commands.withLock { $0.count } == 2000)
        #expect(kiosk.messages.withLock { $0 } == [])
    }

    @Test func twoKiosksOfOneNameSaySo() throws {
        let broker = try Mosquitto()
        try broker.start()
        let kiosks = try [Kiosk(fleet(broker)), Kiosk(fleet(broker))]
        defer { for kiosk in kiosks { kiosk.link.stop() } }
        #expect(
            eventually(.seconds(60)) {
                kiosks.contains {
                    $0.messages.withLock { $0.contains { $0.contains("another kiosk may have the name 'hall'") } }
                }
            })
    }
}
