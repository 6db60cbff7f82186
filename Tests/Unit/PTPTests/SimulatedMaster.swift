import MediaCore
import TalkieTestKit

@testable import PTP

/// A foreign clock that sends as a grandmaster.
struct SimulatedMaster {
    var identity = ClockIdentity(rawValue: 0xA1B2_C3FF_FED4_E5F6)
    var clock = ForeignClock()
    var answers = true
    private var sequence: UInt16 = 0

    init() {}

    private func header(_ type: PTPMessageType) -> PTPHeader {
        PTPHeader(
            type: type, flags: 0, correction: 0, source: PortIdentity(clock: identity, port: 1), sequence: sequence,
            control: 0, logInterval: 0xFD)
    }

    /// Delivers a Sync with its Follow_Up, and the response to a delay request.
    mutating func speak(to observer: inout MasterObserver, at host: HostInstant) {
        sequence &+= 1
        let word = clock.exchange(at: host)
        observer.recordSync(header(.sync), received: word.came)
        _ = observer.recordFollowUp(header(.followUp), origin: PTPTimestamp(word.left), at: word.came)
        guard answers else { return }
        let own = ClockIdentity(rawValue: 1)
        observer.recordDelayRequest(sequence, sent: word.asked, by: own)
        observer.recordDelayResponse(
            header(.delayResponse), received: PTPTimestamp(word.heard), to: PortIdentity(clock: own, port: 0x8005),
            at: word.answered)
    }
}
