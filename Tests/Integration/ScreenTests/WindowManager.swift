import Foundation
import Testing

/// openbox, which manages the windows of a display until it is stopped.
final class WindowManager {
    static let isInstalled = VirtualDisplay.find("openbox") != nil

    /// Where a window is, in pixels of the display, and how far its frame reaches beyond it.
    struct Place {
        var x, y, width, height: Int
        var frame: (left: Int, right: Int, top: Int, bottom: Int)

        /// Whether the window and its frame are on a display of a size.
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

    /// The number of the only window; nil before there is one.
    var window: String? {
        get throws {
            // xdotool fails where there is none yet.
            let ids = try display.run("xprop", "-root", "_NET_CLIENT_LIST").split(separator: "#").last ?? ""
            return ids.contains("0x") ? ids.trimmingCharacters(in: .whitespacesAndNewlines) : nil
        }
    }

    /// Where the only window is; nil before it has a frame.
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
