import MediaCore
import Testing
import Text

@testable import ScreenOutput

/// The operator's display: which display it uses, and its size.
@Suite struct BoardTests {
    private static func display(_ index: Int, _ name: String) -> ConnectedDisplay {
        ConnectedDisplay(index: index, name: name, size: PixelSize(width: 640, height: 400), refreshRate: 60)
    }

    private let hall = display(0, "Hall")
    private let desk = display(1, "Desk")
    private let spare = display(2, "Spare")

    @Test func theFirstDisplayThatIsNotTheFilmsIsTaken() {
        func other(_ film: ConnectedDisplay?, _ displays: [ConnectedDisplay]) -> ConnectedDisplay? {
            DashboardWindow.display(for: .other, beside: film, among: displays)
        }
        #expect(other(hall, [hall]) == nil)
        #expect(other(hall, [hall, desk, spare]) == desk)
        #expect(other(desk, [hall, desk, spare]) == hall)
        #expect(other(nil, [hall, desk]) == nil)
    }

    @Test func oneThatWasNamedIsWaitedForAndNeverTheFilms() {
        func named(_ name: String, _ displays: [ConnectedDisplay]) -> ConnectedDisplay? {
            DashboardWindow.display(for: .chosen(.name(name)), beside: hall, among: displays)
        }
        #expect(named("spare", [hall, desk, spare]) == spare)
        #expect(named("spare", [hall, desk]) == nil)
        #expect(named("hall", [hall, desk]) == nil)
    }

    @Test(arguments: [(320, 200), (640, 400), (1920, 1080), (1080, 1920), (3840, 2160)])
    func everyLineHasRoomOnTheDisplay(width: Int, height: Int) throws {
        let painter = try #require(TextPainter())
        let area = PixelSize(width: width, height: height)
        let lines = (0..<9).map {
            DashboardContent.Row("Label \($0)", String(repeating: "a film's long name ", count: 20), isTrouble: $0 == 0)
        }
        let image = try #require(
            DashboardDrawing(painter: painter).overlay(DashboardContent(title: "Title", rows: lines), in: area))
        #expect(image.rect.isInside(PixelRect(x: 1, y: 1, width: width - 2, height: height - 2)))
        #expect(image.rect.width > width / 2)
    }

    @Test func thereIsNothingToSeeWithoutRoom() throws {
        let painter = try #require(TextPainter())
        let board = DashboardContent(title: "Title", rows: [])
        #expect(DashboardDrawing(painter: painter).overlay(board, in: PixelSize(width: 40, height: 20)) == nil)
    }
}
