import Foundation
import Glibc

/// Two private hosts that see each other by mDNS (Tests/Support/discovery-network). This process is a client of host
/// "a"; host "b" announces the services passed to `announce`.
///
/// One instance per process, because libdbus reads the address of the bus once.
final class DiscoveryNetwork: Sendable {
    static let shared = DiscoveryNetwork()

    /// The reason why the network cannot be created here; nil if it can.
    static let obstacle: String? = {
        guard geteuid() == 0 else { return "network namespaces need root" }
        for program in ["/usr/sbin/avahi-daemon", "/usr/bin/dbus-daemon", "/usr/bin/unshare"]
        where access(program, X_OK) != 0 { return "\(program) is not installed" }
        return nil
    }()

    private let folder: String
    private static let script = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Support/discovery-network").standardizedFileURL.path

    private init() {
        var template = Array("/tmp/tkdisc-XXXXXX".utf8CString)
        folder = String(cString: mkdtemp(&template))
        // The daemons do not run as root.
        chmod(folder, 0o755)
        setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=\(folder)/a/bus", 1)
        Self.run(["up", folder])
        atexit { DiscoveryNetwork.shared.tearDown() }
    }

    private func tearDown() {
        Self.run(["down", folder])
        try? FileManager.default.removeItem(atPath: folder)
    }

    func startDaemon() { Self.run(["daemon", folder, "a", "start"]) }
    func stopDaemon() { Self.run(["daemon", folder, "a", "stop"]) }
    func killDaemon() { Self.run(["daemon", folder, "a", "kill"]) }
    /// The daemon answers nothing while a closure runs.
    func withFrozenDaemon<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        Self.run(["daemon", folder, "a", "freeze"])
        defer { Self.run(["daemon", folder, "a", "thaw"]) }
        try body()
    }

    /// Makes host "b" announce services with one instance name, replacing those announced for `file` before.
    func announce(_ file: String, name: String, _ services: [(type: String, port: Int, txt: [String])]) {
        func escaped(_ text: String) -> String {
            text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
        }
        var xml = "<service-group><name>\(escaped(name))</name>"
        for service in services {
            xml += "<service><type>\(service.type)</type><port>\(service.port)</port>"
            for text in service.txt { xml += "<txt-record>\(escaped(text))</txt-record>" }
            xml += "</service>"
        }
        let (draft, target) = ("\(folder)/b/\(file).draft", "\(folder)/b/services/\(file).service")
        try! Data("\(xml)</service-group>".utf8).write(to: URL(filePath: draft))
        // avahi-daemon ignores a changed file whose modification time is in the same second.
        let known = try? FileManager.default.attributesOfItem(atPath: target)[.modificationDate] as? Date
        let date = max(Date(), (known ?? .distantPast).addingTimeInterval(1.1))
        try! FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: draft)
        rename(draft, target)
    }

    func withdrawAll() {
        for file in (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/b/services")) ?? [] {
            try? FileManager.default.removeItem(atPath: "\(folder)/b/services/\(file)")
        }
    }

    /// Uses posix_spawn, because `Process` waits for the end of grandchildren too.
    private static func run(_ arguments: [String]) {
        var words = ([script] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var child = pid_t()
        // Test threads block signals; a message bus that inherits the mask could not be terminated.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        precondition(posix_spawn(&child, script, nil, &attributes, &words, environ) == 0, "cannot start \(script)")
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0 && errno == EINTR {}
        precondition(status == 0, "discovery-network \(arguments) failed")
    }
}
