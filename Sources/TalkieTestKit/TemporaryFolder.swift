internal import Foundation

/// A temporary folder that is removed with this object.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() {
        path = NSTemporaryDirectory() + "talkie-test-\(UUID().uuidString)"
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        } catch {
            preconditionFailure("no temporary folder: \(error)")
        }
    }

    // ignored: a folder that stays in /tmp changes no test.
    deinit { try? FileManager.default.removeItem(atPath: path) }

    package func path(_ name: String) -> String { path + "/" + name }

    /// Writes a file and returns its path.
    @discardableResult
    package func write(_ text: String, to name: String) -> String {
        precondition(FileManager.default.createFile(atPath: path(name), contents: Data(text.utf8)))
        return path(name)
    }

    @discardableResult
    package func write(_ bytes: [UInt8], to name: String) throws -> String {
        try TestClips.write(bytes, to: path(name))
        return path(name)
    }

    package func read(_ name: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path(name)) ?? Data(), as: UTF8.self)
    }
}
