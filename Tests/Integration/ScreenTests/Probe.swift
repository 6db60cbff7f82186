import Foundation
import Testing

/// The program that owns the screen under test: SDL wants the main thread of a process.
final class Probe {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var pending: [String] = []
    private var rest = ""
    /// What people did to the window so far.
    private(set) var inputs: [String] = []

    convenience init(on display: String?, _ arguments: String...) throws {
        try self.init(display.map { ["DISPLAY": $0] } ?? [:], arguments)
    }

    /// - Parameter environment: names the window system.
    convenience init(in environment: [String: String], _ arguments: String...) throws {
        try self.init(environment, arguments)
    }

    private init(_ windowSystem: [String: String], _ arguments: [String]) throws {
        process.executableURL = Self.folder.appendingPathComponent("screen-probe")
        process.arguments = arguments
        var environment = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "SWIFT_BACKTRACE": "enable=no"]
        environment.merge(windowSystem) { $1 }
        if let path = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] { environment["LD_LIBRARY_PATH"] = path }
        process.environment = environment
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        #expect(try line { $0 == "ready" } == "ready")
    }

    deinit {
        input.fileHandleForWriting.closeFile()
        process.waitUntilExit()
    }

    /// Where this package's programs lie: beside the tests.
    private static var folder: URL {
        #if os(macOS)
            Bundle(for: Probe.self).bundleURL.deletingLastPathComponent()
        #else
            Bundle.main.executableURL!.deletingLastPathComponent()
        #endif
    }

    /// Gives a command and returns its answer, which comes once it is on screen.
    @discardableResult
    func tell(_ command: String) throws -> Answer {
        send(command)
        return Answer(line: try line { $0.hasPrefix("done") || $0.hasPrefix("rested") })
    }

    func send(_ command: String) { input.fileHandleForWriting.write(Data((command + "\n").utf8)) }

    /// Ends the program; its exit status.
    func quit() throws -> Int32 {
        send("quit")
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// The same where it may hang, which is nil.
    func quit(atMost limit: Duration) throws -> Int32? {
        send("quit")
        let deadline = ContinuousClock.now.advanced(by: limit)
        while process.isRunning, ContinuousClock.now < deadline { usleep(5000) }
        guard process.isRunning else { return process.terminationStatus }
        kill(process.processIdentifier, SIGKILL)
        return nil
    }

    func forgetInputs() { inputs.removeAll() }

    /// Waits for something that people do to the window.
    func waitForInput(_ text: String) throws {
        if inputs.contains(where: { $0.contains(text) }) { return }
        _ = try line { $0.hasPrefix("input") && $0.contains(text) }
    }

    /// The next line that fits; inputs that come before it are kept.
    private func line(where fits: (String) -> Bool) throws -> String {
        while true {
            while !pending.isEmpty {
                let line = pending.removeFirst()
                if line.hasPrefix("input") { inputs.append(line) }
                try #require(!line.hasPrefix("error"), "\(line)")
                if fits(line) { return line }
            }
            let data = output.fileHandleForReading.availableData
            try #require(!data.isEmpty, "the probe ended")
            rest += String(decoding: data, as: UTF8.self)
            var lines = rest.components(separatedBy: "\n")
            rest = lines.removeLast()
            pending += lines
        }
    }
}

/// What the probe said about its screen.
struct Answer {
    var line: String

    subscript(_ key: String) -> String? {
        line.split(separator: " ").first { $0.hasPrefix(key + "=") }.map { String($0.dropFirst(key.count + 1)) }
    }
}

/// Looks again until something is so, for what happens outside of both processes.
func eventually(_ what: String, within limit: Duration = .seconds(30), _ isSo: () throws -> Bool) throws {
    let deadline = ContinuousClock.now.advanced(by: limit)
    while try !isSo() {
        try #require(ContinuousClock.now < deadline, "not within \(limit): \(what)")
        usleep(5000)
    }
}
