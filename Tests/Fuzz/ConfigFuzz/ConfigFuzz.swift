import FuzzSupport
import MediaCore

@testable import Kiosk
@testable import TalkieApp

/// Configuration files, valid or not: the number of stored entries is bounded, each mistake has a line number and a
/// short message.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzConfig(_ start: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    var input = FuzzInput(start, size)
    let bytes = input.remainder()
    let lines = bytes.count { $0 == 0x0A } + 1

    let text = ConfigText(bytes, file: "talkie.conf")
    let settings = text.settings + text.profiles.flatMap(\.settings)
    precondition(settings.count + text.profiles.count <= ConfigText.maxSettings)
    for setting in settings { precondition((1...lines).contains(setting.line) && !setting.name.isEmpty) }
    let keys = InputConfiguration(bytes, file: "input.conf")
    for mistakes in [text.mistakes, keys.mistakes] {
        precondition(mistakes.count <= lines && mistakes.allSatisfy { (1...lines).contains($0.line) })
        precondition(mistakes.allSatisfy { !$0.sentence.isEmpty })
        precondition(ConfigMistake.messages(for: mistakes).count <= ConfigMistake.maxReported + 1)
    }
    for key in ["q", "Ctrl+c", "RIGHT"] { precondition(keys.keys.commands(for: key).count <= 64) }
    kiosk(bytes, lines: lines)
    return 0
}

/// Checks a kiosk's configuration: it is valid, or each mistake has a line number and a message, in the order of lines.
private func kiosk(_ bytes: [UInt8], lines: Int) {
    do throws(KioskConfigurationError) {
        let configuration = try KioskConfiguration(bytes, file: "wall.toml", folder: "/srv")
        precondition((0...20).contains(configuration.titleSafe))
        let schedule = KioskSchedule(configuration)
        let now = WallTime(seconds: 1_800_000_000)
        _ = schedule.shown(at: now)
        if let next = schedule.nextChange(after: now) { precondition(next > now) }
    } catch {
        precondition(!error.mistakes.isEmpty)
        for mistake in error.mistakes { precondition((0...lines).contains(mistake.line) && !mistake.sentence.isEmpty) }
        precondition(ConfigMistake.messages(for: error.mistakes).count <= ConfigMistake.maxReported + 1)
    }
}
