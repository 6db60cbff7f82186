import Foundation
import TalkieTestKit
import Testing

/// The program, which shows a film on an X server of its own until this object goes.
final class PlayedFilm {
    let display: VirtualDisplay
    private let player = Process()

    /// - Parameters:
    ///   - film: in a folder that is made for it: the program takes that for the home of its user.
    ///   - options: beside `--fs`.
    convenience init(_ film: String, _ options: [String], on size: String = "640x400") throws {
        let home = URL(fileURLWithPath: film).deletingLastPathComponent().path
        try self.init(film, options, on: VirtualDisplay(size), home: home)
    }

    /// - Parameters:
    ///   - home: the program's; one that there is not keeps nothing. The program is started in it where it exists.
    ///   - isFullScreen: otherwise in a window of the film's size.
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

    /// Waits until the program has ended, as by a key.
    func waitForEnd() { player.waitUntilExit() }

    /// Makes a film with ffmpeg, or copies the one that was made with the same arguments before (`TestClips`).
    ///
    /// - Parameter arguments: the last one is the path.
    static func make(_ arguments: [String]) throws {
        try TestClips.make(at: arguments.last!, arguments.dropLast())
    }
}

extension DisplayPicture {
    /// Pixels as bright as letters are.
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
