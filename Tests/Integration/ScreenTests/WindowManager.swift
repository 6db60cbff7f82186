import Foundation
import Testing

@testable import ProgramTestSupport

/// openbox, which manages the windows of a display until it is stopped.
final class WindowManager {
    static let isInstalled = VirtualDisplay.find("openbox") != nil

    /// The position of a window in pixels of the display, and the extents of its frame.
    struct Place {
        var x, y, width, height: Int
        var frame: (left: Int, right: Int, top: Int, bottom: Int)

        /// Returns true if the window and its frame are within a display of a given size.
        func isWithin(_ wide: Int, _ high: Int) -> Bool {
            x >= frame.left && y >= frame.top && x + width + frame.right <= wide && y + height + frame.bottom <= high
        }
    }

    private let display: VirtualDisplay
    private let process = Process()

    init(on display: VirtualDisplay) throws {
        self.display = display
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openbox")
        process.environment = [
            "DISPLAY": display.name, "PATH": "/usr/bin:/bin", "HOME": try MenusOnScreenTests.folder { $0 },
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        try eventually("windows are managed") {
            try display.run("xprop", "-root", "_NET_SUPPORTING_WM_CHECK").contains("window id")
        }
    }

    func stop() {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// The ID of the only window; nil before it exists.
    var window: String? {
        get throws {
            // Uses xprop, because xdotool fails if there is no window yet.
            let ids = try display.run("xprop", "-root", "_NET_CLIENT_LIST").split(separator: "#").last ?? ""
            return ids.contains("0x") ? ids.trimmingCharacters(in: .whitespacesAndNewlines) : nil
        }
    }

    /// The position of the only window; nil before it has a frame.
    var place: Place? {
        get throws {
            guard let window = try window else { return nil }
            let text = try display.run("xwininfo", "-id", window)
            let frame =
                try display.run("xprop", "-id", window, "_NET_FRAME_EXTENTS").split(separator: "=").last?
                .split(separator: ",").compactMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) } ?? []
            func number(_ name: String) -> Int? {
                text.split(separator: "\n").first { $0.contains(name) }.flatMap { $0.split(separator: " ").last }
                    .flatMap { Int($0) }
            }
            guard let x = number("Absolute upper-left X"), let y = number("Absolute upper-left Y"),
                let width = number("Width:"), let height = number("Height:"), frame.count == 4
            else { return nil }
            return Place(
                x: x, y: y, width: width, height: height, frame: (frame[0], frame[1], frame[2], frame[3]))
        }
    }
}
