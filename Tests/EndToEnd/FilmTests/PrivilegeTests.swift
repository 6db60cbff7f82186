import Foundation
import Glibc
import Testing

@testable import ProgramTestSupport

/// The program uses no capabilities, even if its file grants some; the PTP ports come from elsewhere.
///
/// Each run uses an unprivileged user (65534) and copies of the programs. Runs that bind ports use a separate network.
@Suite(
    .serialized, .timeLimit(.minutes(1)),
    .enabled(if: PlainUser.isWanted, "no plain user here: \(PlainUser.obstacle ?? "")"))
struct PrivilegeTests {
    let user: PlainUser
    init() throws { user = try PlainUser() }

    // MARK: Capabilities of the program's file

    /// A way to inject a library through the environment or the home folder, verified by the library itself.
    struct Way: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var environment: [String: String] = [:]
        /// Files by name; CANARY is replaced by the path of the library.
        var files: [String: String] = [:]
        var arguments = ["--no-video", "--audio-device", "canary"]
    }

    static let ways = [
        Way(
            testDescription: "SDL_DYNAMIC_API", environment: ["SDL_DYNAMIC_API": "HOME/canary.so"],
            arguments: ["--audio-device", "null"]),
        Way(
            testDescription: "ALSA_PLUGIN_DIR",
            environment: ["ALSA_PLUGIN_DIR": "HOME", "ALSA_CONFIG_PATH": "HOME/alsa.conf"],
            files: ["alsa.conf": "pcm.canary { type canary }"]),
        Way(
            testDescription: "ALSA_CONFIG_PATH", environment: ["ALSA_CONFIG_PATH": "HOME/alsa.conf"],
            files: ["alsa.conf": "pcm_type.canary { lib \"HOME/canary.so\" }\npcm.canary { type canary }"]),
        Way(
            testDescription: "~/.asoundrc",
            files: [".asoundrc": "pcm_type.canary { lib \"HOME/canary.so\" }\npcm.canary { type canary }"]),
    ]

    @Test(arguments: ways) func aLibraryThatAUserNamesHasNoCapabilities(_ way: Way) throws {
        try user.grant("cap_net_bind_service,cap_sys_nice+ep", to: "talkie")
        let home = user.home.path
        func placed(_ text: String) -> String { text.replacing("HOME", with: home) }
        for (name, text) in way.files { try Data(placed(text).utf8).write(to: user.home.appending(path: name)) }
        try user.buildCanary()
        let result = try user.run(
            "talkie", ["play"] + way.arguments + ["--end", "0.1", user.film],
            environment: way.environment.mapValues(placed))
        let warning = try #require(result.errorLines.first, "it says nothing")
        #expect(
            warning.contains("dropped the capabilities that it was started with (cap_net_bind_service, cap_sys_nice)"))
        #expect(warning.contains("sudo setcap -r"))
        let status = try #require(
            try? String(contentsOf: user.home.appending(path: "seen"), encoding: .utf8),
            "the library was not loaded, so this says nothing: \(result.errors)")
        let held = status.split(separator: "\n").filter { $0.hasPrefix("Cap") && !$0.hasPrefix("CapBnd") }
        #expect(held.count == 4)
        for line in held { #expect(line.hasSuffix("\t0000000000000000"), "\(line)") }
    }

    @Test func aProgramThatIsSetUserIDEndsBeforeItLoadsAnything() throws {
        try user.run(root: "chmod", ["u+s", user.programs.appending(path: "talkie").path])
        let result = try user.run("talkie", ["--version"])
        #expect(result.status == 77 && result.output.isEmpty)
        #expect(result.errors.contains("set-user-ID"), "\(result.errors)")
    }

    @Test func withoutCapabilitiesThereIsNothingToTell() throws {
        let result = try user.run("talkie", ["--version"])
        #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
    }

    // MARK: The ports of PTP

    @Test func withoutPermissionForThePortsSysctlAndTheHelperAreSuggested() throws {
        let result = try user.speak()
        #expect(result.status == 77)
        #expect(result.errorLines.count == 1)
        #expect(result.errors.contains("`sudo sysctl net.ipv4.ip_unprivileged_port_start=319`"), "\(result.errors)")
        let helper = user.programs.appending(path: "talkie-ports").path
        #expect(result.errors.contains("`sudo setcap cap_net_bind_service=ep '\(helper)'`"), "\(result.errors)")
        #expect(!result.errors.contains("cap_sys_nice"))
    }

    // feature: guide: The ports of the speakers' clock
    @Test func theHelperBindsThePortsForAPlayerThatHasNoCapabilities() throws {
        try user.grant("cap_net_bind_service=ep", to: "talkie-ports")
        let result = try user.speak(isExpected: true)
        #expect(result.output.contains("; PTP and NTP timing;"), "\(result.output) \(result.errors)")
        #expect(result.status == 143)
        // The second speaker on an address reports the port in use, not missing permissions.
        let busy = try user.speak(before: "python3 -c '\(Self.holder)' 127.0.0.5 319")
        #expect(busy.status == 69 && busy.errors.contains("uses UDP port 319 or 320"), "\(busy.errors)")
    }

    /// Starts a background process that holds a port while the network exists; returns when it does.
    private static let holder = """
        import os, socket, sys, time
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); one.bind((sys.argv[1], int(sys.argv[2])))
        if os.fork() == 0:
            for descriptor in (0, 1, 2): os.close(descriptor)
            time.sleep(10)
        """

    @Test func theHelperDoesNothingElse() throws {
        try user.grant("cap_net_bind_service=ep", to: "talkie-ports")
        for words in [[], ["127.0.0.1"], ["localhost"], ["127.0.0.1", "53"]] {
            let result = try user.run("talkie-ports", words)
            #expect(result.status == 64 && result.errors.contains("is started by talkie"), "\(words): \(result.errors)")
        }
        let pair = try user.run(
            "talkie-ports", [], through: "python3 -c '\(Self.requestBuilder)' \"$@\"", inNetwork: true)
        // Rejected: a multicast group, the wildcard, broadcast and a foreign address. Accepted: an own address; then
        // again while it is bound, and as a stream socket.
        let (no, busy) = (EADDRNOTAVAIL, EADDRINUSE)
        #expect(
            pair.output
                == "\(no) 0, \(no) 0, \(no) 0, \(no) 0, 0 2 ('127.0.0.1', 319) ('127.0.0.1', 320), \(busy) 0, nothing\n",
            "\(pair.output) \(pair.errors)")
    }

    private static let requestBuilder = """
        import socket, subprocess, sys
        kept, said = [], []
        asked = ["224.0.1.129", "0.0.0.0", "255.255.255.255", "192.0.2.1", "127.0.0.1", "127.0.0.1"]
        for address in asked + [None]:
            kind = socket.SOCK_SEQPACKET if address else socket.SOCK_STREAM
            ours, its = socket.socketpair(socket.AF_UNIX, kind)
            words = sys.argv[1:] + [address or "127.0.0.1"]
            subprocess.run(words, stdin=its, stderr=subprocess.DEVNULL, timeout=10)
            its.close()
            data, descriptors, flags, sender = socket.recv_fds(ours, 16, 8)
            made = [socket.socket(fileno=one) for one in descriptors]
            kept += made
            names = [str(one.getsockname()) for one in made]
            said.append(" ".join([str(data[0]), str(len(made))] + names) if data else "nothing")
        print(", ".join(said))
        """

    @Test func aUserWhoMayBindThePortsNeedsNoHelper() throws {
        let result = try user.speak(
            isExpected: true, before: "echo 319 > /proc/sys/net/ipv4/ip_unprivileged_port_start")
        #expect(result.output.contains("; PTP and NTP timing;"), "\(result.output) \(result.errors)")
    }

    /// Binds the sockets of its first argument, as `udp:ADDRESS:PORT` or `tcp:…`, and executes the remaining arguments
    /// with them as a socket-activated service.
    private static let manager = """
        import os, socket, sys
        made = []
        for place in sys.argv[1].split(","):
            kind, address, port = place.split(":")
            made.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM))
            made[-1].bind((address, int(port)))
        copies = [os.dup(one.fileno()) for one in made]
        spare = [os.dup2(one, 100 + place) for place, one in enumerate(copies)]
        for place, one in enumerate(spare): os.dup2(one, 3 + place)
        environment = dict(os.environ, LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(made)))
        os.execvpe(sys.argv[2], sys.argv[2:], environment)
        """

    @Test(arguments: ["127.0.0.5", "0.0.0.0"]) func aServiceManagersSocketsAreUsed(_ address: String) throws {
        let result = try user.speak(
            isExpected: true,
            through: "exec python3 -c '\(Self.manager)' udp:\(address):319,udp:\(address):320 \"$@\"")
        #expect(result.output.contains("; PTP and NTP timing;"), "\(result.output) \(result.errors)")
        #expect(result.errors.isEmpty)
    }

    @Test func unsuitableSocketsOfAServiceManagerAreReportedAndPlaybackContinues() throws {
        let result = try user.run(
            "talkie", ["--version"],
            through: "exec python3 -c '\(Self.manager)' tcp:127.0.0.5:7001,udp:127.0.0.5:319 \"$@\"", inNetwork: true)
        #expect(result.status == 0 && result.output.hasPrefix("talkie "))
        #expect(result.errorLines.count == 2)
        #expect(result.errors.contains("descriptor 3 is not a UDP socket of IPv4"), "\(result.errors)")
        #expect(
            result.errors.contains("UDP port 319 on 127.0.0.5 was passed without 320; PTP needs both."),
            "\(result.errors)")
    }
}
