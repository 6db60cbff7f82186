internal import Glibc

/// The volumes of a group's outputs: an absolute level for each, and a master, which is the loudest member's level.
///
/// A level is a volume of `VolumeCurve`, 0…130. Below 0 the scale continues inaudibly at 0.3 dB a step, so that outputs
/// silenced by the master keep their distance. See docs/internals/volumes.md.
struct OutputVolumes {
    /// An output by its number in the group, -1 if it has none yet, and its owner's level, nil if there is none.
    struct Member {
        var number: Int
        var own: Double?
    }

    /// The levels by number. An output without an entry has the level `common`, otherwise its owner's level.
    private var levels: [Int: Double] = [:]
    /// The level set for all outputs, including later members.
    private var common: Double?
    /// The numbers of the muted outputs.
    private var muted: Set<Int> = []

    /// Returns the volume of an output, 0…130; 100 if it has no level.
    func volume(of member: Member) -> Double { max(0, level(of: member)) }

    /// Returns the volume of the loudest of these outputs, 0…130; 100 if there are none.
    func master(of members: [Member]) -> Double { max(0, loudest(of: members)) }

    /// Sets the volume of an output.
    mutating func set(_ volume: Double, of number: Int) { levels[number] = Self.bounded(volume) }

    /// Sets the volume of every output, including later members.
    mutating func setAll(_ volume: Double) {
        levels = [:]
        common = Self.bounded(volume)
    }

    /// Gives every output its owner's level again.
    mutating func restoreAll() { (levels, common) = ([:], nil) }

    /// Changes the volumes of these outputs by the same number of decibels, so that the loudest one has this volume.
    mutating func setMaster(_ volume: Double, of members: [Member]) {
        let step = Self.decibels(Self.bounded(volume)) - Self.decibels(loudest(of: members))
        for member in members {
            levels[member.number] = Self.level(decibels: Self.decibels(level(of: member)) + step)
        }
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
        if muted.contains(member.number) { return 0 }
        guard let gain else {
            guard common != nil || levels[member.number] != nil else { return nil }
            return VolumeCurve.gain(volume: level(of: member))
        }
        let (level, loudest) = (level(of: member), loudest(of: members + [member]))
        if level <= 0, loudest > 0 { return 0 }
        return gain * Float(pow(10, (Self.decibels(level) - Self.decibels(loudest)) / 20))
    }

    /// Returns the level of an output, which may be below 0.
    private func level(of member: Member) -> Double { levels[member.number] ?? common ?? member.own ?? 100 }

    private func loudest(of members: [Member]) -> Double { members.map(level).max() ?? common ?? 100 }

    /// Returns a volume clamped to the valid range; 100 if it is not finite.
    private static func bounded(_ volume: Double) -> Double {
        volume.isFinite ? min(VolumeCurve.most, max(0, volume)) : 100
    }

    /// Returns the decibels of a level; below 0 the curve continues.
    private static func decibels(_ level: Double) -> Double {
        level <= 100 ? VolumeCurve.floor * (1 - level / 100) : 60 * log10(level / 100)
    }

    /// Returns the level of decibels; the inverse of `decibels`.
    private static func level(decibels: Double) -> Double {
        let level = decibels <= 0 ? 100 * (1 - decibels / VolumeCurve.floor) : 100 * pow(10, decibels / 60)
        // Rounded, so that a step of 2 below a level of 30 yields 28 and not 27.999…
        return min(VolumeCurve.most, (level * 1e6).rounded() / 1e6)
    }
}
