import MediaCore
import Testing

@Suite struct PeakLuminanceTests {
    @Test func implausibleLuminanceIsIgnored() {
        for stated in [nil, .nan, .infinity, -1, 0, 99, 10_001] as [Double?] {
            #expect(PeakLuminance.believable(stated) == 1000)
        }
        #expect(PeakLuminance.believable(4000) == 4000)
    }

    @Test func scenesThatDifferByLittleHaveOneCurveAndNoneIsDarkerThanWhite() {
        #expect(PeakLuminance.believable(1013) == 1000 && PeakLuminance.believable(987) == 1000)
        #expect(PeakLuminance.believable(120) == 203)
    }
}
