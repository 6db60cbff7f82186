internal import CSDL
public import MediaCore
internal import SyncRendering

/// A display of this computer, as listed by the window system. Read it on the thread that owns the screen.
public struct ConnectedDisplay: Sendable, Hashable {
    /// The index in the window system, from 0.
    public var index: Int
    /// The name in the window system, usually the model.
    public var name: String
    /// The size of its desktop, in pixels of the window system.
    public var size: PixelSize
    /// The refresh rate in Hz reported by the window system; nil if unknown.
    public var refreshRate: Int?

    /// All displays; empty before the window system is initialized.
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

    /// Returns the requested display, or the first one without a request.
    ///
    /// - Throws: `unavailable` if the display is missing, with the list of displays in the message.
    static func chosen(by request: ScreenOptions.Display?, among displays: [ConnectedDisplay]) throws(OutputError)
        -> ConnectedDisplay
    {
        guard let first = displays.first else {
            throw OutputError(.unavailable, "no display is connected; connect one")
        }
        switch request {
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
            switch request! {
            case .index(let index): "\(index)"
            case .name(let name): "“\(name)”"
            }
        let list = displays.map { "\($0.index) (\($0.name), \($0.size.width)x\($0.size.height))" }
        throw OutputError(
            .unavailable, "there is no screen \(asked); choose one of \(list.joined(separator: ", "))")
    }

    /// The size of the area that a window may cover without hiding panels of the desktop.
    var usableSize: PixelSize {
        var bounds = SDL_Rect()
        guard SDL_GetDisplayUsableBounds(Int32(index), &bounds) == 0, bounds.w > 0, bounds.h > 0 else { return size }
        return PixelSize(width: Int(bounds.w), height: Int(bounds.h))
    }
}
