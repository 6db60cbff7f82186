import Foundation

/// pyatv in a Python environment of its own, made once and kept outside the checkout.
enum ForeignSender {
    /// What is installed, each file by its hash.
    private static let requirements = beside("pyatv-requirements.txt")

    private static func beside(_ name: String) -> URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(name)
    }

    struct Failure: Error, CustomStringConvertible { let description: String }

    /// Named after what is in it: another list is another environment.
    private static func folder() throws -> URL {
        let cache =
            ProcessInfo.processInfo.environment["XDG_CACHE_HOME"].map { URL(fileURLWithPath: $0) }
            ?? FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".cache")
        // FNV-1a: a name, no safeguard.
        let name = try Data(contentsOf: requirements).reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        return cache.appendingPathComponent("talkie/pyatv-\(String(name, radix: 16))")
    }

    /// The interpreter that has pyatv, installed now when it is not there.
    static func python() throws -> String {
        let folder = try folder()
        let interpreter = folder.appendingPathComponent("bin/python").path
        let ready = folder.appendingPathComponent("ready").path
        if FileManager.default.fileExists(atPath: ready) { return interpreter }
        try? FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        _ = try run("/usr/bin/env", ["python3", "-m", "venv", folder.path])
        _ = try run(
            interpreter,
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", requirements.path])
        _ = FileManager.default.createFile(atPath: ready, contents: nil)
        return interpreter
    }

    /// Plays a file; when the stream's clock started, in nanoseconds on CLOCK_MONOTONIC.
    static func play(_ file: URL, to address: String, port: UInt16) throws -> Int64 {
        let output = try run(try python(), [beside("pyatv-play.py").path, address, "\(port)", file.path])
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
