internal import Glibc

/// The volumes of a group's outputs: an absolute level for each, and a master, which is the loudest member's level.
///
/// A level is a volume of `VolumeCurve`, 0…130. Below 0 the scale continues inaudibly at 0.3 dB a step, so that outputs
/// silenced by the master keep their distance. See docs/internals/outputs.md.
struct OutputVolumes {
    /// The properties of an output that its volume depends on.
    struct Member {
        /// Its number in the group; nil for an output that has none yet.
        var number: Int?
        /// The level that its owner left; nil where it has none.
        var own: Double?
        /// False while the output has not reported its owner's level.
        var isOwnKnown = true
    }

    /// The levels by number. An output without an entry has the level `common`, otherwise its owner's level.
    private var levels: [Int: Double] = [:]
    /// Decibels by number, by which the master has moved an output away from its owner's level before that was known.
    private var moves: [Int: Double] = [:]
    /// The level that was set for all outputs, also for those that join later.
    private var common: Double?
    /// The numbers of the muted outputs.
    private var muted: Set<Int> = []

    /// Returns the volume of an output, 0…130; 100 for one that has no level of its own and was never set; nil while
    /// its owner's level counts and is not known.
    func volume(of member: Member) -> Double? { level(of: member).map { max(0, $0) } }

    /// Returns the volume of the loudest of these outputs, 0…130; nil while no level is known.
    func master(of members: [Member]) -> Double? { loudest(of: members).map { max(0, $0) } }

    mutating func set(_ volume: Double, of number: Int) { setLevel(Self.bounded(volume), of: number) }

    /// Sets the volume of every output, including later members.
    mutating func setAll(_ volume: Double) {
        (levels, moves) = ([:], [:])
        common = Self.bounded(volume)
    }

    /// Gives every output its owner's level again.
    mutating func restoreAll() { (levels, moves, common) = ([:], [:], nil) }

    /// Changes the volumes of these outputs by the same number of decibels, so that the loudest of them has this
    /// volume. While no level is known, all of them are set to it.
    ///
    /// - Parameter members: each with a number.
    mutating func setMaster(_ volume: Double, of members: [Member]) {
        guard let loudest = loudest(of: members) else {
            for member in members { if let number = member.number { set(volume, of: number) } }
            return
        }
        move(members, by: Self.decibels(Self.bounded(volume)) - Self.decibels(loudest))
    }

    /// Moves these outputs by the same number of decibels: those of so many steps of the loudest of them, or, while no
    /// level is known, of so many steps below 100.
    ///
    /// - Parameter members: each with a number.
    mutating func changeMaster(by steps: Double, of members: [Member]) {
        guard let master = master(of: members) else { return move(members, by: -VolumeCurve.floor / 100 * steps) }
        setMaster(master + steps, of: members)
    }

    private mutating func move(_ members: [Member], by step: Double) {
        for member in members {
            guard let number = member.number else { continue }
            if let level = level(of: member) {
                setLevel(Self.level(decibels: Self.decibels(level) + step), of: number)
            } else {
                moves[number, default: 0] += step
            }
        }
    }

    private mutating func setLevel(_ level: Double, of number: Int) {
        levels[number] = level
        moves[number] = nil
    }

    /// Mutes or unmutes an output.
    mutating func setMuted(_ isMuted: Bool, of number: Int) {
        if isMuted { muted.insert(number) } else { muted.remove(number) }
    }

    /// Returns the linear gain of an output; nil keeps its owner's level.
    ///
    /// - Parameters:
    ///   - gain: The gain of the loudest output; the others keep their distance to it. Nil uses the levels.
    ///   - members: The outputs that play together.
    func gain(of member: Member, loudest gain: Float?, among members: [Member]) -> Float? {
        if member.number.map(muted.contains) ?? false || gain == 0 { return 0 }
        guard let level = level(of: member) else { return nil }
        guard let gain else { return isSet(member) ? VolumeCurve.gain(volume: level) : nil }
        let loudest = loudest(of: members + [member]) ?? level
        if level <= 0, loudest > 0 { return 0 }
        return gain * Float(pow(10, (Self.decibels(level) - Self.decibels(loudest)) / 20))
    }

    /// Returns true if a volume was set or moved, so that the owner's level is not in force.
    private func isSet(_ member: Member) -> Bool {
        common != nil || member.number.map { levels[$0] != nil || moves[$0] != nil } ?? false
    }

    private func level(of member: Member) -> Double? {
        if let level = member.number.flatMap({ levels[$0] }) ?? common { return level }
        guard member.isOwnKnown else { return nil }
        let own = member.own ?? 100
        guard let move = member.number.flatMap({ moves[$0] }) else { return own }
        return Self.level(decibels: Self.decibels(own) + move)
    }

    private func loudest(of members: [Member]) -> Double? {
        members.isEmpty ? common ?? 100 : members.compactMap(level).max()
    }

    /// Returns a volume clamped to the valid range; 100 if it is not finite.
    private static func bounded(_ volume: Double) -> Double {
        volume.isFinite ? min(VolumeCurve.maxVolume, max(0, volume)) : 100
    }

    /// Returns the decibels of a level; below 0 the curve continues.
    private static func decibels(_ level: Double) -> Double {
        level <= 100 ? VolumeCurve.floor * (1 - level / 100) : 60 * log10(level / 100)
    }

    /// Returns the level of decibels; the inverse of `decibels`.
    private static func level(decibels: Double) -> Double {
        let level = decibels <= 0 ? 100 * (1 - decibels / VolumeCurve.floor) : 100 * pow(10, decibels / 60)
        // Rounded, so that a step of 2 below a level of 30 yields 28 and not 27.999…
        return min(VolumeCurve.maxVolume, (level * 1e6).rounded() / 1e6)
    }
}
