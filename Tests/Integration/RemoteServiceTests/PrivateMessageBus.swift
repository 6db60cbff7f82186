import Foundation
import TalkieTestKit
import Testing

/// A private message bus with services mocked by python3-dbusmock.
final class PrivateMessageBus {
    private static let daemon = "/usr/bin/dbus-daemon"
    // Debian's interpreter, which finds Debian's modules.
    private static let python = "/usr/bin/python3"
    private static let mocks = "/usr/lib/python3/dist-packages/dbusmock"

    static let isWanted =
        [daemon, python, mocks].allSatisfy { FileManager.default.fileExists(atPath: $0) }
        || ProcessInfo.processInfo.environment["CI"] == "true"

    let address: String
    private let folder: String
    private var running: [ChildProcess] = []

    init() throws {
        for path in [Self.daemon, Self.python, Self.mocks] {
            try #require(FileManager.default.fileExists(atPath: path), "\(path) is missing; see Tools/packages.txt")
        }
        folder = NSTemporaryDirectory() + "talkie-bus-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        address = "unix:path=\(folder)/bus"
        try """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <listen>\(address)</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/>
          </policy>
        </busconfig>
        """.write(toFile: folder + "/bus.conf", atomically: true, encoding: .utf8)
        try begin()
    }

    deinit {
        end()
        try? FileManager.default.removeItem(atPath: folder)
    }

    func begin() throws {
        running.append(try ChildProcess(Self.daemon, ["--config-file=\(folder)/bus.conf", "--nofork"]))
        try #require(eventually { FileManager.default.fileExists(atPath: folder + "/bus") })
    }

    func end() {
        for process in running.reversed() { process.end() }
        running = []
        try? FileManager.default.removeItem(atPath: folder + "/bus")
    }

    func serveLogind() throws {
        try mock(["--template", "logind"])
        try #require(eventually { try !locks().isEmpty })
    }

    func servePortal() throws {
        let portal = ["org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop"]
        try mock(["-l", folder + "/log"] + portal + ["org.freedesktop.portal.Inhibit"])
        try #require(
            eventually {
                try call(
                    portal, "org.freedesktop.DBus.Mock.AddMethod", "'org.freedesktop.portal.Inhibit'", "'Inhibit'",
                    "'sua{sv}'", "'o'", "'ret = dbus.ObjectPath(\"/request\")'")
                return true
            })
    }

    private func mock(_ arguments: [String]) throws {
        running.append(
            try ChildProcess(
                "/usr/bin/env",
                [
                    "DBUS_SYSTEM_BUS_ADDRESS=\(address)", "DBUS_SESSION_BUS_ADDRESS=\(address)", Self.python, "-m",
                    "dbusmock",
                ]
                    + arguments))
    }

    private static let logind = ["org.freedesktop.login1", "/org/freedesktop/login1"]

    /// Returns the inhibitor locks as logind lists them.
    func locks() throws -> String { try call(Self.logind, "org.freedesktop.login1.Manager.ListInhibitors") }

    func announce(sleeps: Bool) throws {
        try call(
            Self.logind, "org.freedesktop.DBus.Mock.EmitSignal", "'org.freedesktop.login1.Manager'",
            "'PrepareForSleep'", "'b'", "[<\(sleeps)>]")
    }

    /// Returns the calls that the mocked services received.
    func log() throws -> String { try String(contentsOfFile: folder + "/log", encoding: .utf8) }

    /// Calls a method with arguments in GVariant text format; returns the reply in the same format.
    @discardableResult
    private func call(_ place: [String], _ method: String, _ arguments: String...) throws -> String {
        try run(
            "/usr/bin/gdbus",
            [
                "call", "--address", address, "--dest", place[0], "--object-path", place[1], "--method", method,
                "--timeout", "5",
            ] + arguments)
    }

    /// Runs a program with this bus as its session bus and no system bus. Returns its output.
    private func run(_ path: String, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        // playerctl asks the system's bus too, and fails where only the socket of one is left.
        let buses = [
            "DBUS_SESSION_BUS_ADDRESS": address, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder)/no-bus",
        ]
        process.environment = ProcessInfo.processInfo.environment.merging(buses) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw RunFailed(arguments: arguments) }
        return text
    }

    private struct RunFailed: Error { var arguments: [String] }

    /// Returns the names on the bus, in GVariant text format.
    func names() throws -> String {
        try call(["org.freedesktop.DBus", "/org/freedesktop/DBus"], "org.freedesktop.DBus.ListNames")
    }

    private static let player = "/usr/bin/playerctl"

    static let hasPlayerctl =
        FileManager.default.fileExists(atPath: player) || ProcessInfo.processInfo.environment["CI"] == "true"

    /// Runs `playerctl` on this bus. Returns its output without the newline.
    func playerctl(_ words: String...) throws -> String { try playerctl(words) }

    func playerctl(_ words: [String]) throws -> String {
        try run(Self.player, ["--player", "talkie"] + words).trimmingCharacters(in: .newlines)
    }

    /// Polls a condition for up to 45 s, which is enough for three attempts to connect; an error counts as false.
    func eventually(_ isSo: () throws -> Bool) -> Bool {
        let deadline = ContinuousClock.now.advanced(by: .seconds(45))
        while (try? isSo()) != true {
            guard ContinuousClock.now < deadline else { return false }
            usleep(20_000)
        }
        return true
    }
}
