import Foundation

/// pyatv in a Python environment of its own, made once and kept outside the checkout.
enum ForeignSender {
    /// The versions these tests were written with. srptools later than 1.0.1 is refused by pyatv's pairing.
    private static let packages = ["pyatv==0.18.0", "srptools==1.0.1"]

    struct Failure: Error, CustomStringConvertible { let description: String }

    private static var folder: URL {
        let cache =
            ProcessInfo.processInfo.environment["XDG_CACHE_HOME"].map { URL(fileURLWithPath: $0) }
            ?? FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".cache")
        return cache.appendingPathComponent("talkie/\(packages.joined(separator: "-"))")
    }

    /// The interpreter that has pyatv, installed now when it is not there.
    static func python() throws -> String {
        let interpreter = folder.appendingPathComponent("bin/python").path
        let ready = folder.appendingPathComponent("ready").path
        if FileManager.default.fileExists(atPath: ready) { return interpreter }
        try? FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        _ = try run("/usr/bin/env", ["python3", "-m", "venv", folder.path])
        _ = try run(interpreter, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"] + packages)
        _ = FileManager.default.createFile(atPath: ready, contents: nil)
        return interpreter
    }

    /// Plays a file; when the stream's clock started, in nanoseconds on CLOCK_MONOTONIC.
    static func play(_ file: URL, to address: String, port: UInt16) throws -> Int64 {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("pyatv-play.py")
        let output = try run(try python(), [script.path, address, "\(port)", file.path])
        let value = try JSONSerialization.jsonObject(with: output) as? [String: Any]
        guard let started = (value?["started_ns"] as? NSNumber)?.int64Value else {
            throw Failure(description: "the sender did not say when it began")
        }
        return started
    }

    private static func run(_ program: String, _ arguments: [String]) throws -> Data {
        let process = Process()
        // `timeout` ends a sender that hangs.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
        process.arguments = ["-k", "5", "240", program] + arguments
        let output = Pipe()
        let errors = FileManager.default.temporaryDirectory.appendingPathComponent("sender-\(UUID().uuidString).log")
        _ = FileManager.default.createFile(atPath: errors.path, contents: nil)
        defer { try? FileManager.default.removeItem(at: errors) }
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            let text = (try? String(contentsOf: errors, encoding: .utf8)) ?? ""
            throw Failure(description: "\(program) ended with \(process.terminationStatus): \(text.suffix(2000))")
        }
        return data
    }
}
