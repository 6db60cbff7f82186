import Foundation
import PythonPackages

/// pyatv in a separate Python environment.
enum ForeignSender {
    private static func beside(_ name: String) -> URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(name)
    }

    /// Returns the path of an interpreter with pyatv.
    static func python() throws -> String {
        try PythonPackages.python("pyatv", requirements: beside("pyatv-requirements.txt"))
    }

    /// Plays a file; returns when the stream's clock started, in nanoseconds on CLOCK_MONOTONIC.
    static func play(_ file: URL, to address: String, port: UInt16) throws -> Int64 {
        let output = try PythonPackages.run(
            try python(), [beside("pyatv-play.py").path, address, "\(port)", file.path])
        let value = try JSONSerialization.jsonObject(with: output) as? [String: Any]
        guard let started = (value?["started_ns"] as? NSNumber)?.int64Value else {
            throw PythonPackages.Failure(description: "the sender did not say when it began")
        }
        return started
    }
}
