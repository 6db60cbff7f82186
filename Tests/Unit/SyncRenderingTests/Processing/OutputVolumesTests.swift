import Testing

@testable import SyncRendering

@Suite struct OutputVolumesTests {
    private typealias Member = OutputVolumes.Member
    private let computer = Member(number: 0, own: nil)
    private let speaker = Member(number: 1, own: 30)

    private func volumes(_ volumes: OutputVolumes) -> [Double?] { [computer, speaker].map(volumes.volume) }

    @Test func untouchedOutputsHaveTheirOwnersLevelAndTheMasterIsTheLoudest() {
        let untouched = OutputVolumes()
        #expect(volumes(untouched) == [100, 30])
        #expect(untouched.master(of: [computer, speaker]) == 100)
        #expect(untouched.master(of: [speaker]) == 30)
        #expect(untouched.gain(of: speaker, loudest: nil, among: []) == nil, "left as its owner left it")
    }

    @Test func theMasterMovesAllByTheSameDecibelsAlsoAbove100() throws {
        var levels = OutputVolumes()
        levels.setMaster(98, of: [computer, speaker])
        #expect(volumes(levels) == [98, 28])
        levels.setMaster(110, of: [computer, speaker])
        let louder = try [computer, speaker].map {
            try #require(levels.volume(of: $0).flatMap { VolumeCurve.decibels(volume: $0) })
        }
        #expect(abs(louder[0] - louder[1] - 21) < 1e-4, "as far apart as 100 and 30")
        #expect(levels.volume(of: computer) == 110)
    }

    @Test func whatTheMasterLoweredToSilenceKeepsItsDistance() {
        var levels = OutputVolumes()
        levels.setMaster(50, of: [computer, speaker])
        #expect(volumes(levels) == [50, 0])
        #expect(levels.gain(of: speaker, loudest: nil, among: []) == 0)
        levels.setMaster(0, of: [computer, speaker])
        #expect(volumes(levels) == [0, 0])
        levels.setMaster(90, of: [computer, speaker])
        #expect(volumes(levels) == [90, 20])
    }

    @Test func aVolumeForAllIsThatOfEachAndOfThoseThatJoinLater() {
        var levels = OutputVolumes()
        levels.set(70, of: 1)
        levels.setAll(40)
        #expect(volumes(levels) == [40, 40])
        #expect(levels.volume(of: Member(number: 7, own: 90)) == 40)
    }

    @Test func anOutputWhoseLevelIsNotKnownIsMovedFromItOnceItIs() throws {
        var levels = OutputVolumes()
        let unknown = Member(number: 1, own: nil, isOwnKnown: false)
        #expect(levels.volume(of: unknown) == nil && levels.master(of: [unknown]) == nil)
        #expect(levels.master(of: [computer, unknown]) == 100)
        levels.changeMaster(by: -2, of: [unknown])
        levels.changeMaster(by: -2, of: [computer, unknown])
        #expect(levels.volume(of: unknown) == nil)
        #expect(levels.gain(of: unknown, loudest: nil, among: []) == nil, "left as its owner left it")
        #expect(levels.gain(of: unknown, loudest: 0, among: []) == 0, "silence needs no level")
        #expect(volumes(levels) == [98, 26])
        #expect(levels.gain(of: speaker, loudest: nil, among: []) == VolumeCurve.gain(volume: 26))
        levels.changeMaster(by: -2, of: [computer, speaker])
        #expect(volumes(levels) == [96, 24])
        levels.set(50, of: 1)
        #expect(levels.volume(of: unknown) == 50, "what was set counts, and no move")
        var alone = OutputVolumes()
        alone.setMaster(40, of: [unknown])
        #expect(alone.volume(of: unknown) == 40)
    }

    @Test func aMutedOutputKeepsItsVolume() {
        var levels = OutputVolumes()
        levels.setMuted(true, of: 1)
        #expect(levels.gain(of: speaker, loudest: 1, among: []) == 0 && levels.volume(of: speaker) == 30)
        levels.setMuted(false, of: 1)
        #expect(levels.gain(of: speaker, loudest: nil, among: []) == nil)
        levels.set(.nan, of: 0)
        levels.set(1e9, of: 1)
        #expect(volumes(levels) == [100, 130])
    }
}
