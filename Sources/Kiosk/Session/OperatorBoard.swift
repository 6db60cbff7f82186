internal import MediaCore
internal import Playback
internal import ScreenOutput
internal import SyncRendering

/// The content of the operator's board: current and next item, remaining time, lip sync, speakers. A value.
struct OperatorBoard: Sendable, Equatable {
    /// The state of the kiosk as one line.
    var status = ""
    var health: KioskHealth
    /// The duration of the current item; nil if unknown.
    var duration: MediaTime?
    /// The name of the next item; nil if none is known.
    var next: String?
    /// True if the kiosk has audio outputs.
    var hasSound = true

    /// The maximum A/V offset that is not marked as trouble. ITU-R BT.1359-1, section 1: detectable from 45 ms early to
    /// 125 ms late audio; the smaller value is used for both.
    private static let farthest = Duration.milliseconds(45)

    /// Returns the name of an item without its folder, which most items share.
    static func name(of item: PlaylistLoader.Item) -> String {
        let name = ItemProgress.name(of: item)
        guard item.title == nil, let last = name.split(separator: "/").last else { return name }
        return String(last)
    }

    /// The board as title and lines.
    var board: DashboardContent {
        var lines: [DashboardContent.Row] = []
        if let fault = health.fault { lines.append(DashboardContent.Row("Fault", fault, isTrouble: true)) }
        lines += health.degradations.map { DashboardContent.Row("Degraded", $0, isTrouble: true) }
        if let item = health.item, health.shown == .playing {
            let position = item.position ?? .zero
            var words = Decimals.clock(seconds: max(0, position.seconds))
            if let duration {
                words += " of \(Decimals.clock(seconds: duration.seconds))"
                lines.append(DashboardContent.Row("Played", words))
                let left = max(0, (duration - position).seconds.rounded(.up))
                lines.append(DashboardContent.Row("Left", Decimals.clock(seconds: left)))
            } else {
                lines.append(DashboardContent.Row("Played", words))
            }
        }
        lines.append(DashboardContent.Row("Next", next ?? "nothing"))
        if hasSound { lines += sound }
        lines.append(DashboardContent.Row("Pictures", "\(health.pictures) shown, \(health.dropped) dropped"))
        if let refusal = health.configuration.refusal {
            lines.append(DashboardContent.Row("Configuration", refusal, isTrouble: true))
        }
        return DashboardContent(title: status, rows: lines)
    }

    private var sound: [DashboardContent.Row] {
        let lost = health.outputs.filter { !$0.isConnected }.map(\.name)
        let connected = health.outputs.filter(\.isConnected).map(\.name)
        var lines = [
            DashboardContent.Row(
                "Rooms", connected.isEmpty ? "no sound" : connected.joined(separator: ", "),
                isTrouble: connected.isEmpty)
        ]
        if !lost.isEmpty {
            lines.append(DashboardContent.Row("Lost", lost.joined(separator: ", "), isTrouble: true))
        }
        if let offset = health.offset {
            let side = offset < .zero ? "early" : "late"
            lines.append(
                DashboardContent.Row(
                    "Lip sync", "sound \(Self.milliseconds(offset)) ms \(side)",
                    isTrouble: offset > Self.farthest || offset < .zero - Self.farthest))
        }
        if health.outputs.count > 1, let skew = health.skew {
            lines.append(
                DashboardContent.Row("Between rooms", "\(Self.milliseconds(skew)) ms", isTrouble: skew > Self.farthest))
        }
        return lines
    }

    private static func milliseconds(_ duration: Duration) -> String {
        Decimals.text(abs(duration.inMilliseconds), 1)
    }
}
