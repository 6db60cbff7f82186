import MediaCore
import SyncRendering
import Testing

@testable import Kiosk

/// A health record with a value in every field, and with text that needs escaping.
func fullHealth() -> KioskHealth {
    var health = KioskHealth(
        at: HostInstant(nanoseconds: 1_000_000_000), shown: .playing, uptime: .seconds(3600.5),
        configuration: .init(loaded: WallTime(seconds: 1_700_000_000)))
    health.sinceFrame = .milliseconds(20)
    health.sinceAudio = .milliseconds(90)
    health.offset = .microseconds(-1250)
    health.skew = .microseconds(300)
    (health.frames, health.dropped) = (90_000, 3)
    var hall = KioskHealth.Output("Hall \"A\\B\"\nnext")
    (hall.error, hall.buffered, hall.underruns, hall.clock) = (.microseconds(-100), .seconds(1.5), 2, .ready)
    var foyer = KioskHealth.Output("Foyer")
    foyer.isConnected = false
    health.outputs = [hall, foyer, foyer]
    health.restarts = 1
    health.repairs = ["reopen route": 2, "re-anchor": 1]
    health.item = .init("https://me:secret@example.org/é.mp4", index: 3, began: WallTime(seconds: 1_700_000_100))
    health.configuration.refusals = 1
    health.configuration.refusal = "hall.toml line 3: there is no key 'volme'"
    return health
}

@Suite struct MetricsTextTests {
    private let now = HostInstant(nanoseconds: 2_000_000_000)

    @Test func everyMetricHasItsHelpItsTypeAndItsUnit() {
        let lines = MetricsText.metrics(fullHealth(), at: now).split(separator: "\n").map(String.init)
        var described: String?
        var seen: Set<String> = []
        for line in lines {
            if line.hasPrefix("# HELP ") {
                let name = String(line.split(separator: " ")[2])
                #expect(seen.insert(name).inserted, "\(name) is said twice")
                described = nil
            } else if line.hasPrefix("# TYPE ") {
                let words = line.split(separator: " ").map(String.init)
                described = words[2]
                #expect(seen.contains(words[2]) && ["counter", "gauge"].contains(words[3]))
                #expect(words[2].hasSuffix("_total") == (words[3] == "counter"), "\(words[2])")
            } else {
                #expect(line.prefix { $0 != "{" && $0 != " " } == described ?? "", "\(line)")
            }
        }
        #expect(lines.contains("talkie_av_offset_seconds -0.00125"))
        #expect(lines.contains("talkie_room_skew_seconds 0.0003"))
        #expect(lines.contains("talkie_pictures_total 90000"))
        #expect(lines.contains("talkie_build_info{version=\"\(Release.version)\"} 1"))
        #expect(lines.contains("talkie_repairs_total{stage=\"re-anchor\"} 1"))
        #expect(lines.contains("talkie_shown{state=\"playing\"} 1") && lines.contains("talkie_shown{state=\"off\"} 0"))
        #expect(lines.contains("talkie_configuration_good 0") && lines.contains("talkie_healthy 1"))
    }

    @Test func wordsCannotBreakALine() {
        let text = MetricsText.metrics(fullHealth(), at: now)
        #expect(text.contains(#"talkie_output_buffer_seconds{output="Hall \"A\\B\"\nnext"} 1.5"#))
        #expect(text.contains(#"talkie_output_clock{output="Hall \"A\\B\"\nnext",state="ready"} 1"#))
        #expect(text.contains(#"talkie_item_info{name="é.mp4"} 1"#))
    }

    @Test func twoOutputsOfOneNameAreTwo() {
        let text = MetricsText.metrics(fullHealth(), at: now)
        #expect(text.contains("talkie_output_connected{output=\"Foyer\"} 0"))
        #expect(text.contains("talkie_output_connected{output=\"Foyer (2)\"} 0"))
    }

    @Test func whatIsNotKnownIsNotSaid() {
        let health = KioskHealth(
            at: now, shown: .off("quiet hours"), uptime: .zero, configuration: .init(loaded: WallTime(seconds: 0)))
        let text = MetricsText.metrics(health, at: now)
        for name in ["av_offset", "room_skew", "picture_age", "output", "item", "repairs"] {
            #expect(!text.contains("talkie_\(name)"), "\(name)")
        }
    }

    @Test func offOnPurposeIsHealthy() {
        var health = fullHealth()
        health.shown = .off("quiet hours until 07:00")
        #expect(MetricsText.healthz(health, at: now) == (200, "ok off on purpose: quiet hours until 07:00\n"))
        health.shown = .playing
        #expect(MetricsText.healthz(health, at: now) == (200, "ok playing 'é.mp4'\n"))
    }

