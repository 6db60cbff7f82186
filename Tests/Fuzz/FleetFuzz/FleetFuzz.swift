import FuzzSupport
import MediaCore
import Playback

@testable import Kiosk

/// Messages of a fleet and responses of chronyd. Commands are bounded, an ID is executed once, every rejection has a
/// message, and a response is JSON. A report is finite, and the clock computed from it stays in range.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFleet(_ start: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    var input = FuzzInput(start, size)
    let kind = input.byte()
    let bytes = input.remainder()
    if kind & 1 == 0 { commands(bytes, isRetained: kind & 2 != 0) } else { report(bytes) }
    return 0
}

private func commands(_ bytes: [UInt8], isRetained: Bool) {
    var filter = FleetCommandFilter(.kiosk { _, _ in })
    var done: Set<String> = []
    for piece in bytes.split(separator: 0, omittingEmptySubsequences: false).prefix(64) {
        let piece = Array(piece)
        let answer: FleetAnswer
        switch piece.withUnsafeBytes({ filter.accept($0, isRetained: isRetained) }) {
        case .answer(let said): answer = said
        case .carryOut(let command):
            precondition(!isRetained && done.insert(command.id).inserted, "an id is done once")
            precondition((1...64).contains(command.id.utf8.count))
            if let volume = command.request.arguments[1]?.number { precondition((0...130).contains(volume)) }
            answer = FleetAnswer(id: command.id, isDone: true)
            precondition(filter.recordAnswer(answer) && !filter.recordAnswer(answer))
        }
        precondition(answer.isDone || !(answer.detail ?? "").isEmpty, "a refusal has a sentence")
        let text = Array(answer.json.utf8)
        precondition(text.count < 8192 && text.withUnsafeBytes { JSONNode(object: $0) != nil })
    }
}

private func report(_ bytes: [UInt8]) {
    guard let tracking = ChronyTracking(bytes) else { return }
    precondition(
        tracking.uncertainty >= .zero && tracking.server.utf8.count <= 1024 && (0...16).contains(tracking.stratum))
    var estimate = WallEstimate()
    var host = HostInstant(nanoseconds: 1_000_000_000)
    for number in 0..<20 {
        let reading = SystemClockReading(
            host: host, system: WallInstant(nanoseconds: 1_800_000_000_000_000_000 &+ host.nanoseconds))
        estimate.update(reading, number % 3 == 0 ? nil : tracking)
        guard let mapping = estimate.mapping else { preconditionFailure("a reading makes a line") }
        precondition(mapping.rateOffset.magnitude <= 1e-3)
        host = host.advanced(by: .seconds(16))
    }
}
