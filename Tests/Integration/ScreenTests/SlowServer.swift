import Foundation
import TalkieTestKit
import Testing

/// A local web server with a limited rate (`Tools/lab/slow-server`); it ends at `deinit`.
final class SlowServer {
    let port: Int
    private let process: ChildProcess

    /// - Parameter bytesPerSecond: of all connections together.
    init(_ folder: String, bytesPerSecond: Int) throws {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        process = try ChildProcess(
            "/usr/bin/python3",
            [root.appendingPathComponent("Tools/lab/slow-server").path, folder, String(max(1, bytesPerSecond))],
            keepsOutput: true)
        // The first line of output is the port.
        var (line, byte) = ("", UInt8(0))
        while read(process.output, &byte, 1) == 1, byte != 10 { line.append(Character(Unicode.Scalar(byte))) }
        port = try #require(Int(line), "no server")
    }

    deinit { process.end() }
}