    @Test(arguments: [
        "/srv/private/a film.mkv", "file:///srv/private/a film.mkv", "https://me:x@private.org/b/a film.mkv?c=1",
    ])
    func noStateThatLeavesTheComputerNamesAFolder(_ address: String) {
        var health = fullHealth()
        health.item = .init(address, index: 1, began: WallTime(seconds: 0))
        health.fault = "cannot open '\(address)'; check the disk"
        health.degradations = ["“\(address)” is skipped", "no speaker (\(address.split(separator: " ")[0]))"]
        health.configuration.refusal = "\"\(address)\": line 3"
        var states = [health]
        health.fault = nil
        states.append(health)
        for shown in [
            KioskHealth.Shown.waiting("the network: '\(address)'"), .off("'\(address)'"), .nothing("no '\(address)'"),
        ] {
            health.shown = shown
            states.append(health)
        }
        for health in states {
            for text in [
                MetricsText.healthz(health, at: now).text, MetricsText.metrics(health, at: now),
                KioskStateMessage(health).json,
            ] {
                #expect(!text.contains("private") && !text.contains("srv") && !text.contains("c=1"), "\(text)")
            }
        }
        #expect(MetricsText.healthz(states[1], at: now).text.hasPrefix("ok playing 'a film.mkv'; degraded: "))
    }

    /// The table of docs/guides/operations.md.
    @Test func eachStateHasItsStatusItsWordsAndItsMetrics() {
        func row(_ change: (inout KioskHealth) -> Void) -> (status: Int, text: String, metrics: String) {
            var health = fullHealth()
            health.item = .init("a.mp4", index: 1, began: WallTime(seconds: 0))
            change(&health)
            let (status, text) = MetricsText.healthz(health, at: now)
            return (status, text, MetricsText.metrics(health, at: now))
        }
        let states: [(status: Int, text: String, shown: String, change: (inout KioskHealth) -> Void)] = [
            (200, "ok playing 'a.mp4'\n", "playing", { _ in }),
            (
                200, "ok waiting for the network: 'a.mp4'\n", "waiting", { $0.shown = .waiting("the network: 'a.mp4'") }
            ),
            (200, "ok paused by command\n", "paused", { $0.shown = .paused }),
            (200, "ok slate by command\n", "slate", { $0.shown = .slate }),
            (200, "ok off on purpose: quiet hours\n", "off", { $0.shown = .off("quiet hours") }),
            (503, "nothing to show: no films\n", "nothing", { $0.shown = .nothing("no films") }),
            (
                503, "no display: no visible window for 4 s\n", "playing",
                {
                    $0.fault = "no display: no visible window for 4 s"
                }
            ),
            (
                503, "no data of the film arrives for 15 s\n", "waiting",
                {
                    ($0.shown, $0.fault) = (.waiting("the network: 'a.mp4'"), "no data of the film arrives for 15 s")
                }
            ),
            (
                503, "no display: no visible window for 4 s\n", "paused",
                {
                    ($0.shown, $0.fault) = (.paused, "no display: no visible window for 4 s")
                }
            ),
            (
                200, "ok playing 'a.mp4'; degraded: Kitchen does not play\n", "playing",
                {
                    $0.degradations = ["Kitchen does not play"]
                }
            ),
        ]
        for state in states {
            let row = row(state.change)
            #expect(row.status == state.status && row.text == state.text)
            #expect(row.metrics.contains("talkie_shown{state=\"\(state.shown)\"} 1\n"))
            #expect(row.metrics.contains("talkie_healthy \(state.status == 200 ? 1 : 0)\n"))
        }
        #expect(row { $0.degradations = ["a", "b"] }.metrics.contains("talkie_degraded 2\n"))
        #expect(row { $0.skippedItems = 3 }.metrics.contains("talkie_skipped_items 3\n"))
    }

    @Test func whatIsNotHealthySaysWhy() {
        var health = fullHealth()
        health.fault = "no picture for 12 s"
        #expect(MetricsText.healthz(health, at: now) == (503, "no picture for 12 s\n"))
        health.fault = nil
        health.shown = .nothing("none of the 3 items can be opened")
        #expect(MetricsText.healthz(health, at: now) == (503, "nothing to show: none of the 3 items can be opened\n"))
    }

    @Test func aFrozenSessionIsNotHealthy() {
        let later = HostInstant(nanoseconds: 1_000_000_000).advanced(by: .seconds(12))
        #expect(
            MetricsText.healthz(fullHealth(), at: later) == (503, "the kiosk has not reported its health for 12 s\n"))
        #expect(MetricsText.metrics(fullHealth(), at: later).contains("talkie_healthy 0\n"))
    }
}
