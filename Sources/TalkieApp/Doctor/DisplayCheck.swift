internal import MediaCodecs
internal import MediaCore
internal import ScreenOutput
internal import SyncRendering

/// Checks displays and the video output.
enum DisplayCheck {
    static func findings() -> [Finding] {
        do {
            let probe = try ScreenProbe.examine(converter: SoftwareFrameConverter())
            return probe.displays.map { finding(of: $0, driver: probe.driver) } + [drawing(probe)]
        } catch {
            return [Finding("display", .missing, problem: error.message)]
        }
    }

    private static func finding(of display: ConnectedDisplay, driver: String) -> Finding {
        let size = "\(display.size.width)x\(display.size.height)"
        let name = "screen \(display.index) '\(display.name)', \(size) on \(driver)"
        guard let rate = display.refreshRate else {
            return Finding("display", .good, "\(name), refresh rate unknown: each frame is shown at its own time")
        }
        return Finding("display", .good, "\(name), \(rate) Hz as reported by the window system")
    }

    /// Returns the video output that `--vo=auto` selects.
    private static func drawing(_ probe: ScreenProbe) -> Finding {
        guard probe.hasGraphicsProcessor else {
            return Finding(
                "drawing", .limited,
                "no graphics processor: the CPU converts every frame (1080p costs 3…6 ms each), as --vo=x11",
                remedy: "if this machine has one, install its driver and check that /dev/dri/renderD128 may be opened")
        }
        if let obstacle = probe.placeboObstacle {
            return Finding(
                "drawing", .limited,
                "frames are drawn by a graphics processor through SDL, as --vo=sdl, because \(obstacle)",
                remedy: "install libplacebo, which scales better and tone-maps HDR films")
        }
        return Finding(
            "drawing", .good, "frames are drawn by a graphics processor through libplacebo, as --vo=gpu-next")
    }
}
