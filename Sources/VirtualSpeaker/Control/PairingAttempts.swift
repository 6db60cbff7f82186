internal import AirPlayWire
internal import MediaCore
internal import Sockets

/// Who may try a PIN or password now. Connections come and go; this stays.
///
/// A program may try what it knows before it asks, and a person mistypes: four wrong tries cost no time. Then the wait
/// doubles with each, and after `limit` of them it is an hour; after an hour without one everything is forgiven. All
/// addresses together have a store of tries that fills up again: whoever takes a new address for each try finds it
/// empty. One address alone cannot empty it, so that it locks nobody else out.
struct PairingAttempts: Sendable {
    /// Wrong tries of an address that cost it no time.
    static let free = 4
    /// The wait after the first that does; it doubles from there.
    static let firstWait: Duration = .seconds(5)
    /// Wrong tries of an address until it has to wait for `pardon`.
    static let limit = 10
    /// An address that has not tried for so long begins anew.
    static let pardon: Duration = .seconds(3600)
    /// Wrong tries of all addresses together (HomeKit Accessory Protocol, section 5.6.2: a hundred) …
    static let storeLimit = 100
    /// … and how long until one more is granted: 288 a day, 35 days for all PINs of four digits, and more than one
    /// address can use up.
    static let refill: Duration = .seconds(300)
    /// Addresses that are remembered; the one that tried longest ago gives way.
    static let sourceLimit = 256

    /// Challenges that an address, and all together, may ask for at once; each costs an exponentiation of 3072 bits (10 ms). A sender
    /// asks for one at each connection …
    static let challengeBurst = (address: 40.0, all: 200.0)
    /// … and how many more are granted each second.
    static let challengeRate = (address: 2.0, all: 10.0)

    /// Why somebody must wait.
    struct Refusal: Hashable, Sendable {
        /// `backOff`, `maximumTries`, or `busy` when others have used up the store.
        let error: PairingError
        let wait: Duration
    }

    private struct Source {
        var wrong = 0
        var last: HostInstant
        var wait = Duration.zero
    }

    private var sources: [IPv4Address: Source] = [:]
    private var spent = 0
    private var refilled: HostInstant?

    /// Tokens that are left of a limit on a rate, at a point in time.
    private struct Allowance {
        var tokens: Double
        var last: HostInstant

        /// Returns the wait until a token is there.
        mutating func refill(_ rate: Double, _ burst: Double, at now: HostInstant) -> Duration? {
            if now > last {
                tokens = min(burst, tokens + (now - last).inSeconds * rate)
                last = now
            }
            return tokens >= 1 ? nil : .seconds((1 - tokens) / rate)
        }
    }

    private var challenges: [IPv4Address: Allowance] = [:]
    private var allChallenges: Allowance?

    init() {}

    /// Takes a challenge for an address. Returns nil where it may have one, otherwise how long it must wait.
    mutating func takeChallenge(_ address: IPv4Address, at now: HostInstant) -> Refusal? {
        if let refusal = refusal(of: address, at: now) { return refusal }
        var own = challenges[address] ?? Allowance(tokens: Self.challengeBurst.address, last: now)
        var all = allChallenges ?? Allowance(tokens: Self.challengeBurst.all, last: now)
        let wait = own.refill(Self.challengeRate.address, Self.challengeBurst.address, at: now)
        let busy = all.refill(Self.challengeRate.all, Self.challengeBurst.all, at: now)
        if wait == nil, busy == nil {
            own.tokens -= 1
            all.tokens -= 1
        }
        if challenges[address] == nil, challenges.count >= Self.sourceLimit,
            let oldest = challenges.min(by: { $0.value.last < $1.value.last })
        {
            challenges[oldest.key] = nil
        }
        (challenges[address], allChallenges) = (own, all)
        if let wait { return Refusal(error: .backOff, wait: wait) }
        return busy.map { Refusal(error: .busy, wait: $0) }
    }

    /// Addresses that are remembered.
    var count: Int { sources.count }

    /// Why an address must wait; nil when it may try.
    mutating func refusal(of address: IPv4Address, at now: HostInstant) -> Refusal? {
        forget(at: now)
        if let source = sources[address], now - source.last < source.wait {
            return Refusal(
                error: source.wrong >= Self.limit ? .maximumTries : .backOff, wait: source.wait - (now - source.last))
        }
        if spent >= Self.storeLimit, let refilled {
            return Refusal(error: .busy, wait: max(.zero, Self.refill - (now - refilled)))
        }
        return nil
    }

    /// Takes a try, before it is looked at: of several at once only as many count as may. Nil: go on, and say `succeeded` if
    /// it was the right one.
    mutating func take(_ address: IPv4Address, at now: HostInstant) -> Refusal? {
        if let refusal = refusal(of: address, at: now) { return refusal }
        var source = sources[address] ?? Source(last: now)
        source.wrong += 1
        source.last = now
        source.wait =
            source.wrong >= Self.limit
            ? Self.pardon : source.wrong <= Self.free ? .zero : Self.firstWait * (1 << (source.wrong - Self.free - 1))
        if sources[address] == nil, sources.count >= Self.sourceLimit,
            let oldest = sources.min(by: { $0.value.last < $1.value.last })
        {
            sources[oldest.key] = nil
        }
        sources[address] = source
        if spent == 0 { refilled = now }
        spent += 1
        return nil
    }

    /// The try was right: it costs nothing, and the wrong ones before it are forgiven.
    mutating func succeeded(_ address: IPv4Address) {
        sources[address] = nil
        spent = max(0, spent - 1)
    }

    private mutating func forget(at now: HostInstant) {
        sources = sources.filter { now - $0.value.last < Self.pardon }
        guard let since = refilled, now > since else { return }
        let grants = (now - since).wholeNanoseconds / Self.refill.wholeNanoseconds
        guard grants > 0 else { return }
        spent = max(0, spent - Int(grants))
        refilled = since.advanced(by: .nanoseconds(grants * Self.refill.wholeNanoseconds))
    }
}
