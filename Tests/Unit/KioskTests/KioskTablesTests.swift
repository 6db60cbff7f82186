import MediaCore
import Testing

@testable import Kiosk

/// The tables `[wall]` and `[fleet]`.
@Suite struct KioskTablesTests {
    private func read(_ text: String) throws(KioskConfigurationError) -> KioskConfiguration {
        try KioskConfiguration(Array("playlist = \"film.mp4\"\n\(text)".utf8), file: "hall.toml", folder: "/srv/kiosk")
    }

    private func mistakes(_ text: String) -> [String] {
        do throws(KioskConfigurationError) {
            _ = try read(text)
            return []
        } catch {
            return error.mistakes.map { "line \($0.line): \($0.sentence)" }
        }
    }

    @Test func aKioskHasNoFleetOrWallByDefault() throws {
        let kiosk = try read("")
        #expect(kiosk.wall == nil && kiosk.fleet == nil)
    }

    @Test func aWallNeedsOnlyItsName() throws {
        #expect(try read("[wall]").wall == KioskConfiguration.Wall())
        #expect(try read("[wall]\nfollow = false").wall == nil)
        let other = try #require(try read("[wall]\nchrony = \"/run/chrony/chronyd.sock\"\nchrony_port = 11323").wall)
        #expect(other.chrony == "/run/chrony/chronyd.sock" && other.chronyPort == 11323)
    }

    @Test func aFleetIsABrokerAndAName() throws {
        var expected = KioskConfiguration.Fleet(host: "10.0.0.2", name: "hall")
        #expect(try read("[fleet]\nbroker = \"mqtt://10.0.0.2\"\nname = \"hall\"").fleet == expected)
        (expected.host, expected.port, expected.isEncrypted) = ("broker.example", 8883, true)
        #expect(try read("[fleet]\nbroker = \"mqtts://broker.example/\"\nname = \"hall\"").fleet == expected)
        let whole = try #require(
            try read(
                """
                [fleet]
                broker = "mqtt://[fd00::2]:1884"
                name = "Große Halle"
                prefix = "house/talkie"
                user = "kiosk"
                password_file = "secret"
                ca_file = "/etc/ca.pem"
                """
            ).fleet)
        #expect(whole.host == "fd00::2" && whole.port == 1884 && whole.isEncrypted && whole.name == "Große Halle")
        #expect(
            whole.passwordFile == "/srv/kiosk/secret" && whole.authorities == "/etc/ca.pem" && whole.user == "kiosk")
        #expect(FleetTopics(whole).state == "house/talkie/Große Halle/state")
    }

    @Test func theGroupOfTheSocketIsAName() throws {
        #expect(try read("[control]\ngroup = \"operators\"").controlGroup == "operators")
        #expect(try read("").controlGroup == nil)
        #expect(mistakes("[control]\ngroup = 7") == ["line 3: group: expected the name of a group"])
        #expect(mistakes("group = \"operators\"").first?.contains("it belongs in [control]") == true)
    }

    @Test func everyMistakeIsReportedWithItsLine() {
        #expect(
            mistakes(
                """
                [wall]
                chrony = "-d"
                chrony_port = 0
                folow = true
                [fleet]
                broker = "http://x"
                name = "a/b"
                prefix = "$SYS"
                password_file = "p"
                """) == [
                    "line 3: chrony: expected an address of this computer or chronyd's socket, such as \"127.0.0.1\"; time servers are set in chrony.conf",
                    "line 4: chrony_port: expected a port from 1 to 65535; chrony's is 323",
                    "line 5: there is no key 'folow'; did you mean follow?",
                    "line 7: broker: a broker is written \"mqtt://10.0.0.2\", \"mqtt://10.0.0.2:1884\" or \"mqtts://…\"",
                    "line 8: name: expected a name of at most 64 bytes, without / # + and not \"all\"",
                    "line 9: prefix: expected a topic prefix, such as \"talkie\" or \"house/talkie\"",
                    "line 10: password_file: a password needs a user; write user = \"…\"",
                ])
        #expect(
            mistakes("[fleet]") == [
                "line 2: a fleet needs a broker, such as broker = \"mqtt://10.0.0.2\"",
                "line 2: a kiosk of a fleet needs a name, such as name = \"hall\"",
            ])
        #expect(mistakes("wall = true") == ["line 2: wall: expected a table, [wall]"])
        #expect(
            mistakes("[fleet]\nbroker = \"mqtt://me:secret@host\"\nname = \"a\"") == [
                "line 3: broker: no password in an address; write user and password_file"
            ])
    }

    @Test(arguments: [
        "mqtt://", "mqtt://[::1", "mqtt://[::1]x", "mqtt://a:0", "mqtt://a:70000", "mqtt://a b", "a", "mqtt:/a",
    ])
    func anInvalidAddressIsReported(broker: String) {
        #expect(mistakes("[fleet]\nbroker = \"\(broker)\"\nname = \"hall\"").count == 1)
    }
}
