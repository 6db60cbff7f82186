import FuzzSupport
import MediaCore

@testable import TalkieApp

/// Files that a person wrote, or that are something else: no more is kept than may be, each mistake has a line of the file and a
/// sentence, and what is told of them is short.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzConfig(_ start: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    var input = FuzzInput(start, size)
    let bytes = input.remainder()
    let lines = bytes.count { $0 == 0x0A } + 1

    let text = ConfigText(bytes, file: "talkie.conf")
    let settings = text.settings + text.profiles.flatMap(\.settings)
    precondition(settings.count + text.profiles.count <= ConfigText.mostSettings)
    for setting in settings { precondition((1...lines).contains(setting.line) && !setting.name.isEmpty) }
    let keys = InputConfiguration(bytes, file: "input.conf")
    for mistakes in [text.mistakes, keys.mistakes] {
        precondition(mistakes.count <= lines && mistakes.allSatisfy { (1...lines).contains($0.line) })
        precondition(mistakes.allSatisfy { !$0.sentence.isEmpty })
        precondition(ConfigMistake.told(mistakes).count <= ConfigMistake.mostTold + 1)
    }
    for key in ["q", "Ctrl+c", "RIGHT"] { precondition(keys.keys.actions(for: key).count <= 64) }
    return 0
}
