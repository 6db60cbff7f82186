internal import Glibc

/// The volumes of a group's outputs: one absolute level for each, and a master, which is the level of the loudest member.
///
/// A level is a volume of `VolumeCurve`, 0…130. Below 0 the scale continues at 0.3 dB a step, inaudible, so that outputs that the master
/// has lowered to silence keep their distance from the others. See docs/internals/volumes.md.
struct OutputVolumes {
    /// An output by its number in the group, -1 for one that has none yet, and the level that its owner left; nil where it has none.
    struct Member {
        var number: Int
        var own: Double?
    }

    /// By number; an output without an entry has `common`, otherwise its owner's level.
    private var levels: [Int: Double] = [:]
    /// The level that was set for all outputs, also for those that join later.
    private var common: Double?
    private var muted: Set<Int> = []

    /// The volume of an output, 0…130; 100 for one that has no level of its own and was never set.
    func volume(of member: Member) -> Double { max(0, level(of: member)) }

    /// The volume of the loudest of these outputs, 0…130; 100 without any.
    func master(of members: [Member]) -> Double { max(0, loudest(of: members)) }

    mutating func set(_ volume: Double, of number: Int) { levels[number] = Self.bounded(volume) }

    /// Sets every output to one volume, also those that join later.
    mutating func setAll(_ volume: Double) {
        levels = [:]
        common = Self.bounded(volume)
    }

    /// Gives every output its owner's level again.
    mutating func restoreAll() { (levels, common) = ([:], nil) }

    /// Moves these outputs by the same number of decibels, so that the loudest of them has this volume.
    mutating func setMaster(_ volume: Double, of members: [Member]) {
        let step = Self.decibels(Self.bounded(volume)) - Self.decibels(loudest(of: members))
        for member in members {
            levels[member.number] = Self.level(decibels: Self.decibels(level(of: member)) + step)
        }
    }

    mutating func setMuted(_ isMuted: Bool, of number: Int) {
        if isMuted { muted.insert(number) } else { muted.remove(number) }
    }

    /// Returns the factor for an output's samples; nil leaves the output at its owner's level.
    ///
    /// - Parameters:
    ///   - gain: the factor of the loudest output; the others keep their distance to it. Nil uses the levels.
    ///   - members: the outputs that play together.
    func gain(of member: Member, loudest gain: Float?, among members: [Member]) -> Float? {
        if muted.contains(member.number) { return 0 }
        guard let gain else {
            guard common != nil || levels[member.number] != nil else { return nil }
            return VolumeCurve.gain(volume: level(of: member))
        }
        let (level, loudest) = (level(of: member), loudest(of: members + [member]))
        if level <= 0, loudest > 0 { return 0 }
        return gain * Float(pow(10, (Self.decibels(level) - Self.decibels(loudest)) / 20))
    }

    private func level(of member: Member) -> Double { levels[member.number] ?? common ?? member.own ?? 100 }

    private func loudest(of members: [Member]) -> Double { members.map(level).max() ?? common ?? 100 }

    private static func bounded(_ volume: Double) -> Double {
        volume.isFinite ? min(VolumeCurve.most, max(0, volume)) : 100
    }

    private static func decibels(_ level: Double) -> Double {
        level <= 100 ? VolumeCurve.floor * (1 - level / 100) : 60 * log10(level / 100)
    }

    private static func level(decibels: Double) -> Double {
        let level = decibels <= 0 ? 100 * (1 - decibels / VolumeCurve.floor) : 100 * pow(10, decibels / 60)
        // What a level of 30 and a step of 2 leave of it is read as 28, not as 27.999…
        return min(VolumeCurve.most, (level * 1e6).rounded() / 1e6)
    }
}
