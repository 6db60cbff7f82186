import Foundation
import TalkieTestKit
import Testing

@testable import ProgramTestSupport

/// The program showing a film on a private X server; it is killed at `deinit`.
final class PlayedFilm {
    let display: VirtualDisplay
    private let player = Process()

    /// - Parameters:
    ///   - film: in a folder created for it, which is also used as HOME.
    ///   - options: in addition to `--fs`.
    convenience init(_ film: String, _ options: [String], on size: String = "640x400") throws {
        let home = URL(fileURLWithPath: film).deletingLastPathComponent().path
        try self.init(film, options, on: VirtualDisplay(size), home: home)
    }

    /// - Parameters:
    ///   - home: HOME of the program, and its working directory if it exists. If it does not, no state is stored.
    ///   - isFullScreen: false uses a window of the film's size.
    ///   - environment: further variables.
    init(
        _ film: String, _ options: [String], on display: VirtualDisplay, home: String, isFullScreen: Bool = true,
        environment: [String: String] = [:]
    ) throws {
        self.display = display
        player.executableURL = Bundle.main.executableURL!.deletingLastPathComponent().appendingPathComponent("talkie")
        player.arguments = ["play", "--really-quiet"] + (isFullScreen ? ["--fs"] : []) + options + [film]
        if FileManager.default.fileExists(atPath: home) { player.currentDirectoryURL = URL(fileURLWithPath: home) }
        player.environment = ["DISPLAY": display.name, "PATH": "/usr/bin:/bin", "HOME": home]
            .merging(environment) { $1 }
        player.standardInput = FileHandle.nullDevice
        try player.run()
    }

    deinit {
        player.terminate()
        kill(player.processIdentifier, SIGKILL)
        player.waitUntilExit()
    }

    /// Waits until the program has exited, as by a key.
    func waitForEnd() { player.waitUntilExit() }

    /// Creates a film with ffmpeg, or copies the one created with the same arguments before (`TestClips`).
    ///
    /// - Parameter arguments: the last one is the path.
    static func make(_ arguments: [String]) throws {
        try TestClips.make(at: arguments.last!, arguments.dropLast())
    }
}

extension DisplayPicture {
    /// Coordinates of pixels as bright as text.
    var bright: [(x: Int, y: Int)] {
        var found: [(Int, Int)] = []
        for y in 0..<height {
            for x in 0..<width {
                let color = color(x, y)
                if min(color.red, color.green, color.blue) > 220 { found.append((x, y)) }
            }
        }
        return found
    }
}
