internal import MediaCore
internal import Playback
internal import ScreenOutput
internal import SyncRendering

/// The content of the operator's dashboard: current and next item, remaining time, lip sync, speakers. A value.
struct OperatorDashboard: Sendable, Equatable {
    /// The state of the kiosk as one line.
    var status = ""
    var health: KioskHealth
    /// The duration of the current item; nil if unknown.
    var duration: MediaTime?
    /// The name of the next item; nil if none is known.
    var next: String?
    /// True if the kiosk has audio outputs.
    var hasAudio = true

    /// The maximum A/V offset that is not marked as trouble. ITU-R BT.1359-1, section 1: detectable from 45 ms early to
    /// 125 ms late audio; the smaller value is used for both.
    private static let farthest = Duration.milliseconds(45)

    /// Returns the name of an item without its folder, which most items share.
    static func name(of item: PlaylistLoader.Item) -> String {
        let name = ItemProgress.name(of: item)
        guard item.title == nil, let last = name.split(separator: "/").last else { return name }
        return String(last)
    }

    /// The dashboard as title and lines.
    var content: DashboardContent {
        var rows: [DashboardContent.Row] = []
        if let fault = health.fault { rows.append(DashboardContent.Row("Fault", fault, isTrouble: true)) }
        rows += health.degradations.map { DashboardContent.Row("Degraded", $0, isTrouble: true) }
        if let item = health.item, health.shown == .playing {
            let position = item.position ?? .zero
            var text = Decimals.clock(seconds: max(0, position.seconds))
            if let duration {
                text += " of \(Decimals.clock(seconds: duration.seconds))"
                rows.append(DashboardContent.Row("Played", text))
                let left = max(0, (duration - position).seconds.rounded(.up))
                rows.append(DashboardContent.Row("Left", Decimals.clock(seconds: left)))
            } else {
                rows.append(DashboardContent.Row("Played", text))
            }
        }
        rows.append(DashboardContent.Row("Next", next ?? "nothing"))
        if hasAudio { rows += audioRows }
        rows.append(DashboardContent.Row("Pictures", "\(health.frames) shown, \(health.dropped) dropped"))
        if let refusal = health.configuration.refusal {
            rows.append(DashboardContent.Row("Configuration", refusal, isTrouble: true))
        }
        return DashboardContent(title: status, rows: rows)
    }

    private var audioRows: [DashboardContent.Row] {
        let lost = health.outputs.filter { !$0.isConnected }.map(\.name)
        let connected = health.outputs.filter(\.isConnected).map(\.name)
        var rows = [
            DashboardContent.Row(
                "Rooms", connected.isEmpty ? "no sound" : connected.joined(separator: ", "),
                isTrouble: connected.isEmpty)
        ]
        if !lost.isEmpty {
            rows.append(DashboardContent.Row("Lost", lost.joined(separator: ", "), isTrouble: true))
        }
        if let offset = health.offset {
            let side = offset < .zero ? "early" : "late"
            rows.append(
                DashboardContent.Row(
                    "Lip sync", "sound \(Self.milliseconds(offset)) ms \(side)",
                    isTrouble: offset > Self.farthest || offset < .zero - Self.farthest))
        }
        if health.outputs.count > 1, let skew = health.skew {
            rows.append(
                DashboardContent.Row("Between rooms", "\(Self.milliseconds(skew)) ms", isTrouble: skew > Self.farthest))
        }
        return rows
    }

    private static func milliseconds(_ duration: Duration) -> String {
        Decimals.text(abs(duration.inMilliseconds), 1)
    }
}
