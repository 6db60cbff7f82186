import MediaCore
import Testing

@testable import ScreenOutput

@Suite struct DisplayModeTests {
    private typealias Mode = DisplayModeChoice.Mode

    private static func shape(_ width: Int, _ height: Int, _ rate: Double) -> Mode {
        Mode(size: PixelSize(width: width, height: height), rate: rate)
    }

    /// A television that runs at 60 Hz.
    private let choice: DisplayModeChoice = DisplayModeChoice(
        modes: [
            Self.shape(3840, 2160, 30), Self.shape(1920, 1080, 60), Self.shape(1920, 1080, 50),
            Self.shape(1920, 1080, 24), Self.shape(1280, 720, 50),
        ],
        desktop: Self.shape(1920, 1080, 60), preferred: nil)

    private func mode(_ wish: DisplayMode, film: Double? = nil, of choice: DisplayModeChoice? = nil) -> Mode? {
        if case .mode(let mode) = (choice ?? self.choice).answer(to: wish, filmRate: film) { return mode }
        return nil
    }

    @Test func aDisplayStaysAsItIsUnlessAskedFor() {
        #expect(choice.answer(to: .current, filmRate: 25) == .asItIs)
        #expect(choice.answer(to: .fixed(width: 1920, height: 1080, rate: 60), filmRate: 25) == .asItIs)
    }

    @Test func aFilmsPicturesEachGetAWholeNumberOfRefreshes() {
        #expect(mode(.film, film: 25) == Self.shape(1920, 1080, 50))
        #expect(mode(.film, film: 50) == Self.shape(1920, 1080, 50))
        #expect(mode(.film, film: 24) == Self.shape(1920, 1080, 24))
        // Refresh rates are known as integers only.
        #expect(mode(.film, film: 24000.0 / 1001) == Self.shape(1920, 1080, 24))
        // 60 Hz is a multiple already.
        for rate in [30, 60, 30000.0 / 1001, 60000.0 / 1001, 20, 10] {
            #expect(choice.answer(to: .film, filmRate: rate) == .asItIs)
        }
    }

    @Test func ofSeveralThatFitTheOneNextToNowIsTaken() {
        let fast = DisplayModeChoice(
            modes: [24, 48, 72, 96, 120, 60].map { Self.shape(1920, 1080, $0) } + [Self.shape(1280, 720, 60)],
            desktop: Self.shape(1920, 1080, 60), preferred: nil)
        // As far from 60 as 48, and less flicker.
        #expect(mode(.film, film: 24, of: fast) == Self.shape(1920, 1080, 72))
    }

    @Test func ofRatesThatDifferByAFractionTheExactMultipleIsTaken() {
        let television = DisplayModeChoice(
            modes: [60, 59.942, 24, 23.976].map { Self.shape(1920, 1080, $0) }, desktop: Self.shape(1920, 1080, 60),
            preferred: nil)
        #expect(mode(.film, film: 30000.0 / 1001, of: television) == Self.shape(1920, 1080, 59.942))
        #expect(mode(.film, film: 24000.0 / 1001, of: television) == Self.shape(1920, 1080, 23.976))
        #expect(mode(.film, film: 24, of: television) == Self.shape(1920, 1080, 24))
        #expect(television.answer(to: .film, filmRate: 30) == .asItIs)
        #expect(
            mode(.fixed(width: 1920, height: 1080, rate: 59.94), of: television) == Self.shape(1920, 1080, 59.942))
    }

    @Test func anUnsupportedModeIsReportedAndChangesNothing() {
        guard case .none(let film) = choice.answer(to: .film, filmRate: 13),
            case .none(let fixed) = choice.answer(to: .fixed(width: 800, height: 600, rate: 59.94), filmRate: nil)
        else {
            Issue.record("something was found")
            return
        }
        #expect(film.contains("1920x1080") && film.contains("13 frames per second"))
        #expect(fixed.contains("no mode 800x600@59.94, only 3840x2160@30, 1920x1080@60"))
        for rate: Double? in [nil, 0, -1, .nan, .infinity] {
            #expect(choice.answer(to: .film, filmRate: rate) == .asItIs)
        }
    }

    @Test func aFixedModeIsFoundByItsSizeAndRate() {
        #expect(mode(.fixed(width: 1920, height: 1080, rate: 50)) == Self.shape(1920, 1080, 50))
        #expect(mode(.fixed(width: 1920, height: 1080, rate: 23.976)) == Self.shape(1920, 1080, 24))
        #expect(choice.answer(to: .fixed(width: 1920, height: 1080, rate: nil), filmRate: nil) == .asItIs)
        #expect(mode(.fixed(width: 1280, height: 720, rate: nil)) == Self.shape(1280, 720, 50))
    }

    @Test func thePreferredModeIsTheDisplaysOrTheLargest() {
        #expect(mode(.preferred) == Self.shape(3840, 2160, 30))
        var said = choice
        said.preferred = Self.shape(1280, 720, 50)
        #expect(mode(.preferred, of: said) == Self.shape(1280, 720, 50))
        said.preferred = said.desktop
        #expect(said.answer(to: .preferred, filmRate: nil) == .asItIs)
        let bare = DisplayModeChoice(modes: [], desktop: Self.shape(800, 600, 0), preferred: nil)
        #expect(bare.answer(to: .preferred, filmRate: nil) == .asItIs)
    }
}
