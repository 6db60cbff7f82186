internal import CSDL
public import MediaCore
internal import SyncRendering

/// A display of this computer, as the window system lists it. Read on the thread that owns the screen.
public struct ConnectedDisplay: Sendable, Hashable {
    /// As counted by the window system, from 0.
    public var index: Int
    public var name: String
    /// Size of the desktop on it, in pixels as the window system counts them.
    public var size: PixelSize
    /// Refreshes a second as the window system states them; nil when it does not.
    public var refreshRate: Int?

    /// All displays; empty before the window system was reached.
    static var all: [ConnectedDisplay] {
        (0..<max(0, SDL_GetNumVideoDisplays())).map { number in
            var mode = SDL_DisplayMode()
            SDL_GetDesktopDisplayMode(number, &mode)
            return ConnectedDisplay(
                index: Int(number), name: SDL_GetDisplayName(number).map { String(cString: $0) } ?? "display \(number)",
                size: PixelSize(width: Int(mode.w), height: Int(mode.h)),
                refreshRate: mode.refresh_rate > 0 ? Int(mode.refresh_rate) : nil)
        }
    }

    /// The display that was asked for; the first when nobody asked.
    static func chosen(by wish: ScreenOptions.Display?, among displays: [ConnectedDisplay]) throws(OutputError)
        -> ConnectedDisplay
    {
        guard let first = displays.first else {
            throw OutputError(.unavailable, "no display is connected; connect one")
        }
        switch wish {
        case nil: return first
        case .index(let index):
            if let display = displays.first(where: { $0.index == index }) { return display }
        case .name(let name):
            let wanted = name.lowercased()
            if let display = displays.first(where: { $0.name.lowercased() == wanted })
                ?? displays.first(where: { $0.name.lowercased().contains(wanted) })
            {
                return display
            }
        }
        let asked =
            switch wish! {
            case .index(let index): "\(index)"
            case .name(let name): "“\(name)”"
            }
        let list = displays.map { "\($0.index) (\($0.name), \($0.size.width)x\($0.size.height))" }
        throw OutputError(
            .unavailable, "there is no screen \(asked); choose one of \(list.joined(separator: ", "))")
    }

    /// What a window may cover without hiding the desktop's bars.
    var usableSize: PixelSize {
        var bounds = SDL_Rect()
        guard SDL_GetDisplayUsableBounds(Int32(index), &bounds) == 0, bounds.w > 0, bounds.h > 0 else { return size }
        return PixelSize(width: Int(bounds.w), height: Int(bounds.h))
    }
}
