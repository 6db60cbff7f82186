public import MediaCore

/// How a screen shows pictures.
public enum RefreshMode: Sendable, Hashable {
    /// Nothing known: every picture is presented at its own instant.
    case unpaced
    /// The screen flips at `phase + n × period`; a picture becomes light at a flip.
    case fixed(period: Duration, phase: HostInstant)
}

/// Where pictures go: a window, or a virtual screen in tests. Driven by one thread, the one that owns the window.
public protocol VideoOutput: AnyObject {
    /// How it paces itself, as known now.
    var refresh: RefreshMode { get }
    /// What this output costs in time.
    var latency: OutputLatency { get }
    /// How long `present` takes from call to visible, as measured lately; subtracted from every target.
    var presentCost: Duration { get }
    /// Brings a picture, and what lies over it, as close to the glass as possible without showing it: conversion, upload, drawing.
    ///
    /// - Parameter overlay: in the pixels of the area that `canvas` last said; nil where nothing lies over the picture.
    func prepare(_ picture: any Picture, under overlay: Overlay?)
    /// Where subtitles may be drawn over a picture; nil where they cannot, which is the default.
    func canvas(for picture: any Picture) -> SubtitleCanvas?
    /// Shows what was prepared; returns when it became visible, as near as the output can tell.
    func present() -> HostInstant
    /// Takes the picture off the screen: black until the next one. Does nothing by default.
    func removeImage()
}

extension VideoOutput {
    public func removeImage() {}
    public func canvas(for picture: any Picture) -> SubtitleCanvas? { nil }
}
