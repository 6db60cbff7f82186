import Foundation
import Testing

/// A private X server that maps its framebuffer to a file, which is read without X requests.
final class VirtualDisplay {
    static let isInstalled = find("Xvfb") != nil
    /// True if the tests run. With `CI=true` they run and fail without Xvfb; elsewhere they are skipped.
    static let isWanted = isInstalled || ProcessInfo.processInfo.environment["CI"] == "true"

    let name: String
    private let server = Process()
    private let folder: URL

    /// - Parameters:
    ///   - name: of an earlier display, which has ended; nil: a free one.
    ///   - isLocked: only programs with its cookie may connect.
    ///   - hasOpenGL: false starts a server without GLX, which has windows but no OpenGL.
    init(_ size: String, named wanted: String? = nil, isLocked: Bool = false, hasOpenGL: Bool = true) throws {
        let path = try #require(Self.find("Xvfb"), "Xvfb is not installed; see Tools/packages.txt")
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("screen-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let numbers = Pipe()
        server.executableURL = URL(fileURLWithPath: path)
        server.arguments = [
            "-displayfd", "1", "-screen", "0", "\(size)x24", "-nolisten", "tcp", "-noreset", "-fbdir", folder.path,
        ]
        if let wanted { server.arguments!.insert(wanted, at: 0) }
        if !hasOpenGL { server.arguments! += ["-extension", "GLX"] }
        if isLocked {
            // One entry of the form that Xau(3) reads: family "wild", no address, no number, a name, a cookie.
            let name = "MIT-MAGIC-COOKIE-1"
            let entry: [UInt8] = [255, 255, 0, 0, 0, 0, 0, UInt8(name.utf8.count)] + Array(name.utf8)
            let keys = folder.appendingPathComponent("keys")
            try Data(entry + [0, 16] + (1...16)).write(to: keys)
            server.arguments! += ["-auth", keys.path]
        }
        server.standardOutput = numbers
        server.standardError = FileHandle.nullDevice
        try server.run()
        var line = ""
        while !line.hasSuffix("\n") {
            let piece = numbers.fileHandleForReading.availableData
            try #require(!piece.isEmpty, "Xvfb ended before it had a display")
            line += String(decoding: piece, as: UTF8.self)
        }
        name = ":" + line.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(at: folder)
    }

    func stop() {
        guard server.isRunning else { return }
        // Foundation starts processes with SIGTERM blocked, so SIGTERM would have no effect. The next server with this
        // number takes over the stale lock.
        kill(server.processIdentifier, SIGKILL)
        server.waitUntilExit()
    }

    /// Returns the contents of the display. The file is a window dump as X11/XWDFile.h describes it: 25 big-endian
    /// words, a colour table, rows.
    func picture() throws -> DisplayPicture {
        let bytes = [UInt8](try Data(contentsOf: folder.appendingPathComponent("Xvfb_screen0")))
        func word(_ index: Int) -> Int {
            bytes[(index * 4)..<(index * 4 + 4)].reduce(0) { $0 << 8 | Int($1) }
        }
        let (headerSize, width, height, rowBytes, colors) = (word(0), word(4), word(5), word(12), word(19))
        return DisplayPicture(
            width: width, height: height, rowBytes: rowBytes,
            bytes: Array(bytes[(headerSize + colors * 12)...].prefix(rowBytes * height)))
    }

    /// Runs an X11 command on this display and returns its output.
    @discardableResult
    func run(_ command: String, _ arguments: String...) throws -> String {
        let path = try #require(Self.find(command), "\(command) is not installed; see Tools/packages.txt")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = ["DISPLAY": name, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(command) \(arguments)")
        return text
    }

    static func find(_ program: String) -> String? {
        ["/usr/bin/", "/usr/local/bin/", "/bin/"].map { $0 + program }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}

/// Pixels of a display.
struct DisplayPicture {
    struct Color: Equatable, CustomStringConvertible {
        var red, green, blue: Int
        static let black = Color(red: 0, green: 0, blue: 0)
        var description: String { "(\(red) \(green) \(blue))" }
        /// Returns the largest difference of a channel.
        func distance(to other: Color) -> Int {
            max(abs(red - other.red), abs(green - other.green), abs(blue - other.blue))
        }
    }

    var width, height, rowBytes: Int
    var bytes: [UInt8]

    func color(_ x: Int, _ y: Int) -> Color {
        let at = y * rowBytes + x * 4
        return Color(red: Int(bytes[at + 2]), green: Int(bytes[at + 1]), blue: Int(bytes[at]))
    }

    /// The bounding rectangle of everything that is not black: left, top, right, bottom, the ends excluded.
    var lit: [Int] {
        var (left, top, right, bottom) = (width, height, 0, 0)
        for y in 0..<height {
            for x in 0..<width where color(x, y) != .black {
                (left, right) = (min(left, x), max(right, x + 1))
                (top, bottom) = (min(top, y), max(bottom, y + 1))
            }
        }
        return [left, top, right, bottom]
    }
}
