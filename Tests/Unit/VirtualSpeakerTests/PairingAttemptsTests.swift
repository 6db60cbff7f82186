import AirPlayWire
import MediaCore
import Sockets
import Testing

@testable import VirtualSpeaker

@Suite struct PairingAttemptsTests {
    private let person = NetworkAddress(ipv4: 0x0A00_0001)
    private let stranger = NetworkAddress(ipv4: 0x0A00_0002)
    private let start = HostInstant(nanoseconds: 0)

    @Test func fewWrongTriesCostNothingAndEveryFurtherOneTwiceTheTime() {
        var attempts = PairingAttempts()
        for _ in 0...PairingAttempts.free { #expect(attempts.countAttempt(person, at: start) == nil) }
        #expect(attempts.countAttempt(person, at: start) == .init(error: .backOff, wait: .seconds(5)))
        var now = start.advanced(by: .seconds(5))
        #expect(attempts.countAttempt(person, at: now) == nil)
        #expect(attempts.refusal(of: person, at: now) == .init(error: .backOff, wait: .seconds(10)))
        now = now.advanced(by: .milliseconds(9_999))
        #expect(attempts.countAttempt(person, at: now)?.error == .backOff)
        #expect(attempts.countAttempt(person, at: now.advanced(by: .milliseconds(1))) == nil)
    }

    @Test func aRefusedTryCostsNoFurtherTime() {
        var attempts = PairingAttempts()
        for _ in 0...PairingAttempts.free { _ = attempts.countAttempt(person, at: start) }
        for _ in 0..<1000 { _ = attempts.countAttempt(person, at: start.advanced(by: .seconds(4))) }
        #expect(attempts.countAttempt(person, at: start.advanced(by: .seconds(5))) == nil)
    }

    @Test func tooManyWrongAttemptsAreReportedAndWaitingRestoresAccess() {
        var attempts = PairingAttempts()
        var now = start
        for _ in 0..<PairingAttempts.limit {
            if let refusal = attempts.refusal(of: person, at: now) { now = now.advanced(by: refusal.wait) }
            #expect(attempts.countAttempt(person, at: now) == nil)
        }
        #expect(attempts.refusal(of: person, at: now) == .init(error: .maximumTries, wait: PairingAttempts.pardon))
        now = now.advanced(by: PairingAttempts.pardon)
        #expect(attempts.countAttempt(person, at: now) == nil)
        #expect(attempts.countAttempt(person, at: now) == nil)
    }

    @Test func challengesAreLimitedForAnAddressAndForAllTogether() {
        var attempts = PairingAttempts()
        func attempt(_ address: NetworkAddress, seconds: Double) -> PairingAttempts.Refusal? {
            attempts.consumeChallenge(address, at: start.advanced(by: .seconds(seconds)))
        }
        var granted = (0..<1000).filter { _ in attempt(stranger, seconds: 0) == nil }.count
        #expect(granted == Int(PairingAttempts.challengeBurst.address))
        #expect(attempt(stranger, seconds: 0)?.error == .backOff)
        #expect(attempt(person, seconds: 0) == nil, "one address locks nobody else out")
        #expect(attempt(stranger, seconds: 0.6) == nil && attempt(stranger, seconds: 0.6) != nil)
        granted =
            (0..<60_000).filter { number in
                let address = NetworkAddress(ipv4: 0x0B00_0000 + UInt32(number % 1000))
                return attempt(address, seconds: 1 + Double(number) / 1000) == nil
            }.count
        // Within a minute: the initial allowance, and ten per second.
        #expect((700...810).contains(granted), "\(granted)")
    }

    @Test func theRightOneForgivesTheWrongOnesBefore() {
        var attempts = PairingAttempts()
        for _ in 0...PairingAttempts.free { _ = attempts.countAttempt(person, at: start) }
        attempts.succeeded(person)
        #expect(attempts.refusal(of: person, at: start) == nil)
    }

    @Test func oneAddressCannotLockOutOthers() {
        var attempts = PairingAttempts()
        var (now, tries) = (start, 0)
        while now - start < .seconds(30 * 86_400) {
            if attempts.countAttempt(stranger, at: now) == nil { tries += 1 }
            now = now.advanced(by: .seconds(60))
            if tries % 50 == 0 { #expect(attempts.refusal(of: person, at: now) == nil) }
        }
        #expect(attempts.refusal(of: person, at: now) == nil)
        // Of ten thousand PINs, in a month.
        #expect(tries < 7000)
    }

    @Test func manyAddressesTogetherFindTheStoreEmptyAndAreNotAllRemembered() {
        var attempts = PairingAttempts()
        var taken = 0
        for number in 0..<100_000 as Range<UInt32> {
            if attempts.countAttempt(NetworkAddress(ipv4: 0x0B00_0000 + number), at: start) == nil { taken += 1 }
        }
        #expect(taken == PairingAttempts.storeLimit)
        #expect(attempts.count <= PairingAttempts.sourceLimit)
        #expect(attempts.refusal(of: person, at: start)?.error == .busy)
        let later = start.advanced(by: PairingAttempts.refill)
        #expect(attempts.countAttempt(person, at: later) == nil)
        attempts.succeeded(person)
    }
}
