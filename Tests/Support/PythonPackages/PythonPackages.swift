package import Foundation

/// PyPI packages for tests, in virtual environments that are created once and cached outside the checkout.
package enum PythonPackages {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
        package init(description: String) { self.description = description }
    }

    /// Returns the path of an interpreter with the packages of a hash-pinned requirements file. Installs them on the
    /// first call.
    ///
    /// - Parameter name: prefix of the environment's folder; each requirements file has a separate environment.
    package static func python(_ name: String, requirements: URL) throws -> String {
        let folder = try folder(name, requirements)
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

    private static func folder(_ name: String, _ requirements: URL) throws -> URL {
        let cache =
            ProcessInfo.processInfo.environment["XDG_CACHE_HOME"].map { URL(fileURLWithPath: $0) }
            ?? FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".cache")
        // FNV-1a: names the folder; it does not protect against tampering.
        let list = try Data(contentsOf: requirements).reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        return cache.appendingPathComponent("talkie/\(name)-\(String(list, radix: 16))")
    }

    /// Returns the standard output of a program. `timeout` ends the program after 240 s.
    package static func run(_ program: String, _ arguments: [String]) throws -> Data {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
        process.arguments = ["-k", "5", "240", program] + arguments
        let output = Pipe()
        let errors = FileManager.default.temporaryDirectory.appendingPathComponent("python-\(UUID().uuidString).log")
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
