import Foundation
import Testing

/// A separate program that owns the screen under test, because SDL needs the main thread of a process.
final class Probe {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var pending: [String] = []
    private var rest = ""
    /// The input events of the window so far.
    private(set) var inputs: [String] = []

    convenience init(on display: String?, _ arguments: String...) throws {
        try self.init(display.map { ["DISPLAY": $0] } ?? [:], arguments)
    }

    /// - Parameter environment: selects the window system.
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

    /// The folder of this package's programs, next to the test bundle.
    private static var folder: URL {
        #if os(macOS)
            Bundle(for: Probe.self).bundleURL.deletingLastPathComponent()
        #else
            Bundle.main.executableURL!.deletingLastPathComponent()
        #endif
    }

    /// Sends a command and returns the response, which arrives once the result is on screen.
    @discardableResult
    func tell(_ command: String) throws -> Answer {
        send(command)
        return Answer(line: try line { $0.hasPrefix("done") || $0.hasPrefix("rested") })
    }

    func send(_ command: String) { input.fileHandleForWriting.write(Data((command + "\n").utf8)) }

    /// Ends the program and returns its exit status.
    func quit() throws -> Int32 {
        send("quit")
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// Ends the program and returns its exit status; nil if it hangs.
    func quit(atMost limit: Duration) throws -> Int32? {
        send("quit")
        let deadline = ContinuousClock.now.advanced(by: limit)
        while process.isRunning, ContinuousClock.now < deadline { usleep(5000) }
        guard process.isRunning else { return process.terminationStatus }
        kill(process.processIdentifier, SIGKILL)
        return nil
    }

    func forgetInputs() { inputs.removeAll() }

    /// Waits for an input event of the window.
    func waitForInput(_ text: String) throws {
        if inputs.contains(where: { $0.contains(text) }) { return }
        _ = try line { $0.hasPrefix("input") && $0.contains(text) }
    }

    /// Returns the next matching line; input events before it are stored.
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

/// A response of the probe about its screen.
struct Answer {
    var line: String

    subscript(_ key: String) -> String? {
        line.split(separator: " ").first { $0.hasPrefix(key + "=") }.map { String($0.dropFirst(key.count + 1)) }
    }
}

/// Polls a condition until it holds, for effects outside of both processes.
func eventually(_ what: String, within limit: Duration = .seconds(30), _ isSo: () throws -> Bool) throws {
    let deadline = ContinuousClock.now.advanced(by: limit)
    while try !isSo() {
        try #require(ContinuousClock.now < deadline, "not within \(limit): \(what)")
        usleep(5000)
    }
}
