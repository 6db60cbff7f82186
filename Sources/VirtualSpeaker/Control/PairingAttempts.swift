internal import AirPlayWire
internal import MediaCore
internal import Sockets

/// Limits attempts to guess a PIN or password. One value outlives the connections of a speaker.
///
/// Four wrong attempts of an address have no delay: a program tries stored secrets first, and users mistype.
/// After that the delay doubles per attempt; after `limit` attempts it is one hour. One hour without an
/// attempt resets the address. All addresses share a budget, against attackers that use a new address per
/// attempt. One address cannot exhaust it.
struct PairingAttempts: Sendable {
    /// Wrong attempts of an address without delay.
    static let free = 4
    /// The delay after attempt `free` + 1; it doubles from there.
    static let firstWait: Duration = .seconds(5)
    /// Wrong attempts of an address after which the delay is `pardon`.
    static let limit = 10
    /// Time without an attempt after which an address is reset.
    static let pardon: Duration = .seconds(3600)
    /// Maximum number of wrong attempts of all addresses together (HomeKit Accessory
    /// Protocol, section 5.6.2: a hundred).
    static let storeLimit = 100
    /// Time until one more attempt is added to the shared budget.
    ///
    /// That is 288 a day, 35 days for all PINs of four digits, and more than one address can use.
    static let refill: Duration = .seconds(300)
    /// Maximum number of tracked addresses; the one with the oldest attempt is evicted.
    static let sourceLimit = 256

    /// Maximum burst of challenges per address and in total.
    ///
    /// Each challenge costs an exponentiation of 3072 bits (10 ms). A sender requests one per connection.
    static let challengeBurst = (address: 40.0, all: 200.0)
    /// Challenges added per second, per address and in total.
    static let challengeRate = (address: 2.0, all: 10.0)

    /// The reason and the duration of a delay.
    struct Refusal: Hashable, Sendable {
        /// `backOff`, `maximumTries`, or `busy` if the shared budget is exhausted.
        let error: PairingError
        let wait: Duration
    }

    private struct Source {
        var wrong = 0
        var last: HostInstant
        var wait = Duration.zero
    }

    private var sources: [NetworkAddress: Source] = [:]
    private var spent = 0
    private var refilled: HostInstant?

    /// A token bucket.
    private struct Allowance {
        var tokens: Double
        var last: HostInstant

        /// Adds the tokens earned since the last call. Returns the wait until a token is available, or nil if one is.
        mutating func refill(_ rate: Double, _ burst: Double, at now: HostInstant) -> Duration? {
            if now > last {
                tokens = min(burst, tokens + (now - last).inSeconds * rate)
                last = now
            }
            return tokens >= 1 ? nil : .seconds((1 - tokens) / rate)
        }
    }

    private var challenges: [NetworkAddress: Allowance] = [:]
    private var allChallenges: Allowance?

    init() {}

    /// Consumes a challenge of an address. Returns nil if it is granted, otherwise the delay.
    mutating func consumeChallenge(_ address: NetworkAddress, at now: HostInstant) -> Refusal? {
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

    /// The number of tracked addresses.
    var count: Int { sources.count }

    /// Returns the delay for an address, or nil if it may attempt.
    mutating func refusal(of address: NetworkAddress, at now: HostInstant) -> Refusal? {
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

    /// Counts an attempt as wrong before it is verified, so that parallel attempts cannot exceed the limit.
    ///
    /// Returns nil if the attempt may proceed; the caller then reports a correct one with `succeeded`.
    mutating func countAttempt(_ address: NetworkAddress, at now: HostInstant) -> Refusal? {
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

    /// Refunds a correct attempt and resets the wrong ones of the address.
    mutating func succeeded(_ address: NetworkAddress) {
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
